"""Rollout of one episode, for recording, evaluation, screening and replay."""

from collections.abc import Callable
from typing import Any

from clevrskills.core.env import Env
from clevrskills.core.interface import Actuator, Step, StepActuator, Turn
from clevrskills.core.policy import GaveUp

STEP_LIMIT = "step limit"


class Rollout:
    """One episode in an environment that was just reset.

    Args:
        env: The environment.
        limit: Maximum number of turns; ``None``: that of the actuator.
        stop_on_success: Whether the episode ends when the goal holds; otherwise at the limit.
        actuator: Executor of the actions; ``None``: one control step each.

    Attributes:
        turns: Number of turns so far.
        steps: Number of control steps so far.
        total_reward: Sum of the rewards.
        success: Whether the goal holds now.
        success_once: Whether the goal has held after any turn.
        cause: Why the environment itself ended the episode; empty if it did not.
        last_turn: Result of the last turn; ``None`` before the first one.
    """

    def __init__(
        self,
        env: Env,
        limit: int | None = None,
        stop_on_success: bool = True,
        actuator: Actuator | None = None,
    ) -> None:
        self.env, self._stop_on_success = env, stop_on_success
        self._actuator = actuator or StepActuator(env)
        self.limit = self._actuator.limit if limit is None else limit
        self.turns, self.steps, self.total_reward = 0, 0, 0.0
        self.success = self.success_once = False
        self.cause = ""
        self.last_turn: Turn | None = None

    @property
    def watches(self) -> bool:
        """``True`` if :meth:`on_control_step` is called; steps may be cheaper without it."""
        return False

    def on_control_step(self, step: Step) -> None:
        """Process a control step after it was executed."""

    @property
    def ended(self) -> bool:
        """``True`` if the episode is over."""
        done = self.cause or (self.success and self._stop_on_success)
        return bool(done) or self.turns >= self.limit

    def step(self, action: Any) -> Turn:
        """Run one turn."""
        turn = self._actuator.act(action, self.on_control_step if self.watches else None)
        self.turns, self.steps = self.turns + 1, self.steps + turn.steps
        self.total_reward += turn.reward
        self.success, self.success_once = turn.success, self.success_once or turn.success
        self.cause, self.last_turn = turn.ended, turn
        return turn

    def run(
        self, act: Callable[[], Any], on_step: Callable[[Any, Turn], bool | None] | None = None
    ) -> tuple[str, str]:
        """Run the episode to its end.

        Args:
            act: Function that returns the next action; it may raise :class:`GaveUp`.
            on_step: Called with each action and its result; a true return value ends the episode.

        Returns:
            Reason and kind of the failure; both empty if the goal holds.
        """
        while not self.ended:
            try:
                action = act()
            except GaveUp as failure:
                return str(failure), failure.kind
            turn = self.step(action)
            if on_step is not None and on_step(action, turn):
                break
        cause = self.cause or STEP_LIMIT
        return ("", "") if self.success else (cause, cause)
