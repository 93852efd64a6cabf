"""Layout of a dataset: names of its files, and the header of the whole of it.

What is in each file, and every column, is explained in ``docs/datasets.md``.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Self

from clevrskills.core.env_config import LOOKS, EnvConfig
from clevrskills.errors import DamagedError
from clevrskills.jobs.files import read_json, to_json, write_whole
from clevrskills.jobs.run_folder import check_settings, open_folder, versions

FORMAT = "clevrskills"
FORMAT_VERSION = 1
DATASET_FILE = "dataset.json"
MANIFEST_DIR = "manifest"
EPISODE_FILE = "episode.json"
STEPS_FILE = "steps.parquet"
STATES_FILE = "states.npz"
TURNS_FILE = "turns.parquet"
CAMERAS_FILE = "cameras.parquet"
IMAGES_FILE = "images.parquet"
VIDEO_SUFFIXES = {"video": ".mp4", "depth": ".depth.mkv", "segmentation": ".segmentation.mkv"}
"""Kinds of videos, with what follows the name of the camera in those of their files."""
CARD_FILE = "README.md"
CROISSANT_FILE = "croissant.json"
EPISODES_FILE = "episodes.parquet"
"""A row for each episode, beside the card."""
POLICY = "policy"
"""Skill of the segments of who acts in place of the oracle, where a policy is corrected."""
POSE = ("x", "y", "z", "qw", "qx", "qy", "qz")
"""Numbers of a pose: position in m and quaternion."""

DatasetError = DamagedError
"""Error for a folder that is not a dataset, not the one asked for, or damaged."""


@dataclass(frozen=True)
class Header:
    """Header of a dataset, common to all its episodes; the content of ``dataset.json``."""

    robot: str  # key of the robot
    criteria: str  # name of the success criteria
    cameras: tuple[str, ...]  # names of the cameras that filmed
    fps: int  # control steps and frames per second; 0: there is no arm
    size_px: int | None = None  # width and height of the images; ``None``: each camera's own
    depth: bool = False  # whether depth was filmed
    segmentation: bool = False  # whether it was filmed what each pixel shows
    look: str = LOOKS[0]  # how the images look, one of :data:`~clevrskills.core.env_config.LOOKS`
    # arguments of tasks, by their keys
    task_args: dict[str, dict[str, Any]] = field(default_factory=dict)
    # demonstrations of each task, if it is one of the standard datasets; see
    # :mod:`clevrskills.dataset_tools.standard`
    standard: int | None = None
    # level of each axis that perturbed the episodes
    axes: dict[str, int] = field(default_factory=dict)
    interface: str = ""  # what was acted by, where turns are recorded; empty: control steps are
    suite: str = ""  # where the tasks of turns are from
    views: tuple[str, ...] = ()  # names of the views that were recorded at each turn
    format: str = FORMAT  # name of the format
    format_version: int = FORMAT_VERSION  # its version
    # versions of what made it
    versions: dict[str, str | None] = field(default_factory=versions, compare=False)

    @property
    def in_turns(self) -> bool:
        """``True`` if turns are recorded."""
        return bool(self.interface)

    @property
    def in_steps(self) -> bool:
        """``True`` if the control steps of an arm are recorded."""
        return bool(self.fps)

    def config(self, task: str, split: str) -> EnvConfig:
        """Return what the environments of a task are made from, and its episodes filmed by."""
        return EnvConfig(
            task,
            split,
            self.robot,
            self.criteria,
            self.cameras,
            self.size_px,
            self.look,
            self.depth,
            self.segmentation,
            self.task_args.get(task, {}),
        )

    @classmethod
    def read(cls, root: Path) -> Self:
        """Read the header of a dataset.

        Raises:
            DatasetError: ``root`` is not a dataset, or one of another format.
        """
        values = read_header(root / DATASET_FILE, "a dataset", FORMAT, FORMAT_VERSION, cls)
        return cls(**values | {name: tuple(values[name]) for name in ("cameras", "views")})

    def open(self, root: Path) -> None:
        """Make ``root`` a dataset with this header, or check that it is one.

        Raises:
            DatasetError: ``root`` holds something else, or a dataset made with other arguments.
            StorageError: It cannot be written.
        """
        if not open_folder(root, DATASET_FILE, "not a dataset"):
            write_whole(root / DATASET_FILE, to_json(asdict(self), indent=1) + "\n")
            return
        self.check(root)

    def check(self, root: Path) -> None:
        """Check that a dataset was made as this header says.

        Raises:
            DatasetError: It was made with other arguments, or is none.
        """
        settings = [f.name for f in fields(self) if f.compare and not f.name.startswith("format")]
        before, now = (
            {name: getattr(header, name) for name in settings}
            | {"planner": header.versions.get("planner", "")}
            for header in (Header.read(root), self)
        )
        check_settings(root, before, now, _words)

    @property
    def films(self) -> tuple[str, ...]:
        """Kinds of videos of each camera, as ``episode.json`` calls them."""
        filmed = {"video": True, "depth": self.depth, "segmentation": self.segmentation}
        return tuple(kind for kind in filmed if filmed[kind])

    def faults(self, info: Mapping[str, Any]) -> Iterator[str]:
        """Yield what an episode says of itself, in ``episode.json``, that does not fit."""
        for name in ("robot", "criteria", *(["fps"] if self.in_steps else [])):
            if info.get(name) != getattr(self, name):
                yield f"{name} is {info.get(name)!r}, but {getattr(self, name)!r} in the dataset"
        cameras = info.get("cameras", {}) if self.in_steps else {}
        if self.in_steps and set(cameras) != set(self.cameras):
            found, expected = ", ".join(cameras), ", ".join(self.cameras)
            yield f"cameras are {found or 'none'}, but {expected or 'none'} in the dataset"
        for camera, described in cameras.items():
            if set(VIDEO_SUFFIXES) & set(described) != set(self.films):
                yield f"{camera}: filmed is not what the dataset says: {', '.join(self.films)}"
            has_own = "orthographic_m" in described  # its scale matters
            if not has_own and self.size_px not in (None, described["height"]):
                yield f"{camera}: height {described['height']}, but {self.size_px} in the dataset"


def read_header(path: Path, kind: str, form: str, version: int, cls: type[Any]) -> dict[str, Any]:
    """Read the fields of a header.

    Args:
        path: Its file.
        kind: What the folder then is, in words.
        form: Name of the format.
        version: Its version.
        cls: Dataclass of the header.

    Raises:
        DatasetError: There is none, or it is damaged or of another format.
    """
    if not path.is_file():
        raise DatasetError(f"{path.parent} is not {kind}: it has no {path.name}")
    try:
        data = read_json(path)
        if data["format"] != form:
            raise DatasetError(f"{path.parent} is not {kind}: format {data['format']!r}")
        if data["format_version"] != version:
            raise DatasetError(
                f"{path.parent} has format version {data['format_version']}; "
                f"this package reads {version}"
            )
        return {f.name: data[f.name] for f in fields(cls)}
    except (ValueError, KeyError, TypeError) as error:
        raise DatasetError(f"{path} is damaged: {error!r}") from error


def _words(value: Any) -> str:
    return " ".join(value) or "none" if isinstance(value, tuple) else str(value)
