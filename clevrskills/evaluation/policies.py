"""Policies that come with the package: two without skill, the oracle, and recorded actions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from clevrskills.core.episode import episode_id
from clevrskills.core.policy import Observation, ObservationOptions, PromptInput
from clevrskills.dataset_tools.dataset import Episode

BLIND = ObservationOptions(cameras=(), proprioception=False)


class Zero:
    """Does nothing, with the vacuum off."""

    observation = BLIND

    def reset(self, prompt: PromptInput) -> None:
        """An episode begins."""

    def act(self, observation: Observation) -> np.ndarray:
        """Seven zeros."""
        return np.zeros(7, np.float32)


class Random:
    """Draws every entry of every action evenly from -1 to 1."""

    observation = BLIND

    def reset(self, prompt: PromptInput) -> None:
        """An episode begins."""
        self._generator = np.random.default_rng(prompt.seed)

    def act(self, observation: Observation) -> np.ndarray:
        """Seven random numbers."""
        return self._generator.uniform(-1.0, 1.0, 7).astype(np.float32)


class OraclePolicy:
    """Solves episodes with the oracle.

    Raises:
        ClevrSkillsError: The planner is not installed or cannot run.
    """

    observation = BLIND
    privileged = True

    def __init__(self) -> None:
        from clevrskills.solvers.requirements import require_planner

        require_planner()

    def reset(self, prompt: PromptInput, *, env: Any, episode: Any) -> None:
        """An episode begins."""
        from clevrskills.solvers.oracle import Oracle

        self._oracle = Oracle(env)

    def act(self, observation: Observation) -> np.ndarray:
        """What the oracle does next.

        Raises:
            GaveUp: A skill failed too often.
        """
        return self._oracle.act()


class Replay:
    """Makes the actions that were recorded in the same episode; then stands still.

    Args:
        dataset: Folder of the dataset.
    """

    observation = BLIND
    privileged = True

    def __init__(self, dataset: str) -> None:
        self._root = Path(dataset)

    def reset(self, prompt: PromptInput, *, env: Any, episode: Any) -> None:
        """An episode begins.

        Raises:
            DatasetError: It was not recorded, or its file is damaged.
        """
        name = episode_id(episode.task, episode.split, episode.seed)
        self._actions = Episode(self._root / name).actions

    def act(self, observation: Observation) -> np.ndarray:
        """The recorded actions from here on."""
        left = self._actions[observation["step"] :]
        if len(left):
            return left
        stay = np.zeros(7, np.float32)
        stay[6] = self._actions[-1, 6]  # go on holding what is held
        return stay
