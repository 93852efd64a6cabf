"""The recorded actions of a dataset as a policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from clevrskills.core.episode import episode_id
from clevrskills.core.policy import Observation, PromptInput
from clevrskills.dataset_tools.dataset import Episode
from clevrskills.evaluation.policies.simple import BLIND


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
