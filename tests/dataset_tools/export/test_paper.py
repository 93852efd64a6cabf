"""Exports in the layout of the paper's dataset, read as its loader describes the files."""

import bz2
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_source import FakeSource
from PIL import Image

from clevrskills.dataset_tools import Dataset
from clevrskills.dataset_tools.dataset import Episode
from clevrskills.dataset_tools.export.command import write_dataset
from clevrskills.dataset_tools.export.selection import select
from clevrskills.dataset_tools.generate.command import GenerateArgs, generate
from clevrskills.errors import ClevrSkillsError
from clevrskills.sim.render.video import read_video

CAMERAS = ("base_camera", "hand_camera")
ACTORS = ("red dot_1", "blue dot_2")
NEEDED_BY_THE_LOADER = (
    "action_labels.npy actions.npy action_trace.pickle.bz2 agent camera_param env_states.npy image "
    "info.json keysteps objects rewards.npy scene_base.jpg scene.jpg success.npy"
).split()


@pytest.fixture(scope="module")
def exported(demos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("paper") / "out"
    write_dataset(select(Dataset(demos)), "clevrskills", out)
    return out


@pytest.fixture(scope="module")
def episode(demos: Path) -> Episode:
    return Dataset(demos).filter(task="visit")[1]


@pytest.fixture(scope="module")
def folder(exported: Path, episode: Episode) -> Path:
    return exported / f"train/visit/traj_{episode.info['seed']}"


def test_each_episode_has_its_folder(exported: Path, demos: Path):
    found = {path.parent.relative_to(exported).as_posix() for path in exported.rglob("actions.npy")}
    expected = {f"train/{e.info['task']}/traj_{e.info['seed']}" for e in Dataset(demos)}
    assert found == expected
    for name in found:
        assert all((exported / name / needed).exists() for needed in NEEDED_BY_THE_LOADER)


def test_arrays_have_the_shapes_and_types_of_the_paper(folder: Path, episode: Episode):
    count = len(episode)
    actions, rewards = np.load(folder / "actions.npy"), np.load(folder / "rewards.npy")
    assert actions.dtype == rewards.dtype == np.float64
    assert np.array_equal(actions, episode.actions.astype(float)) and actions.shape == (count, 7)
    assert np.array_equal(rewards, episode.rewards.astype(float)) and rewards.shape == (count,)
    success = np.load(folder / "success.npy")
    assert success.dtype == bool and success.tolist() == [False] * (count - 1) + [True]
    assert np.array_equal(np.load(folder / "env_states.npy"), episode.states)
    agent = {path.stem: np.load(path) for path in (folder / "agent").iterdir()}
    assert set(agent) == {
        *("base_pose", "qpos", "qvel", "ee_pose", "ee_velocity", "vacuum_on", "vacuum_grasping")
    }
    assert {len(values) for values in agent.values()} == {count + 1}
    assert agent["base_pose"].shape == (count + 1, 7)
    assert np.array_equal(agent["ee_pose"], episode.proprioception("ee_pose"))
    assert np.array_equal(agent["vacuum_grasping"], episode.proprioception("holding"))


def test_labels_are_numbered_from_one_with_the_papers_placeholders(folder: Path, episode: Episode):
    labels = np.load(folder / "action_labels.npy", allow_pickle=True).item()
    assert list(labels) == list(range(1, len(episode) + 1))
    assert labels[1] == {"mid_act_label": "Reach {obj:red dot_1}", "low_act_label": "Move along x"}
    assert labels[len(episode)]["mid_act_label"] == "Reach {obj:blue dot_2}"
    info = json.loads((folder / "info.json").read_text())
    prompt = "Move to {obj:red dot_1}, then to <b>{obj:blue dot_2}</b>."
    others = episode.prompt["data"].get("others", [])
    assert info["prompts"][0] == prompt == info["textual_description"]
    assert len(info["prompts"]) == 1 + len(others)
    assert {name: entry[0] for name, entry in info["textures"].items()} == {
        "red dot_1": "red",
        "blue dot_2": "blue",
    }
    about = json.loads((folder / "ep_info.json").read_text())
    assert about["episode_seed"] == about["reset_kwargs"]["seed"] == episode.info["seed"]
    assert about["elapsed_steps"] == len(episode) and about["info"]["success"] is True


class NoClasses(pickle.Unpickler):
    """Unpickles built-in types only."""

    def find_class(self, module: str, name: str) -> Any:
        raise AssertionError(f"the pickle holds a {module}.{name}")


def test_the_trace_is_plain_data_from_the_task_down(folder: Path, episode: Episode):
    with bz2.open(folder / "action_trace.pickle.bz2") as file:
        trace = NoClasses(file).load()
    assert len(trace) == len(episode)
    for solvers in trace:
        assert solvers[0]["solver_class"] == "Solver"
        assert [solver["action_emitted"] for solver in solvers] == [False] * (len(solvers) - 1) + [
            True
        ]
    assert trace[0][1]["actors"] == [("red dot", 1)]
    assert trace[-1][1]["actors"] == [("blue dot", 2)]
    assert trace[0][1]["solver_random_id"] != trace[-1][1]["solver_random_id"]


def test_actors_stand_in_the_order_of_their_numbers(folder: Path, episode: Episode):
    states = np.load(folder / "extra/actors.npy")
    assert states.shape == (len(episode) + 1, 13 * 2)
    for k in range(2):
        assert np.array_equal(states[:, 13 * k : 13 * k + 7], episode.object_poses[:, k])
        assert not states[:, 13 * k + 7 : 13 * (k + 1)].any()


@pytest.mark.parametrize("camera", CAMERAS)
def test_boxes_and_visibility_are_in_one_file_for_each_actor(
    folder: Path, episode: Episode, camera: str
):
    for kind in ("actor_mesh_bbox", "actor_is_visible"):
        names = {path.stem for path in (folder / "extra" / kind / camera).iterdir()}
        assert names == set(ACTORS)
    for k, name in enumerate(ACTORS):
        boxes = np.load(folder / f"extra/actor_mesh_bbox/{camera}/{name}.npy")
        assert boxes.shape == (len(episode) + 1, 2, 3) and (boxes[:, :, 2] == 1).all()
        recorded = episode.boxes(camera)[:, k]
        assert np.array_equal(boxes[:, 0, :2], recorded[:, :2])
        assert np.array_equal(boxes[:, 1, :2], np.minimum(recorded[:, 2:], 63))
        seen = np.load(folder / f"extra/actor_is_visible/{camera}/{name}.npy")
        assert set(seen) <= {0.0, 1.0}
        assert np.array_equal(seen > 0, episode.visible(camera)[:, k] > 0)


@pytest.mark.parametrize("camera", CAMERAS)
def test_camera_parameters_project_actors_into_their_boxes(
    folder: Path, episode: Episode, camera: str
):
    path = folder / "camera_param" / camera
    extrinsic, intrinsic, to_world = (
        np.load(path / f"{name}.npy") for name in ("extrinsic_cv", "intrinsic_cv", "cam2world_gl")
    )
    count = len(episode) + 1
    assert extrinsic.shape == to_world.shape == (count, 4, 4)
    assert intrinsic.shape == (count, 3, 3)
    assert np.allclose(extrinsic @ to_world, np.diag([1, -1, -1, 1]), atol=1e-6)
    states = np.load(folder / "extra/actors.npy")
    for k, name in enumerate(ACTORS):
        box = np.load(folder / f"extra/actor_mesh_bbox/{camera}/{name}.npy")[0]
        point = intrinsic[0] @ (extrinsic[0] @ [*states[0, 13 * k : 13 * k + 3], 1.0])[:3]
        assert (box[0, :2] <= point[:2] / point[2]).all()
        assert (point[:2] / point[2] <= box[1, :2] + 1).all()
    assert (folder / "camera_param/object_camera/intrinsic_cv.npy").exists()


def test_images_are_those_of_the_episode(folder: Path, episode: Episode):
    for camera in CAMERAS:
        frames = read_video(folder / f"image/{camera}/rgb.mp4")
        assert np.array_equal(frames, episode.video(camera))
    keysteps = sorted(path.name for path in (folder / "keysteps").iterdir())
    assert keysteps == [f"{k}_bimg.jpg" for k in range(len(episode.keysteps))]
    for keystep in episode.keysteps:
        image = np.asarray(Image.open(folder / f"keysteps/{keystep['index']}_bimg.jpg"))
        frame = episode.frame("base_camera", keystep["step"])
        assert np.abs(image.astype(int) - frame).mean() < 4.0
    for name in ("scene", "scene_base"):
        assert Image.open(folder / f"{name}.jpg").size == (64, 64)
    assets = np.load(folder / "prompt_assets.npy", allow_pickle=True).item()
    assert set(assets) == {"objects", "textures"} and set(assets["objects"]) == set(ACTORS)
    for placeholder, name in zip(("{obj:target_0}", "{obj:target_1}"), ACTORS, strict=True):
        expected = episode.prompt_images()[placeholder]
        assert np.array_equal(np.asarray(Image.open(folder / f"objects/{name}.png")), expected)
        assert np.array_equal(assets["objects"][name], expected)


def test_depth_is_in_units_of_the_paper(tmp_path: Path):
    args = GenerateArgs(tasks=("reach",), episodes=1, out=tmp_path / "demos")
    args.depth = args.segmentation = True
    assert generate(args, FakeSource({})) == 0
    (episode,) = Dataset(args.out)
    write_dataset(select(Dataset(args.out)), "clevrskills", tmp_path / "out")
    folder = tmp_path / "out/train/reach/traj_0/image/base_camera"
    depth, segmentation = np.load(folder / "depth.npy"), np.load(folder / "Segmentation.npy")
    assert depth.dtype == np.uint16 and depth.shape == segmentation.shape
    assert np.array_equal(depth, np.round(episode.depth("base_camera") * 1.024))
    assert np.array_equal(segmentation, episode.segmentation("base_camera"))
    assert {1, 2} <= set(segmentation[0].ravel())  # numbers of the actors


def test_without_pictures_there_is_one_clear_line(tmp_path: Path):
    args = GenerateArgs(tasks=("reach",), episodes=1, out=tmp_path / "demos", no_cameras=True)
    assert generate(args, FakeSource({})) == 0
    with pytest.raises(ClevrSkillsError, match="has no images of base_camera and hand_camera"):
        write_dataset(select(Dataset(args.out)), "clevrskills", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.render
def test_what_the_render_camera_filmed_is_the_main_video(tmp_path: Path):
    args = GenerateArgs(tasks=("pick",), episodes=1, out=tmp_path / "demos")
    args.cameras = (*CAMERAS, "render_camera")
    assert generate(args) == 0
    (episode,) = Dataset(args.out)
    write_dataset(select(Dataset(args.out)), "clevrskills", tmp_path / "out")
    folder = tmp_path / f"out/train/pick/traj_{episode.info['seed']}"
    assert np.array_equal(read_video(folder / "video.mp4"), episode.video("render_camera"))
    for name in ("scene.jpg", "keysteps/0_rimg.jpg", "keysteps/1_rimg.jpg"):
        assert Image.open(folder / name).size == (512, 512)
    states = np.load(folder / "extra/actors.npy")
    assert np.array_equal(states[:, :13], episode.states[:, :13])
