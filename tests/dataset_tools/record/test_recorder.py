import io
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fake_source import FakeSource, FakeStart
from PIL import Image

from clevrskills.core.env_config import EnvConfig
from clevrskills.dataset_tools.dataset import Episode
from clevrskills.dataset_tools.record.columns import OWNER, segments
from clevrskills.dataset_tools.record.recorder import Recorder, Step
from clevrskills.dataset_tools.record.rollout import rollout

CAMERAS = ("base_camera", "hand_camera")
SETUP = EnvConfig("visit", "test", "xarm6", "paper", CAMERAS)
START = FakeStart("visit", "test", 5)


def labels(subgoal: int) -> Any:
    """An oracle that works on a leaf."""
    words = {"subtask": "a", "step": "b", "predicate": "", "skill": "", "action_class": ""}
    return SimpleNamespace(**words, subgoal=subgoal, attempt=0)


@pytest.fixture
def episode(tmp_path: Path) -> Episode:
    return record(tmp_path, SETUP)


def record(root: Path, config: EnvConfig, failed: tuple[tuple[int, int], ...] = ()) -> Episode:
    suite = FakeSource({})
    env = suite.make(config)
    oracle = suite.oracle(env)
    film = suite.trajectory_renderer(config)
    with Recorder(root, config, START, suite, film) as recorder:
        result = rollout(env, oracle, recorder)
        recorder.give_up(failed)
        assert result.success
        path = recorder.commit(success=True)
    phases = {"reset", "plan", "physics", "render", "encode", "write"}
    assert set(recorder.times_s) == phases and sum(recorder.times_s.values()) > 0.0
    return Episode(path)


def test_files(episode: Episode, tmp_path: Path) -> None:
    assert episode.path == tmp_path / "visit" / "test_00000005"
    files = {str(p.relative_to(episode.path)) for p in episode.path.rglob("*") if p.is_file()}
    assert files == {
        "episode.json",
        "steps.parquet",
        "states.npz",
        "base_camera.mp4",
        "hand_camera.mp4",
        "cameras.parquet",
        "images.parquet",
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
    assert (steps["predicate"] == "reached").all() and (steps["skill"] == "move").all()
    assert (steps["action_class"] == "move").all() and (steps["attempt"] == 0).all()
    assert not steps["failed"].any()
    assert steps["subtask_text"].iloc[0] == "Reach {obj:target_0}"
    assert steps["instruction_text"].iloc[0] == "Move along x"
    assert len(steps["ee_pose"].iloc[0]) == 7
    assert steps["vacuum_on"].dtype == bool


def test_rows_have_the_state_before_the_action(episode: Episode) -> None:
    """State t, proprioception t, frame t belong together; action t leads from t to t + 1."""
    states, qpos = episode.states, episode.proprioception("qpos")
    np.testing.assert_array_equal(states[:, :2], qpos[:, :2])
    moved = np.clip(states[:-1, :2] + np.float32(0.1) * episode.actions[:, :2], -1, 1)
    np.testing.assert_allclose(moved, states[1:, :2], atol=1e-6)
    video = episode.video("base_camera")
    assert len(video) == len(states) == episode.info["steps"] + 1
    for step, (x, y) in enumerate(states[:, :2]):
        row, column = int(32 - y / 1.8 * 64), int(32 + x / 1.8 * 64)
        assert video[step, row, column].min() > 200  # the white point
    np.testing.assert_array_equal(
        episode.object_poses[:, :, :2].reshape(count(episode) + 1, 4), states[:, 2:6]
    )


def count(episode: Episode) -> int:
    return int(episode.info["steps"])


def test_camera_annotations_match_the_images(episode: Episode) -> None:
    """Boxes against where the film draws objects; visible where the point does not hide them."""
    extrinsics, boxes = episode.extrinsics("base_camera"), episode.boxes("base_camera")
    visible = episode.visible("base_camera")
    assert extrinsics.shape == (count(episode) + 1, 3, 4)
    assert boxes.shape == (count(episode) + 1, 2, 4) and visible.shape == (count(episode) + 1, 2)
    intrinsic = np.array(episode.info["cameras"]["base_camera"]["intrinsic"])
    for k, (x, y, *_) in enumerate(episode.object_poses[0]):
        u, v, w = intrinsic @ extrinsics[0] @ (x, y, 0.05, 1.0)  # the middle of its upper side
        assert np.hypot(*((boxes[0, k, :2] + boxes[0, k, 2:]) / 2 - (u / w, v / w))) < 1.0
    away = np.abs(episode.object_poses[:, :, :2] - episode.states[:, None, :2]).max(-1)
    assert (visible[away > 0.3] > 0.9).all() and (away > 0.3).any()
    assert (visible[away < 0.07] < 0.1).all() and (away < 0.07).any()
    table = pd.read_parquet(episode.path / "cameras.parquet")
    assert sorted(table.columns) == sorted(
        [
            *("step", *OWNER),
            *(
                f"{camera}/{what}"
                for camera in ("base_camera", "hand_camera")
                for what in ("extrinsic", "boxes", "visible")
            ),
        ]
    )
    assert table["step"].tolist() == list(range(count(episode) + 1))
    assert set(table["episode"]) == {episode.id}


def test_images_are_those_of_hugging_face(episode: Episode) -> None:
    """Column ``image`` with bytes and path, as ``datasets`` reads images."""
    table = pq.read_table(episode.path / "images.parquet")
    assert table.schema.field("image").type == pa.struct(
        [("bytes", pa.binary()), ("path", pa.string())]
    )
    assert set(table["episode"].to_pylist()) == {episode.id}
    names = table["name"].to_pylist()
    assert names == [
        "prompt/obj_target_0",
        "prompt/obj_target_1",
        *(f"keysteps/{k:02d}" for k in range(3)),
    ]
    for name, image in zip(names, table["image"].to_pylist(), strict=True):
        picture = np.asarray(Image.open(io.BytesIO(image["bytes"])))
        np.testing.assert_array_equal(picture, episode.images()[name])
        assert image["path"] == f"{name}.jpg"


def test_goal_tree(episode: Episode) -> None:
    assert [node["path"] for node in episode.nodes] == [
        "sequence",
        "sequence/0.reached",
        "sequence/1.reached",
    ]
    assert [node["leaf"] for node in episode.nodes] == [None, 0, 1]
    assert episode.nodes[1]["plain"] == "Reach the red dot"
    holds = np.stack(episode.steps["holds"].to_list())
    first, second = (k["step"] for k in episode.keysteps[1:])
    assert list(holds[:, 1]) == [step + 1 >= first for step in range(count(episode))]
    assert list(holds[:, 2]) == [step + 1 >= second for step in range(count(episode))]
    terms = np.stack(episode.steps["terms"].to_list())
    np.testing.assert_array_equal(terms[:, 0], episode.rewards)


def test_objects(episode: Episode) -> None:
    assert episode.objects[0] == {
        "key": "target_0",
        "name": "red dot",
        "shape": "dot",
        "texture": "red",
        "static": True,
        "role": "goal",
    }


def test_repaints(episode: Episode) -> None:
    """From the state in which the first target is reached, it is gold: there, and in the video."""
    first = episode.keysteps[1]["step"]
    assert episode.info["repaints"] == [{"step": first, "textures": {"target_0": "gold"}}]


def test_depth_and_segmentation(tmp_path: Path) -> None:
    config = replace(SETUP, cameras=("hand_camera",), depth=True, segmentation=True, size_px=48)
    episode = record(tmp_path, config)
    depth, segmentation = episode.depth("hand_camera"), episode.segmentation("hand_camera")
    assert depth.shape == segmentation.shape == (count(episode) + 1, 48, 48)
    assert depth.dtype == np.uint16 and segmentation.dtype == np.uint8
    assert set(np.unique(segmentation)) == {1, 2, 254, 255}
    for number, millimetres in ((1, 1950), (2, 1950), (254, 2000), (255, 1800)):
        assert (depth[segmentation == number] == millimetres).all()
    assert episode.video("hand_camera").shape[1:3] == (48, 48)
    assert [k["image"] for k in episode.keysteps] == [None] * 3  # the base camera is off
    assert len(list(episode.path.iterdir())) <= 12


def test_steps_of_failed_attempts(tmp_path: Path) -> None:
    episode = record(tmp_path, SETUP, failed=((1, 3), (2, 4)))
    assert list(episode.steps.index[episode.steps["failed"]]) == [1, 2, 3]
    runs = episode.segments["instruction"]
    assert [step for run in runs if run["failed"] for step in range(run["start"], run["stop"])] == [
        *(1, 2, 3)
    ]
    assert "failed" not in episode.segments["subtask"][0]  # some of it, not all


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
    config = replace(SETUP, cameras=())
    suite = FakeSource({})
    env = suite.make(config)
    oracle = suite.oracle(env)
    film = suite.trajectory_renderer(config)
    with Recorder(tmp_path, config, START, suite, film) as recorder:
        rollout(env, oracle, recorder)
        path = recorder.commit(success=True)
    assert {p.name for p in path.iterdir()} == {"episode.json", "steps.parquet", "states.npz"}
    episode = Episode(path)
    assert episode.cameras == () and episode.keystep_images() == []
    assert episode.images() == {} and episode.prompt_images() == {}
    assert [k["image"] for k in episode.keysteps] == [None, None, None]


@pytest.mark.parametrize("steps", [0, 3])
def test_nothing_is_left_without_commit(tmp_path: Path, steps: int) -> None:
    suite = FakeSource({})
    env, film = suite.make(SETUP), suite.trajectory_renderer(SETUP)
    with (
        pytest.raises(KeyboardInterrupt),
        Recorder(tmp_path, SETUP, START, suite, film) as recorder,
    ):
        env.reset(options={"episode": START})
        recorder.start(env, 60)
        for _ in range(steps):
            env.step(np.zeros(7))
            step = Step(0.0, False, 0.0, False, False)
            recorder.record(env, np.zeros(7), labels(0), step)
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_a_step_back_is_no_keystep(tmp_path: Path) -> None:
    suite = FakeSource({})
    env = suite.make(SETUP)
    env.reset(options={"episode": START})
    with Recorder(tmp_path, SETUP, START, suite) as recorder:
        recorder.start(env, 60)
        for subgoal in (0, 0, 1, 0, 0, 1):
            env.step(np.zeros(7))
            step = Step(0.0, False, 0.0, False, False)
            recorder.record(env, np.zeros(7), labels(subgoal), step)
        episode = Episode(recorder.commit(success=True))
    reached = [(k["step"], k["subgoal"]) for k in episode.keysteps]
    assert reached == [(0, None), (2, 0), (5, 0), (6, 1)]


def test_segments() -> None:
    rows = [{"a": a, "b": b} for a, b in ((1, 5), (1, 6), (2, 6), (1, 6))]
    assert segments([], ["a"]) == []
    assert segments(rows, ["a"]) == [
        {"start": 0, "stop": 2, "a": 1},
        {"start": 2, "stop": 3, "a": 2, "b": 6},
        {"start": 3, "stop": 4, "a": 1, "b": 6},
    ]
    assert len(segments(rows, ["a", "b"])) == 4
