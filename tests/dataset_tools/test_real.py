"""The dataset tools with the real simulation and oracle."""

import filecmp
from pathlib import Path

import numpy as np
import pytest

from clevrskills.dataset_tools import Dataset, Episode
from clevrskills.dataset_tools.generate import GenerateArgs, generate
from clevrskills.dataset_tools.replay import replay
from clevrskills.dataset_tools.sources import ClevrSkillsSource, Setup
from clevrskills.errors import ClevrSkillsError

SOURCE = ClevrSkillsSource()


def check_replay(episode: Episode, cameras: tuple[str, ...]) -> None:
    env, _ = SOURCE.make(Setup(episode.info["task"], cameras=cameras))
    report = replay(episode, env)
    assert report, str(report)
    assert report.success and report.states == len(episode) + 1


def test_recorded_actions_give_the_recorded_states(tmp_path: Path) -> None:
    args = GenerateArgs(tasks=("pick", "sort"), episodes=1, out=tmp_path, no_cameras=True)
    assert generate(args) == 0
    for episode in Dataset(tmp_path):
        check_replay(episode, cameras=())
        assert np.abs(episode.actions).max() <= 1.0
        assert episode.state_layout[-1]["stop"] == episode.states.shape[1]
        assert episode.proprioception("ee_pose").shape == (len(episode) + 1, 7)
        assert episode.steps["success"].iloc[-1] and not episode.steps["success"].iloc[:-1].any()
        for level in ("subtask", "instruction"):
            texts = [segment["plain"] for segment in episode.segments[level]]
            assert texts and all(texts) and not any("{" in text for text in texts)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tasks": ("juggle",)}, "unknown task 'juggle'; allowed: "),
        ({"robot": "ur5"}, "unknown robot 'ur5'; allowed: xarm6, panda"),
        ({"criteria": "mine"}, "unknown criteria 'mine'; allowed: paper, released"),
    ],
)
def test_names_are_those_of_the_registries(tmp_path: Path, change: dict, message: str) -> None:
    args = GenerateArgs(**{"tasks": ("pick",), "out": tmp_path / "out", **change})
    with pytest.raises(ClevrSkillsError, match=message):
        generate(args)


@pytest.mark.slow
@pytest.mark.render
def test_pictures_and_workers_change_nothing(tmp_path: Path) -> None:
    for name, workers, no_cameras in (("a", 1, False), ("b", 2, False), ("c", 2, True)):
        args = GenerateArgs(tasks=("place", "sort"), episodes=3, out=tmp_path / name)
        args.workers, args.no_cameras = workers, no_cameras
        assert generate(args) == 0
    for episode in Dataset(tmp_path / "a"):
        steps = len(episode)
        for camera in ("base_camera", "hand_camera"):
            assert episode.video(camera).shape == (steps + 1, 256, 256, 3)
        assert len(episode.keystep_images()) == len(episode.keysteps) >= 2
        assert set(episode.prompt_images()) == set(episode.prompt["images"])
        for other in ("b", "c"):
            names = ["states.npz", "steps.parquet"]
            if other == "b":
                names += ["episode.json", "base_camera.mp4", "hand_camera.mp4"]
            path = tmp_path / other / episode.id
            _, different, odd = filecmp.cmpfiles(episode.path, path, names, shallow=False)
            assert (different, odd) == ([], [])
    check_replay(Dataset(tmp_path / "a")[-1], cameras=("hand_camera",))
