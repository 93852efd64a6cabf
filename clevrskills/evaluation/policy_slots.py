"""Policies in slots: one object per slot, or one batched object for all slots."""

import contextlib
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, Protocol

import numpy as np

from clevrskills.core.env import Env, Episode
from clevrskills.core.policy import GaveUp, Observation, PolicyError, PromptInput
from clevrskills.core.policy_loader import LoadedPolicy


class EpisodeStart(Protocol):
    """Start of an episode in a slot."""

    prompt: PromptInput
    env: Env
    episode: Episode


class PolicyRunner(Protocol):
    """Runner of a policy in concurrent episodes, one per slot, with a time limit per call."""

    def reset(self, starts: Mapping[int, EpisodeStart]) -> None:
        """Begin episodes in slots; :meth:`act` returns the exceptions."""

    def act(self, observations: Mapping[int, Observation]) -> dict[int, np.ndarray | Exception]:
        """Return the actions of each slot, or the exception that was raised.

        A policy that raised anything but :class:`GaveUp` is created again before its next use.
        """


def make_runner(
    make: Callable[[], LoadedPolicy], slots: int, limit_s: float
) -> tuple[PolicyRunner, LoadedPolicy]:
    """Return the runner of a policy, and the policy itself.

    Args:
        make: Factory of the policy, without a time limit.
        slots: Number of slots.
        limit_s: Time limit per call in seconds.

    Raises:
        ClevrSkillsError: The policy cannot be created.
    """
    policy = make()
    if policy.info.concurrency == "batched":
        return Batched(make, policy, limit_s), policy
    others = {slot: make() for slot in range(1, slots)}
    return PerEpisodePolicies(make, {0: policy, **others}, limit_s), policy


def no_action(limit_s: float) -> PolicyError:
    """Return the error of a policy that did not act in time."""
    return PolicyError(f"no action within {limit_s:g} s")


class _Overdue(BaseException):
    """Timeout of a call; a ``BaseException``, so that policies do not catch it by mistake."""


@contextlib.contextmanager
def _within(limit_s: float) -> Iterator[None]:
    """Raise :class:`PolicyError` after a timeout; the main thread is interrupted."""

    def interrupt(*_: Any) -> None:
        raise _Overdue

    began_s, before = time.monotonic(), None
    try:
        with contextlib.suppress(ValueError):  # not the main thread
            before = signal.signal(signal.SIGALRM, interrupt)
            signal.setitimer(signal.ITIMER_REAL, limit_s)
        try:
            yield
        finally:
            if before is not None:
                signal.setitimer(signal.ITIMER_REAL, 0)
                signal.signal(signal.SIGALRM, before)
    except _Overdue as error:
        raise no_action(limit_s) from error
    if time.monotonic() - began_s > limit_s:
        raise no_action(limit_s)


class PerEpisodePolicies:
    """Runner with one policy object per slot."""

    def __init__(
        self, make: Callable[[], LoadedPolicy], policies: dict[int, LoadedPolicy], limit_s: float
    ) -> None:
        self._make, self._policies, self._limit_s = make, policies, limit_s
        self._failed: dict[int, Exception] = {}

    def reset(self, starts: Mapping[int, EpisodeStart]) -> None:
        for slot, start in starts.items():
            self._failed.pop(slot, None)
            try:
                if slot not in self._policies:
                    self._policies[slot] = self._make()
                with _within(self._limit_s):
                    self._policies[slot].reset(start.prompt, start.env, start.episode)
            except (Exception, SystemExit) as error:
                self._fail(slot, error)

    def act(self, observations: Mapping[int, Observation]) -> dict[int, np.ndarray | Exception]:
        slots = [slot for slot in observations if slot not in self._failed]

        def ask(slot: int) -> tuple[Any, BaseException | None]:
            try:
                with _within(self._limit_s):
                    return self._policies[slot].act(observations[slot]), None
            except (Exception, SystemExit) as error:
                return None, error

        # requests to a server run concurrently
        waits = all(self._policies[slot].info.concurrency == "threads" for slot in slots)
        if waits and len(slots) > 1:
            threads = ThreadPoolExecutor(len(slots))
            asked = [threads.submit(ask, slot) for slot in slots]
            wait(asked, self._limit_s)
            threads.shutdown(wait=False)
            late: tuple[Any, BaseException | None] = None, no_action(self._limit_s)
            found = [one.result() if one.done() else late for one in asked]
        else:
            found = [*map(ask, slots)]
        answers: dict[int, np.ndarray | Exception] = {}
        for slot, (answer, error) in zip(slots, found, strict=True):
            if error is None:
                answers[slot] = answer
            else:
                self._fail(slot, error)
        return {**answers, **{slot: self._failed.pop(slot) for slot in [*self._failed]}}

    def _fail(self, slot: int, error: BaseException) -> None:
        self._failed[slot] = _exception(error)
        if not isinstance(error, GaveUp):
            self._policies.pop(slot, None)


class Batched:
    """Runner with one batched policy for all slots; an exception fails all of them."""

    def __init__(
        self, make: Callable[[], LoadedPolicy], policy: LoadedPolicy, limit_s: float
    ) -> None:
        self._make, self._policy, self._limit_s = make, policy.policy, limit_s
        self._failed: Exception | None = None

    def reset(self, starts: Mapping[int, EpisodeStart]) -> None:
        try:
            if self._policy is None:
                self._policy = self._make().policy
            with _within(self._limit_s):
                self._policy.reset({slot: start.prompt for slot, start in starts.items()})
        except (Exception, SystemExit) as error:
            self._fail(error)

    def act(self, observations: Mapping[int, Observation]) -> dict[int, np.ndarray | Exception]:
        if self._failed is None:
            try:
                with _within(self._limit_s):
                    answers = self._policy.act(observations)
                if not isinstance(answers, Mapping):
                    raise PolicyError(
                        f"an answer of type {type(answers).__name__}; allowed: actions by slot"
                    )
                return {slot: _answer(answers, slot) for slot in observations}
            except (Exception, SystemExit) as error:
                self._fail(error)
        failed, self._failed = self._failed, None
        assert failed is not None
        return dict.fromkeys(observations, failed)

    def _fail(self, error: BaseException) -> None:
        self._failed, self._policy = _exception(error), None


def _exception(error: BaseException) -> Exception:
    """Return the exception, or an error for a policy that exits the process."""
    if isinstance(error, Exception):
        return error
    return PolicyError("it exits the process").with_traceback(error.__traceback__)


def _answer(answers: Mapping[int, Any], slot: int) -> np.ndarray | Exception:
    if slot in answers:
        return answers[slot]
    return PolicyError(f"no action for slot {slot}, only for {sorted(answers)}")
