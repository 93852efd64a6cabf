"""Policies in slots: one object for each slot, or one that acts in all of them at once."""

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
    """Beginning of an episode in a slot."""

    prompt: PromptInput
    env: Env
    episode: Episode


class PolicyRunner(Protocol):
    """Runner of a policy in several episodes at once, each in a slot, which survives errors.

    Every call of the policy has a time limit.
    """

    def reset(self, starts: Mapping[int, EpisodeStart]) -> None:
        """Begin episodes in these slots; :meth:`act` returns what goes wrong."""

    def act(self, observations: Mapping[int, Observation]) -> dict[int, np.ndarray | Exception]:
        """Return the action or actions of each slot, or what was raised.

        A policy that raised, other than to give up, is made anew when it is needed next.
        """


def make_runner(
    make: Callable[[], LoadedPolicy], slots: int, limit_s: float
) -> tuple[PolicyRunner, LoadedPolicy]:
    """Return a policy in slots, and the policy itself.

    Args:
        make: Makes the policy, which may take any time.
        slots: Number of slots.
        limit_s: Seconds that each of its calls may take.

    Raises:
        ClevrSkillsError: It cannot be made.
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
    """End of a call that takes too long; policies do not catch it by mistake."""


@contextlib.contextmanager
def _within(limit_s: float) -> Iterator[None]:
    """Interrupt a call of a policy that takes too long, where it runs in the main thread.

    Raises:
        PolicyError: It took too long.
    """

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
    """Runner with an object for each slot.

    Args:
        make: Makes new ones.
        policies: What there is, by slot.
        limit_s: Seconds that a call may take.
    """

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

        # what waits for a server does so for all at once
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
    """Runner with one object for all slots: where it raises, it fails in all of them.

    Args:
        make: Makes a new one.
        policy: The object.
        limit_s: Seconds that a call may take.
    """

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
    """Return what a policy raised; of one that ends its process, an error that says so."""
    if isinstance(error, Exception):
        return error
    return PolicyError("it ends its process").with_traceback(error.__traceback__)


def _answer(answers: Mapping[int, Any], slot: int) -> np.ndarray | Exception:
    if slot in answers:
        return answers[slot]
    return PolicyError(f"no action for slot {slot}, only for {sorted(answers)}")
