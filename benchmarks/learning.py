"""How well PPO learns tasks from states: trains with several seeds, evaluates what was learnt on
frozen episodes, and writes one file of results, from which docs/draw_learning.py draws.

    python benchmarks/learning.py --out learning                    # hours; continues
    python benchmarks/learning.py trace --seeds 0 --out learning
    python docs/draw_learning.py learning/learning.json
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from common import print_table

from clevrskills.core.statistics import wilson
from clevrskills.evaluation.results import read_results
from clevrskills.jobs.files import to_json, write_whole
from clevrskills.rl.run import read_run
from clevrskills.rl.train import read_progress

STEPS = {
    **{"trace": 250_000, "match_pose": 250_000, "touch": 500_000},
    **{"pick": 500_000, "push": 1_500_000, "move_without_hitting": 400_000},
    **{"place": 400_000, "throw": 800_000, "throw_topple": 800_000},
}
OTHER_STEPS = 200_000
"""Control steps of a training."""
OPTIONS: dict[str, dict[str, float]] = {
    "touch": {"episode-steps": 80},
    "move_without_hitting": {"episode-steps": 60},
    "place": {"episode-steps": 60, "vacuum-mean": 1.0},
    "throw": {"episode-steps": 18, "initial-std": 0.3, "vacuum-mean": 0.6},
    "throw_topple": {"episode-steps": 18, "initial-std": 0.3, "vacuum-mean": 0.6},
    "push": {
        "episode-steps": 60, "num-envs": 32, "learning-rate": 3e-4, "gae-lambda": 0.9,
        "initial-std": 0.07, "vacuum-mean": -1.0,
    },
}  # fmt: skip
"""Other options than the defaults. Episodes are cut off where the task's limit leaves time to make
up for mistakes, as a learner has more of first attempts."""
BINS = 50
"""Points of a curve."""
CURVES = ("success_once", "success_at_end", "return")


@dataclass
class LearningArgs:
    """What to learn."""

    tasks: Annotated[tuple[str, ...], tyro.conf.Positional] = (
        *("trace", "match_pose", "touch"),
        *("pick", "push"),
    )
    """Keys of tasks."""
    out: Path = Path("learning")
    """Folder of the trainings, the evaluations and the results."""
    seeds: tuple[int, ...] = (0, 1, 2)
    """Seeds of the trainings of each task."""
    total_steps: int | None = None
    """Control steps of each training, in place of :data:`STEPS`."""
    episodes: int = 50
    """Frozen episodes of each split on which each is evaluated."""
    jobs: int = 1
    """Trainings at the same time."""
    workers: int = 1
    """Processes of each training."""


def main(args: LearningArgs) -> int:
    """Learn, evaluate, write the results."""
    pairs = [(task, seed) for task in args.tasks for seed in args.seeds]
    with ThreadPoolExecutor(args.jobs) as pool:
        rows = list(pool.map(lambda pair: learn(args, *pair), pairs))
    path = args.out / "learning.json"
    there = json.loads(path.read_text(encoding="utf-8"))["trainings"] if path.exists() else []
    others = [row for row in there if (row["task"], row["seed"]) not in pairs]
    trainings = sorted([*others, *rows], key=lambda row: (row["task"], row["seed"]))
    write_whole(path, to_json({"trainings": trainings}, indent=1) + "\n")
    columns = ["task", "seed", "steps", "minutes", "split", "successes", "95 %"]
    print_table("what was learnt", columns, list(table_rows(trainings)))
    return 0


def learn(args: LearningArgs, task: str, seed: int) -> dict[str, Any]:
    """Train once and evaluate what came out."""
    folder = args.out / f"{task}-{seed}"
    run, results = folder / "training", folder / "evaluation"
    steps = args.total_steps or STEPS.get(task, OTHER_STEPS)
    options = (word for name, v in OPTIONS.get(task, {}).items() for word in (f"--{name}", v))
    folder.mkdir(parents=True, exist_ok=True)
    command(
        *("rl", task, "--out", run, "--seed", seed, "--terminate-on-success", *options),
        *("--total-steps", steps, "--workers", args.workers),
    )
    command(
        *("evaluate", task, "--policy", f"rl:{run}", "--out", results),
        *("--episodes", args.episodes),
    )
    return describe(run, results)


def command(*words: object) -> None:
    """Run ``clevrskills``.

    Raises:
        SystemExit: It failed.
    """
    code = subprocess.run([sys.executable, "-m", "clevrskills", *map(str, words)]).returncode
    if code:
        raise SystemExit(code)


def describe(training: Path, evaluation: Path) -> dict[str, Any]:
    """A training and how well it did, as JSON data."""
    run, lines = read_run(training), read_progress(training)
    solved: dict[str, list[bool]] = defaultdict(list)
    for result in read_results(evaluation):
        if result.counts:
            solved[result.split].append(result.success_once)
    return {
        "task": run.task,
        "seed": run.seed,
        "steps": run.total_steps,
        "minutes": round(lines[-1]["seconds"] / 60, 1),
        "machine": machine(),
        "settings": asdict(run),
        "curve": curve(lines, run.total_steps),
        "evaluation": {
            split: {"successes": sum(each), "episodes": len(each)} for split, each in solved.items()
        },
    }


def curve(lines: list[dict[str, float]], total_steps: int) -> dict[str, list[float | None]]:
    """Means over the episodes that ended in each of :data:`BINS` parts of a training; ``None``
    where none ended.
    """
    ended = [line for line in lines if line["episode/count"]]
    place = [min(BINS - 1, int(BINS * line["steps"] / total_steps)) for line in ended]
    weights = [line["episode/count"] for line in ended]
    count = np.bincount(place, weights, BINS)
    found: dict[str, list[float | None]] = {
        "steps": [round((k + 0.5) * total_steps / BINS) for k in range(BINS)]
    }
    for name in CURVES:
        values = np.array([line[f"episode/{name}"] for line in ended])
        sums = np.bincount(place, weights * values, BINS)
        found[name] = [
            round(float(s / n), 4) if n else None for s, n in zip(sums, count, strict=True)
        ]
    return found


def machine() -> str:
    """The processor and how many of its cores there are."""
    cpuinfo = Path("/proc/cpuinfo")
    text = cpuinfo.read_text(encoding="utf-8") if cpuinfo.exists() else ""
    models = [line.split(":")[1].strip() for line in text.splitlines() if "model name" in line]
    return f"{models[0] if models else platform.machine()}, {os.cpu_count()} cores"


def table_rows(trainings: list[dict[str, Any]]) -> Iterator[list[object]]:
    """A row for each training and split."""
    for row in trainings:
        for split, result in row["evaluation"].items():
            low, high = wilson(result["successes"], result["episodes"])
            yield [
                *(row["task"], row["seed"], row["steps"], row["minutes"], split),
                *(f"{result['successes']}/{result['episodes']}", f"{low:.0%} to {high:.0%}"),
            ]


if __name__ == "__main__":
    sys.exit(main(tyro.cli(LearningArgs, description=__doc__)))
