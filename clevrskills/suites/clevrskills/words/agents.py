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
from clevrskills.suites.clevrskills.words.grammar import COMMANDS, WAIT, say


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
    """Any form of command, about any things of the scene, at any place of the table.

    Args:
        suite: What it acts in.
        interface: What it acts by.
    """

    observation = ObservationOptions(cameras=(), proprioception=False)
    track = "none"
    privileged = True
    needs_suite = True

    def __init__(self, suite: Suite, interface: Interface) -> None:
        del suite, interface

    def reset(self, prompt: PromptInput, *, env: ClevrSkillsEnv, episode: Any) -> None:
        """An episode begins."""
        self._env, self._generator = env, np.random.default_rng(prompt.seed)

    def act(self, observation: Observation) -> str:
        """The next command."""
        draw, keys = self._generator, [*bodies_of(self._env)]
        command = str(draw.choice(COMMANDS))
        for name in ("X", "Y", "Z"):
            command = command.replace(name, str(draw.choice(keys)))
        x, y, z = draw.uniform((-0.3, -0.3, 0.05), (0.1, 0.3, 0.4))
        command = command.replace("(x, y, z)", f"({x:.2f}, {y:.2f}, {z:.2f})")
        command = command.replace("(x, y)", f"({x:.2f}, {y:.2f})")
        return command.replace(" N ", f" {int(draw.integers(1, 18)) * 10} ")
