"""Task ``touch_push``."""

from dataclasses import dataclass

from clevrskills.predicates import Set, TouchedPushed
from clevrskills.tasks.l0.touch import Touch


@dataclass(kw_only=True, eq=False)
class TouchPush(Touch):
    """The gripper pushes every object by at least 10 cm in any direction (paper, appendix A.1, task
    10). Motion caused by other objects does not count.

    As in ``touch``, objects that the gripper holds or strikes no longer count.
    """

    key = "touch_push"
    sentence = "Touch and push the objects"
    predicates = (Set, TouchedPushed)
    predicate = TouchedPushed
    gap_m = 0.05
