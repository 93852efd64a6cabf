"""How fast the vector environment of boards is: moves per second of one core.

    python benchmarks/boards.py

Random moves, of which more than half can't be made; planes, reward and starts of new boards
included. Beside it, the same moves on boards one by one.
"""

from __future__ import annotations

import time
from typing import Annotated

import numpy as np
import tyro
from common import print_table

from clevrskills.suites.ivispar.board import Board
from clevrskills.suites.ivispar.vector import BoardVectorEnv


def main(
    boards: Annotated[int, tyro.conf.Positional] = 1024, pieces: int = 8, steps: int = 300
) -> None:
    """Measure.

    Args:
        boards: Boards at once.
        pieces: Pieces on each.
        steps: Steps to make.
    """
    env = BoardVectorEnv(boards, pieces)
    actions = np.random.default_rng(0).integers(env.num_actions, size=(steps, boards))
    env.reset()
    begin, moved = time.process_time(), 0.0
    for row in actions:
        moved += float(env.step(row)[4]["moved"].mean())
    many = steps * boards / (time.process_time() - begin)
    board, state = Board(4), tuple(range(pieces))
    singles = actions.reshape(-1)[:50_000].tolist()
    begin = time.process_time()
    for action in singles:
        state = board.moved(state, *divmod(action, 4)) or state
    one = len(singles) / (time.process_time() - begin)
    rows = [["all at once", many, many / one], ["one by one", one, 1.0]]
    title = f"{boards} boards, {pieces} pieces, {moved / steps:.0%} of the moves can be made"
    print_table(title, ["", "moves / CPU-s", "times"], rows)


if __name__ == "__main__":
    tyro.cli(main, description=__doc__)
