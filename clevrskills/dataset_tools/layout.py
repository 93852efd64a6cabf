"""Layout of a dataset: file names and header; ``docs/datasets.md`` describes all columns."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, Self

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
"""Kinds of videos, with the suffix of their files after the name of the camera."""
CARD_FILE = "README.md"
CROISSANT_FILE = "croissant.json"
EPISODES_FILE = "episodes.parquet"
"""Table with a row for each episode, beside the card."""
POLICY = "policy"
"""Skill of segments in which a policy that is being corrected acts instead of the oracle."""
POSE = ("x", "y", "z", "qw", "qx", "qy", "qz")
"""Components of a pose: position in m and quaternion."""

DatasetError = DamagedError
"""Error for a folder that is not a dataset, has other settings, or is damaged."""


class FolderHeader:
    """Base class of headers: dataclasses stored as a JSON file that marks a folder.

    Attributes:
        FILE: Name of the file.
        KIND: Noun for such a folder in error messages.
        MADE: Verb for its creation in error messages.
    """

    FILE: ClassVar[str]
    KIND: ClassVar[str]
    MADE: ClassVar[str] = "made"
    format: str
    format_version: int
    versions: dict[str, str | None]

    @classmethod
    def read(cls, root: Path) -> Self:
        """Read the header of a folder.

        Raises:
            DatasetError: The header is missing, damaged or of another format.
        """
        path = root / cls.FILE
        if not path.is_file():
            raise DatasetError(f"{root} is not {cls.KIND}: it has no {cls.FILE}")
        try:
            data = read_json(path)
            if data["format"] != cls.format:
                raise DatasetError(f"{root} is not {cls.KIND}: format {data['format']!r}")
            if data["format_version"] != cls.format_version:
                raise DatasetError(
                    f"{root} has format version {data['format_version']}; "
                    f"this package reads {cls.format_version}"
                )
            values = {f.name: data[f.name] for f in fields(cls)}  # type: ignore[arg-type]
        except (ValueError, KeyError, TypeError) as error:
            raise DatasetError(f"{path} is damaged: {error!r}") from error
        return cls(**{k: tuple(v) if isinstance(v, list) else v for k, v in values.items()})

    def write(self, root: Path) -> None:
        """Write the header into a folder."""
        data = asdict(self)  # type: ignore[call-overload]
        write_whole(root / self.FILE, to_json(data, indent=1) + "\n")

    def open(self, root: Path) -> None:
        """Create a folder with this header, or check an existing one.

        Raises:
            DatasetError: The folder has other content or settings.
            StorageError: It cannot be written.
        """
        if open_folder(root, self.FILE, f"not {self.KIND}"):
            self.check(root)
        else:
            self.write(root)

    def check(self, root: Path) -> None:
        """Check that a folder has the settings of this header.

        Raises:
            DatasetError: It has others, or no header.
        """
        compared = [f for f in fields(self) if f.compare]  # type: ignore[arg-type]
        before, now = (
            {f.name: getattr(header, f.name) for f in compared}
            | {"planner": header.versions.get("planner")}
            for header in (self.read(root), self)
        )
        check_settings(root, before, now, _words, self.MADE)


@dataclass(frozen=True)
class Header(FolderHeader):
    """Header of a dataset, common to all its episodes; the content of ``dataset.json``."""

    FILE, KIND = DATASET_FILE, "a dataset"

    robot: str  # key of the robot
    criteria: str  # name of the success criteria
    cameras: tuple[str, ...]  # names of the recorded cameras
    fps: int  # control steps and frames per second; 0: there is no arm
    size_px: int | None = None  # width and height of the images; ``None``: each camera's own
    depth: bool = False  # whether depth was recorded
    segmentation: bool = False  # whether segmentation masks were recorded
    look: str = LOOKS[0]  # look of the images, one of :data:`~clevrskills.core.env_config.LOOKS`
    # arguments of tasks, by their keys
    task_args: dict[str, dict[str, Any]] = field(default_factory=dict)
    # demonstrations of each task in a standard dataset, see
    # :mod:`clevrskills.dataset_tools.standard`
    standard: int | None = None
    # level of each perturbation axis
    axes: dict[str, int] = field(default_factory=dict)
    interface: str = ""  # interface of recorded turns; empty: control steps only
    suite: str = ""  # suite of recorded turns
    views: tuple[str, ...] = ()  # names of the views recorded at each turn
    format: str = FORMAT
    format_version: int = FORMAT_VERSION
    # versions of the packages that made it
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
        """Return the configuration of the environments of a task."""
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

    @property
    def films(self) -> tuple[str, ...]:
        """Kinds of videos of each camera, as named in ``episode.json``."""
        filmed = {"video": True, "depth": self.depth, "segmentation": self.segmentation}
        return tuple(kind for kind in filmed if filmed[kind])

    def faults(self, info: Mapping[str, Any]) -> Iterator[str]:
        """Yield contradictions between this header and an ``episode.json``."""
        for name in ("robot", "criteria", *(["fps"] if self.in_steps else [])):
            if info.get(name) != getattr(self, name):
                yield f"{name} is {info.get(name)!r}, but {getattr(self, name)!r} in the dataset"
        cameras = info.get("cameras", {}) if self.in_steps else {}
        if self.in_steps and set(cameras) != set(self.cameras):
            found, expected = ", ".join(cameras), ", ".join(self.cameras)
            yield f"cameras are {found or 'none'}, but {expected or 'none'} in the dataset"
        for camera, described in cameras.items():
            if set(VIDEO_SUFFIXES) & set(described) != set(self.films):
                yield f"{camera}: videos are not those of the dataset: {', '.join(self.films)}"
            has_own = "orthographic_m" in described  # its scale matters
            if not has_own and self.size_px not in (None, described["height"]):
                yield f"{camera}: height {described['height']}, but {self.size_px} in the dataset"


def _words(value: Any) -> str:
    return " ".join(value) or "none" if isinstance(value, tuple) else str(value)
