"""Vector environment: thousands of boards of one size at once, for reinforcement learning."""

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

_FIRST = 1024  # boards that are drawn at once
SOLVED_REWARD = 4.0
"""Reward of a solved board besides that of the way to it, in training."""
PIECES = range(8, 15)
"""Pieces on the boards that one learns on, as in the set ``interference``."""


class BoardVectorEnv:
    """Boards with k pieces each, moved by one number a board: 4 piece + direction.

    A board that is solved, or whose turns are over, begins anew within the same step or, with
    ``waits``, in the next one, whose move is not made. The reward is how much nearer to their goals
    the pieces have come, in rows and columns: 1, -1 or 0.

    Args:
        num_envs: Number of boards, B.
        pieces: Pieces on each, k.
        size: Cells in a row, n.
        turns: Turns until a board begins anew.
        scramble: Random moves between goal and start, at most, or from least to most.
        seed: Of all that is drawn.
        starts: Starts and goals to begin from, two arrays (M, k) of cells, one after the other;
            ``None``: they are drawn.
        avoid: Starts and goals, (k,) each, of boards that are not drawn, in whatever order their
            pieces are.

    Raises:
        ClevrSkillsError: There is no room for so many pieces.
    """

    def __init__(
        self,
        num_envs: int,
        pieces: int,
        size: int = 4,
        turns: int = 20,
        scramble: int | tuple[int, int] = 24,
        seed: int | np.random.SeedSequence = 0,
        starts: tuple[np.ndarray, np.ndarray] | None = None,
        avoid: Iterable[tuple[Sequence[int], Sequence[int]]] = (),
        waits: bool = False,
    ) -> None:
        if not 1 <= pieces < size * size:
            raise ClevrSkillsError(f"{size} x {size} cells have room for 1 to {size * size - 1}")
        board = Board(size)
        self.num_envs, self.pieces, self.size, self.turns = num_envs, pieces, size, turns
        self.num_actions = len(DIRECTIONS) * pieces
        cells = size * size
        # one cell more, always taken, stands for all beyond the edge
        beside = np.array(board.neighbours, np.int64)
        self._beside = np.where(beside < 0, cells, beside).reshape(-1)
        apart = np.zeros((cells + 1, cells), np.int8)
        apart[:cells] = np.array(board.manhattan)
        self._apart = apart.reshape(-1)
        self._generator = np.random.default_rng(seed)
        self._rows = np.arange(num_envs)
        self._left = np.zeros(num_envs, np.int64)
        least, most = scramble if isinstance(scramble, tuple) else (1, scramble)
        self._least, self._scramble, self._fixed = least, most, starts
        self._avoid = {tuple(sorted(zip(goal, start, strict=True))) for start, goal in avoid}
        self._next, self._waits = 0, waits
        self._ended = np.zeros(num_envs, bool)
        self._pool = starts or self._drawn()

    def reset(self) -> np.ndarray:
        """Begin all boards anew; returns what they show, see :meth:`planes`."""
        shape = self.num_envs, self.pieces
        self.cells, self.goals = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        self._taken = np.zeros((self.num_envs, self.size**2 + 1), bool)
        self._age = np.zeros(self.num_envs, np.int64)
        k, n2 = self.pieces, self.size**2
        self._planes = np.zeros((self.num_envs, 2 * k, n2), np.uint8)
        self._flat = self._planes.reshape(-1)
        self._first = self._rows * (2 * k * n2)
        self._ended[:] = False
        self._begin(self._rows)
        return self.planes()

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Make a move on each board; one that can't be made changes nothing and uses the turn up.

        Args:
            actions: (B,) int, 4 piece + direction.

        Returns:
            Planes as of :meth:`planes`, rewards (B,) float32, which boards were solved and which
            ran out of turns, (B,) bool, and ``{"moved": (B,) bool}``.
        """
        rows, n2 = self._rows, self.size**2
        piece, direction = actions >> 2, actions & 3
        before = self.cells[rows, piece]
        target = self._beside[4 * before + direction]
        moved = ~self._taken[rows, target]
        after = np.where(moved, target, before)
        goal = self.goals[rows, piece]
        reward = self._apart[before * n2 + goal] - self._apart[after * n2 + goal]
        self._taken[rows, before] = False
        self._taken[rows, after] = True
        self.cells[rows, piece] = after
        place = self._first + piece * n2
        self._flat[place + before] = 0
        self._flat[place + after] = 1
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
        return self.planes(), reward.astype(np.float32), solved, over, {"moved": moved}

    def planes(self) -> np.ndarray:
        """Return where each piece is and is to be, one plane for each: (B, 2k, n, n) uint8. It is
        the environment's own array, which the next step changes.
        """
        return self._planes.reshape(self.num_envs, -1, self.size, self.size)

    def _begin(self, rows: np.ndarray) -> None:
        starts, goals = self._take(len(rows))
        k, n2 = self.pieces, self.size**2
        self.cells[rows], self.goals[rows] = starts, goals
        self._taken[rows] = False
        self._taken[rows[:, None], starts] = True
        self._taken[rows, n2] = True
        self._age[rows] = 0
        apart = self._apart[starts * n2 + goals].sum(1, dtype=np.int64)
        self._left[rows] = apart
        self._planes[rows] = 0
        place = self._first[rows, None] + n2 * np.arange(k)
        self._flat[place + starts] = 1
        self._flat[place + k * n2 + goals] = 1

    def _take(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the next starts and goals."""
        starts, goals = self._pool
        chosen = np.arange(self._next, self._next + count)
        if self._fixed is None and self._next + count > len(starts):
            parts = [(starts[self._next :], goals[self._next :])]
            have = len(parts[0][0])
            while have < count:
                self._pool = self._drawn()
                parts.append(self._pool)
                have += len(self._pool[0])
            self._next = len(self._pool[0]) - (have - count)
            joined = [np.concatenate(each)[:count] for each in zip(*parts, strict=True)]
            return joined[0], joined[1]
        self._next += count
        chosen %= len(starts)
        return starts[chosen], goals[chosen]

    def _drawn(self) -> tuple[np.ndarray, np.ndarray]:
        """Return starts and goals (M, k): goals at random, and random moves from there."""
        generator, k, n2 = self._generator, self.pieces, self.size**2
        count = max(_FIRST, self.num_envs)
        goals = generator.permuted(np.tile(np.arange(n2), (count, 1)), axis=1)[:, :k]
        rows, cells = np.arange(count), goals.copy()
        taken = np.zeros((count, n2 + 1), bool)
        taken[:, n2] = True
        taken[rows[:, None], cells] = True
        lengths = generator.integers(self._least, self._scramble + 1, count)
        for made in range(self._scramble):
            actions = generator.integers(self.num_actions, size=count)
            piece, direction = actions >> 2, actions & 3
            before = cells[rows, piece]
            target = self._beside[4 * before + direction]
            after = np.where(~taken[rows, target] & (made < lengths), target, before)
            taken[rows, before] = False
            taken[rows, after] = True
            cells[rows, piece] = after
        kept = (cells != goals).any(1)
        if self._avoid:
            pairs = np.stack((goals, cells), -1).tolist()
            drawn = (tuple(sorted(map(tuple, board))) for board in pairs)
            kept &= [board not in self._avoid for board in drawn]
        return cells[kept], goals[kept]


def observe_cells(cells: np.ndarray, goals: np.ndarray, size: int) -> np.ndarray:
    """Return boards as a network is shown them, with pieces in no order.

    Args:
        cells: Where the pieces are, (B, k).
        goals: Where they are to be, (B, k).
        size: Cells in a row, n.

    Returns:
        (B, n n (4n + 4)) float32. For each cell first 4n numbers: whether it has a piece, how far
        that one's goal is to the right and away, one-hot of 2n - 1 each, whether a piece has its
        goal here, and how far that one is, the same way; then, after all cells, for each cell and
        direction whether its piece can be moved.
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
    beside = np.array(Board(size).neighbours)
    target = np.where(beside < 0, n2, beside)  # (n n, 4)
    possible = taken[:, :n2, None] & ~taken[:, target]
    flat = (planes.reshape(count, -1), possible.reshape(count, -1))
    return np.concatenate(flat, axis=1, dtype=np.float32)


class CellVectorEnv(VectorEnv):
    """Boards of 8 to 14 pieces as a Gymnasium vector environment, for learning.

    A move is 4 cell + direction, so that it does not matter how many pieces there are. An
    observation is that of :func:`observe_cells`, the reward that of :class:`BoardVectorEnv` and,
    with the last move, :data:`SOLVED_REWARD`.

    Args:
        num_envs: Number of boards; as many of each number of pieces, or nearly.
        seed: Of all that is drawn; :meth:`reset` takes another.
        turns: Turns until a board begins anew.
        scramble: Random moves between goal and start, from least to most.
        avoid: Starts and goals, (k,) each, of boards that must not be drawn.
        autoreset_mode: When boards that end begin anew: ``SAME_STEP``, or ``NEXT_STEP``, in the
            step after, whose move is not made.

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
        self._begun = np.zeros(num_envs, bool)  # where a step begins a board anew
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
            seed: Of all that is drawn; ``None``: as when it was made.
            options: There are none.

        Raises:
            ClevrSkillsError: The seed is not allowed, or there is an option.
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
        """Move on each board. Time that runs out ends an episode like success does.

        Raises:
            ActionError: The actions are no moves of this many boards.
            ResetNeededError: No episode has begun.
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
        rewards, solved, over = (np.concatenate([step[k] for step in found]) for k in (1, 2, 3))
        rewards = rewards + SOLVED_REWARD * solved.astype(np.float32)
        self._length += ~self._begun
        self._return += rewards
        ended = solved | over
        infos: dict[str, Any] = {}
        if ended.any():
            once = solved.astype(np.float32)
            episode_info = {
                "return": self._return.copy(),
                "length": self._length.astype(np.float32),
            }
            episode_info |= {"success_once": once, "success_at_end": once}
            infos = {"final_info": {"episode": episode_info}, "_final_info": ended}
            self._length[ended] = 0
            self._return[ended] = 0.0
        if self.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP:
            self._begun = ended
        return self._look(), rewards, ended, np.zeros_like(ended), infos

    def close_extras(self, **kwargs: Any) -> None:
        """Note that it is closed."""
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
    """Make a vector environment of drawn boards, none of them frozen, as
    ``gym.make_vec("IVispar/Geoms-v1", num_envs)`` does.

    Args:
        num_envs: Number of boards.
        suite: Name of the suite.
        task: Key of the task.
        seed: Of all that is drawn.
        autoreset_mode: When boards that end begin anew; by default as Gymnasium's own.

    Raises:
        ClevrSkillsError: There are too few boards.
    """
    found: Any = load_suite(suite)
    frozen = [
        Puzzle.from_json(episode.start["puzzle"])
        for split in ("val", *SETS)
        for episode in found.frozen(task, split)
    ]
    avoid = [(board.start, board.goal) for board in frozen]
    return CellVectorEnv(num_envs, seed, avoid=avoid, autoreset_mode=autoreset_mode)
