"""How well a policy learns tasks from demonstrations: for each task makes demonstrations, trains on
their images, evaluates on frozen episodes, and writes one file of results, from which
docs/build.py draws. What is done is not done again.

    python benchmarks/cloning.py --out cloning                     # hours; continues
    python benchmarks/cloning.py trace --configuration compact --out cloning
    python docs/build.py cloning --measured cloning/cloning.json
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from common import print_table

from clevrskills.baselines import checkpoint
from clevrskills.baselines.training.trainer import read_log
from clevrskills.core.checkpoint import find
from clevrskills.core.statistics import wilson
from clevrskills.evaluation.results import EpisodeResult, read_results
from clevrskills.jobs.files import to_json, write_whole
from clevrskills.rl.protocol import machine

POINTS = 100
"""Points of a curve."""
SAVE_EVERY = 200
"""Steps between two checkpoints: some minutes on a CPU."""


@dataclass
class CloningArgs:
    """What to learn."""

    tasks: Annotated[tuple[str, ...], tyro.conf.Positional] = ("throw", "throw_topple", "trace")
    """Keys of tasks; each has a training of its own."""
    out: Path = Path("cloning")
    """Folder of the demonstrations, the trainings, the evaluations and the results."""
    policy: str = "bc"
    """The policy, as `clevrskills train` takes it."""
    configuration: str = "default"
    """Its configuration."""
    image_size: int = 96
    """Width and height of the images that are filmed and seen, in pixels."""
    set: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """Other entry of the configuration, NAME=VALUE; may be given several times."""
    demonstrations: int = 1000
    """Demonstrations of each task."""
    steps: int = 5000
    """Steps of each training."""
    bf16: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Train in bfloat16, quicker on CPUs that have instructions for it."""
    cache_gb: float = 6.0
    """Memory in which each process that loads keeps images."""
    seed: int = 0
    """Seed of the trainings."""
    episodes: int = 50
    """Frozen episodes of each split on which each policy is evaluated."""
    splits: tuple[str, ...] = ("train", "test")
    """The splits."""
    workers: int = 2
    """Processes that make demonstrations, load them, and evaluate."""


def command(*words: object) -> None:
    """Run ``clevrskills``.

    Raises:
        SystemExit: It failed.
    """
    code = subprocess.run([sys.executable, "-m", "clevrskills", *map(str, words)]).returncode
    if code:
        raise SystemExit(code)


def main(args: CloningArgs) -> int:
    """Make demonstrations, learn, evaluate, write the results."""
    for task in args.tasks:
        write(args.out / "cloning.json", clone(args, task))
    trainings = read(args.out / "cloning.json")
    columns = ["task", "policy", "seed", "steps", "minutes", "split", "successes", "95 %"]
    print_table("what was learnt", columns, list(table_rows(trainings)))
    return 0


def clone(args: CloningArgs, task: str) -> dict[str, Any]:
    """Train once and evaluate what came out."""
    demos = args.out / "demos" / task
    folder = args.out / f"{args.policy.replace(':', '.')}-{task}-{args.seed}"
    training, results = folder / "training", folder / "evaluation"
    demos.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(exist_ok=True)
    command(
        *("generate", task, "--out", demos, "--episodes", args.demonstrations),
        *("--size", args.image_size, "--workers", args.workers),
    )
    sets = [f"image_size={args.image_size}", *args.set]
    command(
        *("train", "--policy", args.policy, "--configuration", args.configuration),
        *("--data", demos, "--out", training, "--steps", args.steps, "--seed", args.seed),
        *("--workers", args.workers, "--cache-gb", args.cache_gb, "--save-every", SAVE_EVERY),
        *(["--bf16"] if args.bf16 else []),
        *(word for entry in sets for word in ("--set", entry)),
    )
    command(
        *("evaluate", task, "--policy", f"checkpoint:{training}", "--out", results),
        *("--episodes", args.episodes, "--workers", args.workers),
        *(word for split in args.splits for word in ("--split", split)),
    )
    row = {"task": task, "policy": args.policy, "seed": args.seed, "steps": args.steps}
    row |= {"demonstrations": args.demonstrations, "bf16": args.bf16}
    return {**row, **describe(training, results)}


def describe(training: Path, evaluation: Path) -> dict[str, Any]:
    """A training and how well it did, as JSON data."""
    about, log = checkpoint.describe(find(training)), read_log(training)
    by_split: dict[str, list[EpisodeResult]] = defaultdict(list)
    for result in read_results(evaluation):
        if result.counts:
            by_split[result.split].append(result)
    return {
        "minutes": round(log[max(log)]["seconds"] / 60, 1),
        "machine": machine(),
        "parameters": about.provenance["parameters"],
        "windows": about.provenance["windows"],
        "settings": asdict(about.config),
        "curve": curve({step: line["loss"] for step, line in log.items() if "loss" in line}),
        "evaluation": {split: summary(results) for split, results in by_split.items()},
    }


def curve(losses: dict[int, float]) -> dict[str, list[float]]:
    """Losses by step, as means over at most :data:`POINTS` parts of the training."""
    parts = np.array_split(np.array(list(losses.items())), min(POINTS, len(losses)))
    steps, values = zip(*((part[-1, 0], part[:, 1].mean()) for part in parts), strict=True)
    return {"steps": [int(s) for s in steps], "loss": [round(float(v), 5) for v in values]}


def summary(results: list[EpisodeResult]) -> dict[str, float]:
    """How the episodes of a split went."""
    return {
        "successes": sum(r.success_once for r in results),
        "episodes": len(results),
        "progress": round(float(np.mean([r.progress for r in results])), 3),
    }


def read(path: Path) -> list[dict[str, Any]]:
    """The trainings that are there."""
    there: list[dict[str, Any]] = []
    if path.exists():
        there = json.loads(path.read_text(encoding="utf-8"))["trainings"]
    return there


def write(path: Path, row: dict[str, Any]) -> None:
    """Enter a training, in place of an earlier one of the same task, policy and seed."""
    rows = {(r["task"], r["policy"], r["seed"]): r for r in [*read(path), row]}
    trainings = [rows[key] for key in sorted(rows)]
    write_whole(path, to_json({"trainings": trainings}, indent=1) + "\n")


def table_rows(trainings: list[dict[str, Any]]) -> Iterator[list[object]]:
    """A row for each training and split."""
    for row in trainings:
        for split, result in row["evaluation"].items():
            low, high = wilson(result["successes"], result["episodes"])
            yield [
                *(row["task"], row["policy"], row["seed"], row["steps"], row["minutes"], split),
                *(f"{result['successes']}/{result['episodes']}", f"{low:.0%} to {high:.0%}"),
            ]


if __name__ == "__main__":
    sys.exit(main(tyro.cli(CloningArgs, description=__doc__)))
