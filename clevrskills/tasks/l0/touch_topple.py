"""Touch objects and topple them."""

from dataclasses import dataclass

from clevrskills.predicates import Set, TouchedToppled
from clevrskills.tasks.l0.touch import Touch


@dataclass(kw_only=True, eq=False)
class TouchTopple(Touch):
    """The gripper has touched every object, and every object has fallen over (paper, appendix A.1,
    task 11). As the paper does not ask what topples it, one may fall because another one does.

    Objects that the gripper holds or strikes no longer count: an arm that flails about hits them
    soon enough. To strike is to come at 0.7 m/s or more, or to be as fast at any time of a touch.

    Args:
        num_objects: Objects, all of which are to be toppled.
    """

    key = "touch_topple"
    sentence = "Touch and topple the objects"
    predicates = (Set, TouchedToppled)
    max_steps = 300
    predicate = TouchedToppled
    size_m = (0.05, 0.05, 0.20)
    gap_m = 0.10
