"""Blocks of a category of colors become a tower, big ones below small ones."""

from __future__ import annotations

from dataclasses import dataclass

from clevrskills.suites.lohoravens.tasks.stack._selection import StackSelection


@dataclass(kw_only=True, eq=False)
class StackByColorInSizeOrder(StackSelection):
    """Blocks of a category of colors become a tower, big ones below small ones."""

    key = "stack_by_color_in_size_order"
    level = "unseen"
    capabilities = ("color", "size", "commonsense")
    sentence = (
        "Pile up just the blocks of a category of colors on a zone, big ones below small ones"
    )
    ways = ("category",)
    mixed = True
    big_below = True
