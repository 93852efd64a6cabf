"""Schedule of partial episodes: prompts and end of the policy's part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clevrskills.core.env import Env, Prompt
from clevrskills.core.goal.predicate import Leaf
from clevrskills.core.goal.tree import leaf_status
from clevrskills.core.interface import Actuator
from clevrskills.core.policy import GaveUp
from clevrskills.core.suite import Suite, single_skill_task
from clevrskills.evaluation.handover.parts import (
    LONGER,
    OWN,
    PLAN,
    WHOLE,
    Part,
    limit_alone,
    subgoal_prompt,
)

NO_HANDOVER = "no handover"
"""Cause of a part that never began: the oracle did not reach its leaf, or the leaf already held."""
STEADY = 20
"""Turns for which an earlier leaf must be unmet before the prompt returns to it; stacking may unset
a leaf briefly."""


@dataclass(frozen=True)
class PolicyStart:
    """Start of the policy's part."""

    prompt: Prompt | None  # ``None``: the prompt of the episode
    limit: int  # limit of turns
    cause: str = ""  # cause of not starting; empty: it starts


class SubgoalSchedule:
    """Schedule of one episode.

    Args:
        suite: Suite of the episode.
        name: Name of the policy's part.
    """

    def __init__(self, suite: Suite, name: str) -> None:
        self._suite, self._name, self._part = suite, name, Part.parse(name)
        self._prompts, self._began, self._back = 0, 0, 0

    @property
    def seed(self) -> str:
        """Part of the policy seed; empty: the seed of an ordinary evaluation."""
        return "" if self._part.kind == WHOLE else f"{self._name}/{self._prompts}"

    @property
    def record(self) -> Mapping[str, Any]:
        """Data for the result."""
        data: dict[str, Any] = {"part": self._name, "leaves": len(self._steps)}
        if self._part.kind == "leaf":
            leaf = self._steps[self._part.leaf].name
            alone = single_skill_task(self._suite, leaf)
            data |= {"leaf": leaf, "alone": alone, "began": self._began}
        elif self._part.kind == PLAN:
            data["prompts"] = self._prompts
        return data

    def begin(self, env: Env, actuator: Actuator) -> PolicyStart:
        """Bring an episode from its reset to the start of the policy's part."""
        self._env, self._steps = env, [step for step in env.goal.steps() if isinstance(step, Leaf)]
        if self._part.kind == WHOLE:
            return PolicyStart(None, LONGER * actuator.limit)
        if self._part.kind == PLAN:
            return PolicyStart(self.new_prompt(), actuator.limit)
        leaf = self._steps[self._part.leaf]
        limit = limit_alone(self._suite, leaf.name) or actuator.limit
        if self._part.leaf and not self._bring(actuator):
            return PolicyStart(None, limit, NO_HANDOVER)
        self._met = self._count()
        self._prompts = 1
        own = self._part.sentence == OWN
        return PolicyStart(subgoal_prompt(env, leaf) if own else None, limit)

    @property
    def achieved(self) -> bool:
        """``True`` if the policy has achieved the leaf of its part; with the full prompt, it may do
        another leaf first.
        """
        if self._part.kind != "leaf":
            return False
        leaf = self._env.goal.next_leaf(self._env.outcome)
        if leaf is None or self._place(leaf) > self._part.leaf:
            return True
        return self._part.sentence != OWN and self._count() > self._met

    def new_prompt(self) -> Prompt | None:
        """Return the new prompt; ``None``: unchanged."""
        if self._part.kind != PLAN:
            return None
        leaf = self._env.goal.next_leaf(self._env.outcome)
        if leaf is None or (self._prompts and self._keeps_on(leaf)):
            return None
        self._now, self._prompts, self._back = leaf, self._prompts + 1, 0
        return subgoal_prompt(self._env, leaf)

    def _keeps_on(self, leaf: Leaf) -> bool:
        """Return whether the prompt stays, given the next leaf."""
        back = self._place(leaf) < self._place(self._now)
        self._back = self._back + 1 if back else 0
        return leaf is self._now or 0 < self._back < STEADY

    def _bring(self, actuator: Actuator) -> bool:
        """Run the oracle up to the leaf of the part; return whether it was reached."""
        oracle, leaves = self._suite.oracle(self._env), list(self._env.goal.leaves())
        for self._began in range(actuator.limit):
            try:
                action = oracle.act()
            except GaveUp:
                return False
            place = self._place(leaves[oracle.subgoal]) if oracle.subgoal >= 0 else len(leaves)
            if place >= self._part.leaf:
                return place == self._part.leaf
            actuator.act(action)
        return False

    def _place(self, leaf: Leaf) -> int:
        """Return the position of a leaf in the order of achievement; -1: none."""
        return next((k for k, step in enumerate(self._steps) if step is leaf), -1)

    def _count(self) -> int:
        """Return the number of met leaves."""
        return sum(found.met for found in leaf_status(self._env.goal, self._env.outcome))
