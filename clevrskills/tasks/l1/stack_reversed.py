"""Task ``stack_reversed``."""

from clevrskills.tasks.l1.stack import Stack


class StackReversed(Stack):
    """Every object rests on the one named after it (paper, appendix A.2, task 13)."""

    key = "stack_reversed"
    sentence = "Stack the objects in the reversed order"
    upwards = False
