import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from clevrskills.dataset_tools import Dataset, Episode
from clevrskills.dataset_tools.export.command import write_dataset
from clevrskills.dataset_tools.export.lerobot import v21 as lerobot_v21
from clevrskills.dataset_tools.export.selection import select
from clevrskills.sim.render.video import read_video

BASE = "observation.images.base_camera"


def lines(root: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (root / f"meta/{name}.jsonl").read_text().splitlines()]


def info_of(root: Path) -> dict[str, Any]:
    return json.loads((root / "meta/info.json").read_text())


def test_each_episode_has_its_files(exported: dict[str, Path], in_order: list[Episode]) -> None:
    root = exported["lerobot-v2.1"]
    info, first = info_of(root), 0
    tasks = {line["task_index"]: line["task"] for line in lines(root, "tasks")}
    for index, episode in enumerate(in_order):
        place = {"episode_chunk": 0, "episode_index": index}
        rows = pd.read_parquet(root / info["data_path"].format(**place))
        count = len(episode)
        assert rows["index"].tolist() == list(range(first, first + count))
        assert rows["frame_index"].tolist() == list(range(count))
        assert set(rows["episode_index"]) == {index}
        np.testing.assert_array_equal(np.stack(rows["action"]), episode.actions)
        assert {tasks[number] for number in rows["task_index"]} == {episode.prompt["plain"]}
        assert [tasks[number] for number in rows["subtask_index"]] == episode.steps[
            "subtask"
        ].tolist()
        for camera in episode.cameras:
            key = f"observation.images.{camera}"
            video = read_video(root / info["video_path"].format(**place, video_key=key))
            np.testing.assert_array_equal(video, episode.video(camera)[:-1])
        first += count


def test_meta(exported: dict[str, Path], in_order: list[Episode]) -> None:
    root = exported["lerobot-v2.1"]
    info = info_of(root)
    expected = {
        "codebase_version": "v2.1",
        "total_episodes": 8,
        "total_frames": sum(map(len, in_order)),
        "total_tasks": 3,
        "total_videos": 16,
        "total_chunks": 1,
        "chunks_size": 1000,
        "splits": {"train": "0:6", "test": "6:8"},
    }
    assert {name: info[name] for name in expected} == expected
    assert info["features"] == info_of(exported["lerobot"])["features"]
    assert lines(root, "episodes") == [
        {
            "episode_index": index,
            "tasks": [episode.prompt["plain"]],
            "length": len(episode),
            "source": episode.id,
        }
        for index, episode in enumerate(in_order)
    ]
    stats = lines(root, "episodes_stats")
    assert [line["episode_index"] for line in stats] == list(range(8))
    for line, episode in zip(stats, in_order, strict=True):
        np.testing.assert_allclose(line["stats"]["action"]["max"], episode.actions.max(0))
        assert np.shape(line["stats"][BASE]["mean"]) == (3, 1, 1)
    total = json.loads((root / "meta/stats.json").read_text())
    actions = np.concatenate([episode.actions for episode in in_order])
    np.testing.assert_allclose(total["action"]["q01"], np.quantile(actions, 0.01, axis=0))


def test_full_folders_are_followed_by_others(
    both_splits: Path, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr(lerobot_v21, "EPISODES_PER_CHUNK", 3)
    out = tmp_path / "out"
    write_dataset(select(Dataset(both_splits)), "lerobot-v2.1", out)
    assert info_of(out)["total_chunks"] == 3
    names = sorted(str(path.relative_to(out / "data")) for path in out.glob("data/*/*"))
    assert names == [f"chunk-{i // 3:03d}/episode_{i:06d}.parquet" for i in range(8)]
