"""Put all blocks hidden in towers of two into the bowls of their colors."""

from __future__ import annotations

from dataclasses import dataclass

from clevrskills.suites.lohoravens.tasks.base import block_slots
from clevrskills.suites.lohoravens.tasks.hidden._towers import HiddenInTowers


@dataclass(kw_only=True, eq=False)
class HiddenInTwoLayers(HiddenInTowers):
    """Two or three towers, a big block on a small one each."""

    key = "hidden_in_two_layers"
    level = "seen"
    moves = (4, 6)
    sentence = "Put all blocks hidden in the two-layer towers into the bowls of the same colors"
    slots = block_slots(9, bowls=4)
    most = 3
    towers, high, visible = (2, 3), 1, (2, 3)
