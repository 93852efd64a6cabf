"""What an export costs beside generating the dataset, and whether a real reader finds it all there.

    clevrskills generate --level L0 --level L1 --episodes 40 --workers 2 --out demos
    python benchmarks/exports.py demos --to lerobot

CPU time of one process, against the CPU time that the dataset's manifest tells. An export to
``lerobot`` is opened by lerobot 0.4 afterwards, in the environment that
``scripts/setup_readers.sh`` makes: every row of every episode, and the first, middle and last
image of each camera.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from common import print_table

from clevrskills.dataset_tools import Dataset
from clevrskills.dataset_tools.export.command import write_dataset
from clevrskills.dataset_tools.export.lerobot.features import task_sentences
from clevrskills.dataset_tools.export.selection import select
from clevrskills.dataset_tools.manifest import read_manifest

ROOT = Path(__file__).parents[1]
READERS = ROOT / ".venv-readers"


def main(dataset: Annotated[Path, tyro.conf.Positional], to: str = "lerobot") -> None:
    """Measure.

    Args:
        dataset: A dataset.
        to: The format.
    """
    lines = list(read_manifest(dataset))
    generated_s = sum(line.times_s["total_cpu"] for line in lines)
    with tempfile.TemporaryDirectory() as temporary:
        out = Path(temporary) / "export"
        begin, cpu = time.monotonic(), time.process_time()
        write_dataset(select(Dataset(dataset)), to, out)
        wall_s, cpu_s = time.monotonic() - begin, time.process_time() - cpu
        size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
        steps = sum(line.steps for line in lines if line.success)
        columns = ["format", "episodes", "steps", "MB", "wall s", "CPU-s", "generating, CPU-s"]
        row = [to, len(Dataset(dataset)), steps, size / 1e6, wall_s, cpu_s, generated_s]
        print_table("export", [*columns, "share"], [[*row, cpu_s / generated_s]])
        if to == "lerobot":
            compare(Dataset(dataset), read(out, Path(temporary)))


def read(export: Path, folder: Path) -> dict[str, Any]:
    """What lerobot finds; see readers/lerobot_all.py."""
    reader = ROOT / "benchmarks/readers/lerobot_all.py"
    environment = {
        **os.environ,
        "PYTHONPATH": f"{READERS / 'lerobot-0.4'}:{ROOT / 'tests/dataset_tools/export/readers'}",
        "HF_HOME": str(folder / "cache"),
        "HF_HUB_OFFLINE": "1",
    }
    command: list[str | Path] = [READERS / "bin/python", "-W", "ignore", reader, export]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def compare(dataset: Dataset, found: dict[str, Any]) -> None:
    """Print what was read, and end with an error if it is not what was recorded."""
    wrong = []
    for index, episode in enumerate(dataset):
        there = found["episodes"][index]
        images = [
            episode.frame(camera, step).mean()
            for camera in episode.cameras
            for step in (0, len(episode) // 2, len(episode) - 1)
        ]
        same = there["task"] == task_sentences(episode)[0] and there["steps"] == len(episode)
        same &= np.allclose(there["actions"], episode.actions.sum(0, dtype=float), atol=1e-9)
        if not same or not np.allclose(there["images"], images, atol=1e-3):
            wrong.append(episode.id)
    rows = [[len(found["episodes"]), found["frames"], found["seconds"], len(wrong)]]
    print_table("read by lerobot", ["episodes", "frames", "wall s", "episodes that differ"], rows)
    if wrong or len(found["episodes"]) != len(dataset):
        sys.exit(f"not as recorded: {wrong[:5]}")


if __name__ == "__main__":
    tyro.cli(main, description=__doc__)
