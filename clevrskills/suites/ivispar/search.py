"""Shortest solutions by A* with the sum of Manhattan distances as the heuristic."""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush

from clevrskills.suites.ivispar.board import Board, State

Move = tuple[int, int]
"""Piece and direction."""


def solve(board: Board, start: State, goal: State, most: int | None = None) -> list[Move] | None:
    """Return a shortest solution.

    Args:
        board: The board.
        start: Start state.
        goal: Goal state.
        most: Maximum length of a solution; ``None``: no limit.

    Returns:
        The moves; ``None``: there is no such solution.
    """
    least = board.bound(start, goal)
    limit = most if most is not None else least + 10**6
    if least > limit:
        return None
    manhattan, neighbors = board.manhattan, board.neighbors
    # ties: the state that is further from the start comes first
    queue: list[tuple[int, int, State, int]] = [(least, 0, start, least)]
    came: dict[State, tuple[State, Move] | None] = {start: None}
    steps = {start: 0}
    while queue:
        _, negative, state, rest = heappop(queue)
        made = -negative
        if state == goal:
            moves: list[Move] = []
            while (step := came[state]) is not None:
                state, move = step
                moves.append(move)
            return moves[::-1]
        if made > steps[state]:
            continue
        taken = set(state)
        for piece, cell in enumerate(state):
            to = manhattan[goal[piece]]
            for direction, target in enumerate(neighbors[cell]):
                if target < 0 or target in taken:
                    continue
                left = rest + to[target] - to[cell]
                if made + 1 + left > limit:
                    continue
                after = (*state[:piece], target, *state[piece + 1 :])
                if after not in steps or steps[after] > made + 1:
                    steps[after] = made + 1
                    came[after] = state, (piece, direction)
                    heappush(queue, (made + 1 + left, negative - 1, after, left))
    return None


def distances(board: Board, goal: State, most: int | None = None) -> dict[State, int]:
    """Return the solution length of every state that has a solution, of at most ``most`` moves."""
    found, waiting = {goal: 0}, deque([goal])
    while waiting:
        state = waiting.popleft()
        if found[state] == most:
            break
        for _, _, after in board.moves(state):  # moves are reversible
            if after not in found:
                found[after] = found[state] + 1
                waiting.append(after)
    return found


class Distance:
    """Solution lengths along an episode.

    A legal move changes the solution length by exactly one, so that one bounded search per move
    is enough.

    Args:
        board: The board.
        goal: Goal state.
        start: Start state.
        length: Solution length of the start.
    """

    def __init__(self, board: Board, goal: State, start: State, length: int) -> None:
        self._board, self._goal = board, goal
        self._known = {start: length, goal: 0}

    def known(self, state: State) -> int:
        """Return the solution length of a visited state."""
        return self._known[state]

    def after(self, before: State, state: State) -> int:
        """Return the solution length of a state one move after a visited one."""
        if state not in self._known:
            nearer = self._known[before] - 1
            path = solve(self._board, state, self._goal, nearer)
            self._known[state] = nearer if path is not None else nearer + 2
        return self._known[state]
