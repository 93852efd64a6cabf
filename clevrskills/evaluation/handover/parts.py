"""Parts of an episode that a policy does by itself.

The goal of a task is achieved leaf by leaf. The parts are

==================== =======================================================================
``leaf<k>_own``      leaf k only, prompted by its sentence; the oracle did those before it
``leaf<k>_prompt``   the same, prompted by the full prompt
``plan``             all leaves, prompted at every change by the sentence of the next leaf
``whole``            all leaves, prompted by the full prompt, with twice the step limit
==================== =======================================================================
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clevrskills.core.env import Env, Prompt, SubgoalPrompting
from clevrskills.core.suite import Suite, single_skill_task
from clevrskills.errors import ClevrSkillsError

if TYPE_CHECKING:
    from clevrskills.core.goal.predicate import Leaf

PLAN, WHOLE = "plan", "whole"
OWN, PROMPT = "own", "prompt"
LONGER = 2
"""Factor of the step limit of the part ``whole``."""
_LEAF = re.compile(rf"leaf(\d+)_({OWN}|{PROMPT})")


@dataclass(frozen=True)
class Part:
    """Part of an episode."""

    kind: str  # ``leaf``, :data:`PLAN` or :data:`WHOLE`
    leaf: int = 0  # index of the leaf, in the order of achievement
    sentence: str = PROMPT  # its prompt, :data:`OWN` or :data:`PROMPT`

    @classmethod
    def parse(cls, name: str) -> Part:
        """Return the part with a name."""
        match = _LEAF.fullmatch(name)
        return cls("leaf", int(match[1]), match[2]) if match else cls(name)


def limit_alone(suite: Suite, kind: str) -> int | None:
    """Return the step limit of the task with a single kind of leaf; ``None``: no such task."""
    task = single_skill_task(suite, kind)
    return int(suite.tasks[task].details["max_steps"]) if task else None


def subgoal_prompt(env: Env, leaf: Leaf) -> Prompt:
    """Return the prompt of a single leaf of a goal or command.

    Raises:
        ClevrSkillsError: The environment has no prompts of single subgoals.
    """
    if not isinstance(env, SubgoalPrompting):
        raise ClevrSkillsError(f"{type(env).__name__} has no prompts of single subgoals")
    return env.subgoal_prompt(leaf)


def leaf_part(leaf: int, sentence: str) -> str:
    """Return the name of the part of one leaf."""
    return f"leaf{leaf}_{sentence}"
