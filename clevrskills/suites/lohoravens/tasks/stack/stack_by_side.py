"""Blocks: what lies on one side of a block becomes a tower."""

from __future__ import annotations

from dataclasses import dataclass

from clevrskills.suites.lohoravens.tasks.stack._selection import StackSelection


@dataclass(kw_only=True, eq=False)
class StackBySide(StackSelection):
    """What lies on one side of a block becomes a tower."""

    key = "stack_by_side"
    level = "seen"
    capabilities = ("color", "spatiality", "commonsense")
    sentence = "Stack all the blocks on one side of a block on a zone"
    ways = ("side",)
