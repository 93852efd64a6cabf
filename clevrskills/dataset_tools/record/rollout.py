"""One episode of the oracle in an environment."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from clevrskills.core.env import Episode, RecordableEnv
from clevrskills.core.interface import Step, Turn
from clevrskills.core.rollout import Rollout
from clevrskills.core.suite import Oracle
from clevrskills.dataset_tools.record.camera_tracks import spent
from clevrskills.dataset_tools.record.recorder import Recorder


@dataclass(frozen=True)
class EpisodeResult:
    """How an episode went.

    Attributes:
        success: Whether the goal held after the last step.
        steps: Control steps made.
        total_reward: Sum of the rewards.
        reason: Why it failed; empty on success.
        kind: What kind of failure that is, see :mod:`clevrskills.dataset_tools.manifest`.
        times_s: CPU time by phase: ``reset``, ``plan`` (the oracle), ``physics`` (control steps,
            goal and reward) and, if it was recorded, ``render`` (images and their annotations),
            ``encode`` (videos and single images), ``write`` (all else). The recorder goes on
            adding to it while it commits.
    """

    success: bool
    steps: int
    total_reward: float = 0.0
    reason: str = ""
    kind: str = ""
    times_s: Mapping[str, float] = field(default_factory=dict)


def rollout(
    env: RecordableEnv,
    oracle: Oracle,
    recorder: Recorder | None = None,
    seed: int = 0,
    max_steps: int | None = None,
    episode: Episode | None = None,
) -> EpisodeResult:
    """Run the oracle from a fresh episode until success, failure or the step limit.

    Args:
        env: The environment, unwrapped (``gym.make(...).unwrapped``).
        oracle: The oracle that acts in ``env``.
        recorder: Records the episode; committing it is left to the caller.
        seed: Seed of the episode.
        max_steps: Limit of control steps; ``None``: the task's own.
        episode: The episode, a frozen one; ``None``: the one drawn by the seed.

    Returns:
        How it went. A skill that gives up is a failure with its reason, not an exception.
    """
    times_s = {} if recorder is None else recorder.times_s
    with spent(times_s, "reset"):
        env.reset(seed=seed, **({} if episode is None else {"options": {"episode": episode}}))
        oracle.reset()
    if recorder is not None:
        recorder.start(env)
    timed = _Timed(env, times_s, max_steps)

    def act() -> np.ndarray:
        with spent(times_s, "plan"):
            return oracle.act()

    def record(action: np.ndarray, step: Step) -> None:
        if recorder is not None:
            recorder.record(env, action, oracle, step)

    reason, kind = timed.run(act, record)
    if recorder is not None:
        recorder.give_up(oracle.failed)
    return EpisodeResult(timed.success, timed.steps, timed.total_reward, reason, kind, times_s)


class _Timed(Rollout):
    """A rollout whose control steps are timed."""

    def __init__(
        self, env: RecordableEnv, times_s: dict[str, float], max_steps: int | None
    ) -> None:
        super().__init__(env, max_steps)
        self._times_s = times_s

    def step(self, action: np.ndarray) -> Turn:
        with spent(self._times_s, "physics"):
            return super().step(action)
