"""Turns for pick-and-place actors without an arm: the map, the heights and the solver's pick and
place at the start of drawn episodes, several times as many in an hour as `clevrskills generate`
makes.

    python recipes/lohoravens_turns.py pick_place_color --count 2000 --out p1.npz
    clevrskills train --policy cliport --data p1.npz --out runs/actor
"""

import argparse
from pathlib import Path

import numpy as np

from clevrskills.core.env_config import EnvConfig
from clevrskills.core.suite import load_suite
from clevrskills.errors import ClevrSkillsError

VIEWS = ("map", "height")


def main() -> None:
    """Draw them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tasks", nargs="+")
    parser.add_argument("--count", type=int, default=1000, help="turns of each task")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--split", default="train")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    suite = load_suite("lohoravens")
    interface = suite.interface("pick_place_pixels")
    found: dict[str, list[object]] = {name: [] for name in ("map", "height", "text", "action")}
    for task in args.tasks:
        env = suite.make(EnvConfig(task, args.split, cameras=("map",), look="flat"))
        for seed in range(args.seed, args.seed + args.count):
            try:
                episode = suite.draw(task, args.split, seed)
                env.reset(options={"episode": episode})
                action = suite.solver(env, interface).act()
            except ClevrSkillsError:
                continue
            found["map"].append(env.capture()["map"])
            found["height"].append(env.look(("height",))["height"].astype(np.float16))
            found["text"].append(env.prompt.plain())
            found["action"].append(action)
        env.close()
    arrays = {name: np.array(values) for name, values in found.items()}
    np.savez_compressed(args.out, **arrays)
    print(f"{len(arrays['text'])} turns in {args.out}")


if __name__ == "__main__":
    main()
