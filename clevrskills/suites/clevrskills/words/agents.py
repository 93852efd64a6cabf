"""Policies in words without a model: the oracle's next command, and commands at random."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clevrskills.core.interface import Interface
from clevrskills.core.policy import Observation, ObservationOptions, PromptInput
from clevrskills.core.suite import Suite
from clevrskills.envs.environment import ClevrSkillsEnv
from clevrskills.envs.scene_text import bodies_of
from clevrskills.jobs.arguments import check_names
from clevrskills.suites.clevrskills.words.grammar import COMMANDS, WAIT, say

_PLACES, _HEIGHTS, _ANGLES = 41 * 61, 36, 17
"""Places and heights to a centimetre, and angles to ten degrees, that are drawn."""


class Commander:
    """Says the first open leaf of the goal tree as a command, again and again.

    Args:
        env: The environment.
    """

    step = predicate = skill = action_class = ""
    subgoal, attempt = -1, 0
    failed: Sequence[tuple[int, int]] = ()

    def __init__(self, env: ClevrSkillsEnv) -> None:
        self._env = env
        self.subtask = ""

    def reset(self) -> None:
        """An episode begins."""

    def act(self) -> Any:
        """The next command.

        Raises:
            GaveUp: No command says it.
        """
        leaf = self._env.goal.next_leaf(self._env.outcome)
        self.subtask = WAIT if leaf is None else say(leaf, self._env)
        return self.subtask


class RandomWords:
    """Any command, about any things of the scene, at any place of the table.

    Args:
        suite: What it acts in.
        interface: What it acts by.
        by: What is as likely as any other: ``forms`` of commands, whatever they name, or
            ``sentences``, with places to a centimetre and angles to ten degrees, of which most
            forms without places have few.

    Raises:
        UnknownNameError: ``by`` is something else.
    """

    observation = ObservationOptions(cameras=(), proprioception=False)
    track = "none"
    privileged = True
    needs_suite = True

    def __init__(self, suite: Suite, interface: Interface, by: str = "forms") -> None:
        del suite, interface
        check_names(by=((by,), ("forms", "sentences")))
        self._by = by

    def reset(self, prompt: PromptInput, *, env: ClevrSkillsEnv, episode: Any) -> None:
        """An episode begins."""
        self._env, self._generator = env, np.random.default_rng(prompt.seed)

    def act(self, observation: Observation) -> str:
        """The next command."""
        draw, keys = self._generator, [*bodies_of(self._env)]
        weights = np.array([_sentences(form, len(keys)) for form in COMMANDS], float)
        shares = weights / weights.sum() if self._by == "sentences" else None
        command = str(draw.choice(COMMANDS, p=shares))
        for name in ("X", "Y", "Z"):
            command = command.replace(name, str(draw.choice(keys)))
        x, y, z = draw.uniform((-0.3, -0.3, 0.05), (0.1, 0.3, 0.4))
        command = command.replace("(x, y, z)", f"({x:.2f}, {y:.2f}, {z:.2f})")
        command = command.replace("(x, y)", f"({x:.2f}, {y:.2f})")
        return command.replace(" N ", f" {int(draw.integers(1, 18)) * 10} ")


def _sentences(form: str, things: int) -> float:
    """How many sentences a form of command has."""
    count = float(things ** sum(word.strip(",") in ("X", "Y", "Z") for word in form.split()))
    count *= _PLACES if "(x, y" in form else 1
    count *= _HEIGHTS if "z)" in form else 1
    return count * (_ANGLES if " N " in form else 1)
