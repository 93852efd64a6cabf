"""Stack objects, the one named last at the bottom."""

from clevrskills.tasks.l1.stack import Stack
from clevrskills.tasks.wordings.towers import STACK_REVERSED


class StackReversed(Stack):
    """Every object rests on the one named after it, all at once (paper, appendix A.2, task 13)."""

    key = "stack_reversed"
    bank = STACK_REVERSED
    sentence = "Stack the objects in the reversed order"
    upwards = False
