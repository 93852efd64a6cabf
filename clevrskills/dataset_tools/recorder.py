"""Writes one episode while it happens; see :mod:`clevrskills.dataset_tools.layout` for the files.

Conventions: N control steps lie between N + 1 states. Frame t and state t show the world after t
steps. Row t of ``steps.parquet`` has what the robot felt at state t, the action taken there with
its labels in words, and the reward, success and progress of state t + 1.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from clevrskills.dataset_tools.files import PartialDirectory, storage_errors, to_json
from clevrskills.dataset_tools.layout import (
    EPISODE_FILE,
    STATES_FILE,
    STEPS_FILE,
    episode_id,
    versions,
)
from clevrskills.dataset_tools.sources import Environment, Setup, camera_mounting
from clevrskills.dataset_tools.video import VideoWriter

KEYSTEP_CAMERA = "base_camera"
_FLAGS = ("vacuum_on", "holding")
_FLOAT32_COLUMNS = ("timestamp", "reward", "progress")


@dataclass(frozen=True)
class Labels:
    """What the oracle says of an action, with placeholders as in prompts.

    Attributes:
        subtask: Sentence of the sub-goal it serves.
        instruction: Sentence of the step it is part of.
        subgoal: Index of the leaf of the goal tree that is being solved, -1 for none.
    """

    subtask: str
    instruction: str
    subgoal: int


@dataclass(frozen=True)
class Step:
    """What came of an action; success and progress are those of the state after it."""

    reward: float
    success: bool
    progress: float
    terminated: bool
    truncated: bool


@dataclass(frozen=True)
class Keystep:
    """A state at which a sub-goal is newly reached.

    Attributes:
        index: 0 for the initial state, k for the k-th sub-goal reached.
        step: Number of control steps done, so the index of its frame and state.
        subgoal: Index of the leaf of the goal tree that was reached; ``None`` at the start.
        image: Picture of it, a path within the episode; ``None`` if cameras are off.
    """

    index: int
    step: int
    subgoal: int | None
    image: str | None


class Recorder:
    """Records one episode into ``<root>/<task>/<split>_<seed>``, which appears with :meth:`commit`.

    Used as a context manager, what was not committed is removed.

    Args:
        root: The dataset.
        setup: What the environment was made from; its cameras are filmed.
        seed: Seed of the episode.
        fps: Frames per second of the videos, the control rate in Hz.

    Raises:
        StorageError: The disk refused, here or in any method.
    """

    def __init__(self, root: Path, setup: Setup, seed: int, fps: int = 20) -> None:
        self.setup, self.seed, self.fps = setup, seed, fps
        self._directory = PartialDirectory(root, root / episode_id(setup.task, setup.split, seed))
        self._videos: dict[str, VideoWriter] = {}
        self._frames: Mapping[str, np.ndarray] = {}  # of the last state only
        self._states: list[np.ndarray] = []
        self._rows: list[dict[str, Any]] = []
        self._texts: dict[str, list[str]] = {"subtask": [], "instruction": []}
        self._words: Callable[[str], str] = str
        self._keysteps: list[Keystep] = []
        self._subgoal = -1
        self._info: dict[str, Any] = {}
        self._proprioception: Mapping[str, np.ndarray] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.discard()

    @property
    def steps(self) -> int:
        """Number of control steps recorded so far."""
        return len(self._rows)

    def start(self, env: Environment) -> None:
        """Record the state after the reset, the prompt, the goal and the scene."""
        self._words = functools.cache(env.prompt.plain)
        self._info = {
            "task": self.setup.task,
            "level": env.task.level,
            "split": self.setup.split,
            "seed": self.seed,
            "robot": self.setup.robot,
            "criteria": self.setup.criteria,
            "prompt": self._write_prompt(env),
            "goal": env.goal.to_json(),
            "scene": env.scene_description(),
            "action_spec": env.action_spec,
            "state_layout": list(env.state_layout),
        }
        self._observe(env)
        self._add_keystep(subgoal=None)

    def record(self, env: Environment, action: np.ndarray, labels: Labels, step: Step) -> None:
        """Record a control step that was just made.

        Args:
            env: The environment, after the step.
            action: The action, (7,) in [-1, 1].
            labels: What the oracle said of the action.
            step: What came of it.
        """
        before, now = self._subgoal, labels.subgoal
        if before >= 0 and (now > before or now < 0):
            self._add_keystep(before)
        self._subgoal = now
        index = len(self._rows)
        row = {
            "step": index,
            "timestamp": index / self.fps,
            "action": np.asarray(action, dtype=np.float32).reshape(-1),
            **asdict(step),
            "subtask": self._words(labels.subtask),
            "instruction": self._words(labels.instruction),
            "subgoal": labels.subgoal,
            **self._proprioception,
        }
        self._rows.append(row)
        self._texts["subtask"].append(labels.subtask)
        self._texts["instruction"].append(labels.instruction)
        self._observe(env)

    def commit(self, success: bool) -> Path:
        """Complete the files and move the episode into place.

        Args:
            success: Whether the task was solved.

        Returns:
            Directory of the episode.
        """
        if success and self._subgoal >= 0:
            self._add_keystep(self._subgoal)
        path = self._directory.path
        for video in self._videos.values():
            video.close()
        self._videos = {}
        with storage_errors(self._directory.final):
            pq.write_table(self._table(), path / STEPS_FILE, compression="zstd")
            np.savez_compressed(path / STATES_FILE, states=np.stack(self._states))
            text = to_json({**self._info, **self._summary(success)}, indent=1)
            (path / EPISODE_FILE).write_text(text + "\n", encoding="utf-8")
        return self._directory.commit()

    def discard(self) -> None:
        """Remove what was written; does nothing after :meth:`commit`."""
        for video in self._videos.values():
            video.abandon()
        self._videos = {}
        self._directory.discard()

    def _observe(self, env: Environment) -> None:
        """Take in the current state: simulator state, proprioception, one frame per camera."""
        self._states.append(np.array(env.get_state()).reshape(-1))
        self._proprioception = {k: _measured(k, v) for k, v in env.proprioception().items()}
        if not self.setup.cameras:
            return
        self._frames = env.capture()
        for name in self.setup.cameras:
            frame = self._frames[name]
            if name not in self._videos:
                height, width = frame.shape[:2]
                path = self._directory.path / f"{name}.mp4"
                self._videos[name] = VideoWriter(path, width, height, self.fps)
            self._videos[name].write(frame)

    def _add_keystep(self, subgoal: int | None) -> None:
        index, step = len(self._keysteps), len(self._rows)
        frame = self._frames.get(KEYSTEP_CAMERA)
        image = None
        if frame is not None:
            image = self._write_image("keysteps", f"{index:02d}", frame)
        self._keysteps.append(Keystep(index, step, subgoal, image))

    def _write_prompt(self, env: Environment) -> dict[str, Any]:
        """Write the prompt's pictures; without cameras there is nothing to draw them with."""
        prompt = env.prompt
        pictures = prompt.images() if self.setup.cameras else {}
        images = {
            placeholder: self._write_image("prompt", _file_name(placeholder), picture)
            for placeholder, picture in pictures.items()
        }
        return {
            "text": prompt.text,
            "plain": prompt.plain(),
            "images": images,
            "data": prompt.to_json(),
        }

    def _write_image(self, folder: str, name: str, picture: np.ndarray) -> str:
        path = self._directory.path / folder / f"{name}.png"
        with storage_errors(self._directory.final):
            path.parent.mkdir(exist_ok=True)
            image = Image.fromarray(np.ascontiguousarray(picture))
            image.save(path, compress_level=1)  # a third of the time, a fifth larger
        return f"{folder}/{name}.png"

    def _summary(self, success: bool) -> dict[str, Any]:
        """What is known only at the end."""
        return {
            "success": success,
            "steps": len(self._rows),
            "fps": self.fps,
            "return": float(sum(row["reward"] for row in self._rows)),
            "segments": {
                name: [{**run, "plain": self._words(run["text"])} for run in segments(texts)]
                for name, texts in self._texts.items()
            },
            "keysteps": [asdict(keystep) for keystep in self._keysteps],
            "final_proprioception": self._proprioception,
            "cameras": {name: self._camera(name) for name in self.setup.cameras},
            "versions": versions(),
        }

    def _camera(self, name: str) -> dict[str, Any]:
        height, width = self._frames[name].shape[:2]
        return {
            "video": f"{name}.mp4",
            "fps": self.fps,
            "frames": len(self._states),
            "width": width,
            "height": height,
            **camera_mounting(name, self.setup.robot),
        }

    def _table(self) -> pa.Table:
        """One row per control step."""
        reached = {keystep.step - 1 for keystep in self._keysteps}
        columns = {name: [row[name] for row in self._rows] for name in self._rows[0]}
        columns["keystep"] = [index in reached for index in range(len(self._rows))]
        return pa.table({name: _column(name, values) for name, values in columns.items()})


def segments(texts: list[str]) -> list[dict[str, Any]]:
    """Runs of equal labels: ``start``, ``stop`` (exclusive), both in control steps, ``text``."""
    runs, start = [], 0
    for text, group in groupby(texts):
        stop = start + len(list(group))
        runs.append({"start": start, "stop": stop, "text": text})
        start = stop
    return runs


def _measured(name: str, value: np.ndarray) -> Any:
    """A measurement as an array (k,); as a Python scalar if it is one number, a bool for flags."""
    array = np.array(value).reshape(-1)
    if array.size > 1:
        return array
    return bool(array[0]) if name in _FLAGS else array[0].item()


def _column(name: str, values: list[Any]) -> pa.Array:
    """A column with an exact type; vectors become lists of fixed length."""
    if isinstance(values[0], np.ndarray):
        flat = pa.array(np.concatenate(values))
        return pa.FixedSizeListArray.from_arrays(flat, len(values[0]))
    if name in ("step", "subgoal"):
        return pa.array(values, type=pa.int32())
    if name in _FLOAT32_COLUMNS:
        return pa.array(values, type=pa.float32())
    return pa.array(values)


def _file_name(placeholder: str) -> str:
    """``{obj:bowl 1}`` -> ``obj_bowl_1``."""
    return re.sub(r"[^A-Za-z0-9]+", "_", placeholder).strip("_")
