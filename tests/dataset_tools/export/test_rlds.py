"""Exports as RLDS, read again by tensorflow_datasets in an environment of its own."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clevrskills.dataset_tools import Dataset
from clevrskills.dataset_tools.export.command import write_dataset
from clevrskills.dataset_tools.export.lerobot.features import task_sentences
from clevrskills.dataset_tools.export.rlds import STEP
from clevrskills.dataset_tools.export.selection import select

ROOT = Path(__file__).parents[3]
READER = ROOT / ".venv-rlds/bin/python"


@pytest.fixture(scope="module")
def exported(both_splits: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("rlds") / "out"
    write_dataset(select(Dataset(both_splits)), "rlds", out)
    return out


def test_files_are_those_of_a_dataset_of_tensorflow_datasets(exported: Path, both_splits: Path):
    folder = exported / "clevrskills/1.0.0"
    shards = {name: f"clevrskills-{name}.tfrecord-00000-of-00001" for name in ("test", "train")}
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*")}
    assert files == {"dataset_info.json", "features.json", *shards.values()}
    info = json.loads((folder / "dataset_info.json").read_text())
    assert [split["name"] for split in info["splits"]] == ["test", "train"]
    for split in info["splits"]:
        count = len(Dataset(both_splits).filter(split=split["name"]))
        assert split["shardLengths"] == [str(count)]
        size = (folder / shards[split["name"]]).stat().st_size
        assert int(split["numBytes"]) == size - 16 * count


def test_episodes_are_in_a_fixed_order_that_mixes_tasks(
    exported: Path, both_splits: Path, tmp_path: Path
):
    dataset = Dataset(both_splits)
    write_dataset(select(dataset), "rlds", tmp_path / "again")
    name = "clevrskills/1.0.0/clevrskills-train.tfrecord-00000-of-00001"
    content = (exported / name).read_bytes()
    assert (tmp_path / "again" / name).read_bytes() == content
    train = [episode.id for episode in dataset.filter(split="train")]
    ids = sorted(train, key=lambda name: content.index(name.encode()))
    assert ids != sorted(ids)


@pytest.mark.slow
@pytest.mark.readers
def test_tensorflow_datasets_reads_the_recorded_values(
    exported: Path, both_splits: Path, tmp_path: Path
):
    if not READER.exists():
        pytest.skip(f"{READER.relative_to(ROOT)} is missing; make it with scripts/setup_rlds.sh")
    script = Path(__file__).parent / "readers/rlds_reader.py"
    command = [READER, script, exported, tmp_path / "seen.npz"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    dataset = Dataset(both_splits)
    assert report["splits"] == {
        split: len(dataset.filter(split=split)) for split in ("test", "train")
    }
    written = json.loads((exported / "clevrskills/1.0.0/features.json").read_text())
    assert report["features"] == written
    with np.load(tmp_path / "seen.npz") as seen:
        assert {key.partition(":")[0] for key in seen} == set(dataset.ids)
        for episode in dataset:
            check_episode(
                episode, {key: seen[f"{episode.id}:{key}"] for key in keys(seen, episode)}
            )


def keys(seen: Mapping[str, np.ndarray], episode: Any) -> list[str]:
    return [key.partition(":")[2] for key in seen if key.startswith(f"{episode.id}:")]


def check_episode(episode: Any, seen: Mapping[str, np.ndarray]) -> None:
    count = len(episode)
    for name, column in (("action", episode.actions), ("reward", episode.rewards)):
        assert seen[name].dtype == np.float32 and np.array_equal(seen[name], column)
    for name in {"action", *STEP} & set(episode.steps):
        column = episode.steps[name].tolist()
        values = seen[name].tolist()
        words = [v.decode() if isinstance(v, bytes) else v for v in values]
        assert words == (column if name != "action" else episode.actions.tolist()), name
    assert seen["is_first"].tolist() == [True] + [False] * (count - 1)
    assert seen["is_last"].tolist() == [False] * (count - 1) + [True]
    assert seen["is_terminal"].tolist() == seen["is_last"].tolist()
    assert seen["discount"].tolist() == [1.0] * (count - 1) + [0.0]
    assert {v.decode() for v in seen["language_instruction"]} == {episode.prompt["plain"]}
    assert np.array_equal(
        seen["observation/state"][:, :7], episode.proprioception("ee_pose")[:count]
    )
    assert np.array_equal(
        seen["observation/state"][:, 7] > 0, episode.proprioception("vacuum_on")[:count]
    )
    for name, other in (("joint_position", "qpos"), ("joint_velocity", "qvel")):
        assert np.array_equal(seen[f"observation/{name}"], episode.proprioception(other)[:count])
    for name, camera in (("image", "base_camera"), ("wrist_image", "hand_camera")):
        frames = episode.video(camera)[:count].astype(float)
        assert psnr_db(seen[f"observation/{name}"] - frames) > 38.0
    for name in ("task", "level", "split", "robot"):
        assert seen[f"metadata/{name}"].item().decode() == episode.info[name]
    assert seen["metadata/seed"].item() == episode.info["seed"]
    assert seen["metadata/prompt"].item().decode() == episode.prompt["text"]
    assert json.loads(seen["metadata/wordings"].item()) == task_sentences(episode)


def psnr_db(difference: np.ndarray) -> float:
    return float(10 * np.log10(255**2 / (difference**2).mean()))
