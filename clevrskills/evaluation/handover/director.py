"""Director of an episode that a policy does a part of: its prompts, and its end."""

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
"""Why a part ended that never began: the oracle did not come to its leaf, or it held by itself."""
STEADY = 20
"""Turns in which an earlier leaf must be the next one again until the prompt changes: while one
thing is put on another, what holds below may flicker."""


@dataclass(frozen=True)
class PolicyStart:
    """Start of a policy."""

    prompt: Prompt | None  # its prompt; ``None``: the prompt of the episode
    limit: int  # limit of turns
    cause: str = ""  # why it does not; empty: it does


class SubgoalSchedule:
    """Director of one episode.

    Args:
        suite: What it is of.
        name: Name of the part that the policy does.
    """

    def __init__(self, suite: Suite, name: str) -> None:
        self._suite, self._name, self._part = suite, name, Part.parse(name)
        self._prompts, self._began, self._back = 0, 0, 0

    @property
    def seed(self) -> str:
        """Name that seeds the draws of this part apart from those of others; empty: they are those
        of an ordinary evaluation.
        """
        return "" if self._part.kind == WHOLE else f"{self._name}/{self._prompts}"

    @property
    def record(self) -> Mapping[str, Any]:
        """Data that the result keeps."""
        data: dict[str, Any] = {"part": self._name, "leaves": len(self._steps)}
        if self._part.kind == "leaf":
            leaf = self._steps[self._part.leaf].name
            data |= {
                "leaf": leaf,
                "alone": single_skill_task(self._suite, leaf),
                "began": self._began,
            }
        elif self._part.kind == PLAN:
            data["told"] = self._prompts
        return data

    def begin(self, env: Env, actuator: Actuator) -> PolicyStart:
        """Bring an episode that was just reset to where the policy begins."""
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
        """``True`` if the policy has achieved the leaf of a part that has a larger goal. Given the
        whole prompt, it may do another leaf first.
        """
        if self._part.kind != "leaf":
            return False
        leaf = self._env.goal.next_leaf(self._env.outcome)
        if leaf is None or self._place(leaf) > self._part.leaf:
            return True
        return self._part.sentence != OWN and self._count() > self._met

    def new_prompt(self) -> Prompt | None:
        """Return the prompt from now on; ``None``: it stays."""
        if self._part.kind != PLAN:
            return None
        leaf = self._env.goal.next_leaf(self._env.outcome)
        if leaf is None or (self._prompts and self._keeps_on(leaf)):
            return None
        self._now, self._prompts, self._back = leaf, self._prompts + 1, 0
        return subgoal_prompt(self._env, leaf)

    def _keeps_on(self, leaf: Leaf) -> bool:
        """Return whether the policy keeps its prompt, now that a leaf is the next one."""
        back = self._place(leaf) < self._place(self._now)
        self._back = self._back + 1 if back else 0
        return leaf is self._now or 0 < self._back < STEADY

    def _bring(self, actuator: Actuator) -> bool:
        """Let the oracle act up to where it begins the leaf of the part; whether it got there."""
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
        """Return the place of a leaf among those that are achieved in turn; -1: it has none."""
        return next((k for k, step in enumerate(self._steps) if step is leaf), -1)

    def _count(self) -> int:
        """Return how many leaves are met."""
        return sum(found.met for found in leaf_status(self._env.goal, self._env.outcome))
