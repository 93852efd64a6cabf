import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from damage import EPISODE, edit_values, put
from torch.utils.data import DataLoader

from clevrskills.dataset_tools import Dataset, DatasetError
from clevrskills.dataset_tools.torch_dataset import (
    TrainingDataset,
    collate,
)
from clevrskills.errors import ClevrSkillsError, UnknownNameError


def test_samples_equal_those_of_the_reader(demos: Path) -> None:
    dataset = Dataset(demos)
    samples = TrainingDataset(demos)
    assert len(samples) == sum(len(episode) for episode in dataset)
    index = 0
    for number, episode in enumerate(dataset):
        videos = {camera: episode.video(camera) for camera in episode.cameras}
        for step in range(len(episode)):
            sample = samples[index]
            assert samples.locate(index) == (number, step)
            assert (sample["episode"], sample["step"]) == (episode.id, step)
            for camera, video in videos.items():
                image = sample["images"][camera]
                assert image.dtype == torch.uint8
                np.testing.assert_array_equal(image.permute(0, 2, 3, 1), video[step : step + 1])
            np.testing.assert_array_equal(sample["action"], episode.actions[step : step + 1])
            row = episode.steps.iloc[step]
            for name in ("qpos", "ee_pose"):
                np.testing.assert_array_equal(sample["proprioception"][name][0], row[name])
            assert sample["proprioception"]["vacuum_on"].tolist() == [[float(row["vacuum_on"])]]
            assert sample["task"] == episode.prompt["plain"]
            assert sample["subtask"] == row["subtask"]
            assert sample["instruction"] == row["instruction"]
            assert not sample["action_is_pad"].any() and not sample["observation_is_pad"].any()
            index += 1


def test_windows_end_at_the_ends_of_an_episode(demos: Path) -> None:
    episode = Dataset(demos)[0]
    samples = TrainingDataset(demos, history=3, horizon=4, proprioception=["ee_pose"])
    video, actions, last = episode.video("base_camera"), episode.actions, len(episode) - 1
    poses = episode.proprioception("ee_pose")
    for step, seen, done, before, after in (
        (0, [0, 0, 0], [0, 1, 2, 3], [True, True, False], [False] * 4),
        (1, [0, 0, 1], [1, 2, 3, 4], [True, False, False], [False] * 4),
        (5, [3, 4, 5], [5, 6, 7, 8], [False] * 3, [False] * 4),
        (last - 1, [last - 3, last - 2, last - 1], [last - 1] + [last] * 3, [False] * 3, None),
        (last, [last - 2, last - 1, last], [last] * 4, [False] * 3, [False, True, True, True]),
    ):
        sample = samples[step]
        assert sample["images"]["base_camera"].shape == (3, 3, 64, 64)
        np.testing.assert_array_equal(
            sample["images"]["base_camera"].permute(0, 2, 3, 1), video[seen]
        )
        np.testing.assert_array_equal(sample["proprioception"]["ee_pose"], poses[seen])
        np.testing.assert_array_equal(sample["action"], actions[done])
        assert sample["observation_is_pad"].tolist() == before
        assert sample["action_is_pad"].tolist() == (after or [False, False, True, True])
    # the next episode does not leak into the last steps, nor this one into its first
    assert samples[last + 1]["step"] == 0
    assert samples[last + 1]["observation_is_pad"].tolist() == [True, True, False]


def test_images_as_they_are_wanted(demos: Path) -> None:
    whole = TrainingDataset(demos, cameras=["hand_camera"])[5]["images"]
    part = TrainingDataset(
        demos, cameras=["hand_camera"], image_size=32, image_dtype=torch.float32
    )[5]["images"]
    assert list(part) == ["hand_camera"]
    assert part["hand_camera"].shape == (1, 3, 32, 32) and part["hand_camera"].max() <= 1
    means = torch.nn.functional.avg_pool2d(whole["hand_camera"].float(), 2) / 255
    assert (part["hand_camera"] - means).abs().mean() < 0.01
    assert TrainingDataset(demos, cameras=[])[5]["images"] == {}


def test_parts_of_a_dataset(demos: Path) -> None:
    visits = Dataset(demos).filter(task="visit")
    samples = TrainingDataset(visits, cameras=[])
    assert len(samples) == sum(map(len, visits))
    assert samples[-1]["episode"] == visits[-1].id == samples[len(samples) - 1]["episode"]
    with pytest.raises(IndexError):
        samples[len(samples)]
    assert len(list(samples)) == len(samples)  # type: ignore[call-overload]


def test_failed_steps_can_be_left_out(demos: Path, tmp_path: Path) -> None:
    root = shutil.copytree(demos, tmp_path / "copy")
    edit_values("failed", put([3, 4, 7], True))(root)
    samples = TrainingDataset(root, cameras=[], horizon=3, failed_steps=False)
    everything = TrainingDataset(root, cameras=[], horizon=3)
    assert len(samples) == len(everything) - 3
    steps = [s["step"] for s in samples if s["episode"] == EPISODE]
    assert not {3, 4, 7} & set(steps) and {2, 5, 6, 8} < set(steps)
    actions = Dataset(root).episode(EPISODE).actions
    (before,) = (s for s in samples if (s["episode"], s["step"]) == (EPISODE, 2))
    np.testing.assert_array_equal(before["action"], actions[2:5])  # chunks stay whole


def test_prompts_with_pictures(demos: Path) -> None:
    samples = TrainingDataset(demos, cameras=[], prompt_images=True)
    sample, episode = samples[0], Dataset(demos)[0]
    assert sample["prompt"] == episode.prompt["text"]
    images = episode.prompt_images()
    assert set(sample["prompt_images"]) == set(images) != set()
    for key, picture in images.items():
        np.testing.assert_array_equal(sample["prompt_images"][key].permute(1, 2, 0), picture)
    batch = collate([samples[0], samples[-1]])
    assert batch["action"].shape == (2, 1, 7)
    assert [set(each) for each in batch["prompt_images"]] == [set(images)] * 2


@pytest.mark.parametrize("context", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
def test_worker_processes_give_the_same(demos: Path, context: str) -> None:
    samples = TrainingDataset(demos, history=2, horizon=3, open_videos=3)
    first = samples[11]  # files are open when the workers start
    order = np.random.default_rng(1).permutation(len(samples)).tolist()
    loader = DataLoader(samples, 8, sampler=order, num_workers=2, multiprocessing_context=context)
    seen = 0
    for batch in loader:
        for k, (episode, step) in enumerate(zip(batch["episode"], batch["step"], strict=True)):
            here = samples[order[seen]]
            assert (here["episode"], here["step"]) == (episode, int(step))
            for camera in samples.cameras:
                assert torch.equal(batch["images"][camera][k], here["images"][camera])
            assert torch.equal(batch["action"][k], here["action"])
            assert batch["subtask"][k] == here["subtask"]
            seen += 1
    assert seen == len(samples)
    assert torch.equal(samples[11]["images"]["base_camera"], first["images"]["base_camera"])


def test_copies_open_files_of_their_own(demos: Path) -> None:
    samples = TrainingDataset(demos)
    before = samples[3]
    copy = pickle.loads(pickle.dumps(samples))
    assert torch.equal(copy[3]["images"]["hand_camera"], before["images"]["hand_camera"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"history": 0}, "history must be at least 1, not 0"),
        ({"horizon": -2}, "horizon must be at least 1, not -2"),
        ({"image_size": 0}, "image_size must be at least 1, not 0"),
        ({"open_videos": 0}, "open_videos must be at least 1, not 0"),
        ({"image_dtype": torch.int32}, "image_dtype must be torch.uint8 or floating"),
        ({"cameras": ["top"]}, "unknown camera 'top'; allowed: base_camera, hand_camera"),
        ({"proprioception": ["mood"]}, "unknown measurement 'mood'; allowed: qpos"),
    ],
)
def test_bad_arguments(demos: Path, arguments: dict, message: str) -> None:
    with pytest.raises(ClevrSkillsError, match=message) as error:
        TrainingDataset(demos, **arguments)
    assert isinstance(error.value, UnknownNameError) == message.startswith("unknown")


def test_no_dataset_and_no_episodes(demos: Path, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="is not a dataset"):
        TrainingDataset(tmp_path)
    with pytest.raises(ClevrSkillsError, match="has no matching episodes"):
        TrainingDataset(Dataset(demos).filter(task="sort"))
