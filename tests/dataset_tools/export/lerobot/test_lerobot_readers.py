"""The exports as lerobot itself reads them, in environments that scripts/setup_readers.sh makes."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clevrskills.dataset_tools import Dataset, Episode
from clevrskills.dataset_tools.export.command import write_dataset
from clevrskills.dataset_tools.export.selection import select

ROOT = Path(__file__).parents[4]
READERS = ROOT / ".venv-readers"
pytestmark = [pytest.mark.readers, pytest.mark.slow]


def read(version: str, dataset: Path, folder: Path) -> dict[str, np.ndarray]:
    """All that a version of lerobot gives for a dataset."""
    package = READERS / f"lerobot-{version}"
    if not package.is_dir():
        python = " with Python 3.12" if version == "0.6" else ""
        pytest.skip(f"no lerobot {version}; make it with scripts/setup_readers.sh{python}")
    script = Path(__file__).parents[1] / "readers/lerobot_reader.py"
    out = folder / "read.npz"
    environment = {
        **os.environ,
        "PYTHONPATH": str(package),
        "HF_HOME": str(folder / "cache"),
        "HF_HUB_OFFLINE": "1",
    }
    command = [READERS / "bin/python", "-W", "ignore", script, dataset, out]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    with np.load(out) as arrays:
        return dict(arrays)


def words(values: np.ndarray) -> list[Any]:
    return [json.loads(str(value)) for value in values]


def check(found: dict[str, np.ndarray], episodes: list[Episode]) -> None:
    """Values read equal those recorded, frame by frame, bit for bit."""
    assert found["episodes"] == len(episodes)
    lengths = [len(episode) for episode in episodes]
    assert found["episode_index"].tolist() == np.repeat(range(len(lengths)), lengths).tolist()
    actions = np.concatenate([episode.actions for episode in episodes])
    qpos = np.concatenate([episode.proprioception("qpos")[:-1] for episode in episodes])
    for prefix, rows in (("", slice(None)), ("last/", slice(-lengths[-1], None))):
        assert (
            words(found[f"{prefix}task"])
            == [episode.prompt["plain"] for episode in episodes for _ in range(len(episode))][rows]
        )
        np.testing.assert_array_equal(found[f"{prefix}action"], actions[rows])
        state = found[f"{prefix}observation.state"]
        np.testing.assert_array_equal(state[:, : qpos.shape[1]], qpos[rows])
        for camera in episodes[0].cameras:
            images = np.concatenate([episode.video(camera)[:-1] for episode in episodes])
            key = f"{prefix}observation.images.{camera}"
            np.testing.assert_array_equal(found[key], images[rows])
    np.testing.assert_allclose(found["stats/action/mean"], actions.mean(0), atol=1e-6)
    check_windows(found, lengths)


def check_windows(found: dict[str, np.ndarray], lengths: list[int]) -> None:
    """With delta timestamps, through a loader: the neighbors of each frame in its episode."""
    starts = np.repeat(np.cumsum([0, *lengths[:-1]]), lengths)
    stops = starts + np.repeat(lengths, lengths)
    now = np.arange(sum(lengths))
    base = "observation.images.base_camera"
    for key, deltas in {"action": (0, 1, 2), "observation.state": (-1, 0), base: (-2, 0)}.items():
        if key not in found:
            continue
        wanted = now[:, None] + np.array(deltas)
        inside = np.clip(wanted, starts[:, None], stops[:, None] - 1)
        np.testing.assert_array_equal(found[f"window/{key}"], found[key][inside])
        np.testing.assert_array_equal(found[f"window/{key}_is_pad"], inside != wanted)
    if "batch/action" in found:
        np.testing.assert_array_equal(found["batch/action"], found["window/action"][:4])


def test_lerobot_0_4(exported: dict[str, Path], in_order: list[Episode], tmp_path: Path) -> None:
    found = read("0.4", exported["lerobot"], tmp_path)
    check(found, in_order)
    subtasks = np.concatenate([episode.steps["subtask"] for episode in in_order])
    assert words(found["subtask"]) == subtasks.tolist()
    actions = np.concatenate([episode.actions for episode in in_order])
    np.testing.assert_allclose(found["stats/action/q90"], np.quantile(actions, 0.9, axis=0))


def test_lerobot_0_3(exported: dict[str, Path], in_order: list[Episode], tmp_path: Path) -> None:
    check(read("0.3", exported["lerobot-v2.1"], tmp_path), in_order)


def test_lerobot_0_6(exported: dict[str, Path], in_order: list[Episode], tmp_path: Path) -> None:
    check(read("0.6", exported["lerobot"], tmp_path), in_order)


def test_lerobot_0_6_makes_chats_of_the_language(
    exported: dict[str, Path], in_order: list[Episode], tmp_path: Path
) -> None:
    found = read("0.6", exported["lerobot-v3.1"], tmp_path)
    check(found, in_order)
    assert "batch/action" in found  # by lerobot_collate_fn
    subtasks = np.concatenate([episode.steps["subtask"] for episode in in_order]).tolist()
    chats = json.loads(str(found["messages"]))
    assert [chat[0][-1]["content"] for chat in chats] == subtasks
    asked = [index for index, chat in enumerate(chats) if chat[1]]
    events = words(found["language_events"])
    assert asked == [index for index, rows in enumerate(events) if rows]
    for index in asked:
        user, assistant = chats[index][1]
        assert [block["type"] for block in user["content"]] == ["image", "text"]
        assert json.loads(assistant["content"])


def test_real_episodes(tmp_path: Path) -> None:
    """A task in the simulator, where it can be filmed and where not."""
    from clevrskills.dataset_tools.generate.command import GenerateArgs, generate
    from clevrskills.doctor.checks import check_renderer

    filmed = check_renderer().ok
    args = GenerateArgs(tasks=("pick",), episodes=2, out=tmp_path / "demos", no_cameras=not filmed)
    assert generate(args) == 0
    dataset = Dataset(tmp_path / "demos")
    write_dataset(select(dataset), "lerobot", tmp_path / "out")
    check(read("0.4", tmp_path / "out", tmp_path), list(dataset))
