"""Makes the recorded actions again and compares every state, bit for bit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clevrskills.dataset_tools.dataset import Episode
from clevrskills.dataset_tools.rollout import make_step
from clevrskills.dataset_tools.sources import Environment


@dataclass(frozen=True)
class Replay:
    """How a replay compares with its recording; true if all states are equal, bit for bit.

    Attributes:
        states: Number of states compared.
        success: Whether the goal held at the end of the replay.
        step: Index of the first state that differs, ``None`` if none does.
        where: Name of the first part of that state that differs.
        difference: Largest absolute difference in that state.
    """

    states: int
    success: bool
    step: int | None = None
    where: str | None = None
    difference: float = 0.0

    def __bool__(self) -> bool:
        return self.step is None

    def __str__(self) -> str:
        if self:
            return f"{self.states} states are equal, bit for bit"
        return f"state {self.step} differs in {self.where} by up to {self.difference:.3g}"


def replay(episode: Episode, env: Environment) -> Replay:
    """Reset to the episode's seed, make its actions, compare the states.

    Args:
        episode: The recording.
        env: An environment of the episode's task, split, robot and criteria, unwrapped.

    Returns:
        The comparison, up to the first state that differs.
    """
    env.reset(seed=int(episode.info["seed"]))
    success = False
    for index, recorded in enumerate(episode.states):
        if index:
            success = make_step(env, episode.actions[index - 1]).success
        state = np.array(env.get_state()).reshape(-1)
        if state.dtype != recorded.dtype or state.tobytes() != recorded.tobytes():
            where, difference = _difference(episode, recorded, state)
            return Replay(index + 1, success, index, where, difference)
    return Replay(len(episode.states), success)


def _difference(episode: Episode, recorded: np.ndarray, state: np.ndarray) -> tuple[str, float]:
    """The first part that differs, and the largest difference."""
    if recorded.shape != state.shape or recorded.dtype != state.dtype:
        return f"its size ({recorded.size} and {state.size} numbers)", float("nan")
    bits = f"u{state.itemsize}"
    differs = recorded.view(bits) != state.view(bits)
    named = [p["name"] for p in episode.state_layout if differs[p["start"] : p["stop"]].any()]
    return named[0], float(np.max(np.abs(recorded - state)))
