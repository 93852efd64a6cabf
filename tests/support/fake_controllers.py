"""Policies that execute commands, badly."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from clevrskills.core.policy import GaveUp, ObservationOptions, PromptInput

BLIND = ObservationOptions(cameras=(), proprioception=False)


class Restless:
    """Moves at random a few times, then gives up."""

    observation, track = BLIND, "made up"

    def reset(self, prompt: PromptInput) -> None:
        self._left, self._draw = 3, np.random.default_rng(prompt.seed)

    def act(self, observation: Any) -> Any:
        if not self._left:
            raise GaveUp("no more")
        self._left -= 1
        return self._draw.uniform(-2.0, 2.0, 7)


class Attentive:
    """Records prompts and observations, several at once; it does not move."""

    concurrency = "batched"
    observation = ObservationOptions(cameras=("hand_camera",), size_px=32, history=2, look="flat")
    given: ClassVar[list[PromptInput]] = []
    shown: ClassVar[list[Any]] = []

    def reset(self, prompts: Any) -> None:
        self.given += prompts.values()

    def act(self, observations: Any) -> Any:
        self.shown += observations.values()
        return {slot: np.zeros((40, 7)) for slot in observations}


class Broken(Restless):
    """Breaks down."""

    def act(self, observation: Any) -> Any:
        raise RuntimeError("out of memory")
