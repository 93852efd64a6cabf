"""Turns for pick-and-place actors without an arm, many times as many in an hour as `clevrskills
generate` makes: the map and the heights, what is asked for, and the pick and place.

Of each drawn episode there is the start, with the task's own sentence and the solver's pick and
place, if it is a primitive; then instructions drawn at random, with what a perfect actor makes
of them. One of these is carried out by setting the block to its place, and so on, `--depth` times.
What was asked for last is an end besides.

    python recipes/lohoravens_turns.py --level primitive --level seen --count 100 --out turns.npz
    clevrskills train --policy cliport --data turns.npz --out runs/actor
"""

import argparse
from collections import defaultdict
from pathlib import Path

import numpy as np

from clevrskills.core.env_config import EnvConfig
from clevrskills.core.suite import all_levels, load_suite
from clevrskills.errors import ClevrSkillsError
from clevrskills.suites.lohoravens.interfaces.numbers import NOWHERE_PX, pixel_of
from clevrskills.suites.lohoravens.move import Move
from clevrskills.suites.lohoravens.prompts.instructions import draw_instructions
from clevrskills.suites.lohoravens.solver import next_move
from clevrskills.suites.lohoravens.solver.rehearsal import carry_out

FIRST_SEED = 10_000_000
"""Far from those of what is evaluated."""


def main() -> None:
    """Draw them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tasks", nargs="*")
    parser.add_argument("--level", action="append", default=[], help="all tasks of a level")
    parser.add_argument("--count", type=int, default=1000, help="episodes of each task")
    parser.add_argument("--instructions", type=int, default=5, help="drawn for each image")
    parser.add_argument("--depth", type=int, default=2, help="images of each episode")
    parser.add_argument("--seed", type=int, default=FIRST_SEED)
    parser.add_argument("--split", default="train")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    suite = load_suite("lohoravens")
    levels = all_levels(suite)
    tasks = [*args.tasks, *(key for key, level in levels.items() if level in args.level)]
    found: dict[str, list[object]] = defaultdict(list)
    for task in tasks:
        env = suite.make(EnvConfig(task, args.split, cameras=("map",), look="flat"))
        for seed in range(args.seed, args.seed + args.count):
            try:
                episode = suite.draw(task, args.split, seed)
                env.reset(options={"episode": episode})
            except ClevrSkillsError:
                continue
            add_episode(found, env, levels[task] == "primitive", args, seed)
        env.close()
    arrays = {name: np.array(values) for name, values in found.items()}
    np.savez_compressed(args.out, **arrays)
    print(f"{len(arrays['text'])} turns of {len(arrays['map'])} images in {args.out}")


def add_episode(found, env, is_primitive: bool, args: argparse.Namespace, seed: int) -> None:
    """Add the turns of an episode."""
    generator = np.random.default_rng(np.random.SeedSequence((args.seed, seed)))
    last = None
    for number in range(args.depth):
        turns: list[tuple[str, Move]] = []
        if is_primitive and not number:
            move = next_move(env.goal, env.world, env.goal_state)
            turns += [(env.prompt.plain(), move)] if move is not None else []
        turns += draw_instructions(env, args.instructions, generator)
        if not turns:
            return
        scene = len(found["map"])
        found["map"].append(env.capture()["map"])
        found["height"].append(env.look(("height",))["height"].astype(np.float16))
        for text, move in turns:
            action = [*pixel_of(move.pick), *pixel_of(move.place)]
            add_turn(found, scene, text, action)
        if last is not None:
            add_turn(found, scene, last, [NOWHERE_PX] * 6)
        last, move = turns[int(generator.integers(len(turns)))]
        carry_out(env.world, move)


def add_turn(found, scene: int, text: str, action: list[int]) -> None:
    """Add a turn of an image."""
    for name, value in (("scene", scene), ("text", text), ("action", action)):
        found[name].append(value)


if __name__ == "__main__":
    main()
