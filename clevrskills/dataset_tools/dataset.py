"""Reader of datasets.

::

    dataset = Dataset("demos")
    for episode in dataset.filter(task="sort", split="train"):
        print(episode.prompt["plain"], episode.actions.shape, episode.video(episode.cameras[0]))
"""

from __future__ import annotations

import copy
import io
import json
import operator
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from clevrskills.core.suite import load_suite, suite_of
from clevrskills.dataset_tools.layout import (
    CAMERAS_FILE,
    EPISODE_FILE,
    IMAGES_FILE,
    POSE,
    STATES_FILE,
    STEPS_FILE,
    TURNS_FILE,
    DatasetError,
    Header,
)
from clevrskills.dataset_tools.manifest import Attempt, read_manifest
from clevrskills.dataset_tools.storage import (
    episode_files,
    episode_names,
    has_episode,
    packed_episodes,
)
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.jobs.files import StoredFile

if TYPE_CHECKING:
    import pandas as pd

    from clevrskills.core.suite import Suite


class Episode:
    """One episode of N control steps; everything is read when it is first asked for.

    Frame t and state t show the world after t steps; row t of ``steps`` is the action taken there.

    Args:
        path: Folder of the episode, in which it need not be if it is packed.
        header: Header of the dataset that it is of.

    Attributes:
        files: Its files by name.

    Raises:
        DatasetError: There is no episode, here; in any property: a file is missing or damaged, or
            the episode is not of the make of the dataset.
        UnknownNameError: In methods that take the name of a camera: it did not film this.
    """

    def __init__(self, path: str | Path, header: Header | None = None) -> None:
        self.path, self._header = Path(path).absolute(), header
        if not has_episode(self.path):
            raise DatasetError(f"{self.path} is not an episode: it has no {EPISODE_FILE}")

    def __repr__(self) -> str:
        return f"Episode({self.id!r})"

    def __len__(self) -> int:
        """Return the number of control steps."""
        return int(self.info["steps"])

    @property
    def id(self) -> str:
        """Its name within the dataset, e.g. ``sort/train_00000007``."""
        return f"{self.path.parent.name}/{self.path.name}"

    @cached_property
    def files(self) -> Mapping[str, StoredFile]:
        return episode_files(self.path)

    @cached_property
    def info(self) -> dict[str, Any]:
        """Metadata of the episode: task, seed, prompt, goal, scene, segments, key-steps and
        versions.
        """
        with self._reading(EPISODE_FILE) as file:
            info = dict(json.loads(file.read()))
        for what in self._header.faults(info) if self._header else ():
            raise DatasetError(
                f"{self.id} is not of the make of its dataset: {what}; `clevrskills check` names "
                "all such episodes: remove them"
            )
        return info

    @property
    def has_steps(self) -> bool:
        """``True`` if the control steps of an arm were recorded."""
        return "state_layout" in self.info

    @property
    def has_turns(self) -> bool:
        """``True`` if turns were recorded."""
        return "turns" in self.info

    @cached_property
    def steps(self) -> pd.DataFrame:
        """One row per control step."""
        return self._read_table(STEPS_FILE)

    @cached_property
    def turns(self) -> pd.DataFrame:
        """One row per turn, where turns were recorded; ``views`` and ``texts`` are what was seen
        before it: names of images and texts by view, as JSON; ``state`` likewise.
        """
        return self._read_table(TURNS_FILE)

    def seen(self, turn: int) -> dict[str, Any]:
        """Return the views after ``turn`` turns, by name: images (H, W, 3) uint8, or texts.

        Raises:
            IndexError: There are not so many turns.
        """
        if not 0 <= operator.index(turn) <= len(self.turns):
            raise IndexError(f"turn {turn}: {self.id} has {len(self.turns)}")
        end = turn == len(self.turns)
        row = self.info["final"] if end else self.turns.iloc[turn]
        names = json.loads(row["views"])
        shown = dict(zip(names, self._named(names.values()), strict=True))
        return {**shown, **json.loads(row["texts"])}

    @cached_property
    def cameras_table(self) -> pd.DataFrame:
        """One row per state; for each camera ``<camera>/extrinsic``, ``/boxes``, ``/visible``."""
        return self._read_table(CAMERAS_FILE)

    @property
    def actions(self) -> np.ndarray:
        """(N, A) float32; what they mean is ``action_spec`` of ``info``."""
        return self._column("action")

    @property
    def unlearned(self) -> np.ndarray:
        """(N,) bool: the steps of an attempt that was given up, and those of a policy."""
        failed: np.ndarray = self.steps["failed"].to_numpy()
        return failed

    @property
    def rewards(self) -> np.ndarray:
        """(N,) float32."""
        return self._column("reward")

    @cached_property
    def states(self) -> np.ndarray:
        """(N + 1, S), exactly as they were in the simulator."""
        with self._reading(STATES_FILE) as file:
            with np.load(io.BytesIO(file.read()), allow_pickle=False) as arrays:
                return np.asarray(arrays["states"])

    @property
    def object_poses(self) -> np.ndarray:
        """Pose of each of ``objects`` at every state: position in metres and quaternion w, x, y, z,
        (N + 1, K, 7) float32.
        """
        poses = self._column("object_poses")
        last = np.asarray([self.info["final"]["object_poses"]], dtype=poses.dtype)
        return np.concatenate([poses, last]).reshape(len(poses) + 1, len(self.objects), len(POSE))

    @property
    def objects(self) -> list[dict[str, Any]]:
        """The bodies of the scene: ``key``, ``name``, ``shape``, ``texture``, ``static``, ``role``
        (``goal``: it plays a part in the task, or ``distractor``).
        """
        return list(self.info["objects"])

    @property
    def nodes(self) -> list[dict[str, Any]]:
        """The goal tree, each node before its parts: ``path``, ``predicate``, ``depth``, ``leaf``
        (its index among the leaves or ``None``), ``text``, ``plain``; columns ``holds`` and
        ``terms`` of ``steps`` are in this order.
        """
        return list(self.info["nodes"])

    @property
    def state_layout(self) -> list[dict[str, Any]]:
        """Entries of a state: ``name``, ``start``, ``stop``."""
        return list(self.info["state_layout"])

    def proprioception(self, name: str) -> np.ndarray:
        """Return a measurement of the robot at every state, (N + 1, ...), e.g. ``qpos`` or
        ``ee_pose``.

        Raises:
            UnknownNameError: There is no such measurement.
        """
        final = self.info["final"]["proprioception"]
        if name not in final:
            raise UnknownNameError("measurement", name, tuple(final))
        column = self._column(name)
        return np.concatenate([column, np.asarray([final[name]], dtype=column.dtype)])

    @property
    def flags(self) -> tuple[str, ...]:
        """Names of the measurements that are true or false."""
        measured = self.info["final"]["proprioception"]
        return tuple(name for name, value in measured.items() if isinstance(value, bool))

    @cached_property
    def suite(self) -> Suite:
        """The suite that it names, or else that has its task; the default one if none has."""
        return load_suite(self.info.get("suite") or suite_of([self.info["task"]]))

    @property
    def cameras(self) -> tuple[str, ...]:
        """Names of the cameras that were filmed with."""
        return tuple(self.info["cameras"])

    def video_file(self, camera: str) -> StoredFile:
        """Return the file of a video."""
        if camera not in self.cameras:
            raise UnknownNameError("camera", camera, self.cameras)
        return self._file(self.info["cameras"][camera]["video"])

    def video(self, camera: str) -> np.ndarray:
        """Return all frames of a camera, (N + 1, H, W, 3) uint8."""
        from clevrskills.sim.render.video import read_video

        return read_video(self.video_file(camera))

    def frame(self, camera: str, step: int) -> np.ndarray:
        """Return the frame of a camera after ``step`` steps, (H, W, 3) uint8.

        Raises:
            IndexError: There is no such step.
        """
        from clevrskills.sim.render.video import read_frame

        return read_frame(self.video_file(camera), step)

    def boxes(self, camera: str) -> np.ndarray:
        """Return the box of each object in each frame of a camera: x_min, y_min, x_max, y_max in
        pixels, the maxima exclusive, four times -1 for what is not in the image; (N + 1, K, 4)
        int16.
        """
        return self._annotation(camera, "boxes").reshape(len(self) + 1, len(self.objects), 4)

    def visible(self, camera: str) -> np.ndarray:
        """Return share of each object's silhouette that each frame shows, (N + 1, K) float32."""
        return self._annotation(camera, "visible")

    def extrinsics(self, camera: str) -> np.ndarray:
        """Return world to camera coordinates (x right, y down, z ahead), (N + 1, 3, 4) float32."""
        return self._annotation(camera, "extrinsic").reshape(-1, 3, 4)

    def depth(self, camera: str) -> np.ndarray:
        """Return the depth in every frame of a camera, in millimetres along the optical axis, 0
        where nothing is within range; (N + 1, H, W) uint16.
        """
        return self._lossless(camera, "depth")

    def segmentation(self, camera: str) -> np.ndarray:
        """Return the segmentation of each frame of a camera: 0 background, 1 + k object k, 254 the
        table, 255 the robot; (N + 1, H, W) uint8.
        """
        return self._lossless(camera, "segmentation")

    @property
    def prompt(self) -> dict[str, Any]:
        """``text`` with placeholders, ``plain`` words, ``images`` (names by placeholder), data."""
        return dict(self.info["prompt"])

    def prompt_images(self) -> dict[str, np.ndarray]:
        """Return images of the prompt by placeholder, each (H, W, 3) uint8."""
        names = self.prompt["images"]
        return dict(zip(names, self._named(names.values()), strict=True))

    def images(self) -> dict[str, np.ndarray]:
        """Return all single images, of prompt, key-steps and turns, by name, each (H, W, 3) uint8;
        views of numbers (H, W) float32.
        """
        if IMAGES_FILE not in self.files and not self.cameras:
            return {}
        from PIL import Image

        table = self._read_table(IMAGES_FILE)
        try:
            return {
                str(name): _pixels(Image.open(io.BytesIO(image["bytes"])))
                for name, image in zip(table["name"], table["image"], strict=True)
            }
        except (OSError, KeyError, TypeError) as error:
            raise DatasetError.of(self.path / IMAGES_FILE, error) from error

    def turn_images(self) -> dict[str, bytes]:
        """Return the images of turns as they are kept, by name."""
        if not self.has_turns or IMAGES_FILE not in self.files:
            return {}
        table = self._read_table(IMAGES_FILE)
        kept = zip(table["name"], table["image"], strict=True)
        return {str(name): image["bytes"] for name, image in kept if name.startswith("turns/")}

    @property
    def keysteps(self) -> list[dict[str, Any]]:
        """States with a sub-goal newly reached: ``index``, ``step``, ``subgoal``, ``image``."""
        return list(self.info["keysteps"])

    def keystep_images(self) -> list[np.ndarray]:
        """Return images of the key-steps, each (H, W, 3) uint8; empty if cameras were off."""
        return self._named([k["image"] for k in self.keysteps if k["image"]])

    @property
    def segments(self) -> dict[str, list[dict[str, Any]]]:
        """Runs of steps with the same ``subtask`` or ``instruction``: start, stop, text, plain, and
        predicate, skill, attempt and so on where they are the same throughout.
        """
        return dict(self.info["segments"])

    def _column(self, name: str) -> np.ndarray:
        values = self.steps[name].to_numpy()
        return np.stack(values) if values.dtype == object else values

    def _named(self, names: Collection[str]) -> list[np.ndarray]:
        """Return single images by their names."""
        images = self.images() if names else {}
        if missing := [name for name in names if name not in images]:
            raise DatasetError(f"{self.path / IMAGES_FILE} is damaged: it lacks {missing[0]}")
        return [images[name] for name in names]

    def _read_table(self, name: str) -> pd.DataFrame:
        import pandas as pd

        with self._reading(name) as file:
            return pd.read_parquet(io.BytesIO(file.read()))

    def _file(self, name: str) -> StoredFile:
        return self.files.get(name) or StoredFile(self.path / name)

    @contextmanager
    def _reading(self, name: str) -> Iterator[StoredFile]:
        file = self._file(name)
        try:
            yield file
        except Exception as error:  # zipfile, zlib, numpy and pyarrow raise what they like
            raise DatasetError.of(file, error) from error

    def _annotation(self, camera: str, what: str) -> np.ndarray:
        self.video_file(camera)  # raises if there is no such camera
        return np.stack(self.cameras_table[f"{camera}/{what}"].to_list())

    def _lossless(self, camera: str, what: str) -> np.ndarray:
        from clevrskills.sim.render.video import read_video

        self.video_file(camera)
        filmed = [name for name in self.cameras if what in self.info["cameras"][name]]
        if camera not in filmed:
            raise UnknownNameError(f"camera with {what}", camera, filmed)
        return read_video(self._file(self.info["cameras"][camera][what]))


def _pixels(image: Any) -> np.ndarray:
    """Return an image (H, W, 3) uint8; one of numbers as they are, (H, W) float32."""
    return np.asarray(image if image.mode == "F" else image.convert("RGB"))


def checked(episodes: Iterable[Episode]) -> Iterator[Episode]:
    """Yield episodes that are of the make of their dataset; each camera has one size.

    Raises:
        DatasetError: One is not, or is damaged.
    """
    sizes: dict[str, tuple[tuple[int, int], str]] = {}
    for episode in episodes:
        for camera, about in episode.info.get("cameras", {}).items():
            size = about["width"], about["height"]
            before, other = sizes.setdefault(camera, (size, episode.id))
            if size != before and "orthographic_m" not in about:  # of that, the scale matters
                raise DatasetError(
                    f"{episode.id} is not of the make of its dataset: {camera}: {size} pixels, but "
                    f"{before} in {other}; remove one"
                )
        yield episode


class Dataset(Sequence[Episode]):
    """The episodes of a dataset, sorted by task, split and seed.

    Args:
        path: Folder of the dataset.

    Raises:
        DatasetError: It is not a dataset.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).absolute()
        self.header = Header.read(self.path)
        names = episode_names(self.path)
        self._episodes = [Episode(self.path / name, self.header) for name in names]

    def __repr__(self) -> str:
        return f"Dataset({str(self.path)!r}, {len(self)} episodes)"

    def __len__(self) -> int:
        return len(self._episodes)

    def __iter__(self) -> Iterator[Episode]:
        return iter(self._episodes)

    def __getitem__(self, index: Any) -> Any:
        """Return the episode with a number; for a slice, a list of them."""
        return self._episodes[index]

    @property
    def ids(self) -> tuple[str, ...]:
        """Names of the episodes."""
        return tuple(episode.id for episode in self)

    def episode(self, name: str) -> Episode:
        """Return the episode with a name, e.g. ``sort/train_00000007``.

        Raises:
            UnknownNameError: There is none; a few names that exist are given.
        """
        for episode in self:
            if episode.id == name:
                return episode
        some = self.ids if len(self) <= 5 else (*self.ids[:4], "...", self.ids[-1])
        raise UnknownNameError("episode", name, some)

    def filter(
        self,
        *,
        task: str | None = None,
        split: str | None = None,
        level: str | None = None,
        success: bool | None = None,
    ) -> Self:
        """Return the part of the dataset that fits; ``None`` fits everything.

        Raises:
            ClevrSkillsError: A value is neither one name nor, of ``success``, true or false.
        """
        given = {"task": task, "split": split, "level": level, "success": success}
        given = {name: value for name, value in given.items() if value is not None}
        for name, value in given.items():
            if not isinstance(value, bool if name == "success" else str):
                kind = "True or False" if name == "success" else "one name"
                raise ClevrSkillsError(f"{name}={value!r}; allowed: {kind}")
        part = copy.copy(self)
        part._episodes = [e for e in self if all(e.info[k] == v for k, v in given.items())]
        return part

    def check(self) -> None:
        """Check that all episodes are of the make that the header says; what is packed was checked
        then.

        Raises:
            DatasetError: One is not, or is damaged.
        """
        packed = packed_episodes(self.path)
        for _ in checked(Episode(e.path, self.header) for e in self if e.id not in packed):
            continue  # is not kept

    def failures(self) -> list[Attempt]:
        """Return the attempts that failed, which have no episode."""
        return [line for line in read_manifest(self.path) if not line.success]
