"""Actuator of the board: commands that the arm carries out, and what comes of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from zlib import crc32

import numpy as np

from clevrskills.core.interface import Step, Turn
from clevrskills.core.policy import PolicyError
from clevrskills.core.threads import single_threaded
from clevrskills.solvers.motion import Arm
from clevrskills.suites.ivispar.arm.env import GeomsArmEnv
from clevrskills.suites.ivispar.arm.skill import slide
from clevrskills.suites.ivispar.board import DIRECTIONS
from clevrskills.suites.ivispar.commands import read
from clevrskills.suites.ivispar.env import CLASSES, MOVED, OCCUPIED, OUT_OF_BOUNDS

FAILED, LOST = "FAILED", "lost piece"
MOST_STEPS = 200
"""Control steps of a turn, at most."""
SETTLE_STEPS = 10
"""Control steps in which a board that is solved may come to rest."""


class BoardActuator:
    """Takes commands, or moves as numbers, in one environment.

    Args:
        env: The environment.
    """

    def __init__(self, env: GeomsArmEnv) -> None:
        self._env = env

    @property
    def limit(self) -> int:
        """Turns after which the episode ends."""
        return self._env.turn_limit

    @single_threaded
    def act(self, action: str | int, on_step: Callable[[Step], None] | None = None) -> Turn:
        """Check a command as on a board of symbols, and let the arm do it.

        Raises:
            PolicyError: There is no move of this number.
        """
        env = self._env
        piece, direction, code = self._read(action)
        if code:
            return self._end(code)
        before, args = env.state, {}
        args = {"piece": env.name_of(piece), "direction": DIRECTIONS[direction]}
        board = env.puzzle.board
        cell = board.target(before, piece, direction) if before[piece] >= 0 else -1
        if cell < 0:
            return self._end(OUT_OF_BOUNDS, args)
        if cell in before:
            return self._end(OCCUPIED, args)
        entropy = (env.episode_seed, crc32(b"board"), env.turns)
        arm = Arm(env, np.random.default_rng(np.random.SeedSequence(entropy)))
        places = env.world.body_pose[0, :, :3].clone()
        slid = slide(arm, piece, cell)
        done = arm.carry_out(slid, MOST_STEPS, on_step, lambda step: step.success)
        steps, reward = done.steps, done.reward
        moved = (env.world.body_pose[0, :, :3] - places).norm(dim=-1)
        others = [k for k in range(len(before)) if k != piece]
        far = max((float(moved[k]) for k in others), default=0.0)
        env.disturbance_m = max(env.disturbance_m, far)
        after = env.state
        if after != (*before[:piece], cell, *before[piece + 1 :]):
            reason = str(done.failure or "it is not there")
            return self._end(FAILED, {**args, "reason": reason}, steps, reward)
        apart, goal = board.manhattan, env.puzzle.goal[piece]
        nearer = apart[cell][goal] < apart[before[piece]][goal]
        return self._end(MOVED, args, steps, reward, "effective" if nearer else "ineffective")

    def _read(self, action: str | int) -> tuple[int, int, str]:
        """Piece, direction, and what is wrong."""
        env = self._env
        if isinstance(action, int):
            if action >= 4 * len(env.puzzle.geoms):
                raise PolicyError(f"move {action}; allowed: 0 to {4 * len(env.puzzle.geoms) - 1}")
            return *divmod(action, 4), ""
        lenient, drawn = env.criteria.name == "released", bool(env.board_views)
        found = read(action, env.puzzle.geoms, env.colours, env.shapes, drawn, lenient)
        return found.piece, found.direction, found.code

    def _end(
        self,
        code: str,
        args: Mapping[str, str] | None = None,
        steps: int = 0,
        reward: float = 0.0,
        kind: str = "",
    ) -> Turn:
        env = self._env
        env.turns += 1
        env.classes[kind or CLASSES.get(code, "ineffective")] += 1
        return Turn.after(
            env.outcome,
            env.turns >= self.limit,
            reward,
            ok=code == MOVED,
            code=code,
            args=args or {},
            steps=steps,
            ended=LOST if bool(env.rules_kept["lost"][0]) else "",
        )
