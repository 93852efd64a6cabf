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
from dataclasses import dataclass

from clevrskills.core.suite import Suite

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


def limit_alone(suite: Suite, kind: str) -> int | None:
    """Limit of control steps of the task in which a kind of leaf is the first thing to do.

    Returns:
        It; ``None``: there is no such task.
    """
    task = suite.alone(kind)
    return int(suite.describe(task)["max_steps"]) if task else None


def leaf_part(leaf: int, sentence: str) -> str:
    """Name of the part that is one leaf."""
    return f"leaf{leaf}_{sentence}"
