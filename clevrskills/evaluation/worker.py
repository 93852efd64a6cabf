"""Evaluation worker: runs groups of episodes of a policy, several at the same time."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from clevrskills.core.policy import GaveUp, ObservationOptions, PolicyError
from clevrskills.core.suite import NO_ROBOT
from clevrskills.errors import ClevrSkillsError, one_line
from clevrskills.evaluation.dialogue.transcripts import write_transcript
from clevrskills.evaluation.env_pool import EnvPool, EpisodeRef, WorkerConfig
from clevrskills.evaluation.policy_slots import Interrupted, make_runner
from clevrskills.evaluation.results import NO_TRACK, EpisodeResult
from clevrskills.evaluation.rollout import PolicyRollout
from clevrskills.jobs.files import StorageError
from clevrskills.jobs.process_setup import now, return_freed_memory, trim_heap, worker_name
from clevrskills.sim.render.vulkan import renderer

HOPELESS = 3
"""Episodes in a row that end in errors, with a policy that has not come to the end of any, until it
makes no sense to go on."""


@dataclass(frozen=True)
class Group:
    """Episodes of one task and split that one worker evaluates, some of them at the same time."""

    episodes: tuple[EpisodeRef, ...]


@dataclass(frozen=True)
class Describe:
    """Tell what the policy is like."""


@dataclass(frozen=True)
class Description:
    """What the policy is like."""

    observation: ObservationOptions  # what it is shown
    renderer: str  # what draws its images, with the digest of its shaders; empty: it is shown none
    track: str  # what it has learned from, as it says itself; empty: it says nothing
    task: str = ""  # the one that it was learned for; empty: it does not say
    isolated: bool = False  # whether it runs in a process of its own
    privileged: bool = False  # whether it is given the environment or the identity of episodes


@dataclass(frozen=True)
class Ended:
    """How the episodes of a group ended.

    Attributes:
        results: Those that came to an end, well or not.
        unfinished: Those that did not, since a policy that acts in several episodes at once broke
            down: one of them may be to blame, so they are to be done again one by one.
        hopeless: Why it makes no sense to go on; empty: it does.
    """

    results: tuple[EpisodeResult, ...]
    unfinished: tuple[EpisodeRef, ...] = ()
    hopeless: str = ""


def make_evaluator(config: WorkerConfig) -> Evaluator:
    """An evaluator in a process of its own, whose memory is kept small."""
    return_freed_memory()
    return Evaluator(config)


class Evaluator:
    """Evaluates groups of episodes, one group after the other.

    Args:
        config: What all workers have in common.

    Raises:
        ClevrSkillsError: The policy cannot be made.
    """

    def __init__(self, config: WorkerConfig) -> None:
        self._config = config
        make = partial(config.policy.make, config.suite, config.run.interface)
        self._runner, policy = make_runner(make, config.batch)
        self._options, self._info = policy.options, policy.info
        self._track, self._privileged = policy.info.track, policy.info.privileged
        self._isolated = policy.isolated
        self._envs = EnvPool(config, self._options)
        self._draws = bool(self._options.cameras)
        if (controllers := self._envs.controllers) is not None:
            self._track = joined(self._track, controllers.track)
            self._draws |= bool(controllers.options.cameras)
            self._privileged |= controllers.privileged
            self._isolated &= controllers.isolated
        self._errors = 0

    def __call__(self, job: Describe | Group) -> Description | Ended:
        """Do a job.

        Raises:
            ClevrSkillsError: It makes no sense to go on: no environment, or a full disk.
        """
        if isinstance(job, Group):
            return self._evaluate(job)
        draws = self._draws and self._config.run.robot != NO_ROBOT
        drawn_by = renderer(self._options.look) if draws else ""
        task, marks = self._info.only_task, (self._isolated, self._privileged)
        return Description(self._options, drawn_by, self._track, task, *marks)

    def _evaluate(self, group: Group) -> Ended:
        self._live: dict[int, tuple[EpisodeRef, PolicyRollout]] = {}
        self._results: list[EpisodeResult] = []
        self._interrupted: list[EpisodeRef] = []
        self._again: dict[int, PolicyRollout] = {}
        hopeless, waiting = "", deque(group.episodes)
        while (waiting or self._live) and not hopeless:
            starts, self._again = self._again, {}
            for slot in range(self._config.batch):
                if waiting and slot not in self._live:
                    self._start(slot, waiting.popleft(), starts)
            for slot, answer in self._ask(starts).items():
                self._go_on(slot, answer)
            if self._errors >= HOPELESS:
                last = self._results[-1]
                hopeless = (
                    f"{self._errors} episodes in a row ended in errors, the last one: "
                    f"policy {self._config.policy.name}, episode {last.id}: {last.error}"
                )
        return Ended(tuple(self._results), tuple(self._interrupted), hopeless)

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
        if starts:
            self._runner.reset(starts)
        rollouts = {slot: rollout for slot, (_, rollout) in self._live.items()}
        answers = self._runner.act({slot: r.observation for slot, r in rollouts.items()})
        for rollout in rollouts.values():
            rollout.waited(time.perf_counter() - began_s)
        return answers

    def _go_on(self, slot: int, answer: np.ndarray | Exception) -> None:
        """Do what the policy says, or take note of why it says nothing."""
        ref, rollout = self._live[slot]
        result: EpisodeResult | None = None
        try:
            if isinstance(answer, Exception):
                raise PolicyError(one_line(answer)) from answer
            rollout.go_on(answer)
            if not rollout.ended:
                if rollout.reprompted:
                    rollout.reprompted, self._again[slot] = False, rollout
                return
            result = rollout.result()
        except PolicyError as error:
            if isinstance(answer, GaveUp):
                result = rollout.result("gave up", reason=str(error))
            elif not isinstance(answer, Interrupted):
                result = rollout.result("error", error=str(error))
        except StorageError:
            raise
        except Exception as error:
            self._envs.abandon(slot)
            result = replace(self._broken(ref, error), usage=rollout.usage)
        del self._live[slot]
        if result is None:
            self._interrupted.append(ref)
        else:
            write_transcript(self._config.root, ref, rollout)
            self._end(ref, result)
        if rollout.video is not None:
            keep = result is not None and result.counts
            rollout.video.keep() if keep else rollout.video.discard()

    def _end(self, ref: EpisodeRef, result: EpisodeResult) -> None:
        self._results.append(replace(result, starts=ref.starts + 1))
        if result.counts:
            self._runner.proven, self._errors = True, 0
        elif not self._runner.proven:
            self._errors += 1
        trim_heap()

    def _broken(self, ref: EpisodeRef, error: Exception) -> EpisodeResult:
        suite, told = self._config.suite, f"the environment broke down: {one_line(error)}"
        return failed(ref, suite.tasks[ref.task].level, told)


def joined(planner: str, controller: str) -> str:
    """What two policies have learned from that act together; empty: one of them does not say."""
    if not planner or not controller:
        return ""
    tracks = [track for track in (planner, controller) if track != NO_TRACK]
    return " and ".join(dict.fromkeys(tracks)) or NO_TRACK


def failed(ref: EpisodeRef, level: str, error: str) -> EpisodeResult:
    """The result of an episode of which nothing is known but that something broke down."""
    return EpisodeResult(
        task=ref.task,
        level=level,
        split=ref.split,
        index=ref.index,
        episode="",
        seed=ref.seed or 0,
        cause="error",
        error=error,
        starts=ref.starts + 1,
        worker=worker_name(),
        ended=now(),
        repeat=ref.repeat,
        handover={"part": ref.part} if ref.part else {},
    )
