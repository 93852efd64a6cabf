"""Rollout: one episode in an environment, control step by control step.

Recording, evaluating, screening and replaying all run episodes by this.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from clevrskills.core.policy import GaveUp
from clevrskills.core.suite import Environment

STEP_LIMIT = "step limit"


@dataclass(frozen=True)
class Step:
    """What came of an action; success and progress are those of the state after it."""

    reward: float
    success: bool
    progress: float
    terminated: bool
    truncated: bool


def make_step(env: Environment, action: Any) -> Step:
    """Step a batch-of-one environment and return plain numbers."""
    _, reward, terminated, truncated, info = env.step(action)
    return Step(
        reward=_scalar(reward, float),
        success=_scalar(info["success"], bool),
        progress=_scalar(info["progress"], float),
        terminated=_scalar(terminated, bool),
        truncated=_scalar(truncated, bool),
    )


class Rollout:
    """One episode, from where the environment stands after its reset.

    Args:
        env: The environment.
        max_steps: Limit of control steps; ``None``: the task's own.
        stop_on_success: Whether the episode ends when the goal holds; else at the limit.

    Attributes:
        steps: Control steps made.
        total_reward: Sum of the rewards.
        success: Whether the goal holds now.
        success_once: Whether it has held after any step.
    """

    def __init__(
        self, env: Environment, max_steps: int | None = None, stop_on_success: bool = True
    ) -> None:
        self.env, self._stop_on_success = env, stop_on_success
        self._limit = env.task.max_steps if max_steps is None else max_steps
        self.steps, self.total_reward = 0, 0.0
        self.success = self.success_once = False

    @property
    def ended(self) -> bool:
        """Whether there is nothing left to do."""
        return (self.success and self._stop_on_success) or self.steps >= self._limit

    def step(self, action: np.ndarray) -> Step:
        """Make one control step."""
        step = make_step(self.env, action)
        self.steps, self.total_reward = self.steps + 1, self.total_reward + step.reward
        self.success, self.success_once = step.success, self.success_once or step.success
        return step

    def run(
        self,
        act: Callable[[], np.ndarray],
        on_step: Callable[[np.ndarray, Step], bool | None] | None = None,
    ) -> tuple[str, str]:
        """Go on to the end.

        Args:
            act: Gives the next action; it may give up.
            on_step: Called with each action and what came of it; true ends the episode.

        Returns:
            Why the goal does not hold, and what kind of failure that is; both empty if it does.
        """
        while not self.ended:
            try:
                action = act()
            except GaveUp as failure:
                return str(failure), failure.kind
            step = self.step(action)
            if on_step is not None and on_step(action, step):
                break
        return ("", "") if self.success else (STEP_LIMIT, STEP_LIMIT)


def _scalar(value: Any, kind: type) -> Any:
    """The one element of a number, array or tensor."""
    return kind(value.item() if hasattr(value, "item") else value)
