"""Cost of images of the household: CPU time of one of 1024 px, and memory of the process.

Images are taken of the steps of the solver's paths, one instance of each family, as agents see
them: what changed is shown anew, then the image is drawn and copied out.

    python benchmarks/household_images.py
"""

from __future__ import annotations

import resource
import time
from dataclasses import dataclass

import numpy as np
import tyro
from common import print_table
from household_sight import paths

from clevrskills.suites.asgardbench.drawing.house import HouseScene


@dataclass
class ImageArgs:
    """What is drawn."""

    size: int = 1024
    """Width and height of the images, in pixels."""
    steps: int = 20
    """So many steps of each path."""


def main(args: ImageArgs) -> None:
    """Draw and print a table."""
    scene = HouseScene(size_px=args.size)
    rows: list[list[object]] = []
    all_of: list[float] = []
    for task, path in paths(12):
        spent = []
        for _, world in zip(range(args.steps), path, strict=False):
            begin = time.process_time()
            scene.image(world)
            spent.append(time.process_time() - begin)
        rows.append([task, len(spent), spent[0], float(np.median(spent[1:])), max(spent[1:])])
        all_of += spent[1:]
    rows.append(["all", len(all_of), "", float(np.median(all_of)), max(all_of)])
    columns = ["family", "images", "first of the room, CPU-s", "median, CPU-s", "most, CPU-s"]
    memory_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print_table(f"images of {args.size} px; memory {memory_mb:.0f} MB", columns, rows)


if __name__ == "__main__":
    main(tyro.cli(ImageArgs, description=__doc__))
