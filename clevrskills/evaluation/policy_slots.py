"""Policies in slots: one object for each slot, or one that acts in all of them at once."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np

from clevrskills.core.policy import GaveUp, Observation, PolicyError, PromptInput
from clevrskills.core.policy_loader import is_batched, is_privileged
from clevrskills.core.suite import Environment, Episode


class Interrupted(Exception):  # noqa: N818 (it is not to blame)
    """An episode that cannot go on as the policy broke down while it acted in several at once."""


class Start(Protocol):
    """What a policy begins with in a slot."""

    prompt: PromptInput
    env: Environment
    episode: Episode


class PolicyRunner(Protocol):
    """Acts in several episodes at once, each in a slot, and holds what may break down.

    Attributes:
        proven: Whether the policy has come to the end of an episode since it was made.
    """

    proven: bool

    def reset(self, starts: Mapping[int, Start]) -> None:
        """It begins in these slots; :meth:`act` tells what goes wrong."""

    def act(self, observations: Mapping[int, Observation]) -> dict[int, np.ndarray | Exception]:
        """What to do in each slot, or why nothing: what was raised, or :class:`Interrupted`.

        A policy that raised, other than to give up, is made anew when it is needed next.
        """


def make_runner(make: Callable[[], Any], slots: int) -> tuple[PolicyRunner, Any]:
    """A policy in slots, and the policy itself.

    Args:
        make: Makes the policy.
        slots: Number of slots.

    Raises:
        ClevrSkillsError: It cannot be made.
    """
    policy = make()
    if is_batched(policy):
        return Batched(make, policy), policy
    others = {slot: make() for slot in range(1, slots)}
    return PerEpisodePolicies(make, {0: policy, **others}), policy


class PerEpisodePolicies:
    """An object for each slot.

    Args:
        make: Makes new ones.
        policies: What there is, by slot.
    """

    def __init__(self, make: Callable[[], Any], policies: dict[int, Any]) -> None:
        self._make, self._policies = make, policies
        self._failed: dict[int, Exception] = {}
        self.proven = False

    def reset(self, starts: Mapping[int, Start]) -> None:
        for slot, start in starts.items():
            self._failed.pop(slot, None)
            try:
                if slot not in self._policies:
                    self._policies[slot] = self._make()
                policy = self._policies[slot]
                if is_privileged(policy):
                    policy.reset(start.prompt, env=start.env, episode=start.episode)
                else:
                    policy.reset(start.prompt)
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
        together = all(getattr(self._policies[slot], "concurrent", False) for slot in slots)
        if together and len(slots) > 1:
            with ThreadPoolExecutor(len(slots)) as threads:
                told = [*threads.map(ask, slots)]
        else:
            told = [*map(ask, slots)]
        answers: dict[int, np.ndarray | Exception] = {}
        for slot, (answer, error) in zip(slots, told, strict=True):
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
    """One object for all slots.

    Args:
        make: Makes a new one.
        policy: The object.
    """

    def __init__(self, make: Callable[[], Any], policy: Any) -> None:
        self._make, self._policy = make, policy
        self._failed: Exception | None = None
        self.proven = False

    def reset(self, starts: Mapping[int, Start]) -> None:
        try:
            if self._policy is None:
                self._policy = self._make()
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
