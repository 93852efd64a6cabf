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
    """Episode of N control steps, read lazily.

    Frame t and state t show the world after t steps; row t of ``steps`` is the action taken there.

    Args:
        path: Folder of the episode, also if it is packed.
        header: Header of its dataset.

    Attributes:
        files: Files by name.

    Raises:
        DatasetError: There is no episode; in any property: a file is missing or damaged, or the
            episode contradicts the header.
        UnknownNameError: In methods that take the name of a camera: it was not recorded.
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
        """Name within the dataset, e.g. ``sort/train_00000007``."""
        return f"{self.path.parent.name}/{self.path.name}"

    @cached_property
    def files(self) -> Mapping[str, StoredFile]:
        return episode_files(self.path)

    @cached_property
    def info(self) -> dict[str, Any]:
        """Metadata: task, seed, prompt, goal, scene, segments, key-steps, versions and more."""
        with self._reading(EPISODE_FILE) as file:
            info = dict(json.loads(file.read()))
        for what in self._header.faults(info) if self._header else ():
            raise DatasetError(
                f"{self.id} does not match its dataset: {what}; `clevrskills check` lists all such "
                "episodes: remove them"
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
        """One row per turn, if turns were recorded; ``views``, ``texts`` and ``state`` are JSON of
        what was observed before it.
        """
        return self._read_table(TURNS_FILE)

    def views(self, turn: int) -> dict[str, Any]:
        """Return the views after ``turn`` turns, by name: images (H, W, 3) uint8, or texts.

        Raises:
            IndexError: There are fewer turns.
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
        """(N, A) float32, described by ``action_spec`` of ``info``."""
        return self._column("action")

    @property
    def unlearned(self) -> np.ndarray:
        """(N,) bool: steps of failed attempts, and those of a policy."""
        failed: np.ndarray = self.steps["failed"].to_numpy()
        return failed

    @property
    def rewards(self) -> np.ndarray:
        """(N,) float32."""
        return self._column("reward")

    @cached_property
    def states(self) -> np.ndarray:
        """(N + 1, S) states of the simulator."""
        with self._reading(STATES_FILE) as file:
            with np.load(io.BytesIO(file.read()), allow_pickle=False) as arrays:
                return np.asarray(arrays["states"])

    @property
    def object_poses(self) -> np.ndarray:
        """Poses of ``objects`` at every state: position (m) and quaternion w, x, y, z,
        (N + 1, K, 7) float32.
        """
        poses = self._column("object_poses")
        last = np.asarray([self.info["final"]["object_poses"]], dtype=poses.dtype)
        return np.concatenate([poses, last]).reshape(len(poses) + 1, len(self.objects), len(POSE))

    @property
    def objects(self) -> list[dict[str, Any]]:
        """Bodies of the scene: ``key``, ``name``, ``shape``, ``texture``, ``static``, ``role``
        (``goal`` or ``distractor``).
        """
        return list(self.info["objects"])

    @property
    def nodes(self) -> list[dict[str, Any]]:
        """Nodes of the goal tree, parents first: ``path``, ``predicate``, ``depth``, ``leaf``
        (index among the leaves or ``None``), ``text``, ``plain``; columns ``holds`` and ``terms``
        of ``steps`` are in this order.
        """
        return list(self.info["nodes"])

    @property
    def state_layout(self) -> list[dict[str, Any]]:
        """Entries of a state: ``name``, ``start``, ``stop``."""
        return list(self.info["state_layout"])

    def proprioception(self, name: str) -> np.ndarray:
        """Return a measurement at every state, (N + 1, ...), e.g. ``qpos`` or ``ee_pose``.

        Raises:
            UnknownNameError: An unknown measurement.
        """
        final = self.info["final"]["proprioception"]
        if name not in final:
            raise UnknownNameError("measurement", name, tuple(final))
        column = self._column(name)
        return np.concatenate([column, np.asarray([final[name]], dtype=column.dtype)])

    @property
    def flags(self) -> tuple[str, ...]:
        """Names of the boolean measurements."""
        measured = self.info["final"]["proprioception"]
        return tuple(name for name, value in measured.items() if isinstance(value, bool))

    @cached_property
    def suite(self) -> Suite:
        """The suite named in ``info``, else that of its task, else the default one."""
        return load_suite(self.info.get("suite") or suite_of([self.info["task"]]))

    @property
    def cameras(self) -> tuple[str, ...]:
        """Names of the recorded cameras."""
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
            IndexError: ``step`` is out of range.
        """
        from clevrskills.sim.render.video import read_frame

        return read_frame(self.video_file(camera), step)

    def boxes(self, camera: str) -> np.ndarray:
        """Return the bounding boxes of the objects in each frame of a camera: x_min, y_min, x_max,
        y_max in pixels, the maxima exclusive, -1 outside the image; (N + 1, K, 4) int16.
        """
        return self._annotation(camera, "boxes").reshape(len(self) + 1, len(self.objects), 4)

    def visible(self, camera: str) -> np.ndarray:
        """Return the visible share of each object's silhouette, (N + 1, K) float32."""
        return self._annotation(camera, "visible")

    def extrinsics(self, camera: str) -> np.ndarray:
        """Return the extrinsic matrices (x right, y down, z ahead), (N + 1, 3, 4) float32."""
        return self._annotation(camera, "extrinsic").reshape(-1, 3, 4)

    def depth(self, camera: str) -> np.ndarray:
        """Return the depth of a camera along the optical axis in mm, 0 out of range; (N + 1, H, W)
        uint16.
        """
        return self._lossless(camera, "depth")

    def segmentation(self, camera: str) -> np.ndarray:
        """Return the segmentation of a camera: 0 background, 1 + k object k, 254 table, 255 robot;
        (N + 1, H, W) uint8.
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
        """Return the images of prompt, key-steps and turns by name, (H, W, 3) uint8, or (H, W)
        float32 for numeric views.
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
        """Return the encoded images of turns by name."""
        if not self.has_turns or IMAGES_FILE not in self.files:
            return {}
        table = self._read_table(IMAGES_FILE)
        kept = zip(table["name"], table["image"], strict=True)
        return {str(name): image["bytes"] for name, image in kept if name.startswith("turns/")}

    @property
    def keysteps(self) -> list[dict[str, Any]]:
        """States that newly achieve a subgoal: ``index``, ``step``, ``subgoal``, ``image``."""
        return list(self.info["keysteps"])

    def keystep_images(self) -> list[np.ndarray]:
        """Return the images of the key-steps, each (H, W, 3) uint8; empty without cameras."""
        return self._named([k["image"] for k in self.keysteps if k["image"]])

    @property
    def segments(self) -> dict[str, list[dict[str, Any]]]:
        """Runs of steps with equal ``subtask`` or ``instruction``: start, stop, text, plain, and
        labels that are constant within the run.
        """
        return dict(self.info["segments"])

    def _column(self, name: str) -> np.ndarray:
        values = self.steps[name].to_numpy()
        return np.stack(values) if values.dtype == object else values

    def _named(self, names: Collection[str]) -> list[np.ndarray]:
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
        except Exception as error:  # zipfile, zlib, numpy and pyarrow raise many types
            raise DatasetError.of(file, error) from error

    def _annotation(self, camera: str, what: str) -> np.ndarray:
        self.video_file(camera)  # raises for an unknown camera
        return np.stack(self.cameras_table[f"{camera}/{what}"].to_list())

    def _lossless(self, camera: str, what: str) -> np.ndarray:
        from clevrskills.sim.render.video import read_video

        self.video_file(camera)
        filmed = [name for name in self.cameras if what in self.info["cameras"][name]]
        if camera not in filmed:
            raise UnknownNameError(f"camera with {what}", camera, filmed)
        return read_video(self._file(self.info["cameras"][camera][what]))


def _pixels(image: Any) -> np.ndarray:
    return np.asarray(image if image.mode == "F" else image.convert("RGB"))


def checked(episodes: Iterable[Episode]) -> Iterator[Episode]:
    """Yield episodes after checking that they match their dataset and have cameras of one size.

    Raises:
        DatasetError: An episode does not match, or is damaged.
    """
    sizes: dict[str, tuple[tuple[int, int], str]] = {}
    for episode in episodes:
        for camera, about in episode.info.get("cameras", {}).items():
            size = about["width"], about["height"]
            before, other = sizes.setdefault(camera, (size, episode.id))
            if size != before and "orthographic_m" not in about:  # its scale matters instead
                raise DatasetError(
                    f"{episode.id} does not match its dataset: {camera}: {size} pixels, but "
                    f"{before} in {other}; remove one"
                )
        yield episode


class Dataset(Sequence[Episode]):
    """Episodes of a dataset, sorted by task, split and seed.

    Args:
        path: Folder of the dataset.

    Raises:
        DatasetError: The folder is not a dataset.
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
        """Return an episode by index, or a list for a slice."""
        return self._episodes[index]

    @property
    def ids(self) -> tuple[str, ...]:
        """Names of the episodes."""
        return tuple(episode.id for episode in self)

    def episode(self, name: str) -> Episode:
        """Return an episode by name, e.g. ``sort/train_00000007``.

        Raises:
            UnknownNameError: There is no such episode.
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
        """Return the episodes that match all given values.

        Raises:
            ClevrSkillsError: A value has the wrong type.
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
        """Check that all episodes match the header; those in shards were checked when packed.

        Raises:
            DatasetError: An episode does not match, or is damaged.
        """
        packed = packed_episodes(self.path)
        for _ in checked(Episode(e.path, self.header) for e in self if e.id not in packed):
            pass

    def failures(self) -> list[Attempt]:
        """Return the failed attempts, which have no episode."""
        return [line for line in read_manifest(self.path) if not line.success]
