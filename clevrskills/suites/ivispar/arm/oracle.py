"""Oracles of the board on the table: by commands, and by arm actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zlib import crc32

import numpy as np

from clevrskills.core.interface import Interface
from clevrskills.core.policy import GaveUp
from clevrskills.core.suite import CommandOracle
from clevrskills.core.threads import single_threaded
from clevrskills.solvers.motion import Arm
from clevrskills.solvers.requirements import require_planner
from clevrskills.suites.ivispar.arm.env import BESIDE, GeomsArmEnv
from clevrskills.suites.ivispar.arm.skill import play
from clevrskills.suites.ivispar.board import DIRECTIONS
from clevrskills.suites.ivispar.search import solve


class BoardCommander(CommandOracle):
    """Oracle that gives the first move of a shortest solution from the current board.

    Args:
        env: The environment.
        interface: Text commands, or moves as numbers.
    """

    def __init__(self, env: GeomsArmEnv, interface: Interface) -> None:
        self._env, self._in_words = env, isinstance(interface.none(), str)

    def act(self) -> Any:
        """Return the next command.

        Raises:
            GaveUp: There is no solution.
        """
        env = self._env
        state = env.state
        if BESIDE in state or len({*state}) < len(state):
            raise GaveUp("a piece is beside the board, or two are on one cell")
        plan = solve(env.puzzle.board, state, env.puzzle.goal)
        if plan is None:
            raise GaveUp("there is no solution")
        piece, direction = plan[0] if plan else self._nudge()
        self.subtask = f"move {env.name_of(piece)} {DIRECTIONS[direction]}"
        return self.subtask if self._in_words else 4 * piece + direction

    def _nudge(self) -> tuple[int, int]:
        """Return a move of a piece that is off the center of its goal cell, to be moved back next.

        Raises:
            GaveUp: No such piece can be moved.
        """
        env = self._env
        holds, _ = env.goal_status()
        for piece in range(len(env.puzzle.geoms)):
            if not holds[2 + piece]:
                for direction in range(len(DIRECTIONS)):
                    if env.puzzle.board.moved(env.state, piece, direction) is not None:
                        return piece, direction
        raise GaveUp("a piece is not in the middle of its cell, and has no way")


class BoardOracle:
    """Oracle that controls the arm: it centers misplaced pieces, then follows a shortest solution
    that is replanned before each move. For its labels see :class:`~clevrskills.core.suite.Labels`.

    Args:
        env: The environment.

    Raises:
        ClevrSkillsError: The planner is not installed or cannot run.
    """

    predicate, skill, attempt = "rests_at_cell", "slide", 0

    def __init__(self, env: GeomsArmEnv) -> None:
        require_planner()
        self._env = env
        self.reset()

    def reset(self) -> None:
        """Restart, at the start of an episode or after another policy has acted."""
        entropy = (self._env.episode_seed, crc32(b"board oracle"))
        self._arm = Arm(self._env, np.random.default_rng(np.random.SeedSequence(entropy)))
        self._actions = play(self._arm)
        self.subgoal, self.subtask, self.step, self.action_class = -1, "", "", ""

    @property
    def failed(self) -> Sequence[tuple[int, int]]:
        """Start and stop, since the reset, of the action ranges of failed attempts."""
        return list(self._arm.failed)

    @single_threaded
    def act(self) -> np.ndarray:
        """Return the next action, (7,) float32 in [-1, 1].

        Raises:
            SkillFailed: The board cannot be solved.
        """
        env = self._env
        try:
            action = next(self._actions)
        except StopIteration:  # solved, but not yet at rest or disturbed since
            self._actions = play(self._arm)
            self._arm.set_label("wait", "Wait")
            action = self._arm.action()
        self._arm.actions += 1
        self.step, self.action_class = self._arm.step_label, self._arm.action_class
        leaf = env.goal.next_leaf(env.outcome)
        leaves = list(env.goal.leaves())
        self.subgoal = next((k for k, other in enumerate(leaves) if other is leaf), -1)
        self.predicate = "" if leaf is None else leaf.name
        self.subtask = "Wait" if leaf is None else leaf.describe(env.world)
        return action
