"""Actuator of picks and places: carries out one per turn and returns its outcome."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from clevrskills.core.interface import Step, Turn, make_step
from clevrskills.core.threads import single_threaded
from clevrskills.suites.lohoravens.env import LoHoRavensEnv
from clevrskills.suites.lohoravens.noise import noise_generator
from clevrskills.suites.lohoravens.primitive import (
    PLACED,
    TIMED_OUT,
    Move,
    Outcome,
    PrimitiveArm,
    arm_of_turn,
    pick_and_place,
)

MOST_STEPS = 300
"""Greatest number of control steps of a turn."""
DONE = "DONE"
CODES = {
    PLACED: ("It was picked and placed.", ""),
    "OUT_OF_FIELD": ("The pick or the place is outside the field.", "out of field"),
    "UNREACHABLE": ("The arm finds no way there.", "unreachable"),
    "NOTHING_PICKED": ("Nothing was picked.", "missed"),
    "DROPPED": ("It was lost on the way.", "dropped"),
    TIMED_OUT: ("It took too long.", "timed out"),
    DONE: ("The policy says that it is done.", ""),
    "UNPARSABLE": ("That is no instruction of the known form.", "format"),
    "UNKNOWN_COLOR": ("There is no color {word}.", "unknown object"),
    "NO_SUCH_OBJECT": ("There is no {phrase}.", "unknown object"),
    "COVERED": ("Something stands on the {phrase}.", "covered"),
    "NOT_MOVABLE": ("The {phrase} cannot be moved.", "not movable"),
    "NO_ROOM": ("There is no room {phrase}.", "no room"),
}
"""Outcomes of a turn; only the first is success."""


@dataclass(frozen=True)
class Request:
    """Pick and place requested by a policy."""

    move: Move | None = None  # the pick and the place; ``None`` if the request cannot be tried
    code: str = ""  # the reason
    args: Mapping[str, str] = field(default_factory=dict)  # arguments of the code's sentence


class PickPlaceActuator:
    """Actuator of picks and places in one environment.

    Args:
        env: The environment.
        read: Returns the request of an action in the present scene.
    """

    def __init__(self, env: LoHoRavensEnv, read: Callable[[Any, LoHoRavensEnv], Request]) -> None:
        self._env, self._read = env, read

    @property
    def limit(self) -> int:
        """Limit of turns of the episode."""
        return self._env.turn_limit

    @single_threaded
    def act(self, action: Any, on_step: Callable[[Step], None] | None = None) -> Turn:
        """Try a pick and a place; a request that cannot be tried takes no control steps."""
        env = self._env
        request = self._read(action, env)
        env.begin_turn()
        if request.move is None:
            return self._end(request.code, request.args)
        noise, move = noise_generator(env.episode_seed, "turn", env.turns), request.move
        if env.noise.action_mm:
            places = np.array([move.pick, move.place])
            places[:, :2] += env.noise.on_places(noise)
            move = replace(move, pick=tuple(places[0]), place=tuple(places[1]))
        arm = arm_of_turn(env, env.turns)
        return self._run(arm, pick_and_place(arm, move), noise, on_step)

    def _run(
        self,
        arm: PrimitiveArm,
        actions: Outcome,
        noise: np.random.Generator,
        on_step: Callable[[Step], None] | None,
    ) -> Turn:
        """Make the control steps of a turn, in which noise may drop the held body.

        Without ``on_step``, the goal is evaluated only at the end of the turn.
        """
        env, steps, drop = self._env, 0, self._env.noise.drop_per_step
        while steps < MOST_STEPS:
            try:
                action = next(actions)
            except StopIteration as end:
                code = end.value
                break
            if drop and arm.held >= 0 and noise.random() < drop:
                arm.vacuum = False
                action[6] = -1.0
            if on_step is None:
                env.step_without_goal(action)
            else:
                on_step(make_step(env, action, arm.step_label, arm.action_class))
            arm.actions, steps = arm.actions + 1, steps + 1
        else:
            code = TIMED_OUT
        if on_step is None and steps:
            env.look_again()
        return self._end(code, steps=steps)

    def _end(self, code: str, args: Mapping[str, str] | None = None, steps: int = 0) -> Turn:
        env = self._env
        env.end_turn(code)
        return Turn.after(
            env.outcome,
            env.turns >= self.limit,
            float(env.outcome.reward[0]) if steps else 0.0,
            ok=code == PLACED,
            code=code,
            args=args or {},
            steps=steps,
            ended="stopped" if code == DONE else "",
        )
