"""Stack objects, the one named last at the bottom."""

from collections.abc import Sequence

from clevrskills.tasks.l1.stack import Stack
from clevrskills.tasks.layout import Layout


class StackReversed(Stack):
    """Every object rests on the one named after it, all at once (paper, appendix A.2, task 13)."""

    key = "stack_reversed"
    sentence = "Stack the objects in the reversed order"
    upwards = False

    def prompts(self, layout: Layout) -> Sequence[str]:
        keys = self.keys(layout)
        return [
            "Stack " + ", ".join(f"{{obj:{key}}}" for key in keys) + " in the reversed order",
            "Stack "
            + ", ".join(f"object with {{tex:{key}}} texture" for key in keys)
            + " in the reversed order",
        ]
