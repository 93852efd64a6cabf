"""Vector environments of boards, for reinforcement learning."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from clevrskills.core.env import LifeCycle, as_autoreset_mode
from clevrskills.core.episode import as_seed
from clevrskills.core.policy import ActionError
from clevrskills.core.suite import load_suite
from clevrskills.errors import ClevrSkillsError, whole_number
from clevrskills.jobs.arguments import check_names
from clevrskills.suites.ivispar.board import DIRECTIONS, Board
from clevrskills.suites.ivispar.boards import SETS, Puzzle

_FIRST = 1024  # minimum number of boards that are drawn at once
SOLVED_REWARD = 4.0
"""Additional reward of a solved board in training."""
PIECES = range(8, 15)
"""Numbers of pieces in training, as in the set ``interference``."""


class BoardVectorEnv:
    """Batch of drawn boards with k pieces each; a move is 4 piece + direction.

    A board that is solved or out of turns begins anew within the same step or, with ``waits``, in
    the next one, whose move is ignored. The reward is the decrease of the sum of Manhattan
    distances to the goals: 1, -1 or 0.

    Args:
        num_envs: Number of boards, B.
        pieces: Number of pieces, k.
        size: Cells in a row, n.
        turns: Maximum number of turns.
        scramble: Minimum and maximum number of random moves from the goal to the start.
        seed: Seed of the drawn boards.
        avoid: Starts and goals, (k,) each, of boards that must not be drawn, with their pieces in
            any order.
        waits: Whether boards begin anew in the next step.

    Attributes:
        cells: Cells of the pieces, (B, k).
        goals: Goal cells, (B, k).

    Raises:
        ClevrSkillsError: The board has no room for the pieces.
    """

    def __init__(
        self,
        num_envs: int,
        pieces: int,
        size: int = 4,
        turns: int = 20,
        scramble: tuple[int, int] = (1, 24),
        seed: int | np.random.SeedSequence = 0,
        avoid: Iterable[tuple[Sequence[int], Sequence[int]]] = (),
        waits: bool = False,
    ) -> None:
        if not 1 <= pieces < size * size:
            raise ClevrSkillsError(f"{size} x {size} cells have room for 1 to {size * size - 1}")
        board = Board(size)
        self.num_envs, self.pieces, self.size, self.turns = num_envs, pieces, size, turns
        self.num_actions = len(DIRECTIONS) * pieces
        cells = size * size
        # one more cell, always taken, represents everything beyond the edge
        beside = np.array(board.neighbors, np.int64)
        self._beside = np.where(beside < 0, cells, beside).reshape(-1)
        self._apart = np.array(board.manhattan)
        self._generator = np.random.default_rng(seed)
        self._rows = np.arange(num_envs)
        self._scramble = scramble
        self._avoid = {tuple(sorted(zip(goal, start, strict=True))) for start, goal in avoid}
        self._next, self._waits = 0, waits
        self._pool = self._draw()

    def reset(self) -> None:
        """Begin all boards anew."""
        shape = self.num_envs, self.pieces
        self.cells, self.goals = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        self._taken = np.zeros((self.num_envs, self.size**2 + 1), bool)
        self._left, self._age = np.zeros((2, self.num_envs), np.int64)
        self._ended = np.zeros(self.num_envs, bool)
        self._begin(self._rows)

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Move on each board; an illegal move changes nothing and uses up the turn.

        Args:
            actions: (B,) int, 4 piece + direction.

        Returns:
            Rewards (B,) float32, and whether each board was solved, ran out of turns and was moved
            on, (B,) bool.
        """
        goal = self.goals[self._rows, actions >> 2]
        before, after = self._slide(self.cells, self._taken, actions)
        moved = before != after
        reward = self._apart[before, goal] - self._apart[after, goal]
        self._left -= reward
        self._age += 1
        solved = self._left == 0
        over = (self._age >= self.turns) & ~solved
        ended = solved | over
        if self._waits:
            begun, self._ended = self._ended, ended & ~self._ended
            reward, ended = np.where(begun, 0, reward), begun
            solved, over, moved = (mask & ~begun for mask in (solved, over, moved))
        if ended.any():
            self._begin(np.flatnonzero(ended))
        return reward.astype(np.float32), solved, over, moved

    def _slide(
        self, cells: np.ndarray, taken: np.ndarray, actions: np.ndarray, able: Any = True
    ) -> tuple[np.ndarray, np.ndarray]:
        """Move a piece on each board in place, if possible; return its old and new cells (B,)."""
        rows, piece, direction = np.arange(len(cells)), actions >> 2, actions & 3
        before = cells[rows, piece]
        target = self._beside[4 * before + direction]
        after = np.where(~taken[rows, target] & able, target, before)
        taken[rows, before] = False
        taken[rows, after] = True
        cells[rows, piece] = after
        return before, after

    def _begin(self, rows: np.ndarray) -> None:
        count, parts = len(rows), list[list[np.ndarray]]()
        while count:
            if self._next == len(self._pool[0]):
                self._pool, self._next = self._draw(), 0
            parts.append([each[self._next : self._next + count] for each in self._pool])
            self._next += len(parts[-1][0])
            count -= len(parts[-1][0])
        starts, goals = (np.concatenate(each) for each in zip(*parts, strict=True))
        self.cells[rows], self.goals[rows] = starts, goals
        self._taken[rows] = False
        self._taken[rows[:, None], starts] = True
        self._taken[rows, -1] = True
        self._age[rows] = 0
        self._left[rows] = self._apart[starts, goals].sum(1)

    def _draw(self) -> tuple[np.ndarray, np.ndarray]:
        """Return starts and goals (M, k): random goals, and starts by random moves from them."""
        generator, k, n2 = self._generator, self.pieces, self.size**2
        count = max(_FIRST, self.num_envs)
        goals = generator.permuted(np.tile(np.arange(n2), (count, 1)), axis=1)[:, :k]
        cells = goals.copy()
        taken = np.zeros((count, n2 + 1), bool)
        taken[:, n2] = True
        taken[np.arange(count)[:, None], cells] = True
        least, most = self._scramble
        lengths = generator.integers(least, most + 1, count)
        for made in range(most):
            actions = generator.integers(self.num_actions, size=count)
            self._slide(cells, taken, actions, made < lengths)
        kept = (cells != goals).any(1)
        if self._avoid:
            pairs = np.stack((goals, cells), -1).tolist()
            drawn = (tuple(sorted(map(tuple, board))) for board in pairs)
            kept &= [board not in self._avoid for board in drawn]
        return cells[kept], goals[kept]


def observe_cells(cells: np.ndarray, goals: np.ndarray, size: int) -> np.ndarray:
    """Return the input of a network, which does not depend on the order of pieces.

    Args:
        cells: Cells of the pieces, (B, k).
        goals: Goal cells, (B, k).
        size: Cells in a row, n.

    Returns:
        (B, n n (8n - 2) + 4 n n) float32. For each cell: whether a piece is there, one-hot offsets
        (2n - 1 each) of its goal to the right and away, whether a goal is there, and the offsets
        of that goal likewise. Then for each cell and direction whether its piece can be moved.
    """
    count, k = cells.shape
    n2, span = size * size, 2 * size - 1
    channels = 2 * (1 + 2 * span)
    rows = np.arange(count)[:, None]
    planes = np.zeros((count, n2, channels), np.float32)
    right = goals % size - cells % size + size - 1
    away = goals // size - cells // size + size - 1
    for places, first in ((cells, 0), (goals, channels // 2)):
        planes[rows, places, first] = 1.0
        planes[rows, places, first + 1 + right] = 1.0
        planes[rows, places, first + 1 + span + away] = 1.0
    taken = np.zeros((count, n2 + 1), bool)
    taken[rows, cells] = True
    taken[:, n2] = True
    beside = np.array(Board(size).neighbors)
    target = np.where(beside < 0, n2, beside)  # (n n, 4)
    possible = taken[:, :n2, None] & ~taken[:, target]
    flat = (planes.reshape(count, -1), possible.reshape(count, -1))
    return np.concatenate(flat, axis=1, dtype=np.float32)


class CellVectorEnv(VectorEnv):
    """Gymnasium vector environment of boards with 8 to 14 pieces, in equal shares.

    A move is 4 cell + direction, independent of the number of pieces. Observations are those of
    :func:`observe_cells`, rewards those of :class:`BoardVectorEnv` plus :data:`SOLVED_REWARD` for
    the last move.

    Args:
        num_envs: Number of boards.
        seed: Seed of the drawn boards, unless :meth:`reset` gets another.
        turns: Maximum number of turns.
        scramble: Minimum and maximum number of random moves from the goal to the start.
        avoid: Starts and goals, (k,) each, of boards that must not be drawn.
        autoreset_mode: Step in which ended boards begin anew: ``SAME_STEP``, or ``NEXT_STEP``,
            whose move is ignored.

    Attributes:
        places: Number of cells.
    """

    def __init__(
        self,
        num_envs: int,
        seed: int = 0,
        turns: int = 28,
        scramble: tuple[int, int] = (8, 60),
        avoid: Iterable[tuple[Sequence[int], Sequence[int]]] = (),
        autoreset_mode: AutoresetMode = AutoresetMode.SAME_STEP,
    ) -> None:
        self.metadata = {"autoreset_mode": as_autoreset_mode(autoreset_mode)}
        if whole_number("num_envs", num_envs) < len(PIECES):
            raise ClevrSkillsError(f"num_envs is {num_envs}; allowed: {len(PIECES)} or more")
        self._begun = np.zeros(num_envs, bool)  # boards that the next step begins anew
        self._life, self._seed = LifeCycle(), as_seed(seed)
        self.num_envs, self._turns, self._scramble = num_envs, turns, scramble
        self._avoid, self._size = list(avoid), 4
        self.places = self._size**2
        inputs = observe_cells(np.zeros((1, 1), int), np.zeros((1, 1), int), self._size).shape[1]
        self.single_observation_space = Box(0.0, 1.0, (inputs,), np.float32)
        self.single_action_space = Discrete(len(DIRECTIONS) * self.places)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin all boards anew.

        Args:
            seed: Seed of the drawn boards; ``None``: that of the constructor.
            options: Not supported.

        Raises:
            ClevrSkillsError: The seed is not allowed, or an option is given.
            ClosedError: The environment is closed.
        """
        with self._life.reset():
            check_names(**{"reset option": (tuple(options or ()), ())})
            entropy = self._seed if seed is None else as_seed(seed)
            counts = [len(part) for part in np.array_split(np.arange(self.num_envs), len(PIECES))]
            self._parts = [
                BoardVectorEnv(
                    *(count, pieces, self._size, self._turns, self._scramble),
                    seed=np.random.SeedSequence((entropy, pieces)),
                    avoid=self._avoid,
                    waits=self.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP,
                )
                for count, pieces in zip(counts, PIECES, strict=True)
            ]
            for part in self._parts:
                part.reset()
            self._begun[:] = False
            self._length = np.zeros(self.num_envs, np.int64)
            self._return = np.zeros(self.num_envs, np.float32)
        return self._look(), {}

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Move on each board; running out of turns terminates an episode like success.

        Raises:
            ActionError: Shape, type or range of the actions is wrong.
            ResetNeededError: The environment has not been reset.
            ClosedError: The environment is closed.
        """
        self._life.check_step()
        actions = np.asarray(actions)
        kind, most = f"actions of shape {actions.shape}, {actions.dtype}", 4 * self.places
        if actions.shape != (self.num_envs,) or actions.dtype.kind not in "iu":
            raise ActionError(f"{kind}; allowed: ({self.num_envs},) whole numbers")
        if not 0 <= actions.min() <= actions.max() < most:
            raise ActionError(f"{kind}; allowed: whole numbers from 0 to {most - 1}")
        found, first = [], 0
        for part in self._parts:
            mine = actions[first : first + part.num_envs]
            cell, direction = mine >> 2, mine & 3
            piece = (part.cells == cell[:, None]).argmax(1)
            found.append(part.step(4 * piece + direction))
            first += part.num_envs
        rewards, solved, over = (np.concatenate([step[k] for step in found]) for k in range(3))
        rewards = rewards + SOLVED_REWARD * solved.astype(np.float32)
        self._length += ~self._begun
        self._return += rewards
        ended = solved | over
        infos: dict[str, Any] = {}
        if ended.any():
            once, length = solved.astype(np.float32), self._length.astype(np.float32)
            episode_info = {"return": self._return.copy(), "length": length}
            episode_info |= {"success_once": once, "success_at_end": once}
            infos = {"final_info": {"episode": episode_info}, "_final_info": ended}
            self._length[ended] = 0
            self._return[ended] = 0.0
        if self.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP:
            self._begun = ended
        return self._look(), rewards, ended, np.zeros_like(ended), infos

    def close_extras(self, **kwargs: Any) -> None:
        """Mark the environment as closed."""
        self._life.close()

    def _look(self) -> np.ndarray:
        return np.concatenate(
            [observe_cells(part.cells, part.goals, self._size) for part in self._parts]
        )


def make_vec(
    num_envs: int,
    *,
    suite: str,
    task: str,
    seed: int = 0,
    autoreset_mode: AutoresetMode = AutoresetMode.NEXT_STEP,
) -> CellVectorEnv:
    """Make a vector environment that excludes the frozen boards, as
    ``gym.make_vec("IVispar/Geoms-v1", num_envs)`` does.

    Args:
        num_envs: Number of boards.
        suite: Name of the suite.
        task: Key of the task.
        seed: Seed of the drawn boards.
        autoreset_mode: Step in which ended boards begin anew.

    Raises:
        ClevrSkillsError: ``num_envs`` is too small.
    """
    found: Any = load_suite(suite)
    frozen = [
        Puzzle.from_json(episode.start["puzzle"])
        for split in ("val", *SETS)
        for episode in found.frozen(task, split)
    ]
    avoid = [(board.start, board.goal) for board in frozen]
    return CellVectorEnv(num_envs, seed, avoid=avoid, autoreset_mode=autoreset_mode)
