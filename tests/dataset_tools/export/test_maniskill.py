"""Exports as ManiSkill's trajectory files, replayed by ManiSkill's own tool."""

import json
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import h5py
import numpy as np
import pytest
from mani_skill.trajectory.utils import index_dict

from clevrskills.dataset_tools import Dataset
from clevrskills.dataset_tools.dataset import Episode
from clevrskills.dataset_tools.export.command import write_dataset
from clevrskills.dataset_tools.export.selection import select
from clevrskills.dataset_tools.generate.command import GenerateArgs, generate

TASK = "rotate_restore"  # its goal has a nested state, and something is held


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """One episode of each of two tasks of the real simulation."""
    out = tmp_path_factory.mktemp("maniskill") / "demos"
    assert generate(GenerateArgs(tasks=("pick", TASK), episodes=1, out=out, no_cameras=True)) == 0
    return Dataset(out)


@pytest.fixture
def exported(recorded: Dataset, tmp_path: Path) -> Path:
    write_dataset(select(recorded), "maniskill", tmp_path / "out")
    return tmp_path / "out"


def the_episode(dataset: Dataset, task: str) -> Episode:
    (episode,) = dataset.filter(task=task)
    return episode


def flat(group: h5py.Group, path: str = "") -> dict[str, np.ndarray]:
    found = {}
    for name, item in group.items():
        inner = f"{path}/{name}".lstrip("/")
        found |= flat(item, inner) if isinstance(item, h5py.Group) else {inner: item[:]}
    return found


@pytest.mark.slow
def test_everything_recorded_is_in_the_files(recorded: Dataset, exported: Path):
    files = sorted(path.relative_to(exported).as_posix() for path in exported.rglob("*.*"))
    assert files == [
        f"{task}/train.{ending}" for task in ("pick", TASK) for ending in ("h5", "json")
    ]
    for task in (TASK, "pick"):
        episode = the_episode(recorded, task)
        with h5py.File(exported / task / "train.h5") as file:
            assert list(file) == ["traj_0"]
            seen = flat(file["traj_0"])
        assert seen["actions"].dtype == np.float32
        assert np.array_equal(seen["actions"], episode.actions)
        assert np.array_equal(seen["rewards"], episode.rewards)
        for name in ("success", "terminated", "truncated"):
            assert seen[name].dtype == bool
            assert seen[name].tolist() == episode.steps[name].tolist()
        for part in episode.state_layout:
            values = seen.pop(f"env_states/{part['name']}")
            assert np.array_equal(values, episode.states[:, part["start"] : part["stop"]])
        assert not [name for name in seen if name.startswith("env_states/")]
        entry = json.loads((exported / task / "train.json").read_text())
        assert entry["env_info"]["max_episode_steps"] >= len(episode)
        (trajectory,) = entry["episodes"]
        seed = episode.info["seed"]
        assert trajectory["episode_seed"] == trajectory["reset_kwargs"]["seed"] == seed
        assert trajectory["elapsed_steps"] == len(episode)
        assert trajectory["success"] is True
        assert trajectory["wordings"]


def test_states_can_be_restored_from_the_files(recorded: Dataset, exported: Path):
    entry = json.loads((exported / TASK / "train.json").read_text())
    env = gym.make(entry["env_info"]["env_id"], **entry["env_info"]["env_kwargs"])
    inner = env.unwrapped
    env.reset(**entry["episodes"][0]["reset_kwargs"])
    episode = the_episode(recorded, TASK)
    _, reward, *_ = env.step(episode.actions[0])
    assert reward.shape == (1,)  # batched, as ManiSkill's own
    with h5py.File(exported / TASK / "train.h5") as file:
        states = file["traj_0/env_states"]
        held = [*np.flatnonzero(episode.steps["holding"]), 0]
        for step in (0, int(held[len(held) // 2]), len(episode)):
            inner.set_state_dict(index_dict(states, step))
            restored = inner.get_state()[0].numpy()
            assert np.abs(restored - episode.states[step]).max() < 1e-5
            assert bool(inner.outcome.holds[0]) == (step == len(episode))
    env.close()


@pytest.mark.slow
@pytest.mark.render
@pytest.mark.parametrize("by_states", [False, True])
def test_replay_trajectory_replays_them(exported: Path, by_states: bool):
    """By actions everything comes out the same; from each state, the next one nearly so."""
    path = exported / TASK / "train.h5"
    command = [sys.executable, "-m", "mani_skill.trajectory.replay_trajectory"]
    command += ["--traj-path", str(path), "--save-traj", "--record-rewards"]
    command += ["--reward-mode", "dense"]  # by default it is the environment's
    # whether all is at rest after one step from a restored state is up to the physics engine
    command += ["--use-env-states", "--allow-failure"] if by_states else []
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Replayed 1 episodes, 1/1=100.00% demos saved" in done.stdout
    (replayed,) = path.parent.glob("train.*.h5")
    with h5py.File(path) as before, h5py.File(replayed) as after:
        was, now = flat(before["traj_0"]), flat(after["traj_0"])
    assert set(was) == set(now)
    assert np.array_equal(was["actions"], now["actions"])
    for name in was:
        if not by_states:  # ManiSkill writes some parts of states as float32
            same = np.array_equal(was[name].astype(np.float32), now[name].astype(np.float32))
            assert same, name
        elif name.startswith("env_states/actors/"):
            # it puts state 1 in the place of state 0, and notes what came before states were set
            assert np.abs(was[name][1:, :3] - now[name][1:, :3]).max() < 2e-3


@pytest.mark.slow
@pytest.mark.render
def test_visual_baselines_read_replayed_images(exported: Path):
    """They leave out the cameras, join images and flatten the rest to a state."""
    path = exported / "pick" / "train.h5"
    command = [sys.executable, "-m", "mani_skill.trajectory.replay_trajectory"]
    command += ["--traj-path", str(path), "--save-traj", "-o", "rgb"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (replayed,) = path.parent.glob("train.rgb.*.h5")
    with h5py.File(replayed) as file:
        assert {*file["traj_0/obs"]} == {"agent", "extra", "sensor_param", "sensor_data"}
        found = flat(file["traj_0/obs"])
        steps = len(file["traj_0/actions"]) + 1
    assert found["sensor_data/base_camera/rgb"].shape == (steps, 256, 256, 3)
    assert found["sensor_param/hand_camera/intrinsic_cv"].shape == (steps, 3, 3)
    state = [values for name, values in found.items() if not name.startswith("sensor_")]
    assert np.concatenate(state, axis=1).shape == (steps, 34)
