"""Task ``simple_manipulation``."""

from clevrskills.predicates import OnTop
from clevrskills.tasks.l0.place import Place


class SimpleManipulation(Place):
    """Placement as in ``place`` after a pick (paper, appendix A.2, task 1)."""

    key = "simple_manipulation"
    level = "L1"
    sentence = "Pick the object and put it on the other object"
    predicates = (OnTop,)
    max_steps = 200
    starts_held = False
