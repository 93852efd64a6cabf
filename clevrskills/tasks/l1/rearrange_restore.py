"""Task ``rearrange_restore``."""

from collections.abc import Mapping

from torch import Tensor

from clevrskills.predicates import AtPose, AtPosition, Order, Predicate, Set
from clevrskills.tasks.l1.rearrange import Rearrange


class RearrangeRestore(Rearrange):
    """Rearrangement as in ``rearrange``, then all objects are back at their initial poses (paper,
    appendix A.2, task 9), including the orientation, which the released code ignores.
    """

    key = "rearrange_restore"
    sentence = "Rearrange the objects as shown and then restore"
    predicates = (Order, Set, AtPosition, AtPose)
    max_steps = 900

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        start = roles["start"]  # (B, objects, 7)
        slot = roles["active"][:, 0].long() * 0
        parts = [AtPose(slot + k, start[:, k, :3], start[:, k, 3:]) for k in range(start.shape[1])]
        return Order((super().goal(roles), Set(tuple(parts), roles["active"])))
