"""Sentences of the tasks with hidden blocks."""

from clevrskills.tasks.bank import Bank

HIDDEN_UNDER_BLOCK = Bank(
    paper="Put the {hidden} block hidden under the {top} block into the bowl of the same color.",
)
HIDDEN_IN_TWO_LAYERS = Bank(
    paper="Put all blocks hidden in the two-layer towers into the bowls of the same colors.",
)
HIDDEN_IN_THREE_LAYERS = Bank(
    paper="Put the bottom blocks of the three-layer towers into the bowls of the same colors.",
)
HIDDEN_IN_PYRAMID = Bank(
    paper="Put the blocks in the lowest row of the pyramid into the bowls of the same colors.",
)
