"""Speed and size of generated datasets, and whether they survive ``kill -9``.

The default compares one worker with several, with cameras and without, on the same episodes of the
L1 tasks:

    python benchmarks/generation.py --episodes 8 --workers 2

With ``--kill-every``, the episodes are made while a random worker is killed from time to time, then
again in peace, and both datasets are compared byte by byte:

    python benchmarks/generation.py sort --episodes 1000 --workers 2 --no-cameras --kill-every 20
"""

from __future__ import annotations

import datetime
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import tyro
from common import print_table

from clevrskills.dataset_tools.manifest import (
    Attempt,
    file_hashes,
    latest_lines,
    read_manifest,
)
from clevrskills.tasks import tasks


@dataclass
class GenerationArgs:
    """Generate and measure."""

    tasks: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Keys of tasks; none: all of L1."""
    episodes: int = 8
    """Episodes of each task."""
    seed: int = 50_000
    """The first seed."""
    workers: int = 2
    """Number of processes to compare with one."""
    no_cameras: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Only without cameras."""
    kill_every: float | None = None
    """Seconds between kills of a worker."""
    out: Path | None = None
    """Folder for the datasets, which are kept; by default a temporary one."""


@dataclass(frozen=True)
class Measured:
    """Cost of a dataset.

    Attributes:
        episodes: Episodes made.
        steps: Their control steps.
        failures: Failed attempts.
        wall_s: Time that the command took.
        worked_s: The same without the start of the first worker.
        cpu_s: CPU-seconds of all attempts.
        size: Bytes of all episodes.
        files: Files of an episode, at most.
    """

    episodes: int
    steps: int
    failures: int
    wall_s: float
    worked_s: float
    cpu_s: float
    size: int
    files: int


def generate(
    args: GenerationArgs, out: Path, workers: int, no_cameras: bool
) -> tuple[Measured, int]:
    """Run the command; returns what it cost and how many workers were killed."""
    keys = args.tasks or tuple(key for key, task in tasks().items() if task.level == "L1")
    numbers = {"episodes": args.episodes, "seed": args.seed, "workers": workers, "out": out}
    options = [word for name, value in numbers.items() for word in (f"--{name}", str(value))]
    command = [sys.executable, "-m", "clevrskills", "generate", *keys, *options]
    begin, killed = time.monotonic(), 0
    process = subprocess.Popen(
        [*command, *["--no-cameras"] * no_cameras], stdout=subprocess.DEVNULL
    )
    while process.poll() is None:
        try:
            process.wait(args.kill_every)
        except subprocess.TimeoutExpired:
            killed += kill_one(process.pid)
    if process.returncode:
        sys.exit(f"generate ended with exit code {process.returncode}")
    return measure(out, time.monotonic() - begin), killed


def kill_one(parent: int) -> bool:
    """Kill a random worker of a run, if there is one."""
    found = list(workers_of(parent))
    if found:
        os.kill(random.choice(found), signal.SIGKILL)
    return bool(found)


def workers_of(parent: int) -> Iterator[int]:
    """The worker processes of a run."""
    children = Path(f"/proc/{parent}/task/{parent}/children")
    for child in children.read_text().split() if children.exists() else []:
        if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes():
            yield int(child)


def measure(root: Path, wall_s: float) -> Measured:
    """What a dataset that was made in one go has cost."""
    lines = list(read_manifest(root))
    made = [line for line in lines if line.success]
    ended_s = [datetime.datetime.fromisoformat(line.ended).timestamp() for line in lines]
    begun_s = [
        end - line.times_s.get("total_wall", 0.0) for end, line in zip(ended_s, lines, strict=True)
    ]
    return Measured(
        episodes=len(made),
        steps=sum(line.steps for line in made),
        failures=len(lines) - len(made),
        wall_s=wall_s,
        worked_s=max(ended_s) - min(begun_s),
        cpu_s=sum(line.times_s.get("total_cpu", 0.0) for line in lines),
        size=sum(size for line in made for size, _ in line.files.values()),
        files=max(len(line.files) for line in made),
    )


def compare_speed(args: GenerationArgs, folder: Path) -> None:
    """One worker and several, with cameras and without."""
    rows: list[list[object]] = []
    for no_cameras in (True,) if args.no_cameras else (True, False):
        alone = None
        for workers in dict.fromkeys((1, args.workers)):
            out = folder / f"{'without' if no_cameras else 'with'}-{workers}"
            m, _ = generate(args, out, workers, no_cameras)
            rate = 3600 * m.episodes / m.worked_s
            alone = alone or rate
            rows.append(
                [
                    "none" if no_cameras else "two",
                    workers,
                    m.episodes,
                    m.failures,
                    m.wall_s,
                    rate,
                    rate / alone,
                    3600 * m.episodes / m.cpu_s,
                    1000 * m.cpu_s / m.steps,
                    m.size / m.steps / 1000,
                    m.files,
                ]
            )
    columns = ["cameras", "workers", "episodes", "failed", "wall s", "episodes/h after start"]
    columns += [
        "x one worker",
        "episodes / core-hour",
        "CPU-ms / step",
        "kB / step",
        "files / episode",
    ]
    print_table(f"generation, {rows[0][2]} episodes", columns, rows)


def survive(args: GenerationArgs, folder: Path) -> None:
    """Make a dataset while workers are killed, and again in peace."""
    m, killed = generate(args, folder / "killed", args.workers, args.no_cameras)
    generate(replace(args, kill_every=None), folder / "peaceful", args.workers, args.no_cameras)
    found = faults(folder / "killed", folder / "peaceful")
    rows: list[list[object]] = [
        [m.episodes, killed, m.wall_s, m.failures, len(found), " ".join(found[:5])]
    ]
    columns = ["episodes", "workers killed", "wall s", "failed", "faults", "the first ones"]
    print_table(f"a worker killed every {args.kill_every:g} s", columns, rows)
    if found:
        sys.exit(1)


def faults(disturbed: Path, peaceful: Path) -> list[str]:
    """What is lost, duplicate, half there or different in a dataset."""
    ours, theirs = contents(disturbed), contents(peaceful)
    different = [name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name)]
    made = [line.id for line in read_manifest(disturbed) if line.success]
    duplicate = [name for name in set(made) if made.count(name) > 1]
    lines = latest_lines(disturbed)
    untrue = [
        name
        for line in lines.values()
        for name, value in line.files.items()
        if list(ours.get(f"{line.id}/{name}", ())) != list(value)
    ]
    return sorted(different) + duplicate + untrue


def contents(root: Path) -> dict[str, Any]:
    """All files with their hashes, and what the manifest tells of each attempt but who and when."""
    found: dict[str, Any] = {
        name: value
        for name, value in file_hashes(root).items()
        if not name.startswith((".lock", "manifest/"))
    }
    found.update({f"attempt {line.id}": timeless(line) for line in read_manifest(root)})
    return found


def timeless(line: Attempt) -> Attempt:
    """The line without who and when."""
    return replace(line, worker="", ended="", times_s={})


def main(args: GenerationArgs) -> None:
    """Measure."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.out or Path(temporary)
        if args.kill_every is None:
            compare_speed(args, folder)
        else:
            survive(args, folder)


if __name__ == "__main__":
    main(tyro.cli(GenerationArgs, description=__doc__))
