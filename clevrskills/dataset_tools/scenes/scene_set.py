"""Scene sets: labeled images of single states with prompt and next subgoal; layout and reader.

A folder has a header, ``scenes.json``, and for each part of a task ``<task>/<split>_<seed>`` with
three tables: episodes, scenes and images. Bodies that look alike share one image.
"""

import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from clevrskills.dataset_tools.layout import (
    EPISODES_FILE,
    IMAGES_FILE,
    POSE,
    DatasetError,
    FolderHeader,
)
from clevrskills.dataset_tools.record.columns import OWNER
from clevrskills.jobs.run_folder import versions
from clevrskills.sim.cameras import Camera, FixedCamera

FORMAT = "clevrskills-scenes"
FORMAT_VERSION = 1
HEADER_FILE = "scenes.json"
SCENES_FILE = "scenes.parquet"
TABLES = (EPISODES_FILE, SCENES_FILE, IMAGES_FILE)
NONE = -1
"""Index for no body."""
MOVED_M = 0.03
"""Distance above which a body counts as moved."""
EPISODE_COLUMNS = {
    **OWNER,
    **dict.fromkeys(("level", "text", "plain"), pa.string()),
    **dict.fromkeys(("keys", "names", "body_images"), pa.list_(pa.string())),
    **dict.fromkeys(("placeholders", "prompt_images"), pa.list_(pa.string())),
    "shows": pa.list_(pa.int32()),
}
"""Columns of the table of episodes; see :class:`SceneEpisode`."""
SCENE_COLUMNS = {
    "episode": pa.string(),
    "step": pa.int32(),
    "elsewhere": pa.bool_(),
    "image": pa.string(),
    "first": pa.string(),
    "done": pa.int32(),
    "held": pa.int32(),
    "poses": pa.list_(pa.float32()),
    "boxes": pa.list_(pa.int16()),
    "visible": pa.list_(pa.float32()),
    **dict.fromkeys(("text", "plain", "predicate"), pa.string()),
    **dict.fromkeys(("leaf", "object", "target"), pa.int32()),
    "avoided": pa.list_(pa.int32()),
    "position": pa.list_(pa.float32()),
    "angle_rad": pa.float32(),
    "ee_pose": pa.list_(pa.float32()),
    "contact": pa.list_(pa.float32()),
}
"""Columns of the table of scenes; see :class:`LabeledScene` and :class:`Subgoal`."""


@dataclass(frozen=True, eq=False)
class SceneEpisode:
    """Episode of scenes, with K bodies in an order without meaning."""

    id: str  # name, e.g. ``pick/train_400000007``
    task: str  # key of the task
    level: str
    split: str
    seed: int
    text: str  # prompt with placeholders
    plain: str  # prompt in words
    keys: tuple[str, ...]  # key of each body
    names: tuple[str, ...]  # noun phrase of each body
    body_images: tuple[str, ...]  # name of an image of each body alone, 64 px
    # name of the image of each placeholder of the prompt, in the order of the text; objects and
    # textures 64 px, key-steps in the size of the main camera
    prompt_images: Mapping[str, str]
    shows: tuple[int, ...]  # index of the body in each of these, -1: none of the scene


@dataclass(frozen=True, eq=False)
class Subgoal:
    """Subgoal: the leaf of the goal tree to achieve next."""

    predicate: str  # key of its type, e.g. ``on_top``
    leaf: int  # index among the leaves
    text: str  # sentence with placeholders ``{obj:key}``
    plain: str  # sentence in words
    object: int  # index of the manipulated body, -1: none
    target: int  # index of the body that it is put on, pushed to or thrown at, -1: none
    avoided: tuple[int, ...]  # indices of the bodies that must not be touched
    # world position of a target that is not a body, (3,) m; NaN: none, or any height
    position: np.ndarray
    # rotation of the object about the vertical, in [-pi, pi], counterclockwise from above; 0: none
    angle_rad: float
    # target pose of the end effector, position in m and quaternion w, x, y, z, (7,); NaN: none
    ee_pose: np.ndarray
    # contact point of the middle cup: the best vertical grasp of
    # :func:`~clevrskills.solvers.grasps.vertical_grasps`, or for touching the top above the center
    # of mass, (3,) m; NaN: no object, it is held, or no such grasp
    contact: np.ndarray


@dataclass(frozen=True, eq=False)
class LabeledScene:
    """State of an episode at which a subgoal begins."""

    episode: SceneEpisode
    step: int  # control steps before it, 0 at the start
    elsewhere: bool  # whether the arm is shown in a random pose; all else is unchanged
    image: str  # name of the main camera's image
    first: str  # name of the image at the start of the episode
    done: int  # subgoals achieved before
    held: int  # index of the body in the gripper, -1: none
    positions: np.ndarray  # world positions of the bodies, (K, 3) m
    orientations: np.ndarray  # quaternions w, x, y, z, (K, 4)
    # unoccluded bounding boxes in pixels, x_min, y_min, x_max, y_max, the maxima exclusive; four
    # times -1: outside the image; (K, 4) int16
    boxes: np.ndarray
    visible: np.ndarray  # visible share of each silhouette, (K,)
    subgoal: Subgoal


@dataclass(frozen=True)
class SceneHeader(FolderHeader):
    """Header of a folder of scenes; the content of ``scenes.json``."""

    FILE, KIND, MADE = HEADER_FILE, "a folder of scenes", "drawn"

    suite: str  # name of the suite
    robot: str  # key of the robot
    split: str  # split of the episodes
    look: str  # look of the images, one of :data:`~clevrskills.core.env_config.LOOKS`
    size_px: int  # width and height of the main camera's images
    # the main camera: ``name``, ``intrinsic`` (3, 3), ``extrinsic`` (3, 4, from world to camera
    # coordinates: x right, y down, z ahead), ``eye_m``, ``target_m``, ``fov_rad``, ``width``,
    # ``height``
    camera: Mapping[str, Any]
    seed: int = 0  # the first seed, counted within the range of scenes
    demonstrations: bool = False  # whether the scenes are of recorded demonstrations
    standard: int | None = None  # scenes of each task, if it is a standard set
    format: str = FORMAT
    format_version: int = FORMAT_VERSION
    # number of scenes by task, after the last run
    counts: Mapping[str, int] = field(default_factory=dict, compare=False)
    # versions of the packages that made it, and the planning backend
    versions: dict[str, str | None] = field(default_factory=versions, compare=False)


class SceneSet:
    """Scenes of one or several folders, in the order of tasks and seeds.

    Args:
        roots: The folders.

    Attributes:
        header: Header of the first folder.
        episodes: The episodes.
        scenes: The scenes, those of an episode in the order of their steps.
        images: Encoded images by name.
        fingerprint: Identifier of the tables, independent of their location.

    Raises:
        DatasetError: A folder has no scenes or is damaged, or folders differ in robot, look, size
            or camera.
    """

    def __init__(self, *roots: str | Path) -> None:
        headers = [SceneHeader.read(Path(root)) for root in roots]
        self.header = headers[0]
        for root, header in zip(roots, headers, strict=True):
            for name in ("robot", "look", "size_px", "camera"):
                if getattr(header, name) != getattr(self.header, name):
                    raise DatasetError(f"{root} and {roots[0]} differ in {name}")
        self.episodes: list[SceneEpisode] = []
        self.scenes: list[LabeledScene] = []
        self.images: dict[str, bytes] = {}
        tables = hashlib.sha256()
        for part in (part for root in roots for part in part_folders(Path(root))):
            self._read(part)
            for name in TABLES:
                tables.update((part / name).read_bytes())
        self.fingerprint = tables.hexdigest()[:16]

    def __repr__(self) -> str:
        return f"SceneSet({len(self.scenes)} scenes)"

    def __len__(self) -> int:
        return len(self.scenes)

    def pixels(self, name: str) -> np.ndarray:
        """Return an image by its name, (H, W, 3) uint8."""
        from PIL import Image

        return np.asarray(Image.open(io.BytesIO(self.images[name])).convert("RGB"))

    def _read(self, part: Path) -> None:
        tables = [_rows(part / name) for name in TABLES]
        try:
            episodes = {row["episode"]: _episode(row) for row in tables[0]}
            self.scenes += [_scene(row, episodes[row["episode"]]) for row in tables[1]]
            self.images |= {row["name"]: row["image"]["bytes"] for row in tables[2]}
        except (KeyError, TypeError, ValueError) as error:
            raise DatasetError(f"{part} is damaged: {error!r}") from error
        self.episodes += episodes.values()


def part_folders(root: Path, task: str = "[!.]*", split: str = "[!.]*") -> list[Path]:
    """Return the directories of the parts of a folder of scenes, sorted."""
    return sorted(path.parent for path in root.glob(f"{task}/{split}_*/{SCENES_FILE}"))


def seeds_in(root: Path, task: str, split: str) -> list[int]:
    """Return the seeds of the existing episodes of a task."""
    parts = part_folders(root, task, split)
    return [row["seed"] for part in parts for row in _rows(part / EPISODES_FILE, ["seed"])]


def count_scenes(root: Path) -> dict[str, int]:
    """Return the number of scenes of each task."""
    counts: dict[str, int] = {}
    for part in part_folders(root):
        rows = pq.read_metadata(part / SCENES_FILE).num_rows
        counts[part.parent.name] = counts.get(part.parent.name, 0) + rows
    return counts


def calibration(camera: Camera) -> dict[str, Any]:
    """Return name, size, intrinsic and extrinsic matrix of a fixed camera as JSON data."""
    pose = camera.to_json()
    eye_m = np.array(pose["eye_m"])
    left, up, forward = FixedCamera(pose["eye_m"], pose["target_m"], camera.fov_rad).axes
    turn = np.stack((-left, -up, forward))
    extrinsic = np.column_stack((turn, -turn @ eye_m))
    return {"name": camera.name, **pose, "extrinsic": extrinsic.tolist()}


def write_tables(
    directory: Path, episodes: Sequence[Mapping[str, Any]], scenes: Sequence[Mapping[str, Any]]
) -> None:
    """Write the rows of the tables of episodes and scenes of a part."""
    for name, rows, columns in (
        (EPISODES_FILE, episodes, EPISODE_COLUMNS),
        (SCENES_FILE, scenes, SCENE_COLUMNS),
    ):
        table = pa.table(
            {key: pa.array([row[key] for row in rows], kind) for key, kind in columns.items()}
        )
        pq.write_table(table, directory / name, compression="zstd")


def _rows(path: Path, columns: list[str] | None = None) -> list[dict[str, Any]]:
    try:
        rows: list[dict[str, Any]] = pq.read_table(path, columns=columns).to_pylist()
    except (OSError, ValueError) as error:
        raise DatasetError(f"{path} is damaged: {error}") from error
    return rows


def _episode(row: Mapping[str, Any]) -> SceneEpisode:
    same = {f.name: row[f.name] for f in fields(SceneEpisode) if f.name in row}
    several = {name: tuple(row[name]) for name in ("keys", "names", "body_images", "shows")}
    prompt_images = dict(zip(row["placeholders"], row["prompt_images"], strict=True))
    return SceneEpisode(**same | several | {"id": row["episode"], "prompt_images": prompt_images})


def _scene(row: Mapping[str, Any], episode: SceneEpisode) -> LabeledScene:
    poses = np.array(row["poses"], np.float32).reshape(-1, len(POSE))
    vectors = ("position", "ee_pose", "contact")
    subgoal = Subgoal(
        **{f.name: row[f.name] for f in fields(Subgoal) if f.name not in vectors}
        | {name: np.array(row[name], np.float32) for name in vectors}
        | {"avoided": tuple(row["avoided"])}
    )
    same = ("step", "elsewhere", "image", "first", "done", "held")
    return LabeledScene(
        episode=episode,
        **{name: row[name] for name in same},
        positions=poses[:, :3],
        orientations=poses[:, 3:],
        boxes=np.array(row["boxes"], np.int16).reshape(-1, 4),
        visible=np.array(row["visible"], np.float32),
        subgoal=subgoal,
    )
