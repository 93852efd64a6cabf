"""Agents without a model: the solver's next pick and place, in numbers or in words, and chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clevrskills.core.interface import Interface
from clevrskills.core.policy import GaveUp, Observation, ObservationOptions, PromptInput
from clevrskills.core.suite import Suite
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.evaluation.policies import Chance
from clevrskills.evaluation.results import NO_TRACK
from clevrskills.suites.lohoravens.env import LoHoRavensEnv
from clevrskills.suites.lohoravens.interfaces.grammar import DONE_COMMAND
from clevrskills.suites.lohoravens.interfaces.numbers import (
    PICK_PLACE,
    PICK_PLACE_PIXELS,
    pixel_of,
)
from clevrskills.suites.lohoravens.interfaces.words import PICK_PLACE_TEXT
from clevrskills.suites.lohoravens.primitive import Move
from clevrskills.suites.lohoravens.prompts.phrasing import say
from clevrskills.suites.lohoravens.solver import UnsolvableError, next_move

SAME_MOVES = 3
"""How often the same move is tried."""


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
        allowed = (PICK_PLACE.name, PICK_PLACE_PIXELS.name, PICK_PLACE_TEXT.name)
        if interface.name not in allowed:
            raise UnknownNameError("interface of the oracle", interface.name, allowed)
        self._env, self._interface = env, interface
        self.reset()

    def reset(self) -> None:
        """An episode begins."""
        self.subtask, self._last, self._times = "", "", 0

    def act(self) -> Any:
        """The next pick and place, as the interface has it.

        Raises:
            GaveUp: None is known that helps, or the same one was tried too often.
        """
        env = self._env
        self.subtask = env.goal.describe(env.world)
        try:
            move = next_move(env.goal, env.world, env.goal_state)
        except UnsolvableError as error:
            raise GaveUp(str(error)) from error
        if move is None:  # all is where it should be, but not yet at rest
            return self._interface.none()
        self._count(move)
        if self._interface.name == PICK_PLACE_TEXT.name:
            text = say(move, env)
            if not text:
                raise GaveUp("no words are known for the next move")
            return text
        if self._interface.name == PICK_PLACE_PIXELS.name:
            return np.array([*pixel_of(move.pick), *pixel_of(move.place)])
        return np.array([*move.pick, *move.place])

    def _count(self, move: Move) -> None:
        """Give up when the same move was tried too often."""
        told = np.array2string(np.array([*move.pick, *move.place]), precision=3)
        self._times = self._times + 1 if told == self._last else 1
        self._last = told
        if self._times > SAME_MOVES:
            raise GaveUp(f"the same move was tried {SAME_MOVES} times")


class GreedyText:
    """Says the solver's next move in words, each once: it gives up where one was not done.

    Args:
        suite: What it acts in.
        interface: What it acts by.

    Raises:
        ClevrSkillsError: The interface is not of words.
    """

    observation = ObservationOptions(cameras=(), proprioception=False)
    track = NO_TRACK
    privileged = True
    needs_suite = True

    def __init__(self, suite: Suite, interface: Interface) -> None:
        if interface.name != PICK_PLACE_TEXT.name:
            raise ClevrSkillsError(f"greedy_text acts by --interface {PICK_PLACE_TEXT.name}")
        suite.require_oracle()
        self._interface = interface

    def reset(self, prompt: PromptInput, *, env: LoHoRavensEnv, episode: Any) -> None:
        """An episode begins."""
        self._env, self._oracle = env, MoveOracle(env, self._interface)

    def act(self, observation: Observation) -> str:
        """The next instruction.

        Raises:
            GaveUp: The last one was not done, or none is known that helps.
        """
        account = self._env.account
        if account.turns and account.codes["PLACED"] < account.turns:
            raise GaveUp("an instruction was not done")
        said: str = self._oracle.act()
        return said or DONE_COMMAND


class RandomActions(Chance):
    """Acts without skill: any pick and place in the field; in words, any instruction of the grammar
    with the colors of the scene. For its arguments see
    :class:`~clevrskills.evaluation.policies.Zero`.
    """

    def reset(self, prompt: PromptInput, *, env: LoHoRavensEnv, episode: Any) -> None:  # type: ignore[override]
        """An episode begins."""
        super().reset(prompt, env=env, episode=episode)
        bodies = (body for body in env.layouts[0].bodies if body is not None)
        self._colors = sorted({(body.texture or "").rpartition("/")[2] for body in bodies})

    def act(self, observation: Observation) -> Any:
        """A random action."""
        if self._interface.name == PICK_PLACE_TEXT.name:
            return PICK_PLACE_TEXT.random(self.generator, self._colors)
        return self._interface.random(self.generator)
