"""Task ``touch_topple``."""

from dataclasses import dataclass

from clevrskills.predicates import Set, TouchedToppled
from clevrskills.tasks.l0.touch import Touch


@dataclass(kw_only=True, eq=False)
class TouchTopple(Touch):
    """The gripper has touched every object, and every object has fallen over (paper, appendix A.1,
    task 11). One object may topple another, which the paper does not exclude.

    As in ``touch``, objects that the gripper holds or strikes no longer count.
    """

    key = "touch_topple"
    sentence = "Touch and topple the objects"
    predicates = (Set, TouchedToppled)
    max_steps = 300
    predicate = TouchedToppled
    size_m = (0.05, 0.05, 0.20)
    gap_m = 0.10
