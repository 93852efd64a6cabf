"""Parts of an episode that a policy does by itself, and which of them a run has.

A task's goal is achieved leaf by leaf. The parts are

==================== =======================================================================
``leaf<k>_own``      leaf k alone, prompted by its own sentence; the oracle did those before it
``leaf<k>_prompt``   the same, prompted by the whole prompt
``plan``             all leaves, prompted at every change by the sentence of the next one
``whole``            all leaves, prompted by the whole prompt, with twice the limit of steps
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
"""Factor of the step limit of a policy with the prompt alone."""
_LEAF = re.compile(rf"leaf(\d+)_({OWN}|{PROMPT})")


@dataclass(frozen=True)
class Part:
    """A part of an episode."""

    kind: str  # ``leaf``, :data:`PLAN` or :data:`WHOLE`
    leaf: int = 0  # index of the leaf, in the order of achievement
    sentence: str = PROMPT  # the prompt given for it, :data:`OWN` or :data:`PROMPT`

    @classmethod
    def parse(cls, name: str) -> Part:
        """Return the part of a name."""
        match = _LEAF.fullmatch(name)
        return cls("leaf", int(match[1]), match[2]) if match else cls(name)


def limit_alone(suite: Suite, kind: str) -> int | None:
    """Return the limit of control steps of the task in which a kind of leaf is the first thing to
    do.

    Returns:
        It; ``None``: there is no such task.
    """
    task = single_skill_task(suite, kind)
    return int(suite.tasks[task].details["max_steps"]) if task else None


def subgoal_prompt(env: Env, leaf: Leaf) -> Prompt:
    """Return the prompt that asks for one leaf of a goal, or of a command, alone.

    Raises:
        ClevrSkillsError: The environment has no such prompts.
    """
    if not isinstance(env, SubgoalPrompting):
        raise ClevrSkillsError(f"{type(env).__name__} has no prompts of single subgoals")
    return env.subgoal_prompt(leaf)


def leaf_part(leaf: int, sentence: str) -> str:
    """Return the name of the part that is one leaf."""
    return f"leaf{leaf}_{sentence}"
