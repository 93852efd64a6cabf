"""Stack objects, the one named last at the bottom."""

from clevrskills.tasks.l1.stack import Stack


class StackReversed(Stack):
    """Every object rests on the one named after it, all at once (paper, appendix A.2, task 13)."""

    key = "stack_reversed"
    sentence = "Stack the objects in the reversed order"
    upwards = False
