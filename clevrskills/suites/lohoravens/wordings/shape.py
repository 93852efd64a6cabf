"""Sentences of the tasks that ask for a shape."""

from clevrskills.tasks.bank import Bank

LINE_BY_COLOR = Bank(
    paper="Align the boxes on the {line} line in rainbow order from left to right.",
)
LINE_BY_SIZE = Bank(
    paper="Align the boxes on the {line} line in increasing size from left to right.",
)
CIRCLE_BY_SIZE = Bank(
    paper="Place the boxes on the circle so that their size increases counter-clockwise.",
)
CONCENTRIC_CIRCLES = Bank(
    paper="Build two concentric circles, the {inner_number} {inner} blocks inside, the "
    "{outer_number} {outer} blocks outside.",
)
CIRCLE_WITH_MIDDLE = Bank(
    paper="Arrange the {around} blocks in a circle with the {middle} block in the middle.",
)
LETTER_M = Bank(
    paper="Construct the letter {letter} with the blocks.",
)
RECTANGLE_ON_ZONE = Bank(
    paper="Build a rectangle with the blocks on the {zone} zone.",
)
