"""Reads a LeRobot dataset with lerobot itself and writes all that it gives to a file.

Runs in an environment of its own (scripts/setup_readers.sh): lerobot_reader.py DATASET OUT.npz
"""

import importlib.metadata
import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

wanted = " ".join(importlib.metadata.requires("torchvision"))
if f"=={torch.__version__.partition('+')[0]}" not in wanted:
    # compiled for another torch, it does not bring the operator that its Python part registers
    torch.library.define(
        "torchvision::nms", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
    )

from lerobot.datasets.lerobot_dataset import LeRobotDataset  # noqa: E402

CAMERA = "observation.images.base_camera"


def main(root: Path, out: Path) -> None:
    fps = json.loads((root / "meta/info.json").read_text())["fps"]
    deltas = {"action": [0, 1 / fps, 2 / fps], "observation.state": [-1 / fps, 0]}
    filmed = (root / "videos").is_dir()
    if filmed:
        deltas[CAMERA] = [-2 / fps, 0]
    windows = open_dataset(root, deltas)
    loader = torch.utils.data.DataLoader(
        windows, batch_size=4, num_workers=2, collate_fn=lambda items: items
    )
    found = {f"window/{k}": v for k, v in stacked(i for b in loader for i in b).items()}
    loader = torch.utils.data.DataLoader(windows, batch_size=4, collate_fn=collate_of(windows))
    batch = next(iter(loader))
    found |= {f"batch/{k}": v.numpy() for k, v in batch.items() if hasattr(v, "numpy")}
    dataset = open_dataset(root, None)
    found |= stacked(dataset[index] for index in range(len(dataset)))
    last = dataset.meta.total_episodes - 1
    some = open_dataset(root, None, episodes=[last])
    found |= {f"last/{k}": v for k, v in stacked(some[i] for i in range(len(some))).items()}
    for key, stats in dataset.meta.stats.items():
        found |= {f"stats/{key}/{name}": np.asarray(value) for name, value in stats.items()}
    found["episodes"] = np.array(dataset.meta.total_episodes)
    if not plain(dataset):
        found["messages"] = np.array(
            json.dumps([render(dataset[i], i) for i in range(len(dataset))])
        )
    np.savez(out, **found)


def open_dataset(root: Path, deltas: dict | None, episodes: list | None = None) -> LeRobotDataset:
    return LeRobotDataset(
        "clevrskills/demos",
        root=root,
        episodes=episodes,
        delta_timestamps=deltas,
        video_backend="pyav",
    )


def collate_of(dataset: LeRobotDataset) -> Callable | None:
    """What makes a batch: torch's way, or LeRobot's where there is language of any length."""
    if plain(dataset):
        return None
    from lerobot.utils.collate import lerobot_collate_fn

    return lerobot_collate_fn


def plain(dataset: LeRobotDataset) -> bool:
    return "language_events" not in dataset.features


def stacked(items) -> dict[str, np.ndarray]:
    """One array for each key: images (..., H, W, 3) uint8, numbers, all else as JSON."""
    columns: dict[str, list] = {}
    for item in items:
        for key, value in item.items():
            if not hasattr(value, "numpy"):
                value = json.dumps(value)
            elif key.startswith("observation.images.") and not key.endswith("_is_pad"):
                value = (value.movedim(-3, -1) * 255).round().to(torch.uint8).numpy()
            else:
                value = value.numpy()
            columns.setdefault(key, []).append(value)
    return {key: np.stack(values) for key, values in columns.items()}


def render(item: dict, index: int) -> list | None:
    """The chat that lerobot makes of a frame's language."""
    from lerobot.configs.recipe import TrainingRecipe
    from lerobot.datasets.language_render import render_sample

    turn = {"stream": "high_level"}
    subtask = [
        {**turn, "role": "user", "content": "${task} Plan: ${plan}"},
        {**turn, "role": "assistant", "content": "${subtask}", "target": True},
    ]
    image = [{"type": "image", "feature": CAMERA}, {"type": "text", "text": "${vqa_query}"}]
    vqa = [
        {**turn, "role": "user", "content": image, "if_present": "vqa_query"},
        {**turn, "role": "assistant", "content": "${vqa}", "target": True, "if_present": "vqa"},
    ]
    chats = []
    for messages in (subtask, vqa):
        rendered = render_sample(
            recipe=TrainingRecipe.from_dict({"messages": messages}),
            persistent=item["language_persistent"],
            events=item["language_events"],
            t=item["timestamp"].item(),
            sample_idx=index,
            dataset_ctx={"task": item["task"]},
        )
        chats.append(rendered and rendered["messages"])
    return chats


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
