"""The layout of the dataset that came with the paper, for programs that load it with its ``Traj``.

Its files, and where they differ from the original's, are in ``docs/formats.md``. Described in
appendix B.1 of the paper, and by what its loader reads. Three of them are pickles, because the
loader unpickles them; nothing in them is more than lists, dicts, strings, numbers and arrays.
"""

from __future__ import annotations

import bz2
import pickle
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clevrskills.dataset_tools.export.paper_trace import action_trace
from clevrskills.dataset_tools.export.remux import whole_video
from clevrskills.dataset_tools.export.selection import Selection
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.files import to_json

if TYPE_CHECKING:
    from clevrskills.dataset_tools.dataset import Episode

BASE, HAND, RENDER = "base_camera", "hand_camera", "render_camera"
JPEG_QUALITY = 95
DEPTH_UNITS_PER_MM = 1.024
ACTOR_STATE = 13
"""Numbers for an actor: position, quaternion wxyz, velocity, angular velocity."""


@dataclass(frozen=True)
class Actors:
    """Names of objects in this layout: their name, ``_`` and a number.

    Attributes:
        by_key: (name, number) of objects by key: first those of the scene, in their order, then
            those that are only in images of the prompt.
    """

    by_key: dict[str, tuple[str, int]]

    @classmethod
    def of(cls, episode: Episode) -> Actors:
        """The objects of an episode."""
        names = {body["key"]: body["name"] for body in episode.objects}
        for body in episode.prompt["data"].get("bodies", ()):
            names.setdefault(body["key"], body["name"])
        numbered = enumerate(names.items(), start=1)
        return cls({key: (name, number) for number, (key, name) in numbered})

    def file_name(self, key: str) -> str:
        """Such as ``red cube_3``."""
        name, number = self.by_key[key]
        return f"{name}_{number}"

    def text(self, text: str) -> str:
        """A text with the placeholders of this layout."""
        text = re.sub(r"\{(obj|tex):(\w+)\}", lambda m: f"{{{m[1]}:{self.file_name(m[2])}}}", text)
        text = re.sub(r"\{ks:(\d+)\}", r"{ks:keystep_\1}", text)
        return re.sub(r"\{pos:([^,]*),([^,]*),([^}]*)\}", r"{pos: [\1, \2, \3]}", text)


def write(selection: Selection, out: Path) -> None:
    """Write all episodes of ``selection`` into the empty folder ``out``.

    Raises:
        DatasetError: An episode is damaged.
        ClevrSkillsError: The base or the hand camera was not filmed with.
    """
    missing = [name for name in (BASE, HAND) if name not in selection.header.cameras]
    if missing:
        raise ClevrSkillsError(
            f"{selection.root} has no images of {' and '.join(missing)}, which this layout "
            "needs; make them with: clevrskills render"
        )
    for episode in selection:
        info = episode.info
        folder = out / info["split"] / info["task"] / f"traj_{info['seed']}"
        folder.mkdir(parents=True)
        _write_episode(episode, folder)


def _write_episode(episode: Episode, folder: Path) -> None:
    actors = Actors.of(episode)
    prompt = actors.text(episode.prompt["text"])
    _save(folder, "actions", episode.actions.astype(np.float64))
    _save(folder, "rewards", episode.rewards.astype(np.float64))
    _save(folder, "success", episode.steps["success"].to_numpy(bool))
    _save(folder, "env_states", episode.states)
    _pickle(folder / "action_labels.npy", _action_labels(episode, actors))
    with bz2.open(folder / "action_trace.pickle.bz2", "wb") as file:
        pickle.dump(action_trace(episode, actors.by_key, prompt), file)
    for name, data in (
        ("info", _info(episode, actors, prompt)),
        ("ep_info", _episode_info(episode)),
    ):
        text = to_json(data, indent=2) + "\n"
        (folder / f"{name}.json").write_text(text, encoding="utf-8")
    _write_agent(episode, folder)
    _save(folder, "extra/actors", _actor_states(episode))
    for camera in episode.cameras:
        _write_camera(episode, camera, actors, folder)
    _write_object_camera(episode, folder)
    _write_images(episode, actors, folder)


def _action_labels(episode: Episode, actors: Actors) -> dict[int, dict[str, str]]:
    texts = zip(episode.steps["subtask_text"], episode.steps["instruction_text"], strict=True)
    return {
        number: {"mid_act_label": actors.text(mid), "low_act_label": actors.text(low)}
        for number, (mid, low) in enumerate(texts, start=1)
    }


def _info(episode: Episode, actors: Actors, prompt: str) -> dict[str, Any]:
    bodies = (*episode.objects, *episode.prompt["data"].get("bodies", ()))
    textures = {
        actors.file_name(body["key"]): [body["texture"], None]  # no file, no plain colour
        for body in bodies
        if body.get("texture")
    }
    others = [actors.text(text) for text in episode.prompt["data"].get("others", ())]
    prompts = list(dict.fromkeys((prompt, *others)))
    return {"prompts": prompts, "textual_description": prompt, "textures": textures}


def _episode_info(episode: Episode) -> dict[str, Any]:
    last, seed = episode.steps.iloc[-1], int(episode.info["seed"])
    return {
        "episode_id": seed,
        "episode_seed": seed,
        "reset_kwargs": {"seed": seed, "options": {"reconfigure": True}},
        "control_mode": "pd_ee_delta_pose",
        "elapsed_steps": len(episode),
        "info": {
            "elapsed_steps": len(episode),
            "success": bool(last["success"]),
            "progress": float(last["progress"]),
        },
    }


def _write_agent(episode: Episode, folder: Path) -> None:
    from clevrskills.sim.robots.description import robot

    states = len(episode) + 1
    base_pose = [*robot(episode.info["robot"]).base_position, 1.0, 0.0, 0.0, 0.0]
    _save(folder, "agent/base_pose", np.tile(np.array(base_pose, np.float32), (states, 1)))
    for name in ("qpos", "qvel", "ee_pose", "ee_velocity", "vacuum_on"):
        _save(folder, f"agent/{name}", episode.proprioception(name))
    _save(folder, "agent/vacuum_grasping", episode.proprioception("holding"))


def _actor_states(episode: Episode) -> np.ndarray:
    """(N + 1, 13 K): of moving objects as simulated, of others with no velocity."""
    entries = {part["name"]: part for part in episode.state_layout}
    poses = episode.object_poses
    columns = []
    for k, body in enumerate(episode.objects):
        part = entries.get(f"actors/{body['key']}")
        if part is None:
            still = np.zeros((len(poses), ACTOR_STATE - poses.shape[-1]))
            columns.append(np.concatenate([poses[:, k], still], axis=-1))
        else:
            columns.append(episode.states[:, part["start"] : part["stop"]])
    return np.concatenate(columns, axis=-1)


def _write_camera(episode: Episode, camera: str, actors: Actors, folder: Path) -> None:
    """Write video, depth, segmentation, parameters, boxes and visibility of a camera."""
    image = folder / "image" / camera
    video = folder / "video.mp4" if camera == RENDER else image / "rgb.mp4"
    video.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(whole_video(episode, camera), video)
    data = episode.info["cameras"][camera]
    if "depth" in data:
        depth = episode.depth(camera) * np.float32(DEPTH_UNITS_PER_MM)
        _save(image, "depth", np.round(depth).astype(np.uint16))
    if "segmentation" in data:
        _save(image, "Segmentation", episode.segmentation(camera))
    _write_parameters(folder, camera, episode.extrinsics(camera), np.array(data["intrinsic"]))
    boxes, visible = episode.boxes(camera).astype(int), episode.visible(camera)
    last = (data["width"] - 1, data["height"] - 1)
    for k, body in enumerate(episode.objects):
        name = actors.file_name(body["key"])
        corners = np.ones((len(boxes), 2, 3), dtype=int)
        corners[:, 0, :2], corners[:, 1, :2] = boxes[:, k, :2], np.minimum(boxes[:, k, 2:], last)
        _save(folder, f"extra/actor_mesh_bbox/{camera}/{name}", corners)
        observed = (visible[:, k] > 0).astype(np.float64)
        _save(folder, f"extra/actor_is_visible/{camera}/{name}", observed)


def _write_object_camera(episode: Episode, folder: Path) -> None:
    """Write the parameters of the camera that takes the prompt's images, which has no video."""
    from clevrskills.sim.cameras import OBJECT_CAMERA, Camera

    size, fov_rad = OBJECT_CAMERA.size_px, OBJECT_CAMERA.fov_rad
    camera = Camera("object_camera", size, size, fov_rad, {})
    extrinsic = np.tile(np.eye(3, 4), (len(episode) + 1, 1, 1))
    _write_parameters(folder, "object_camera", extrinsic, camera.intrinsic)


def _write_parameters(
    folder: Path, camera: str, extrinsic: np.ndarray, intrinsic: np.ndarray
) -> None:
    """Write the poses of a camera.

    Args:
        folder: Of the episode.
        camera: Its name.
        extrinsic: World to camera, OpenCV, (N + 1, 3, 4).
        intrinsic: (3, 3).
    """
    whole = np.tile(np.eye(4), (len(extrinsic), 1, 1))
    whole[:, :3] = extrinsic
    from_opengl = np.diag([1.0, -1.0, -1.0, 1.0])
    path = f"camera_param/{camera}"
    _save(folder, f"{path}/extrinsic_cv", whole.astype(np.float32))
    _save(folder, f"{path}/cam2world_gl", (np.linalg.inv(whole) @ from_opengl).astype(np.float32))
    _save(folder, f"{path}/intrinsic_cv", np.tile(intrinsic.astype(np.float32), (len(whole), 1, 1)))


def _write_images(episode: Episode, actors: Actors, folder: Path) -> None:
    """Write images of the prompt, of key-steps and of the start."""
    from PIL import Image

    for name in ("objects", "keysteps"):
        (folder / name).mkdir()
    images: dict[int, np.ndarray] = {}
    assets: dict[str, dict[str, np.ndarray]] = {"objects": {}, "textures": {}}
    for placeholder, image in episode.prompt_images().items():
        kind, name = placeholder.strip("{}").split(":")
        if kind == "ks":
            images[int(name)] = image
        else:
            folder_name = "objects" if kind == "obj" else "textures"
            assets[folder_name][actors.file_name(name)] = image
            if kind == "obj":
                Image.fromarray(image).save(folder / f"objects/{actors.file_name(name)}.png")
    _pickle(folder / "prompt_assets.npy", assets)
    for camera, letter, scene in ((BASE, "b", "scene_base"), (RENDER, "r", "scene")):
        filmed = camera if camera in episode.cameras else BASE
        _save_jpeg(folder / f"{scene}.jpg", episode.frame(filmed, 0))
        if filmed != camera:
            continue
        frames = {k["index"]: episode.frame(camera, k["step"]) for k in episode.keysteps}
        for index, frame in {**frames, **(images if camera == BASE else {})}.items():
            _save_jpeg(folder / f"keysteps/{index}_{letter}img.jpg", frame)


def _save(folder: Path, name: str, values: np.ndarray) -> None:
    path = folder / f"{name}.npy"
    path.parent.mkdir(parents=True, exist_ok=True)
    np.save(path, values, allow_pickle=False)


def _pickle(path: Path, value: dict[Any, Any]) -> None:
    np.save(path, np.array(value, dtype=object), allow_pickle=True)


def _save_jpeg(path: Path, image: np.ndarray) -> None:
    from PIL import Image

    Image.fromarray(image).save(path, quality=JPEG_QUALITY)
