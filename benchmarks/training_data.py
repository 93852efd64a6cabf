"""How fast batches for training come: frames per second through a DataLoader.

    python benchmarks/training_data.py demos

A frame is one image of one camera. Beside it, what one process decodes with PyAV alone from end
to end, times the number of worker processes: what that many cores could give at best.
"""

from __future__ import annotations

import json
import os
import time
from itertools import islice
from pathlib import Path
from typing import Annotated

import av
import torch
import tyro
from common import print_table
from torch.utils.data import DataLoader

from clevrskills.baselines.data.sources import open_source
from clevrskills.baselines.data.windows import Batches, Order, Selection, Windows
from clevrskills.baselines.prompts import WordTokenizer
from clevrskills.baselines.spec import PolicyConfig
from clevrskills.dataset_tools import Dataset

KINDS = {
    "single steps": {"steps": 1},
    "history of 2": {"steps": 2},
    "windows of 8": {"steps": 8, "starts_every": 8},
    "windows of 64": {"steps": 64, "starts_every": 64},
}


def decoded_per_s(root: Path, frames: int) -> float:
    """Frames that one process decodes per second from end to end, to RGB."""
    done, begin = 0, time.perf_counter()
    for episode in Dataset(root):
        for camera in episode.cameras:
            with av.open(str(episode.video_path(camera))) as container:
                container.streams.video[0].thread_count = 1
                for frame in container.decode(video=0):
                    frame.to_ndarray(format="rgb24", threads=1)
                    done += 1
        if done >= frames:
            break
    return done / (time.perf_counter() - begin)


def loaded_per_s(root: Path, config: PolicyConfig, frames: int, workers: int) -> float:
    """Frames per second, the first batches not counted, as processes start with them."""
    windows = Windows([open_source(root, config.cameras)], config, Selection(), WordTokenizer())
    size = max(2, 64 // config.steps)
    loader = iter(
        DataLoader(
            windows,
            batch_size=None,
            sampler=Batches(Order(windows), size),
            num_workers=workers,
            prefetch_factor=4,
        )
    )
    for _ in range(4 * workers + 2):
        next(loader)
    begin, done = time.perf_counter(), 0
    while done < frames:
        (batch,) = islice(loader, 1)
        done += int(batch.observations.mask.sum()) * len(config.cameras)
    return done / (time.perf_counter() - begin)


def main(
    dataset: Annotated[Path, tyro.conf.Positional],
    frames: int = 4000,
    workers: int = 2,
    image_size: int = 256,
    out: Path | None = None,
) -> None:
    """Measure.

    Args:
        dataset: A dataset with videos.
        frames: How many frames to read for each number.
        workers: Worker processes.
        image_size: Width and height of the images in a batch.
        out: A JSON file to write the numbers to.
    """
    torch.set_num_threads(1)
    best = decoded_per_s(dataset, frames) * workers
    rows: list[list[object]] = [[f"plain PyAV, x {workers}", best, 1.0]]
    for name, settings in KINDS.items():
        config = PolicyConfig.from_json({"image_size": image_size, **settings})
        rate = loaded_per_s(dataset, config, frames, workers)
        rows.append([name, rate, rate / best])
    title = f"{workers} workers, {image_size} px, {os.cpu_count()} cores"
    print_table(title, ["", "frames / s", "share of the best"], rows)
    if out is not None:
        out.write_text(json.dumps({"title": title, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    tyro.cli(main, description=__doc__)
