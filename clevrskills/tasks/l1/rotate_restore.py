"""Task ``rotate_restore``."""

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from clevrskills.predicates import AtPose, Order, Predicate, Rotated
from clevrskills.tasks.l0.rotate import Rotate


@dataclass(kw_only=True, eq=False)
class RotateRestore(Rotate):
    """Rotation as in ``rotate``, then the object is back at its initial pose (paper, appendix A.2,
    task 10).
    """

    key = "rotate_restore"
    level = "L1"
    sentence = "Rotate the object and then restore it"
    predicates = (Order, Rotated, AtPose)
    max_steps = 500

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        pose = roles["pose"]
        return Order((super().goal(roles), AtPose(roles["object"], pose[:, :3], pose[:, 3:])))
