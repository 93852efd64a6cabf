"""Blocks: what lies on one side of a block and has a size becomes a tower."""

from __future__ import annotations

from dataclasses import dataclass

from clevrskills.suites.lohoravens.tasks.stack._selection import StackSelection


@dataclass(kw_only=True, eq=False)
class StackBySideAndSize(StackSelection):
    """What lies on one side of a block and has a size becomes a tower."""

    key = "stack_by_side_and_size"
    level = "unseen"
    capabilities = ("color", "size", "spatiality", "commonsense")
    sentence = "Stack the blocks of a size on one side of a block on a zone"
    ways = ("side", "size")
    mixed = True
