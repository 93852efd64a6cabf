"""A policy that does each step of a task, but in any order; see docs/composition.md."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from clevrskills.core.goal.predicate import Leaf
from clevrskills.core.policy import PromptInput
from clevrskills.envs.environment import ClevrSkillsEnv
from clevrskills.evaluation.policies import OraclePolicy
from clevrskills.solvers.oracle import Oracle


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
