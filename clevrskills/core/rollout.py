"""Rollout: one episode in an environment, turn by turn.

Recording, evaluating, screening and replaying all run episodes by this.
"""

from collections.abc import Callable
from typing import Any

from clevrskills.core.env import Env
from clevrskills.core.interface import Actuator, Step, StepActuator, Turn
from clevrskills.core.policy import GaveUp

STEP_LIMIT = "step limit"


class Rollout:
    """One episode, from where the environment stands after its reset.

    Args:
        env: The environment.
        limit: Limit of turns; ``None``: that of the actuator.
        stop_on_success: Whether the episode ends when the goal holds; else at the limit.
        actuator: What takes the actions; ``None``: they are one control step each.

    Attributes:
        turns: Turns taken.
        steps: Control steps made.
        total_reward: Sum of the rewards.
        success: Whether the goal holds now.
        success_once: Whether it has held after any turn.
        cause: Why the environment itself ended the episode; empty: it did not.
        last_turn: What came of the last turn; ``None``: there was none yet.
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
        """``True`` if :meth:`on_control_step` is called; else steps may be cheaper."""
        return False

    def on_control_step(self, step: Step) -> None:
        """Take note of a control step of a turn, after it was made."""

    @property
    def ended(self) -> bool:
        """``True`` if there is nothing left to do."""
        if self.cause or (self.success and self._stop_on_success):
            return True
        return self.turns >= self.limit

    def step(self, action: Any) -> Turn:
        """Take one turn."""
        turn = self._actuator.act(action, self.on_control_step if self.watches else None)
        self.turns, self.steps = self.turns + 1, self.steps + turn.steps
        self.total_reward += turn.reward
        self.success, self.success_once = turn.success, self.success_once or turn.success
        self.cause, self.last_turn = turn.ended, turn
        return turn

    def run(
        self, act: Callable[[], Any], on_step: Callable[[Any, Turn], bool | None] | None = None
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
            turn = self.step(action)
            if on_step is not None and on_step(action, turn):
                break
        cause = self.cause or STEP_LIMIT
        return ("", "") if self.success else (cause, cause)
