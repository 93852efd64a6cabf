"""Touch objects and push them away."""

from dataclasses import dataclass

from clevrskills.predicates import Set, TouchedPushed
from clevrskills.tasks.l0.touch import Touch


@dataclass(kw_only=True, eq=False)
class TouchPush(Touch):
    """The gripper pushes every object by 10 cm or more, in any direction (paper, appendix A.1, task
    10). It does so itself: what another object moves one by does not count.

    Objects that the gripper holds or strikes no longer count: an arm that flails about hits them
    soon enough. To strike is to come at 0.7 m/s or more, or to be as fast at any time of a touch.

    Args:
        num_objects: Objects, all of which are to be pushed.
    """

    key = "touch_push"
    sentence = "Touch and push the objects"
    predicates = (Set, TouchedPushed)
    predicate = TouchedPushed
    gap_m = 0.05
