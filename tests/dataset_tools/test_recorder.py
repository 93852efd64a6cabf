import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fake_source import FakeSource

from clevrskills.dataset_tools.dataset import Episode
from clevrskills.dataset_tools.recorder import Labels, Recorder, Step, segments
from clevrskills.dataset_tools.rollout import rollout
from clevrskills.dataset_tools.sources import Setup

SETUP = Setup("visit", "test")


@pytest.fixture
def episode(tmp_path: Path) -> Episode:
    env, oracle = FakeSource({}).make(SETUP)
    with Recorder(tmp_path, SETUP, seed=5) as recorder:
        result = rollout(env, oracle, recorder, seed=5)
        assert result.success
        return Episode(recorder.commit(success=True))


def test_files(episode: Episode, tmp_path: Path) -> None:
    assert episode.path == tmp_path / "visit" / "test_00000005"
    files = {str(p.relative_to(episode.path)) for p in episode.path.rglob("*") if p.is_file()}
    assert files == {
        "episode.json",
        "steps.parquet",
        "states.npz",
        "base_camera.mp4",
        "hand_camera.mp4",
        "prompt/obj_target_0.png",
        "prompt/obj_target_1.png",
        "keysteps/00.png",
        "keysteps/01.png",
        "keysteps/02.png",
    }
    assert [p.name for p in tmp_path.iterdir()] == ["visit"]


def test_steps_open_in_pandas(episode: Episode) -> None:
    steps = pd.read_parquet(episode.path / "steps.parquet")
    count = episode.info["steps"]
    assert list(steps["step"]) == list(range(count))
    assert steps["timestamp"].to_numpy() == pytest.approx(np.arange(count) / 20)
    assert [len(action) for action in steps["action"]] == [7] * count
    assert steps["success"].dtype == bool
    assert list(steps["success"]) == [False] * (count - 1) + [True]
    assert steps["progress"].iloc[-1] == 1.0
    assert steps["reward"].sum() == pytest.approx(episode.info["return"])
    assert steps["terminated"].iloc[-1] and not steps["truncated"].any()
    assert steps["subtask"].iloc[0] == "Reach the red dot"
    assert steps["subgoal"].iloc[-1] == 1
    assert len(steps["ee_pose"].iloc[0]) == 7
    assert steps["vacuum_on"].dtype == bool


def test_rows_hold_what_was_before_the_action(episode: Episode) -> None:
    """State t, proprioception t, frame t belong together; action t leads from t to t + 1."""
    states, qpos = episode.states, episode.proprioception("qpos")
    np.testing.assert_array_equal(states[:, :2], qpos[:, :2])
    moved = np.clip(states[:-1, :2] + np.float32(0.1) * episode.actions[:, :2], -1, 1)
    np.testing.assert_allclose(moved, states[1:, :2], atol=1e-6)
    video = episode.video("base_camera")
    assert len(video) == len(states) == episode.info["steps"] + 1
    for step, (x, y) in enumerate(states[:, :2]):
        row, column = int((y + 1) / 2 * 55) + 4, int((x + 1) / 2 * 55) + 4
        assert video[step, row, column].min() > 200  # the white point


def test_keysteps_are_where_subgoals_are_reached(episode: Episode) -> None:
    targets = episode.states[0, 2:6].reshape(2, 2)
    assert [k["subgoal"] for k in episode.keysteps] == [None, 0, 1]
    steps = [k["step"] for k in episode.keysteps]
    assert steps[0] == 0 and steps[2] == episode.info["steps"]
    for k, target in zip(episode.keysteps[1:], targets, strict=True):
        distance = np.abs(episode.states[:, :2] - target).max(axis=1)
        assert distance[k["step"]] < 0.06 <= distance[k["step"] - 1]
    marked = episode.steps.index[episode.steps["keystep"]]
    assert [step + 1 for step in marked] == steps[1:]
    for image, step in zip(episode.keystep_images(), steps, strict=True):
        video = episode.frame("base_camera", step).astype(float)
        assert np.abs(image - video).mean() < 5


def test_labels_in_words_and_with_placeholders(episode: Episode) -> None:
    first, second = episode.segments["subtask"]
    assert first["text"] == "Reach {obj:target_0}" and first["plain"] == "Reach the red dot"
    assert first["start"] == 0 and first["stop"] == second["start"]
    assert second["stop"] == episode.info["steps"]
    assert episode.segments["instruction"][0]["text"].startswith("Move along")
    assert episode.prompt["plain"].startswith("Move to the red dot")
    assert set(episode.prompt_images()) == {"{obj:target_0}", "{obj:target_1}"}


def test_info_is_plain_json(episode: Episode) -> None:
    info = json.loads((episode.path / "episode.json").read_text())
    for key in ("task", "level", "seed", "split", "robot", "criteria", "goal", "scene", "versions"):
        assert key in info
    assert (info["task"], info["level"], info["seed"], info["split"]) == ("visit", "L1", 5, "test")
    assert info["cameras"]["hand_camera"]["frames"] == info["steps"] + 1


def test_without_cameras(tmp_path: Path) -> None:
    setup = Setup("visit", cameras=())
    env, oracle = FakeSource({}).make(setup)
    with Recorder(tmp_path, setup, seed=5) as recorder:
        rollout(env, oracle, recorder, seed=5)
        path = recorder.commit(success=True)
    assert {p.name for p in path.iterdir()} == {"episode.json", "steps.parquet", "states.npz"}
    episode = Episode(path)
    assert episode.cameras == () and episode.keystep_images() == []
    assert [k["image"] for k in episode.keysteps] == [None, None, None]


@pytest.mark.parametrize("steps", [0, 3])
def test_nothing_is_left_without_commit(tmp_path: Path, steps: int) -> None:
    env, _ = FakeSource({}).make(SETUP)
    with pytest.raises(KeyboardInterrupt), Recorder(tmp_path, SETUP, seed=1) as recorder:
        env.reset(seed=1)
        recorder.start(env)
        for _ in range(steps):
            env.step(np.zeros(7))
            step = Step(0.0, False, 0.0, False, False)
            recorder.record(env, np.zeros(7), Labels("a", "b", 0), step)
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_a_step_back_is_no_keystep(tmp_path: Path) -> None:
    env, _ = FakeSource({}).make(SETUP)
    env.reset(seed=1)
    with Recorder(tmp_path, SETUP, seed=1) as recorder:
        recorder.start(env)
        for subgoal in (0, 0, 1, 0, 0, 1):
            env.step(np.zeros(7))
            step = Step(0.0, False, 0.0, False, False)
            recorder.record(env, np.zeros(7), Labels("a", "b", subgoal), step)
        episode = Episode(recorder.commit(success=True))
    reached = [(k["step"], k["subgoal"]) for k in episode.keysteps]
    assert reached == [(0, None), (2, 0), (5, 0), (6, 1)]


def test_segments() -> None:
    assert segments([]) == []
    assert segments(["a", "a", "b", "a"]) == [
        {"start": 0, "stop": 2, "text": "a"},
        {"start": 2, "stop": 3, "text": "b"},
        {"start": 3, "stop": 4, "text": "a"},
    ]
