"""Positions that a policy predicts of the objects that the first subgoal names: how often the
nearest body is the right one, and how far they are off.

    python benchmarks/predicted_positions.py --out results/positions/compact-l0-val.json
    python benchmarks/predicted_positions.py pick place --split test --episodes 20
    python docs/build.py learned                       # the table of docs/training_results.md

Positions are predicted before the arm moves: a few steps later the pose of the arm tells where the
goal is, and a policy may follow it instead of the image (causal confusion, de Haan et al. 2019,
arXiv 1905.11979). Episodes are drawn, none of them is frozen.
"""

from __future__ import annotations

import json
import re
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import tyro

from clevrskills.baselines import load
from clevrskills.core.env_config import EnvConfig
from clevrskills.core.observer import Observer
from clevrskills.core.suite import load_suite
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.arguments import check_names
from clevrskills.jobs.files import to_json

LEVEL = "L0"


@dataclass
class Args:
    """Policy and episodes to measure."""

    tasks: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Keys of tasks; default: all skills of L0."""
    checkpoint: str = "zoo/compact-l0"
    split: str = "val"
    episodes: int = 50
    seed: int = 4711
    """Seed of the first episode; the others follow."""
    out: Path = Path("positions.json")


def measure(args: Args, task: str, policy: Any) -> list[dict[str, Any]]:
    """Return a row for the first and the second object that the first subgoal of a task names: the
    error of each prediction, whether the nearest body is the right one, and how many bodies there
    are, marked places among them.
    """
    suite, shown = load_suite(), policy.observation
    config = EnvConfig(
        task, args.split, cameras=shown.cameras, size_px=shown.size_px, look=shown.look
    )
    env: Any = suite.make(config)
    observer = Observer(env, shown)
    rows: dict[int, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for seed in range(args.seed, args.seed + args.episodes):
        env.reset(options={"episode": suite.draw(task, args.split, seed)})
        policy.reset({0: observer.begin()})
        predicted = policy.predicted_positions({0: observer.look()})[0]
        exist = env.world.filled[0].tolist()
        keys = [key for key, there in zip(env.world.keys, exist, strict=True) if there]
        positions = [env.world.position(env.world.index(key))[0].numpy() for key in keys]
        for k, key in enumerate(_named_objects(env)):
            distances = np.linalg.norm(np.stack(positions) - predicted[k], axis=1)
            is_known = bool(np.isfinite(distances).all())
            error_cm = round(100 * float(distances[keys.index(key)]), 2) if is_known else None
            rows[k]["error_cm"].append(error_cm)
            rows[k]["right"].append(int(is_known and keys[distances.argmin()] == key))
            rows[k]["bodies"].append(len(keys))
    env.close()
    return [{"task": task, "object": k + 1, **row} for k, row in sorted(rows.items())]


def _named_objects(env: Any) -> list[str]:
    """Return the keys of the first two objects that the next subgoal names."""
    leaf = env.goal.next_leaf(env.outcome)
    return [] if leaf is None else re.findall(r"\{obj:(\w+)\}", leaf.describe(env.world))[:2]


def main(args: Args) -> None:
    """Measure, and write the result file."""
    torch.set_num_threads(1)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    known = load_suite().tasks
    check_names(task=(args.tasks, known))
    policy, rows = load(args.checkpoint, "cpu"), list[dict[str, Any]]()
    for task in args.tasks or [key for key, info in known.items() if info.level == LEVEL]:
        rows += measure(args, task, policy)
        print(f"{task}: {time.process_time():.0f} CPU-s", flush=True)
    names = ("checkpoint", "split", "episodes", "seed")
    about = {name: getattr(args, name) for name in names}
    lines = ",\n".join(json.dumps(row) for row in rows)
    args.out.write_text(f'{to_json(about)[:-1]}, "rows": [\n{lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    try:
        main(tyro.cli(Args))
    except ClevrSkillsError as error:
        raise SystemExit(f"error: {error}") from None
