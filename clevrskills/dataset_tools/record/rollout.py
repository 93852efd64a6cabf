"""One episode of the oracle in an environment."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clevrskills.core.suite import Environment, Oracle
from clevrskills.dataset_tools.record.camera_tracks import spent
from clevrskills.dataset_tools.record.recorder import Labels, Recorder, Step
from clevrskills.errors import ClevrSkillsError

STEP_LIMIT = "step limit"


@dataclass(frozen=True)
class EpisodeResult:
    """How an episode went.

    Attributes:
        seed: Seed of the episode.
        success: Whether the goal held after the last step.
        steps: Control steps made.
        total_reward: Sum of the rewards.
        reason: Why it failed; empty on success.
        kind: What kind of failure that is, see :mod:`clevrskills.dataset_tools.manifest`.
        cpu_s: CPU time of this process, all threads.
        wall_s: Time that passed.
        times_s: CPU time by phase: ``reset``, ``plan`` (the oracle), ``physics`` (control steps,
            goal and reward) and, if it was recorded, ``render`` (pictures and their annotations),
            ``encode`` (videos and single pictures), ``write`` (all else). The recorder goes on
            adding to it while it commits.
    """

    seed: int
    success: bool
    steps: int
    total_reward: float
    reason: str
    cpu_s: float
    wall_s: float
    kind: str = ""
    times_s: Mapping[str, float] = field(default_factory=dict)


def rollout(
    env: Environment,
    oracle: Oracle,
    recorder: Recorder | None = None,
    seed: int = 0,
    max_steps: int | None = None,
) -> EpisodeResult:
    """Run the oracle from a fresh episode until success, failure or the step limit.

    Args:
        env: The environment, unwrapped (``gym.make(...).unwrapped``).
        oracle: The oracle that acts in ``env``.
        recorder: Records the episode; committing it is left to the caller.
        seed: Seed of the episode.
        max_steps: Limit of control steps; ``None``: the task's own.

    Returns:
        How it went. An oracle that gives up is a failure with its reason, not an exception.
    """
    cpu_s, wall_s = time.process_time(), time.perf_counter()
    times_s = {} if recorder is None else recorder.times_s
    steps, total_reward, success, reason, kind = 0, 0.0, False, STEP_LIMIT, STEP_LIMIT
    with spent(times_s, "reset"):
        env.reset(seed=seed)
        oracle.reset()
    if recorder is not None:
        recorder.start(env)
    limit = env.task.max_steps if max_steps is None else max_steps
    while steps < limit:
        try:
            with spent(times_s, "plan"):
                action = oracle.act()
        except ClevrSkillsError as error:  # a skill gave up
            reason, kind = str(error), getattr(error, "kind", "skill")
            break
        labels = Labels(
            oracle.subtask,
            oracle.step,
            int(oracle.subgoal),
            oracle.predicate,
            oracle.skill,
            oracle.action_class,
            oracle.attempt,
        )
        with spent(times_s, "physics"):
            step = make_step(env, action)
        steps, total_reward = steps + 1, total_reward + step.reward
        if recorder is not None:
            recorder.record(env, action, labels, step)
        if step.success:
            success, reason, kind = True, "", ""
            break
    if recorder is not None:
        recorder.give_up(oracle.failed)
    return EpisodeResult(
        seed=seed,
        success=success,
        steps=steps,
        total_reward=total_reward,
        reason=reason,
        cpu_s=time.process_time() - cpu_s,
        wall_s=time.perf_counter() - wall_s,
        kind=kind,
        times_s=times_s,
    )


def make_step(env: Environment, action: np.ndarray) -> Step:
    """Step a batch-of-one environment and return plain numbers."""
    _, reward, terminated, truncated, info = env.step(action)
    return Step(
        reward=_scalar(reward, float),
        success=_scalar(info["success"], bool),
        progress=_scalar(info["progress"], float),
        terminated=_scalar(terminated, bool),
        truncated=_scalar(truncated, bool),
    )


def _scalar(value: Any, kind: type) -> Any:
    """The one element of a number, array or tensor."""
    return kind(value.item() if hasattr(value, "item") else value)
