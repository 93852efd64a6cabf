"""Blocks of one size and a category of colors become a tower."""

from __future__ import annotations

from dataclasses import dataclass

from clevrskills.suites.lohoravens.tasks.stack._selection import StackSelection


@dataclass(kw_only=True, eq=False)
class StackByColorAndSize(StackSelection):
    """Blocks of one size and a category of colors become a tower."""

    key = "stack_by_color_and_size"
    level = "seen"
    capabilities = ("color", "size", "commonsense")
    sentence = "Pile up just the blocks of a size and a category of colors on a zone"
    ways = ("category", "size")
    mixed = True
