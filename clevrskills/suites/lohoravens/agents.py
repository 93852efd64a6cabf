"""Agents without a model: the solver's next pick and place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clevrskills.core.interface import Interface
from clevrskills.core.policy import GaveUp
from clevrskills.errors import UnknownNameError
from clevrskills.suites.lohoravens.env import LoHoRavensEnv
from clevrskills.suites.lohoravens.interfaces.numbers import (
    PICK_PLACE,
    PICK_PLACE_PIXELS,
    pixel_of,
)
from clevrskills.suites.lohoravens.solver import UnsolvableError, next_move


class MoveOracle:
    """Picks and places as the solver has it, again and again, each from what the world is then.

    Args:
        env: The environment.
        interface: What it acts by.

    Raises:
        UnknownNameError: It does not act by this interface.
    """

    step = predicate = skill = action_class = ""
    subgoal, attempt = -1, 0
    failed: Sequence[tuple[int, int]] = ()

    def __init__(self, env: LoHoRavensEnv, interface: Interface) -> None:
        allowed = (PICK_PLACE.name, PICK_PLACE_PIXELS.name)
        if interface.name not in allowed:
            raise UnknownNameError("interface of the oracle", interface.name, allowed)
        self._env, self._interface = env, interface
        self.subtask = ""

    def reset(self) -> None:
        """An episode begins."""

    def act(self) -> Any:
        """The next pick and place, as the interface has it.

        Raises:
            GaveUp: None is known that helps.
        """
        env = self._env
        self.subtask = env.goal.describe(env.world)
        try:
            move = next_move(env.goal, env.world, env.goal_state)
        except UnsolvableError as error:
            raise GaveUp(str(error)) from error
        if move is None:  # all is where it should be, but not yet at rest
            return self._interface.none()
        if self._interface.name == PICK_PLACE_PIXELS.name:
            return np.array([*pixel_of(move.pick), *pixel_of(move.place)])
        return np.array([*move.pick, *move.place])
