"""Policies in slots: one object for each slot, or one that acts in all of them at once."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np

from clevrskills.core.env import Env, Episode
from clevrskills.core.policy import GaveUp, Observation, PolicyError, PromptInput
from clevrskills.core.policy_loader import LoadedPolicy


class Interrupted(Exception):  # noqa: N818 (it is not to blame)
    """End of an episode in which the policy broke down while it acted in several at once."""


class Start(Protocol):
    """Beginning of an episode in a slot."""

    prompt: PromptInput
    env: Env
    episode: Episode


class PolicyRunner(Protocol):
    """Runner of a policy in several episodes at once, each in a slot, which survives errors.

    Attributes:
        proven: Whether the policy has come to the end of an episode since it was made.
    """

    proven: bool

    def reset(self, starts: Mapping[int, Start]) -> None:
        """Begin episodes in these slots; :meth:`act` returns what goes wrong."""

    def act(self, observations: Mapping[int, Observation]) -> dict[int, np.ndarray | Exception]:
        """Return the action or actions of each slot, or what was raised, or :class:`Interrupted`.

        A policy that raised, other than to give up, is made anew when it is needed next.
        """


def make_runner(make: Callable[[], LoadedPolicy], slots: int) -> tuple[PolicyRunner, LoadedPolicy]:
    """Return a policy in slots, and the policy itself.

    Args:
        make: Makes the policy.
        slots: Number of slots.

    Raises:
        ClevrSkillsError: It cannot be made.
    """
    policy = make()
    if policy.info.concurrency == "batched":
        return Batched(make, policy), policy
    others = {slot: make() for slot in range(1, slots)}
    return PerEpisodePolicies(make, {0: policy, **others}), policy


class PerEpisodePolicies:
    """Runner with an object for each slot.

    Args:
        make: Makes new ones.
        policies: What there is, by slot.
    """

    def __init__(self, make: Callable[[], LoadedPolicy], policies: dict[int, LoadedPolicy]) -> None:
        self._make, self._policies = make, policies
        self._failed: dict[int, Exception] = {}
        self.proven = False

    def reset(self, starts: Mapping[int, Start]) -> None:
        for slot, start in starts.items():
            self._failed.pop(slot, None)
            try:
                if slot not in self._policies:
                    self._policies[slot] = self._make()
                self._policies[slot].reset(start.prompt, start.env, start.episode)
            except Exception as error:
                self._fail(slot, error)

    def act(self, observations: Mapping[int, Observation]) -> dict[int, np.ndarray | Exception]:
        slots = [slot for slot in observations if slot not in self._failed]

        def ask(slot: int) -> tuple[Any, Exception | None]:
            try:
                return self._policies[slot].act(observations[slot]), None
            except Exception as error:
                return None, error

        # what waits for a server does so for all at once
        waits = all(self._policies[slot].info.concurrency == "threads" for slot in slots)
        if waits and len(slots) > 1:
            with ThreadPoolExecutor(len(slots)) as threads:
                asked = [*threads.map(ask, slots)]
        else:
            asked = [*map(ask, slots)]
        answers: dict[int, np.ndarray | Exception] = {}
        for slot, (answer, error) in zip(slots, asked, strict=True):
            if error is None:
                answers[slot] = answer
            else:
                self._fail(slot, error)
        return {**answers, **{slot: self._failed.pop(slot) for slot in [*self._failed]}}

    def _fail(self, slot: int, error: Exception) -> None:
        self._failed[slot] = error
        if not isinstance(error, GaveUp):
            self._policies.pop(slot, None)
            self.proven = False


class Batched:
    """Runner with one object for all slots.

    Args:
        make: Makes a new one.
        policy: The object.
    """

    def __init__(self, make: Callable[[], LoadedPolicy], policy: LoadedPolicy) -> None:
        self._make, self._policy = make, policy.policy
        self._failed: Exception | None = None
        self.proven = False

    def reset(self, starts: Mapping[int, Start]) -> None:
        try:
            if self._policy is None:
                self._policy = self._make().policy
            self._policy.reset({slot: start.prompt for slot, start in starts.items()})
        except Exception as error:
            self._fail(error)

    def act(self, observations: Mapping[int, Observation]) -> dict[int, np.ndarray | Exception]:
        if self._failed is None:
            try:
                answers = self._policy.act(observations)
                if not isinstance(answers, Mapping):
                    raise PolicyError(
                        f"an answer of type {type(answers).__name__}; allowed: actions by slot"
                    )
                return {slot: _answer(answers, slot) for slot in observations}
            except Exception as error:
                self._fail(error)
        failed, self._failed = self._failed, None
        assert failed is not None
        return dict.fromkeys(observations, failed if len(observations) == 1 else Interrupted())

    def _fail(self, error: Exception) -> None:
        self._failed, self._policy, self.proven = error, None, False


def _answer(answers: Mapping[int, Any], slot: int) -> np.ndarray | Exception:
    if slot in answers:
        return answers[slot]
    return PolicyError(f"no action for slot {slot}, only for {sorted(answers)}")
