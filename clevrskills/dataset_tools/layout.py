"""Layout of a dataset: what lies where, and the header of the whole of it.

::

    DIR/dataset.json                  robot, criteria, cameras, format and package versions, ...
    DIR/manifest/<writer>.jsonl       one line per attempt that ended, whether it succeeded or not
    DIR/<task>/<split>_<seed>/        one episode of N control steps
        episode.json                  what is said once: prompt, goal, objects, segments, ...
        steps.parquet                 N rows, one per control step
        states.npz                    ``states`` (N + 1, S), bit for bit
        cameras.parquet               N + 1 rows: where each camera is and what it sees
        images.parquet                images of the prompt and of the key-steps
        <camera>.mp4                  N + 1 frames; frame t shows the state after t steps
        <camera>.depth.mkv            optional: the same frames, depth in millimetres
        <camera>.segmentation.mkv     optional: the same frames, what each pixel shows

What shows images is there only if there were cameras.

``steps.parquet``, row t: what the robot felt at state t, the action taken there, what came of it.
G is the number of nodes of the goal tree, K that of objects.

========================= ======================================================================
step, timestamp           t and t / fps, in seconds
action                    7 numbers in [-1, 1], see ``action_spec`` of the episode
reward, progress          of state t + 1, on the scale of the published numbers and in [0, 1]
success, terminated,      of state t + 1
truncated
subtask, instruction      what is being achieved and done, in words
subtask_text,             the same with placeholders: {obj:key} an object, {tex:key} its texture,
instruction_text          {pos:x,y,z} a world position in metres
subgoal                   index of the leaf of the goal tree that is being solved, -1: none
predicate, skill          type of that leaf and name of what solves it
action_class              what the arm does: move, pick, lift, place, push, throw, swing, turn,
                          touch, topple, wait
attempt                   how often this leaf has been begun before
failed                    whether the step belongs to an attempt, at a grasp, a push or the whole
                          leaf, that was given up
keystep                   whether state t + 1 is a key-step
holds, terms              [G] whether each node of the goal tree holds in state t + 1; its reward
qpos, qvel                joint angles in rad, speeds in rad / s
ee_pose, ee_velocity      of the end effector: position in m, quaternion w, x, y, z; m / s, rad / s
vacuum_on, holding        whether the vacuum is on, and whether it holds something
object_poses              [7 K] position in m and quaternion w, x, y, z of each object
========================= ======================================================================

``cameras.parquet``, row t, for each camera c:

========================= ======================================================================
c/extrinsic               [12] world to camera (x right, y down, z ahead), 3 x 4 row by row
c/boxes                   [4 K] x_min, y_min, x_max, y_max of each object in pixels, maxima
                          exclusive, as if nothing hid it, cut off at the edges of the image;
                          four times -1 for what is not in the image
c/visible                 [K] share of each object's silhouette that is seen: neither hidden nor
                          outside the image
========================= ======================================================================

``images.parquet`` has the columns ``name`` and ``image``, the latter with ``bytes`` (JPEG) and
``path``. Depth is along the optical axis, 0 where nothing is within range. A segmentation is 0 for
the background, 1 + k for object k, 254 for the table, 255 for the robot.

``episode.json`` says, beside what its names tell: ``nodes``, the goal tree, each node before its
parts, with ``leaf``, its index among the leaves; ``objects``, with ``role``: ``goal`` for what the
prompt or the goal names, else ``distractor``; ``segments``, runs of steps with the same sub-task
or instruction; ``keysteps``, the states in which a sub-goal was newly reached; ``repaints``, from
which state on objects show other textures than their own; ``final``, what was felt at state N.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from clevrskills.errors import DamagedError
from clevrskills.jobs.files import to_json, write_whole
from clevrskills.jobs.run_folder import check_settings, open_folder, versions

FORMAT = "clevrskills"
FORMAT_VERSION = 2
DATASET_FILE = "dataset.json"
MANIFEST_DIR = "manifest"
EPISODE_FILE = "episode.json"
STEPS_FILE = "steps.parquet"
STATES_FILE = "states.npz"
CAMERAS_FILE = "cameras.parquet"
IMAGES_FILE = "images.parquet"
KEYSTEP_CAMERA = "base_camera"
"""Takes the images of the key-steps."""
CARD_FILE = "README.md"

DatasetError = DamagedError
"""What is raised where a folder is not a dataset, not the one asked for, or damaged."""


@dataclass(frozen=True)
class Header:
    """What all episodes of a dataset have in common; the content of ``dataset.json``.

    Attributes:
        robot: Key of the robot.
        criteria: Name of the success criteria.
        cameras: Names of the cameras that filmed.
        fps: Control steps and frames per second.
        size_px: Width and height of the images; ``None``: each camera's own.
        depth: Whether depth was filmed.
        segmentation: Whether it was filmed what each pixel shows.
        task_args: Arguments of tasks, by their keys.
        format: Name of the format.
        format_version: Its version.
        versions: Versions of what made it.
    """

    robot: str
    criteria: str
    cameras: tuple[str, ...]
    fps: int = 20
    size_px: int | None = None
    depth: bool = False
    segmentation: bool = False
    task_args: dict[str, dict[str, Any]] = field(default_factory=dict)
    format: str = FORMAT
    format_version: int = FORMAT_VERSION
    versions: dict[str, str | None] = field(default_factory=versions, compare=False)

    @classmethod
    def read(cls, root: Path) -> Header:
        """Read the header of a dataset.

        Raises:
            DatasetError: ``root`` is not a dataset, or one of another format.
        """
        path = root / DATASET_FILE
        if not path.is_file():
            raise DatasetError(f"{root} is not a dataset: it has no {DATASET_FILE}")
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            if data["format"] != FORMAT:
                raise DatasetError(f"{root} is not a dataset: format {data['format']!r}")
            if data["format_version"] != FORMAT_VERSION:
                raise DatasetError(
                    f"{root} has format version {data['format_version']}; "
                    f"this package reads {FORMAT_VERSION}"
                )
            values = {f.name: data[f.name] for f in fields(cls)}
        except (ValueError, KeyError, TypeError) as error:
            raise DatasetError(f"{path} is damaged: {error!r}") from error
        return cls(**{**values, "cameras": tuple(values["cameras"])})

    def open(self, root: Path) -> None:
        """Make ``root`` a dataset with this header, or check that it is one.

        Raises:
            DatasetError: ``root`` holds something else, or a dataset made with other arguments.
            StorageError: It cannot be written.
        """
        if not open_folder(root, DATASET_FILE, "not a dataset"):
            write_whole(root / DATASET_FILE, to_json(asdict(self), indent=1) + "\n")
            return
        settings = [f.name for f in fields(self) if f.compare and not f.name.startswith("format")]
        there, now = ({n: getattr(h, n) for n in settings} for h in (Header.read(root), self))
        check_settings(root, there, now, _words)


def _words(value: Any) -> str:
    return " ".join(value) or "none" if isinstance(value, tuple) else str(value)
