"""What a worker of an evaluation does: episodes of a policy, several at the same time."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import replace
from functools import partial

import numpy as np

from clevrskills.core.policy import GaveUp, PolicyError
from clevrskills.dataset_tools.generate.worker import now, worker_name
from clevrskills.errors import ClevrSkillsError, one_line
from clevrskills.evaluation.env_pool import Venue, Workplace
from clevrskills.evaluation.messages import Case, Describe, Description, Ended, Group
from clevrskills.evaluation.policy_slots import Lost, Start, acting
from clevrskills.evaluation.results import EpisodeResult
from clevrskills.evaluation.rollout import PolicyRollout
from clevrskills.jobs.files import StorageError
from clevrskills.jobs.memory import return_freed_memory, return_holes

HOPELESS = 3
"""Episodes in a row that end in errors, with a policy that has not come to the end of any, until it
makes no sense to go on."""


def make_evaluator(place: Workplace) -> Evaluator:
    """An evaluator in a process of its own, whose memory is kept small."""
    return_freed_memory()
    return Evaluator(place)


class Evaluator:
    """Evaluates groups of episodes, one group after the other.

    Args:
        place: What all workers have in common.

    Raises:
        ClevrSkillsError: The policy cannot be made.
    """

    def __init__(self, place: Workplace) -> None:
        self._place = place
        make = partial(place.policy.make, place.suite.interface())
        self._acting, policy = acting(make, place.batch)
        self._options = place.policy.options(policy, place.suite.cameras())
        self._venue = Venue(place, self._options)
        self._errors = 0

    def __call__(self, job: Describe | Group) -> Description | Ended:
        """Do a job.

        Raises:
            ClevrSkillsError: It makes no sense to go on: no environment, or a full disk.
        """
        if isinstance(job, Group):
            return self._evaluate(job)
        renderer = self._place.suite.renderer() if self._options.cameras else ""
        return Description(self._options, renderer)

    def _evaluate(self, group: Group) -> Ended:
        self._live: dict[int, tuple[Case, PolicyRollout]] = {}
        self._results: list[EpisodeResult] = []
        self._lost: list[Case] = []
        hopeless, waiting = "", deque(group.cases)
        while (waiting or self._live) and not hopeless:
            starts: dict[int, Start] = {}
            for slot in range(self._place.batch):
                if waiting and slot not in self._live:
                    self._start(slot, waiting.popleft(), starts)
            for slot, answer in self._ask(starts).items():
                self._go_on(slot, answer)
            if self._errors >= HOPELESS:
                last = self._results[-1]
                hopeless = (
                    f"{self._errors} episodes in a row ended in errors, the last one: "
                    f"policy {self._place.policy.name}, episode {last.id}: {last.error}"
                )
        return Ended(tuple(self._results), tuple(self._lost), hopeless)

    def _start(self, slot: int, case: Case, starts: dict[int, Start]) -> None:
        try:
            rollout = self._venue.start(slot, case)
        except ClevrSkillsError:
            raise
        except Exception as error:
            return self._end(case, self._failed(case, _broken(error)))
        self._live[slot] = case, rollout
        starts[slot] = Start(rollout.prompt, rollout.env, rollout.episode)
        return None

    def _ask(self, starts: dict[int, Start]) -> dict[int, np.ndarray | Exception]:
        """Tell the policy which episodes begin, and ask it what to do in all of them."""
        if not self._live:
            return {}
        began_s = time.perf_counter()
        if starts:
            self._acting.reset(starts)
        rollouts = {slot: rollout for slot, (_, rollout) in self._live.items()}
        answers = self._acting.act({slot: r.observation for slot, r in rollouts.items()})
        for rollout in rollouts.values():
            rollout.waited(time.perf_counter() - began_s)
        return answers

    def _go_on(self, slot: int, answer: np.ndarray | Exception) -> None:
        """Do what the policy says, or take note of why it says nothing."""
        case, rollout = self._live[slot]
        result: EpisodeResult | None = None
        try:
            if isinstance(answer, Exception):
                raise PolicyError(one_line(answer)) from answer
            rollout.go_on(answer)
            if not rollout.ended:
                return
            result = rollout.result()
        except PolicyError as error:
            if isinstance(answer, GaveUp):
                result = rollout.result("gave up", reason=str(error))
            elif not isinstance(answer, Lost):
                result = rollout.result("error", error=str(error))
        except StorageError:
            raise
        except Exception as error:
            self._venue.abandon(slot)
            result = self._failed(case, _broken(error))
        del self._live[slot]
        if result is None:
            self._lost.append(case)
        else:
            self._end(case, result)
        if rollout.video is not None:
            keep = result is not None and result.counts
            rollout.video.keep() if keep else rollout.video.discard()

    def _end(self, case: Case, result: EpisodeResult) -> None:
        self._results.append(replace(result, tries=case.tries + 1))
        if result.counts:
            self._acting.proven, self._errors = True, 0
        elif not self._acting.proven:
            self._errors += 1
        return_holes()

    def _failed(self, case: Case, error: str) -> EpisodeResult:
        return failed(case, self._place.suite.levels()[case.task], error)


def failed(case: Case, level: str, error: str) -> EpisodeResult:
    """The result of an episode of which nothing is known but that something broke down."""
    return EpisodeResult(
        task=case.task,
        level=level,
        split=case.split,
        index=case.index,
        episode="",
        seed=case.seed or 0,
        cause="error",
        error=error,
        tries=case.tries + 1,
        worker=worker_name(),
        ended=now(),
    )


def _broken(error: Exception) -> str:
    return f"the environment broke down: {one_line(error)}"
