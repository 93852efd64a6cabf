"""Parts of an episode that a policy does by itself, and which of them a run has.

A task's goal is achieved leaf by leaf. The parts are

==================== =======================================================================
``leaf<k>_own``      leaf k alone, told by its own sentence; the oracle did those before it
``leaf<k>_prompt``   the same, told by the whole prompt
``plan``             all leaves, told at every change the sentence of the next one
``whole``            all leaves, told by the prompt, with twice the limit of steps
==================== =======================================================================
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from clevrskills.core.suite import Suite

if TYPE_CHECKING:
    from clevrskills.evaluation.env_pool import EpisodeRef

Mode = Literal["prefix", "plan", "all"]
"""What is run: the leaves, each in place and alone; the whole by a perfect planner; both, and
the prompt alone with twice the limit.
"""
PLAN, WHOLE = "plan", "whole"
OWN, PROMPT = "own", "prompt"
LONGER = 2
"""As many times the limit of steps has who is told the prompt alone."""
_LEAF = re.compile(rf"leaf(\d+)_({OWN}|{PROMPT})")


@dataclass(frozen=True)
class Part:
    """A part of an episode.

    Attributes:
        kind: ``leaf``, :data:`PLAN` or :data:`WHOLE`.
        leaf: Which leaf, in the order in which they are achieved.
        sentence: What is told of it, :data:`OWN` or :data:`PROMPT`.
    """

    kind: str
    leaf: int = 0
    sentence: str = PROMPT

    @classmethod
    def parse(cls, name: str) -> Part:
        """The part of a name."""
        match = _LEAF.fullmatch(name)
        return cls("leaf", int(match[1]), match[2]) if match else cls(name)


def leaf_part(leaf: int, sentence: str) -> str:
    """Name of the part that is one leaf."""
    return f"leaf{leaf}_{sentence}"


def in_parts(suite: Suite, refs: Sequence[EpisodeRef], mode: Mode) -> list[EpisodeRef]:
    """Episodes in parts, and those in which their kinds of leaves are done alone.

    Args:
        suite: What they are of.
        refs: Frozen episodes.
        mode: Which parts.

    Raises:
        ClevrSkillsError: The suite does not tell its leaves.
    """
    found: dict[str, EpisodeRef] = {}
    alone: dict[str, EpisodeRef] = {}
    for ref in refs:
        leaves = suite.leaves(suite.frozen(ref.task, ref.split)[ref.index])
        for name in _names(len(leaves), mode):
            part = replace(ref, part=name)
            found[part.id] = part
        for task in dict.fromkeys(map(suite.alone, leaves)) if mode != PLAN else ():
            if task and ref.split in suite.splits_of(task):
                part = replace(ref, task=task, part=leaf_part(0, OWN))
                alone[part.id] = part
    every = {**found, **alone}
    order = {
        key: k for k, key in enumerate(dict.fromkeys((r.task, r.split) for r in every.values()))
    }
    return sorted(every.values(), key=lambda ref: order[ref.task, ref.split])


def _names(leaves: int, mode: Mode) -> Iterator[str]:
    if mode != PLAN:
        for leaf in range(leaves):
            yield from (leaf_part(leaf, sentence) for sentence in (OWN, PROMPT))
    if mode != "prefix":
        yield PLAN
    if mode == "all":
        yield WHOLE
