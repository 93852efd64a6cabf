"""How fast samples for training are read, beside plain decoding of the videos from end to end.

    python benchmarks/loading.py demos

CPU time of one process. A sample is one frame of each camera with its actions and words; "shuffled"
reads samples of all episodes in random order, "in order" one after the other.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import av
import numpy as np
import torch
import tyro
from common import print_table

from clevrskills.dataset_tools import Dataset
from clevrskills.dataset_tools.torch_dataset import TrainingDataset


def decode(dataset: Dataset, frames: int) -> int:
    """Decode videos with PyAV alone until there are enough frames; returns how many there are."""
    count = 0
    for episode in dataset:
        for camera in episode.cameras:
            with av.open(str(episode.video_path(camera))) as container:
                container.streams.video[0].thread_count = 1
                count += sum(1 for f in container.decode(video=0) if len(_array(f)))
        if count >= frames:
            break
    return count


def _array(frame: av.VideoFrame) -> np.ndarray:
    return frame.to_ndarray(format="rgb24", threads=1)


def main(
    dataset: Annotated[Path, tyro.conf.Positional], samples: int = 1000, image_size: int = 128
) -> None:
    """Measure.

    Args:
        dataset: A dataset with videos.
        samples: How many samples to read.
        image_size: A smaller size to scale to.
    """
    torch.set_num_threads(1)
    whole = TrainingDataset(dataset, horizon=8)
    small = TrainingDataset(dataset, horizon=8, image_size=image_size)
    count = min(samples, len(whole))
    shuffled = np.random.default_rng(0).permutation(len(whole))[:count].tolist()
    frames = len(whole.cameras)
    whole[0], small[0], decode(Dataset(dataset), 1)  # what happens once

    def read(source: TrainingDataset, indices: list[int]) -> int:
        return sum(frames for index in indices if source[index])

    jobs: dict[str, Callable[[], int]] = {
        "plain PyAV": lambda: decode(Dataset(dataset), count * frames),
        "in order": lambda: read(whole, list(range(count))),
        "shuffled": lambda: read(whole, shuffled),
        f"shuffled, {image_size} px": lambda: read(small, shuffled),
    }
    rows: list[list[object]] = []
    plain_ms = 0.0
    for name, job in jobs.items():
        begin = time.process_time()
        done = job()
        spent_ms = 1e3 * (time.process_time() - begin) / done
        plain_ms = plain_ms or spent_ms
        rows.append([name, done, spent_ms, 1e3 / spent_ms / frames, spent_ms / plain_ms])
    columns = ["", "frames", "CPU ms / frame", "samples / CPU s", "cost / plain PyAV"]
    print_table(f"{len(whole)} samples, {frames} cameras", columns, rows)


if __name__ == "__main__":
    tyro.cli(main, description=__doc__)
