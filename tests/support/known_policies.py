"""Policies of known skill, by which to check the measures of docs/composition.md."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from clevrskills.core.goal.predicate import Leaf
from clevrskills.core.interface import Interface
from clevrskills.core.policy import GaveUp, Observation, PromptInput
from clevrskills.core.suite import Suite
from clevrskills.envs.environment import ClevrSkillsEnv
from clevrskills.evaluation.policies import OraclePolicy
from clevrskills.solvers.oracle import Oracle


class GiveUpAtRandom(OraclePolicy):
    """The oracle, but it gives up at each leaf with probability ``p``."""

    def __init__(self, suite: Suite, interface: Interface, p: float) -> None:
        super().__init__(suite, interface)
        self._p = p

    def reset(self, prompt: PromptInput, *, env: Any, episode: Any) -> None:  # type: ignore[override]
        super().reset(prompt, env=env, episode=episode)
        self._generator, self._begun = np.random.default_rng(prompt.seed), set[int]()

    def act(self, observation: Observation) -> Any:
        action = super().act(observation)
        if self._oracle.subgoal not in self._begun:
            self._begun.add(self._oracle.subgoal)
            if self._generator.random() < self._p:
                raise GaveUp(f"gives up: {self._oracle.subtask}")
        return action


class FirstSubgoalOnly(OraclePolicy):
    """The oracle for the first leaf of a goal; it gives up where a later one begins."""

    def reset(self, prompt: PromptInput, *, env: Any, episode: Any) -> None:  # type: ignore[override]
        super().reset(prompt, env=env, episode=episode)
        leaves = list(env.goal.leaves())
        first = next(step for step in env.goal.steps() if isinstance(step, Leaf))
        self._able = {-1, next(k for k, leaf in enumerate(leaves) if leaf is first)}

    def act(self, observation: Observation) -> Any:
        action = super().act(observation)
        if self._oracle.subgoal not in self._able:
            raise GaveUp(f"does the first leaf alone, not: {self._oracle.subtask}")
        return action


class RandomOrder(OraclePolicy):
    """The oracle for a prompt of one leaf; with any other prompt it does each leaf of the goal
    once, in any order.
    """

    def reset(self, prompt: PromptInput, *, env: Any, episode: Any) -> None:  # type: ignore[override]
        steps = [step for step in env.goal.steps() if isinstance(step, Leaf)]
        chosen = [step for step in steps if env.subgoal_prompt(step).text == prompt.text]
        if not chosen:
            order = np.random.default_rng(prompt.seed).permutation(len(steps))
            chosen = [steps[k] for k in order]
        self._oracle = InOrder(env, chosen)


class InOrder(Oracle):
    """The oracle for some leaves, once each, then gives up; the last one until it holds."""

    def __init__(self, env: ClevrSkillsEnv, leaves: Sequence[Leaf]) -> None:
        self._left = list(leaves)
        super().__init__(env)

    def next_leaf(self) -> Leaf | None:
        """Return what to achieve now."""
        if self.done:
            return None
        return self._left.pop(0) if len(self._left) > 1 else self._left[0]
