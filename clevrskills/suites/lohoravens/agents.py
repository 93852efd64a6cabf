"""Agents without a model: the moves of the solver, in numbers or words, and random actions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from clevrskills.core.interface import Interface
from clevrskills.core.policy import GaveUp, Observation, PromptInput
from clevrskills.core.suite import CommandOracle, Suite
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.policies import OraclePolicy, Privileged
from clevrskills.suites.lohoravens.env import LoHoRavensEnv
from clevrskills.suites.lohoravens.interfaces.grammar import DONE_COMMAND
from clevrskills.suites.lohoravens.interfaces.numbers import PICK_PLACE_PIXELS, pixel_of
from clevrskills.suites.lohoravens.interfaces.words import PICK_PLACE_TEXT
from clevrskills.suites.lohoravens.move import Move
from clevrskills.suites.lohoravens.primitive import PrimitiveArm, arm_of_turn, pick_and_place
from clevrskills.suites.lohoravens.prompts.phrasing import instruction_for
from clevrskills.suites.lohoravens.solver import UnsolvableError, clearing_moves, moves

SAME_MOVES = 3
"""Greatest number of attempts at a move while nothing changes."""
ALTERNATIVES = 6
"""Greatest number of moves that are considered."""


class MoveOracle(CommandOracle):
    """Oracle that makes the solver's next move from the present state.

    If all useful moves were refused, it puts aside what may obstruct the arm.

    Args:
        env: The environment.
        interface: The interface.

    Attributes:
        pose: Pick and place of the last action in the world, x, y and angle each (m, rad);
            ``None`` if there was no move.
    """

    def __init__(self, env: LoHoRavensEnv, interface: Interface) -> None:
        self._env, self._interface = env, interface
        self.reset()

    def reset(self) -> None:
        """Begin an episode."""
        self.subtask, self._placed = "", 0
        self.pose: list[float] | None = None
        self._tried = Counter[tuple[float, ...]]()

    def act(self) -> Any:
        """Return the action of the useful move that was tried least often since the last success.

        Raises:
            GaveUp: No useful move is known, or all were tried too often.
        """
        env, self.pose = self._env, None
        self.subtask = env.goal.describe(env.world)
        if self._moved() != self._placed:
            self._placed = self._moved()
            self._tried.clear()
        try:
            known = islice(moves(env.goal, env.world, env.goal_state, env.outcome), ALTERNATIVES)
            found = self._least_tried(known)
        except UnsolvableError as error:
            raise GaveUp(str(error)) from error
        if found is None:  # all blocks are in place, but not yet at rest
            return self._interface.none()
        move, words = found
        self._tried[_rounded(move)] += 1
        if self._tried[_rounded(move)] > SAME_MOVES:
            raise GaveUp(f"the same move was tried {SAME_MOVES} times")
        self.pose = [*move.pick, *move.place]
        if self._interface.name == PICK_PLACE_PIXELS.name:
            return np.array([*pixel_of(move.pick), *pixel_of(move.place)])
        return words or np.array(self.pose)

    def _moved(self) -> int:
        """Return the number of successful moves."""
        return self._env.account.codes["PLACED"]

    def _least_tried(self, known: Iterator[Move]) -> tuple[Move, str] | None:
        """Return the first of the moves that were tried least often, and its words."""
        env, seen = self._env, list[Move]()
        for move in known:
            seen.append(move)
            if not self._tried[_rounded(move)] and (found := self._with_words(move)):
                return found
        if seen and all(self._tried[_rounded(move)] for move in seen):
            seen += clearing_moves(env.goal, env.world, env.goal_state, seen[0])
        for move in sorted(seen, key=lambda move: self._tried[_rounded(move)]):
            if found := self._with_words(move):
                return found
        if seen:
            raise GaveUp("no words are known for the next move")
        return None

    def _with_words(self, move: Move) -> tuple[Move, str] | None:
        """Return a move and its words, which are empty for actions in numbers; ``None`` if an
        action in words has none.
        """
        if self._interface.name != PICK_PLACE_TEXT.name:
            return move, ""
        words = instruction_for(move, self._env)
        return (move, words) if words else None


class StepOracle(MoveOracle):
    """Oracle that makes the solver's moves in control steps."""

    def reset(self) -> None:
        """Begin an episode."""
        super().reset()
        self._codes = Counter[str]()
        self._arm: PrimitiveArm | None = None

    def _moved(self) -> int:
        return self._codes["PLACED"]

    def act(self) -> Any:
        """Return the next action (7,) of a move, see :meth:`MoveOracle.act`."""
        while True:
            if self._arm is None:
                super().act()
                if self.pose is None:
                    return self._interface.none()
                self._arm = arm_of_turn(self._env, self._codes.total())
                self._actions = pick_and_place(self._arm, Move.of(self.pose))
            try:
                action = next(self._actions)
                self.step, self.action_class = self._arm.step_label, self._arm.action_class
                self._arm.actions += 1
                return action
            except StopIteration as end:
                self._codes[end.value] += 1
                self._arm = None


def _rounded(move: Move) -> tuple[float, ...]:
    """Return a move rounded to a millimeter."""
    return tuple(np.round([*move.pick, *move.place], 3).tolist())


class GreedyText(OraclePolicy):
    """Policy that makes the solver's moves in words and gives up after a failed one.

    Args:
        suite: The suite.
        interface: The interface, ``pick_place_text``.

    Raises:
        ClevrSkillsError: The interface is another one.
    """

    def __init__(self, suite: Suite, interface: Interface) -> None:
        if interface.name != PICK_PLACE_TEXT.name:
            raise ClevrSkillsError(f"greedy_text acts by --interface {PICK_PLACE_TEXT.name}")
        super().__init__(suite, interface)

    def reset(self, prompt: PromptInput, *, env: LoHoRavensEnv, episode: Any) -> None:  # type: ignore[override]
        """Begin an episode."""
        super().reset(prompt, env=env, episode=episode)
        self._env = env

    def act(self, observation: Observation) -> str:
        """Return the next instruction.

        Raises:
            GaveUp: The last one was not done, or no useful one is known.
        """
        account = self._env.account
        if account.codes["PLACED"] < account.turns:
            raise GaveUp("an instruction was not done")
        return super().act(observation) or DONE_COMMAND


class RandomActions(Privileged):
    """Policy with random picks and places in the field, or random instructions with the colors of
    the scene. For its arguments see :class:`~clevrskills.evaluation.policies.Zero`.
    """

    def reset(self, prompt: PromptInput, *, env: LoHoRavensEnv, episode: Any) -> None:  # type: ignore[override]
        """Begin an episode."""
        super().reset(prompt, env=env, episode=episode)
        self._colors = sorted({body.color for body in env.layouts[0].bodies if body})

    def act(self, observation: Observation) -> Any:
        """Return a random action."""
        if self._interface.name == PICK_PLACE_TEXT.name:
            return PICK_PLACE_TEXT.random(self.generator, self._colors)
        return self._interface.random(self.generator)
