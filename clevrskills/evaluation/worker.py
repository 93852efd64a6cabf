"""Evaluation worker: runs groups of episodes of a policy, several concurrently."""

from __future__ import annotations

import contextlib
import time
import traceback
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from clevrskills.core.episode import HELD
from clevrskills.core.policy import ConnectionLost, GaveUp, ObservationOptions, PolicyError
from clevrskills.core.suite import NO_ROBOT
from clevrskills.errors import ClevrSkillsError, one_line
from clevrskills.evaluation.dialogue.transcripts import write_transcript
from clevrskills.evaluation.env_pool import EnvPool, EpisodeRef, WorkerConfig, episode_of
from clevrskills.evaluation.policy_slots import make_runner
from clevrskills.evaluation.results import ERROR, NO_TRACK, POLICY_ERROR, EpisodeResult
from clevrskills.evaluation.rollout import PolicyRollout
from clevrskills.jobs.files import PARTIAL_PREFIX, StorageError
from clevrskills.jobs.process_setup import (
    Watchdog,
    now,
    return_freed_memory,
    trim_heap,
    worker_name,
)
from clevrskills.sim.render.vulkan import renderer

STUCK_S = 600.0
"""Seconds beyond the time limit of an action after which an idle worker is stopped."""
POLICY, ENVIRONMENT = "policy", "environment"
"""Operation that a worker waits for, as recorded by its watchdog."""


@dataclass(frozen=True)
class Group:
    """Episodes of one task and split for one worker."""

    episodes: tuple[EpisodeRef, ...]


@dataclass(frozen=True)
class Describe:
    """Request for the properties of the policy."""


@dataclass(frozen=True)
class PolicyDescription:
    """Properties of the policy."""

    observation: ObservationOptions  # observation options in use
    renderer: str  # renderer and digest of its shaders; empty: no images
    track: str  # declared training data; empty: undeclared
    task: str = ""  # the only task that it was trained on; empty: undeclared
    isolated: bool = False  # whether it runs in a separate process
    privileged: bool = False  # whether it has access to the environment or episode ids
    asked: ObservationOptions | None = None  # requested observation options, if any
    trained_tasks: tuple[str, ...] = ()  # tasks that it was trained on; empty: undeclared


@dataclass(frozen=True)
class Ended:
    """Result of a group of episodes."""

    results: tuple[EpisodeResult, ...]
    lost: tuple[EpisodeRef, ...] = ()  # may be restarted after a lost connection to the policy
    traces: Mapping[str, str] = field(default_factory=dict)  # tracebacks by episode


def make_evaluator(config: WorkerConfig) -> Evaluator:
    """Return the evaluator of a worker process with low memory use."""
    return_freed_memory()
    HELD.update(config.held)
    return Evaluator(config)


class Evaluator:
    """Evaluator of groups of episodes.

    Args:
        config: Configuration of the worker.

    Raises:
        ClevrSkillsError: The policy cannot be created.
    """

    def __init__(self, config: WorkerConfig) -> None:
        self._config = config
        make = partial(config.policy.make, config.suite, config.run.interface)
        self._runner, policy = make_runner(make, config.batch, config.run.action_limit_s)
        self._options, self._info, infos = policy.options, policy.info, [policy.info]
        self._isolated, self._draws = policy.isolated, policy.options.draws
        self._envs = EnvPool(config, self._options, on_demand=policy.info.images_on_demand)
        if (controllers := self._envs.controllers) is not None:
            infos.append(controllers.info)
            self._draws |= controllers.options.draws
            self._isolated &= controllers.isolated
        self._track = joined(*(info.track for info in infos))
        self._privileged = any(info.privileged for info in infos)
        self._trained_tasks = tuple(
            task for info in infos for task in info.trained_tasks or (info.only_task,) if task
        )

    def __call__(self, job: Describe | Group) -> PolicyDescription | Ended:
        """Run a job.

        Raises:
            ClevrSkillsError: The run cannot continue: no environment, or a full disk.
        """
        if isinstance(job, Group):
            return self._evaluate(job)
        draws = self._draws and self._config.run.robot != NO_ROBOT
        drawn_by = renderer(self._options.look) if draws else ""
        task, asked = self._info.only_task, self._info.observation
        marks = self._isolated, self._privileged, asked, self._trained_tasks
        return PolicyDescription(self._options, drawn_by, self._track, task, *marks)

    def _evaluate(self, group: Group) -> Ended:
        self._live: dict[int, tuple[EpisodeRef, PolicyRollout]] = {}
        self._results: list[EpisodeResult] = []
        self._lost: list[EpisodeRef] = []
        self._traces: dict[str, str] = {}
        self._again: dict[int, PolicyRollout] = {}
        waiting, limit_s = deque(group.episodes), self._config.run.action_limit_s + STUCK_S
        self._watchdog = Watchdog(watchdog_path(self._config, group), limit_s)
        try:
            self._watchdog.note(ENVIRONMENT)
            while waiting or self._live:
                starts, self._again = self._again, {}
                for slot in range(self._config.batch):
                    if waiting and slot not in self._live:
                        self._start(slot, waiting.popleft(), starts)
                for slot, answer in self._ask(starts).items():
                    self._go_on(slot, answer)
        finally:
            self._watchdog.close()
        return Ended(tuple(self._results), tuple(self._lost), self._traces)

    def _start(self, slot: int, ref: EpisodeRef, starts: dict[int, PolicyRollout]) -> None:
        try:
            rollout = self._envs.start(slot, ref)
        except ClevrSkillsError:
            raise
        except Exception as error:
            return self._end(ref, self._broken(ref, error))
        self._live[slot] = ref, rollout
        starts[slot] = rollout
        return None

    def _ask(self, starts: dict[int, PolicyRollout]) -> dict[int, np.ndarray | Exception]:
        """Reset the policy for new episodes and return its answers in all slots."""
        if not self._live:
            return {}
        began_s = time.perf_counter()
        self._watchdog.note(POLICY)
        if starts:
            self._runner.reset(starts)
        rollouts = {slot: rollout for slot, (_, rollout) in self._live.items()}
        answers = self._runner.act({slot: r.observation for slot, r in rollouts.items()})
        self._watchdog.note(ENVIRONMENT)
        for rollout in rollouts.values():
            rollout.waited(time.perf_counter() - began_s)
        return answers

    def _go_on(self, slot: int, answer: np.ndarray | Exception) -> None:
        """Execute the answer of the policy, or record its failure."""
        ref, rollout = self._live[slot]
        try:
            if isinstance(answer, Exception):
                result = self._failed(ref, rollout, answer)
            else:
                rollout.go_on(answer)
                if not rollout.ended:
                    if rollout.reprompted:
                        rollout.reprompted, self._again[slot] = False, rollout
                    return
                result = rollout.result()
        except PolicyError as error:
            result = self._failed(ref, rollout, error)
        except StorageError:
            raise
        except Exception as error:
            self._envs.abandon(slot)
            result = replace(self._broken(ref, error), usage=rollout.usage)
        del self._live[slot]
        write_transcript(self._config.root, ref, rollout)
        self._end(ref, result)
        if rollout.video is not None:
            rollout.video.keep() if result.counts else rollout.video.discard()

    def _failed(self, ref: EpisodeRef, rollout: PolicyRollout, error: Exception) -> EpisodeResult:
        """Return the result of an episode after an exception of the policy."""
        if isinstance(error, GaveUp):
            return rollout.result("gave up", reason=one_line(error))
        if isinstance(error, ConnectionLost):
            self._lost.append(ref)
            return rollout.result(ERROR, error=one_line(error))
        if not isinstance(error, PolicyError) or error.__cause__:
            self._trace(ref, error)
        return rollout.result(POLICY_ERROR, error=one_line(error))

    def _end(self, ref: EpisodeRef, result: EpisodeResult) -> None:
        self._results.append(replace(result, starts=ref.starts))
        trim_heap()

    def _broken(self, ref: EpisodeRef, error: Exception) -> EpisodeResult:
        self._trace(ref, error)
        return failed(self._config, ref, f"the environment failed: {one_line(error)}")

    def _trace(self, ref: EpisodeRef, error: Exception) -> None:
        self._traces[ref.id] = "".join(traceback.format_exception(error))


def watchdog_path(config: WorkerConfig, group: Group) -> Path:
    """Return the watchdog file of a group; it is removed when the group is done."""
    name = group.episodes[0].id.replace("-", "_")
    return config.root / f"{PARTIAL_PREFIX}{config.writer}-{name}"


def joined(*tracks: str) -> str:
    """Return the joint track of policies; empty: one is undeclared."""
    known = dict.fromkeys(track for track in tracks if track != NO_TRACK)
    return (" and ".join(known) or NO_TRACK) if all(tracks) else ""


def failed(config: WorkerConfig, ref: EpisodeRef, error: str, cause: str = ERROR) -> EpisodeResult:
    """Return the result of an episode that failed without a rollout."""
    known: dict[str, Any] = {"episode": "", "seed": ref.seed or 0}
    with contextlib.suppress(Exception):  # the episode itself may be the cause
        episode = episode_of(config, ref)
        known = {"episode": episode.content_hash, "seed": episode.seed, "twin": episode.twin}
        known |= {"tags": dict(episode.tags), "axes": dict(episode.axes)}
    return EpisodeResult(
        task=ref.task,
        level=config.suite.tasks[ref.task].level,
        split=ref.split,
        index=ref.index,
        cause=cause,
        error=error,
        starts=ref.starts,
        worker=worker_name(),
        ended=now(),
        suite=config.suite.name,
        interface=config.run.interface,
        repeat=ref.repeat,
        drawn=ref.seed is not None,
        handover={"part": ref.part} if ref.part else {},
        **known,
    )
