"""Evaluation worker: runs groups of episodes of a policy, several at the same time."""

from __future__ import annotations

import contextlib
import time
import traceback
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np

from clevrskills.core.env import Episode
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
"""Seconds beyond the limit of an action after which a worker that does nothing is ended."""
POLICY, ENVIRONMENT = "policy", "environment"
"""Operation that a worker waits for, as its watchdog notes it."""


@dataclass(frozen=True)
class Group:
    """Episodes of one task and split that one worker evaluates, some of them at the same time."""

    episodes: tuple[EpisodeRef, ...]


@dataclass(frozen=True)
class Describe:
    """Request for the properties of the policy."""


@dataclass(frozen=True)
class PolicyDescription:
    """Properties of the policy."""

    observation: ObservationOptions  # what it is shown
    renderer: str  # what draws its images, with the digest of its shaders; empty: it is shown none
    track: str  # what it has learned from, as it says itself; empty: it says nothing
    task: str = ""  # the one that it was learned for; empty: it does not say
    isolated: bool = False  # whether it runs in a process of its own
    privileged: bool = False  # whether it is given the environment or the identity of episodes
    asked: ObservationOptions | None = None  # what it asks to be shown; ``None``: it does not say


@dataclass(frozen=True)
class Ended:
    """Result of a group of episodes."""

    results: tuple[EpisodeResult, ...]  # their results
    # those among them that may be started again, as the connection to the policy was lost
    lost: tuple[EpisodeRef, ...] = ()
    # tracebacks of what broke down, by name of the episode
    traces: Mapping[str, str] = field(default_factory=dict)


def make_evaluator(config: WorkerConfig) -> Evaluator:
    """Return an evaluator in a process of its own, whose memory is kept small."""
    return_freed_memory()
    return Evaluator(config)


class Evaluator:
    """Evaluator of groups of episodes, one group after the other.

    Args:
        config: What all workers have in common.

    Raises:
        ClevrSkillsError: The policy cannot be made.
    """

    def __init__(self, config: WorkerConfig) -> None:
        self._config = config
        make = partial(config.policy.make, config.suite, config.run.interface)
        self._runner, policy = make_runner(make, config.batch, config.run.action_limit_s)
        self._options, self._info = policy.options, policy.info
        self._track, self._privileged = policy.info.track, policy.info.privileged
        self._isolated = policy.isolated
        self._envs = EnvPool(config, self._options)
        self._draws = self._options.draws
        if (controllers := self._envs.controllers) is not None:
            self._track = joined(self._track, controllers.track)
            self._draws |= controllers.options.draws
            self._privileged |= controllers.privileged
            self._isolated &= controllers.isolated

    def __call__(self, job: Describe | Group) -> PolicyDescription | Ended:
        """Do a job.

        Raises:
            ClevrSkillsError: It makes no sense to go on: no environment, or a full disk.
        """
        if isinstance(job, Group):
            return self._evaluate(job)
        draws = self._draws and self._config.run.robot != NO_ROBOT
        drawn_by = renderer(self._options.look) if draws else ""
        task, asked = self._info.only_task, self._info.observation
        marks = self._isolated, self._privileged, asked
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
        """Tell the policy which episodes begin, and ask it what to do in all of them."""
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
        """Do what the policy says, or take note of why it says nothing."""
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
        """Return the result of an episode in which the policy gave no action."""
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
        return failed(self._config, ref, f"the environment broke down: {one_line(error)}")

    def _trace(self, ref: EpisodeRef, error: Exception) -> None:
        self._traces[ref.id] = "".join(traceback.format_exception(error))


def watchdog_path(config: WorkerConfig, group: Group) -> Path:
    """Return the file of the watchdog of a group, which is gone when the group is done."""
    name = group.episodes[0].id.replace("-", "_")
    return config.root / f"{PARTIAL_PREFIX}{config.writer}-{name}"


def joined(planner: str, controller: str) -> str:
    """Return the joint training data of two policies; empty: one does not declare its own."""
    if not planner or not controller:
        return ""
    tracks = [track for track in (planner, controller) if track != NO_TRACK]
    return " and ".join(dict.fromkeys(tracks)) or NO_TRACK


def failed(config: WorkerConfig, ref: EpisodeRef, error: str, cause: str = ERROR) -> EpisodeResult:
    """Return the result of an episode of which nothing is known but that something broke down."""
    episode: Episode | None = None
    with contextlib.suppress(Exception):  # it may be the episode that can't be made
        episode = episode_of(config, ref)
    return EpisodeResult(
        task=ref.task,
        level=config.suite.tasks[ref.task].level,
        split=ref.split,
        index=ref.index,
        episode=episode.content_hash if episode else "",
        seed=episode.seed if episode else ref.seed or 0,
        cause=cause,
        error=error,
        starts=ref.starts,
        worker=worker_name(),
        ended=now(),
        suite=config.suite.name,
        interface=config.run.interface,
        repeat=ref.repeat,
        drawn=ref.seed is not None,
        tags=dict(episode.tags) if episode else {},
        axes=dict(episode.axes) if episode else {},
        twin=episode.twin if episode else "",
        handover={"part": ref.part} if ref.part else {},
    )
