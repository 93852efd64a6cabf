"""Determinism: equal seeds give equal episodes, bit for bit, however they are generated.

Generates episodes in one process, again in the same process, in four processes and with images,
and compares all actions and states.

    python benchmarks/determinism.py --episodes 10 --seed 70000
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import tyro
from common import Args, print_table

from clevrskills import task_keys
from clevrskills.dataset_tools.dataset import Dataset
from clevrskills.dataset_tools.generate.command import GenerateArgs, generate


@dataclass
class DeterminismArgs(Args):
    """Episodes to generate."""

    splits: tuple[str, ...] = ("train",)
    episodes: int = 10
    seed: int = 70_000


VARIANTS = {
    "first": {"workers": 1, "no_cameras": True},
    "same process": {"workers": 1, "no_cameras": True},
    "4 processes": {"workers": 4, "no_cameras": True},
    "2 processes, images": {"workers": 2, "no_cameras": False},
}


def contents(folder: Path) -> dict[str, tuple[bytes, bytes]]:
    """Return the actions and states of every episode, by id."""
    return {
        episode.id: (episode.actions.tobytes(), episode.states.tobytes())
        for episode in Dataset(folder)
    }


def main(args: DeterminismArgs) -> int:
    """Generate, compare and print a table; return 0 if all episodes are equal."""
    tasks = args.tasks or tuple(task_keys())
    rows: list[list[object]] = []
    with tempfile.TemporaryDirectory() as root:
        for split in args.splits:
            expected: dict[str, tuple[bytes, bytes]] = {}
            for name, options in VARIANTS.items():
                out = Path(root) / split / name
                generate(
                    GenerateArgs(
                        tasks=tasks,
                        episodes=args.episodes,
                        seed=args.seed,
                        split=split,
                        out=out,
                        **options,  # type: ignore[arg-type]
                    )
                )
                found = contents(out)
                expected = expected or found
                equal = sum(found.get(key) == value for key, value in expected.items())
                rows.append([split, name, len(found), f"{equal}/{len(expected)}"])
    print_table("episodes equal to the first run", ["split", "variant", "episodes", "equal"], rows)
    return int(any(str(row[3]).split("/")[0] != str(row[2]) for row in rows))


if __name__ == "__main__":
    sys.exit(main(tyro.cli(DeterminismArgs, description=__doc__)))
