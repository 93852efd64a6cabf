"""Actuator of the arm: executes board commands by slides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from zlib import crc32

import numpy as np

from clevrskills.core.interface import Step, Turn
from clevrskills.core.threads import single_threaded
from clevrskills.solvers.motion import Arm
from clevrskills.suites.ivispar.arm.env import GeomsArmEnv
from clevrskills.suites.ivispar.arm.skill import slide
from clevrskills.suites.ivispar.board import DIRECTIONS
from clevrskills.suites.ivispar.commands import read
from clevrskills.suites.ivispar.env import CLASSES, MOVED, OCCUPIED, OUT_OF_BOUNDS

FAILED, LOST = "FAILED", "lost piece"
MOST_STEPS = 200
"""Maximum number of control steps of a move."""


class BoardActuator:
    """Actuator of text commands and numbered moves in one environment.

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
        """Check a command as on a symbolic board and execute it with the arm.

        Raises:
            PolicyError: The number is out of range.
        """
        env = self._env
        lenient, drawn = env.criteria.name == "released", bool(env.board_views)
        command = read(action, env.puzzle.geoms, env.colors, env.shapes, drawn, lenient)
        if command.code:
            return self._end(command.code, command.args)
        piece, direction, before = command.piece, command.direction, env.state
        args = {"piece": env.name_of(piece), "direction": DIRECTIONS[direction]}
        entropy = (env.episode_seed, crc32(b"board"), env.turns)
        arm = Arm(env, np.random.default_rng(np.random.SeedSequence(entropy)))
        places = env.world.body_pose[0, :, :3].clone()
        steps, reward, code = 0, 0.0, MOVED
        for k in range(command.times):
            on_board = env.state[piece] >= 0
            cell = env.puzzle.board.target(env.state, piece, direction) if on_board else -1
            if cell < 0 or cell in env.state:
                code = OUT_OF_BOUNDS if cell < 0 else OCCUPIED
                break
            aim = (*env.state[:piece], cell, *env.state[piece + 1 :])
            last = k == command.times - 1
            done = arm.carry_out(
                slide(arm, piece, cell),
                MOST_STEPS,
                on_step,
                enough=lambda step, last=last: last and step.success,  # type: ignore[misc]
            )
            steps, reward = steps + done.steps, reward + done.reward
            if env.state != aim:
                code, args = FAILED, {**args, "reason": str(done.failure or "it is not there")}
                break
        moved = (env.world.body_pose[0, :, :3] - places).norm(dim=-1)
        others = [k for k in range(len(before)) if k != piece]
        far = max((float(moved[k]) for k in others), default=0.0)
        env.disturbance_m = max(env.disturbance_m, far)
        if code != MOVED:
            return self._end(code, args, steps, reward)
        apart, goal = env.puzzle.board.manhattan, env.puzzle.goal[piece]
        nearer = apart[env.state[piece]][goal] < apart[before[piece]][goal]
        return self._end(MOVED, args, steps, reward, "effective" if nearer else "ineffective")

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
