"""Policies without skill: what a benchmark must not reward."""

from __future__ import annotations

import numpy as np

from clevrskills.core.policy import Observation, ObservationOptions, PromptInput

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
