"""Replay of recorded actions, compared bit for bit."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from clevrskills.core.env import Episode as Start
from clevrskills.core.env import RecordableEnv
from clevrskills.core.interface import Step, make_step
from clevrskills.dataset_tools.dataset import Episode
from clevrskills.dataset_tools.record.recorder import STEP_FIELDS


@dataclass(frozen=True)
class ReplayComparison:
    """Comparison of a replay with its recording; true if all is equal bit for bit."""

    states: int  # number of states compared
    success: bool  # whether the goal held at the end of the replay
    step: int | None = None  # index of the first state with a difference
    where: str | None = None  # first part of that state, or first column, that differs
    difference: float = 0.0  # largest absolute difference in it

    def __bool__(self) -> bool:
        return self.step is None

    def __str__(self) -> str:
        if self:
            return f"{self.states} states are equal, bit for bit"
        return f"state {self.step} differs in {self.where} by up to {self.difference:.3g}"


def replay(episode: Episode, env: RecordableEnv, start: Start) -> ReplayComparison:
    """Repeat the actions of an episode up to the first difference.

    Compared are states, proprioception, object poses, reward, progress, success and the status of
    every node of the goal tree.

    Args:
        episode: The recording.
        env: Environment of the episode's task, split, robot and criteria.
        start: The recorded episode, to reset the environment.
    """
    states, actions = episode.states, episode.actions
    final = episode.info["final"]["proprioception"]
    measured = {name: episode.proprioception(name) for name in final}
    measured["object_poses"] = episode.object_poses
    env.reset(options={"episode": start})
    step: Step | None = None
    for index, recorded in enumerate(states):
        if index:
            step = make_step(env, actions[index - 1])
        success = step is not None and step.success
        state = np.array(env.get_state()).reshape(-1)
        if not _equal(recorded, state):
            return ReplayComparison(
                index + 1, success, index, *_difference(episode, recorded, state)
            )
        for name, now in _observed(env, step):
            in_state = name in measured
            value = measured[name][index] if in_state else episode.steps[name].iloc[index - 1]
            before = np.asarray(value).reshape(-1)
            if not _equal(before, now := np.asarray(now, dtype=before.dtype).reshape(-1)):
                return ReplayComparison(index + 1, success, index, name, _largest(before, now))
    return ReplayComparison(len(states), success)


def _observed(env: RecordableEnv, step: Step | None) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the values of the current state by column."""
    yield from env.proprioception().items()
    yield "object_poses", env.object_poses()
    if step is not None:
        yield from ((name, np.asarray(getattr(step, name))) for name in STEP_FIELDS)
        yield from zip(("holds", "terms"), env.goal_status(), strict=True)


def _equal(recorded: np.ndarray, now: np.ndarray) -> bool:
    return recorded.dtype == now.dtype and recorded.tobytes() == now.tobytes()


def _largest(recorded: np.ndarray, now: np.ndarray) -> float:
    if recorded.shape != now.shape:
        return float("nan")
    return float(np.abs(recorded.astype(float) - now.astype(float)).max())


def _difference(episode: Episode, recorded: np.ndarray, state: np.ndarray) -> tuple[str, float]:
    """Return the first part of a state that differs, and the largest difference overall."""
    if recorded.shape != state.shape or recorded.dtype != state.dtype:
        return f"its size ({recorded.size} and {state.size} numbers)", float("nan")
    bits = f"u{state.itemsize}"
    differs = recorded.view(bits) != state.view(bits)
    named = [p["name"] for p in episode.state_layout if differs[p["start"] : p["stop"]].any()]
    return named[0], _largest(recorded, state)
