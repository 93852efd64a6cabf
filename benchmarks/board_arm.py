"""Skill of the board: every shape in every direction, alone and beside others; how often the piece
is where it should be, how far others are moved, control steps and CPU time of a move.

    python benchmarks/board_arm.py [--robot xarm6]
"""

import argparse
import time
from itertools import product

import numpy as np

from clevrskills.core.env_config import EnvConfig
from clevrskills.core.suite import find_interface, load_suite
from clevrskills.envs.episode import EpisodeSpec
from clevrskills.envs.scene_sampling import scene_of, worded
from clevrskills.suites.ivispar.arm.task import KEY, GeomsArm
from clevrskills.suites.ivispar.board import DIRECTIONS, Board
from clevrskills.suites.ivispar.boards import SHAPES, Puzzle

MIDDLES = (5, 6, 9, 10)
BESIDE = ("alone", *DIRECTIONS, "all around")


def main() -> None:
    """Move them all, print a line for each shape and one for all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robot", default="xarm6")
    robot = parser.parse_args().robot
    suite, task = load_suite("ivispar"), GeomsArm()
    env = suite.make(EnvConfig(KEY, "train", robot))
    moves = find_interface(suite, "index")
    rows = []
    for number, (shape, way, beside) in enumerate(product(SHAPES, DIRECTIONS, BESIDE)):
        start = MIDDLES[number % 4]
        board = Board(4)
        cells = board.neighbours[start]
        to = cells[DIRECTIONS.index(way)]
        others = {"alone": [], "all around": cells}.get(beside)
        others = [cells[DIRECTIONS.index(beside)]] if others is None else others
        others = [cell for cell in others if cell not in (to, -1)]
        names = [("red", shape), *(("blue", one) for one in SHAPES)]
        states = (start, *others), (to, *others)
        puzzle = Puzzle(4, names[: 1 + len(others)], *states, [(0, DIRECTIONS.index(way))])
        layout = task._laid_out(puzzle, "train")
        scene = scene_of(task, layout, robot)
        spec = EpisodeSpec(KEY, "train", 0, number, layout, worded(task, scene, 0, robot), robot)
        env.reset(options={"episode": spec})
        start_s = time.process_time()
        turn = moves.begin(env).act(DIRECTIONS.index(way))
        cpu_s = time.process_time() - start_s
        away_mm = 1000 * env.disturbance_m  # type: ignore[attr-defined]
        rows.append((shape, turn.ok, away_mm, turn.steps, cpu_s))
    for name in (*SHAPES, "all"):
        of = [row[1:] for row in rows if name in (row[0], "all")]
        ok, far, steps, spent_s = map(np.array, zip(*of, strict=True))
        print(
            f"{name}: {ok.sum()} of {len(of)} moved, others by at most {far.max():.2f} mm, "
            f"within 5 mm {np.mean(far <= 5):.1%}, {steps.mean():.1f} control steps (most "
            f"{steps.max()}), {np.median(spent_s):.3f} CPU-s"
        )


if __name__ == "__main__":
    main()
