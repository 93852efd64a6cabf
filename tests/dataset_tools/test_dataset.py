import shutil
from pathlib import Path

import numpy as np
import pytest

from clevrskills.dataset_tools import Dataset, DatasetError, Episode
from clevrskills.errors import ClevrSkillsError, UnknownNameError


def test_episodes_are_sorted_and_complete(demos: Path) -> None:
    dataset = Dataset(demos)
    assert dataset.ids == (
        "reach/train_00000000",
        "reach/train_00000002",
        "reach/train_10000001",
        "visit/train_00000000",
        "visit/train_00000002",
        "visit/train_10000001",
    )
    assert len(dataset) == len(list(dataset)) == 6
    assert dataset[-1].id == "visit/train_10000001"
    assert [failure.seed for failure in dataset.failures()] == [1, 1]
    assert dataset.header.robot == "xarm6"


def test_filter(demos: Path) -> None:
    dataset = Dataset(demos)
    assert {e.info["task"] for e in dataset.filter(task="visit")} == {"visit"}
    assert len(dataset.filter(level="L0", success=True)) == 3
    assert len(dataset.filter(split="test")) == 0
    assert len(dataset.filter()) == 6
    assert dataset.filter(task="visit").filter(level="L0").ids == ()


@pytest.mark.parametrize("wrong", [{"task": ["visit"]}, {"level": 0}, {"success": "yes"}])
def test_filter_takes_single_values(demos: Path, wrong: dict) -> None:
    with pytest.raises(ClevrSkillsError, match="allowed: (one name|True or False)$"):
        Dataset(demos).filter(**wrong)


def test_a_relative_folder_is_that_of_the_start(demos: Path, monkeypatch) -> None:
    monkeypatch.chdir(demos.parent)
    dataset, episode = Dataset(demos.name), Episode(Path(demos.name) / "visit/train_00000002")
    monkeypatch.chdir("/")
    assert len(dataset[0].steps) and episode.info["seed"] == 2


def test_episode_by_name(demos: Path) -> None:
    dataset = Dataset(demos)
    assert dataset.episode("visit/train_00000002").info["seed"] == 2
    with pytest.raises(UnknownNameError, match="unknown episode 'visit/9'; allowed: reach/"):
        dataset.episode("visit/9")


def test_arrays(demos: Path) -> None:
    episode = Dataset(demos)[0]
    steps = len(episode)
    assert episode.actions.shape == (steps, 7) and episode.actions.dtype == np.float32
    assert episode.rewards.shape == (steps,)
    assert episode.states.shape == (steps + 1, 7) and episode.states.dtype == np.float32
    assert [part["stop"] for part in episode.state_layout][-1] == 7
    assert episode.proprioception("ee_pose").shape == (steps + 1, 7)
    assert episode.proprioception("vacuum_on").dtype == bool
    assert episode.video("hand_camera").shape == (steps + 1, 64, 64, 3)
    frame = episode.frame("base_camera", steps)
    np.testing.assert_array_equal(frame, episode.video("base_camera")[-1])


def test_unknown_names(demos: Path) -> None:
    episode = Dataset(demos)[0]
    with pytest.raises(UnknownNameError, match="unknown camera 'top'; allowed: base_camera, hand"):
        episode.video("top")
    with pytest.raises(UnknownNameError, match="unknown measurement 'mood'; allowed: qpos"):
        episode.proprioception("mood")
    with pytest.raises(UnknownNameError, match="unknown camera 'top'; allowed: base_camera, hand"):
        episode.boxes("top")
    with pytest.raises(UnknownNameError, match="unknown camera with depth 'base_camera'; allowed"):
        episode.depth("base_camera")


def test_not_a_dataset(tmp_path: Path) -> None:
    with pytest.raises(ClevrSkillsError, match="is not a dataset"):
        Dataset(tmp_path)
    with pytest.raises(ClevrSkillsError, match="is not a dataset"):
        Dataset(tmp_path / "missing")
    with pytest.raises(ClevrSkillsError, match="is not an episode"):
        Episode(tmp_path)


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("episode.json", lambda episode: episode.info),
        ("steps.parquet", lambda episode: episode.steps),
        ("states.npz", lambda episode: episode.states),
        ("base_camera.mp4", lambda episode: episode.video("base_camera")),
        ("cameras.parquet", lambda episode: episode.boxes("base_camera")),
        ("images.parquet", lambda episode: episode.keystep_images()),
    ],
)
@pytest.mark.parametrize("damage", ["cut", "missing"])
def test_damaged_files_are_named(
    demos: Path, tmp_path: Path, name: str, read: object, damage: str
) -> None:
    path = tmp_path / "reach" / "train_00000000"
    shutil.copytree(demos / "reach" / "train_00000000", path)
    episode = Episode(path)
    if damage == "cut":
        data = (path / name).read_bytes()
        (path / name).write_bytes(data[: len(data) // 2])
    else:
        (path / name).unlink()
    with pytest.raises(
        DatasetError, match=f"{name} is {'missing$' if damage == 'missing' else ''}"
    ):
        read(episode)  # type: ignore[operator]


def test_partial_episodes_are_skipped(demos: Path, tmp_path: Path) -> None:
    root = tmp_path / "copy"
    shutil.copytree(demos, root)
    shutil.copytree(root / "reach", root / ".partial-1-1")
    (root / "reach" / "train_00000099").mkdir()
    assert len(Dataset(root)) == 6
