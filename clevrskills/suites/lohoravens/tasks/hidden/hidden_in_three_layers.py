"""Put the bottom blocks of towers of three into the bowls of their colors."""

from __future__ import annotations

from dataclasses import dataclass

from clevrskills.suites.lohoravens.tasks.base import block_slots
from clevrskills.suites.lohoravens.tasks.hidden._towers import HiddenInTowers


@dataclass(kw_only=True, eq=False)
class HiddenInThreeLayers(HiddenInTowers):
    """Two towers, two big blocks on a small one each; only the small ones are meant."""

    key = "hidden_in_three_layers"
    level = "unseen"
    moves = (6, 6)
    sentence = "Put the bottom blocks of the three-layer towers into the bowls of the same colors"
    slots = block_slots(8, bowls=3)
    most = 2
    towers, high, visible = (2, 2), 2, (1, 2)
