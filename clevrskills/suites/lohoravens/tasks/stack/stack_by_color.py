"""Blocks of warm, cool, primary or secondary colors become a tower."""

from __future__ import annotations

from dataclasses import dataclass

from clevrskills.suites.lohoravens.tasks.stack._selection import StackSelection


@dataclass(kw_only=True, eq=False)
class StackByColor(StackSelection):
    """Blocks of warm, cool, primary or secondary colors become a tower."""

    key = "stack_by_color"
    level = "seen"
    capabilities = ("color", "commonsense")
    sentence = "Pile up just the blocks of a category of colors on a zone"
    ways = ("category",)
