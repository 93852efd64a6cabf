"""Speed and size of generated datasets, and of what is made from them.

The default compares one worker with several, with cameras and without, on the same episodes of the
L1 tasks:

    python benchmarks/generation.py --episodes 8 --workers 2

With ``--copies``, a few demonstrations with images are copied under seeds of their own until there
are so many. These are packed, read at random in folders and in shards, and exported to LeRobot:

    python benchmarks/generation.py touch --episodes 20 --copies 10000 --json results/scale.json
"""

from __future__ import annotations

import datetime
import io
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import pyarrow.parquet as pq
import tyro
from common import print_table

from clevrskills.dataset_tools import Dataset
from clevrskills.dataset_tools.layout import MANIFEST_DIR, Header
from clevrskills.dataset_tools.manifest import Attempt, file_hashes, read_manifest
from clevrskills.dataset_tools.record.columns import OWNER, owned
from clevrskills.dataset_tools.record.recorder import write_info
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
    copies: int = 0
    """Demonstrations to pack, read and export, copies of those that are made."""
    json: Path | None = None
    """File for the results of ``--copies``."""
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


def generate(args: GenerationArgs, out: Path, workers: int, no_cameras: bool) -> Measured:
    """Run the command; returns what it cost."""
    keys = args.tasks or tuple(key for key, task in tasks().items() if task.level == "L1")
    numbers = {"episodes": args.episodes, "seed": args.seed, "workers": workers, "out": out}
    options = [word for name, value in numbers.items() for word in (f"--{name}", value)]
    begin = time.monotonic()
    run("generate", *keys, *options, *["--no-cameras"] * no_cameras)
    return measure(out, time.monotonic() - begin)


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
            m = generate(args, out, workers, no_cameras)
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


def at_scale(args: GenerationArgs, folder: Path) -> None:
    """Pack, read and export many copies of a few demonstrations."""
    made = generate(args, folder / "made", 1, args.no_cameras)
    copies, packed, exported = (folder / name for name in ("copies", "packed", "lerobot"))
    if not copies.exists():
        copy(folder / "made", folder / "unfinished", args.copies)
        (folder / "unfinished").rename(copies)
    packing = run("pack", copies, "--out", packed)
    export = ("export", packed, "--to", "lerobot", "--out", exported)
    exporting = run(*export, "--workers", args.workers)
    folders_ms, shards_ms = read_at_random(copies, packed)
    before, after = count(copies), count(packed)
    per_core = made.episodes / made.cpu_s
    found: dict[str, float] = {
        "demonstrations": args.copies,
        "files in folders": before,
        "files in shards": after,
        "files of 100,000 in shards": round((after - FILES_OF_ALL) * 1e5 / args.copies)
        + FILES_OF_ALL,
        "files exported": count(exported),
        "random read of a step with its images, CPU-ms": shards_ms,
        "the same, shards / folders": shards_ms / folders_ms,
        "pack: CPU-ms / demonstration": 1000 * packing.cpu_s / args.copies,
        "generation: CPU-ms / demonstration": 1000 / per_core,
        "export: CPU-ms / demonstration": 1000 * exporting.cpu_s / args.copies,
        "export / generation, rate of a core": args.copies / exporting.cpu_s / per_core,
        "export: MB of the largest process, first half": exporting.first_mb,
        "export: MB of the largest process, second half": exporting.second_mb,
    }
    print_table("at scale", ["what", "number"], [[name, value] for name, value in found.items()])
    if args.json:
        data = {"tasks": args.tasks, "workers": args.workers, "measured": found}
        args.json.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


FILES_OF_ALL = 2
"""Files of a dataset that is packed, however large it is: the header and a manifest."""


@dataclass(frozen=True)
class Ran:
    """Cost of a command.

    Attributes:
        cpu_s: CPU-seconds of all its processes.
        first_mb: Most memory of one of them in the first half of its time, after a tenth of it.
        second_mb: The same in the second half.
    """

    cpu_s: float
    first_mb: float
    second_mb: float


def run(command: str, *arguments: object) -> Ran:
    """Run a command and watch its processes."""
    words = [sys.executable, "-m", "clevrskills", command, *map(str, arguments)]
    before, largest_mb = os.times(), [0.0]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            time.sleep(0.5)
            largest_mb.append(max(map(memory_mb, (process.pid, *workers_of(process.pid)))))
    if process.returncode:
        sys.exit(f"{command} ended with exit code {process.returncode}")
    after, half = os.times(), len(largest_mb) // 2
    return Ran(
        after.children_user + after.children_system - before.children_user - before.children_system,
        max(largest_mb[len(largest_mb) // 10 : half], default=0.0),
        max(largest_mb[half:]),
    )


def memory_mb(pid: int) -> float:
    """What a process has in memory; 0: it has ended."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0.0
    return pages * resource.getpagesize() / 2**20


def copy(source: Path, out: Path, count: int) -> None:
    """Make a dataset of so many copies of the episodes of another one, each with its own seed."""
    Header.read(source).open(out)
    originals, lines = list(Dataset(source)), list[str]()
    infos = [episode.info for episode in originals]
    contents = [{n: f.read() for n, f in episode.files.items()} for episode in originals]
    for seed in range(count):
        info = {**infos[seed % len(infos)], "seed": seed}
        attempt = Attempt.of(info)
        path = out / attempt.id
        path.mkdir(parents=True)
        for name, data in contents[seed % len(infos)].items():
            if name.endswith(".parquet"):
                table = pq.read_table(io.BytesIO(data))
                columns = {n: table[n] for n in table.column_names if n not in OWNER}
                pq.write_table(owned(columns, info), path / name, compression="zstd")
            else:
                (path / name).write_bytes(data)
        write_info(path, info)
        lines.append(replace(attempt, files=file_hashes(path)).to_json())
    (out / MANIFEST_DIR).mkdir()
    (out / MANIFEST_DIR / "local.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def count(root: Path) -> int:
    """Number of files in a folder, without what `export` and `pack` keep for later runs."""
    hidden = sum(1 for path in root.glob(".*/**/*") if path.is_file())
    return sum(1 for path in root.rglob("[!.]*") if path.is_file()) - hidden


READ = 200
"""Steps that are read at random."""


def read_at_random(*roots: Path) -> list[float]:
    """CPU-ms of reading the table of an episode and a frame of it, at random, in each of several
    forms of a dataset; in turns.
    """
    datasets, generator = [Dataset(root) for root in roots], np.random.default_rng(0)
    spent_s = np.zeros(len(roots))
    chosen = generator.integers(len(datasets[0]), size=READ).tolist()
    for number, share in zip(chosen, generator.random(READ), strict=True):
        for k, dataset in enumerate(datasets):
            begin, episode = time.process_time(), dataset[number]
            step = int(share * len(episode.steps))
            for camera in episode.cameras:
                episode.frame(camera, step)
            spent_s[k] += time.process_time() - begin
    return (1000 * spent_s / READ).tolist()


def main(args: GenerationArgs) -> None:
    """Measure."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.out or Path(temporary)
        if args.copies:
            at_scale(args, folder)
        else:
            compare_speed(args, folder)


if __name__ == "__main__":
    main(tyro.cli(GenerationArgs, description=__doc__))
