"""Touch objects and topple them."""

from dataclasses import dataclass

from clevrskills.predicates import Set, TouchedToppled
from clevrskills.tasks.l0.touch import Touch


@dataclass(kw_only=True, eq=False)
class TouchTopple(Touch):
    """The gripper pushes every object over (paper, appendix A.1, task 11).

    Objects that the gripper holds or strikes, at 0.7 m/s or more, no longer count: an arm that
    flails about hits them soon enough.

    Args:
        num_objects: Objects, all of which are to be toppled.
    """

    key = "touch_topple"
    sentence = "Touch and topple the objects"
    predicates = (Set, TouchedToppled)
    max_steps = 300
    verb = "Touch and topple"
    predicate = TouchedToppled
    size_m = (0.05, 0.05, 0.20)
    gap_m = 0.10
