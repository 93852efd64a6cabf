"""Protocols of reinforcement learning: tasks, settings, seeds and results.

::

    DIR/<task>-<seed>/training/      training run, see :mod:`clevrskills.rl.run`
    DIR/<task>-<seed>/evaluation/    evaluation on frozen episodes
    DIR/<task>-<seed>/machine.txt    machine on which it started
    DIR/results.json                 settings, learning curves, successes and summary
"""

from __future__ import annotations

import contextlib
import io
import os
import platform
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from clevrskills.core.checkpoint import latest
from clevrskills.core.statistics import wilson
from clevrskills.evaluation.evaluate import EvaluateArgs, evaluate
from clevrskills.evaluation.results import read_results
from clevrskills.evaluation.statistics import Estimate, interquartile_mean, over_runs
from clevrskills.jobs.files import to_json, write_whole
from clevrskills.rl.run import PPOConfig, Settings, read_run
from clevrskills.rl.train import read_progress

RESULTS_FILE, MACHINE_FILE = "results.json", "machine.txt"
BINS = 50
"""Points of a learning curve."""
CURVES = ("success_once", "success_at_end", "return")


def _of(
    task: str, steps: int, limit: int | None = None, head_starts: float = 0.0, **ppo: float
) -> Settings:
    return Settings(
        task=task,
        total_steps=steps,
        episode_steps=limit,
        head_starts=head_starts,
        terminate_on_success=True,
        ppo=PPOConfig(**ppo),  # type: ignore[arg-type]
    )


_PUSHED: dict[str, float] = {
    "vacuum_mean": -1.0,
    "initial_std": 0.05,
    "learning_rate": 3e-4,
    "gamma": 0.97,
    "gae_lambda": 0.9,
}
_CARRIED = {"vacuum_mean": 1.3, "initial_std": 0.07, "learning_rate": 4e-4, "gae_lambda": 0.9}
PROTOCOLS: Mapping[str, Mapping[str, Settings]] = {
    "states": {
        settings.task: settings
        for settings in (
            _of("match_pose", 250_000),
            _of("move_without_hitting", 1_000_000, 60, gamma=0.97),
            _of("pick", 500_000),
            _of("place", 1_500_000, 60, **_CARRIED),
            _of("push", 1_500_000, 60, **{**_PUSHED, "initial_std": 0.07, "gamma": 0.95}),
            _of("rotate", 200_000),
            _of("throw", 800_000, 18, initial_std=0.3, vacuum_mean=0.6),
            _of("throw_topple", 800_000, 18, initial_std=0.3, vacuum_mean=0.6),
            _of("touch", 500_000, 80),
            _of("touch_push", 1_000_000, 120, 0.3, **_PUSHED),
            _of("touch_topple", 700_000, 120, 0.3, **_PUSHED),
            _of("trace", 250_000),
        )
    }
}
"""Settings of each task. Step limits are shorter than those of tasks, as learning profits more from
new episodes than from recovering from mistakes."""


def run_protocol(
    name: str,
    root: Path,
    tasks: Sequence[str],
    seeds: Sequence[int],
    episodes: int,
    workers: int,
    learn: Callable[[Settings, Path], int],
) -> int:
    """Run the missing training runs and evaluations, and write the results.

    Args:
        name: Name of the protocol.
        root: Folder of the protocol.
        tasks: Tasks to run.
        seeds: Training seeds of each task.
        episodes: Number of frozen episodes per split.
        workers: Number of evaluation processes.
        learn: Starts or continues a training run in a folder; returns an exit code.

    Returns:
        Exit code: 0, or that of an interrupted part.
    """
    for task in tasks:
        for seed in seeds:
            folder = root / f"{task}-{seed}"
            folder.mkdir(parents=True, exist_ok=True)
            if not (folder / MACHINE_FILE).exists():
                write_whole(folder / MACHINE_FILE, machine() + "\n")
            settings = replace(PROTOCOLS[name][task], seed=seed)
            code = learn(settings, folder / "training")
            if code:
                return code
            request = EvaluateArgs(
                policy=f"rl:{(folder / 'training').absolute()}",
                tasks=(task,),
                episodes=episodes,
                out=folder / "evaluation",
                workers=workers,
            )
            with contextlib.redirect_stdout(io.StringIO()):
                code = evaluate(request)
            if code:
                return code
            write_results(root)
    return 0


def write_results(root: Path) -> dict[str, Any]:
    """Write and return the results of all training runs in a folder."""
    found = sorted(root.glob("*-*/evaluation"))
    trainings = [describe(path.parent / "training", path) for path in found]
    trainings.sort(key=lambda row: (row["task"], row["seed"]))
    summary = {
        split: {"value": mean.value, "low": mean.low, "high": mean.high, "trainings": mean.n}
        for split, mean in summarize(trainings).items()
    }
    results = {"trainings": trainings, "interquartile_mean": summary}
    write_whole(root / RESULTS_FILE, to_json(results, indent=1) + "\n")
    return results


def describe(training: Path, evaluation: Path) -> dict[str, Any]:
    """Return a training run and its results in JSON data."""
    run, lines = read_run(training), read_progress(training)
    begun = training.parent / MACHINE_FILE
    solved: dict[str, list[bool]] = defaultdict(list)
    for result in read_results(evaluation):
        if result.counts:
            solved[result.split].append(result.success_once)
    return {
        "task": run.task,
        "seed": run.seed,
        "steps": latest(training)[0],
        "minutes": round(lines[-1]["seconds"] / 60, 1),
        "machine": begun.read_text(encoding="utf-8").strip() if begun.exists() else machine(),
        "settings": asdict(run),
        "curve": curve(lines, run.total_steps),
        "evaluation": {
            split: {"successes": sum(each), "episodes": len(each)} for split, each in solved.items()
        },
    }


def curve(lines: Sequence[Mapping[str, float]], total_steps: int) -> dict[str, list[float | None]]:
    """Return means over the episodes that ended in each of :data:`BINS` parts of a training run,
    ``None`` if none ended.
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


def summarize(trainings: Sequence[Mapping[str, Any]]) -> dict[str, Estimate]:
    """Return the interquartile mean of the success rates of all training runs, by split."""
    rates: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in trainings:
        for split, result in row["evaluation"].items():
            rates[split][row["task"]].append(result["successes"] / result["episodes"])
    return {
        split: interquartile_mean([np.array(each) for each in by_task.values()])
        for split, by_task in rates.items()
    }


def table_rows(trainings: Sequence[Mapping[str, Any]]) -> Iterator[list[str]]:
    """Yield task, seeds, steps, split, successes by seed, and success rate with interval, for each
    task and split.
    """
    tasks = dict.fromkeys(row["task"] for row in trainings)
    for task in tasks:
        group = [row for row in trainings if row["task"] == task]
        for split in dict.fromkeys(name for row in group for name in row["evaluation"]):
            results = [row["evaluation"][split] for row in group if split in row["evaluation"]]
            won = [result["successes"] for result in results]
            yield [
                *(task, ", ".join(str(row["seed"]) for row in group)),
                *(f"{max(row['steps'] for row in group):,}", split),
                *(", ".join(map(str, won)), over_seeds(results).percent()),
            ]


def over_seeds(results: Sequence[Mapping[str, int]]) -> Estimate:
    """Return the mean success rate of training runs on one split, with an interval that covers the
    variation of runs and episodes.
    """
    rates = [result["successes"] / result["episodes"] for result in results]
    mean, episodes = float(np.mean(rates)), min(result["episodes"] for result in results)
    whole = Estimate(mean, *wilson(mean * episodes, episodes), episodes)
    return over_runs(whole, rates, is_share=True)


COLUMNS = ("task", "seeds", "steps", "split", "successes", "% [95 %]")


def differing(settings: Settings) -> list[str]:
    """Return the names of settings that differ from their defaults."""
    default = Settings(task=settings.task)
    names = [f.name for f in fields(Settings) if f.name != "ppo"]
    found = [name for name in names if getattr(settings, name) != getattr(default, name)]
    own = [f.name for f in fields(PPOConfig)]
    return found + [n for n in own if getattr(settings.ppo, n) != getattr(default.ppo, n)]


def machine() -> str:
    """Return the processor and its number of cores."""
    cpuinfo = Path("/proc/cpuinfo")
    text = cpuinfo.read_text(encoding="utf-8") if cpuinfo.exists() else ""
    models = [line.split(":")[1].strip() for line in text.splitlines() if "model name" in line]
    return f"{models[0] if models else platform.machine()}, {os.cpu_count()} cores"
