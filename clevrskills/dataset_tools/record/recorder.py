"""Recorder of an episode in the files described in ``docs/datasets.md``."""

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from clevrskills.core.env import Episode, RecordableEnv, Watcher
from clevrskills.core.env_config import EnvConfig
from clevrskills.core.interface import Interface, Step
from clevrskills.core.suite import (
    RATE,
    EpisodeOracle,
    Labels,
    MomentRenderer,
    Suite,
    image_views,
    step_interface,
)
from clevrskills.dataset_tools.layout import EPISODE_FILE, STATES_FILE, STEPS_FILE
from clevrskills.dataset_tools.record.camera_tracks import CameraTracks, cpu_timer
from clevrskills.dataset_tools.record.columns import measured, segments, steps_table
from clevrskills.dataset_tools.record.rollout import EpisodeRecorder
from clevrskills.jobs.files import storage_errors, to_json
from clevrskills.jobs.run_folder import versions
from clevrskills.sim.state_vector import state_parts

_OBJECT_FIELDS = ("key", "name", "shape", "texture", "static")
_LABELS = ("predicate", "skill", "action_class", "attempt")
STEP_FIELDS = ("reward", "success", "progress", "terminated", "truncated")
"""Recorded fields of the outcome of a control step."""
_PLACEHOLDER = re.compile(r"\{\w+:(\w+)\}")


class Recorder(EpisodeRecorder):
    """Recorder of the control steps of an arm; without ``film`` no images are recorded, and by
    default ``interface`` is that of single control steps.
    """

    def __init__(
        self,
        root: Path,
        config: EnvConfig,
        episode: Episode,
        suite: Suite,
        film: MomentRenderer | None = None,
        writer: str = "local",
        interface: Interface | None = None,
    ) -> None:
        steps = step_interface(suite)
        super().__init__(root, config, episode, interface or steps, writer)
        self._watcher: Watcher | None = None
        self._fps = int(steps.spec[RATE])
        self._flags = {k for k, part in state_parts(config.robot).items() if part.flag}
        self._keystep_camera = next(iter(image_views(suite.tasks[config.task].views)), "")
        self._film = film
        self._tracks: CameraTracks | None = None
        self._states: list[np.ndarray] = []
        self._rows: list[dict[str, Any]] = []
        self._words: Callable[[str], str] = str
        self._keysteps: list[dict[str, Any]] = []
        self._repaints: list[dict[str, Any]] = []
        self._failed: list[tuple[int, int]] = []
        self._subgoal = -1
        self._measured: dict[str, Any] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def start(self, env: RecordableEnv, limit: int) -> None:
        self._words = functools.cache(env.prompt.plain)
        scene, described = env.scene_description(), self._described(env)
        if self._film is not None:
            self._tracks = CameraTracks(
                *(self._directory.path, self._film, scene, self._fps, self.config),
                *(self._keystep_camera, self.times_s),
            )
            prompt = described["prompt"]
            prompt["images"] = self._tracks.keep_prompt(prompt["data"])
        nodes = [{**node, "plain": self._words(node["text"])} for node in env.nodes]
        self._info = {
            **described,
            "goal": env.goal.to_json(),
            "nodes": nodes,
            "objects": _objects(scene["bodies"], [env.prompt.text, *(n["text"] for n in nodes)]),
            "scene": scene,
            "action_spec": env.action_spec,
            "state_layout": list(env.state_layout),
        }
        self._watcher = env.watcher()
        self._observe(env)
        self._add_keystep(subgoal=None)

    def record(self, env: RecordableEnv, action: np.ndarray, oracle: Labels, step: Step) -> None:
        """Record a control step."""
        before, now = self._subgoal, int(oracle.subgoal)
        if before >= 0 and (now > before or now < 0):
            self._add_keystep(before)
        self._subgoal = now
        with cpu_timer(self.times_s, "write"):
            index = len(self._rows)
            holds, terms = env.goal_status()
            self._rows.append(
                {
                    "step": index,
                    "timestamp": index / self._fps,
                    "action": np.asarray(action, dtype=np.float32).reshape(-1),
                    **{name: getattr(step, name) for name in STEP_FIELDS},
                    "subtask": self._words(oracle.subtask),
                    "instruction": self._words(oracle.step),
                    "subgoal": now,
                    **{name: getattr(oracle, name) for name in _LABELS},
                    "subtask_text": oracle.subtask,
                    "instruction_text": oracle.step,
                    "holds": holds,
                    "terms": terms,
                    **self._measured,
                }
            )
        self._observe(env)

    def end(self, oracle: EpisodeOracle) -> None:
        self.give_up(oracle.failed)

    def give_up(self, runs: Iterable[tuple[int, int]]) -> None:
        """Mark runs of control steps, start and stop, as failed."""
        self._failed += runs

    def commit(self, success: bool) -> Path:
        if success and self._subgoal >= 0:
            self._add_keystep(self._subgoal)
        path = self._directory.path
        cameras: Mapping[str, Any] = {}
        if self._tracks:
            cameras = self._tracks.close(self._other_images(), self._info)
            self._tracks = None
        with cpu_timer(self.times_s, "write"):
            reached = {keystep["step"] - 1 for keystep in self._keysteps}
            failed = {step for start, stop in self._failed for step in range(start, stop)}
            for index, row in enumerate(self._rows):
                row["keystep"], row["failed"] = index in reached, index in failed
            with storage_errors(self._directory.final):
                table = steps_table(self._rows, self._info)
                pq.write_table(table, path / STEPS_FILE, compression="zstd")
                np.savez_compressed(path / STATES_FILE, states=np.stack(self._states))
                self._write_more(path)
                write_info(path, {**self._info, **self._summary(success, cameras)})
            return self._directory.commit()

    def _other_images(self) -> Mapping[str, bytes]:
        """Return further encoded images to store, by name."""
        return {}

    def _write_more(self, path: Path) -> None:
        """Write further files into the directory of the episode."""

    def discard(self) -> None:
        if self._tracks:
            self._tracks.abandon()
            self._tracks = None
        super().discard()

    def _observe(self, env: RecordableEnv) -> None:
        """Record the current state."""
        with cpu_timer(self.times_s, "write"):
            self._states.append(np.array(env.get_state()).reshape(-1))
            proprioception = env.proprioception()
            poses = np.asarray(env.object_poses(), dtype=np.float32)
            self._measured = {k: measured(v, k in self._flags) for k, v in proprioception.items()}
            self._measured["object_poses"] = poses.reshape(-1)
            textures = dict(env.textures)
            if textures != (self._repaints[-1]["textures"] if self._repaints else {}):
                self._repaints.append({"step": len(self._states) - 1, "textures": textures})
        if self._tracks:
            self._tracks.add(np.asarray(proprioception["qpos"]), poses, textures)

    def _add_keystep(self, subgoal: int | None) -> None:
        """Record the start, or that a leaf of the goal tree was newly achieved."""
        index, step = len(self._keysteps), len(self._rows)
        image = self._tracks.keep(index) if self._tracks else None
        keystep = {"index": index, "step": step, "subgoal": subgoal, "image": image}
        self._keysteps.append(keystep)

    def _summary(self, success: bool, cameras: Mapping[str, Any]) -> dict[str, Any]:
        """Return the metadata known at the end."""
        names = ("subgoal", "predicate", "skill", "attempt", "failed")
        poses = self._measured.pop("object_poses")
        return {
            "success": success,
            "steps": len(self._rows),
            "fps": self._fps,
            "return": float(sum(row["reward"] for row in self._rows)),
            "segments": {
                "subtask": self._segments("subtask", names, ("text", "subgoal", "attempt")),
                "instruction": self._segments(
                    "instruction",
                    (*names, "action_class"),
                    ("text", "subgoal", "attempt", "failed"),
                ),
            },
            "keysteps": self._keysteps,
            **self._watched(),
            "repaints": self._repaints,
            "final": {"proprioception": self._measured, "object_poses": poses},
            "cameras": cameras,
            "versions": versions(),
        }

    def _watched(self) -> dict[str, Any]:
        """Return failure events and measures of the trajectory, if there is a watcher."""
        if self._watcher is None:
            return {}
        self._watcher.finish()
        events = [event.to_json() for event in self._watcher.events]
        return {"events": events, "trajectory": dict(self._watcher.trajectory())}

    def _segments(
        self, level: str, names: tuple[str, ...], by: tuple[str, ...]
    ) -> list[dict[str, Any]]:
        rows = [
            {"text": row[f"{level}_text"], "plain": row[level], **{n: row[n] for n in names}}
            for row in self._rows
        ]
        return segments(rows, by)


def write_info(directory: Path, info: Mapping[str, Any]) -> None:
    """Write ``episode.json``."""
    (directory / EPISODE_FILE).write_text(to_json(info, indent=1) + "\n", encoding="utf-8")


def _objects(bodies: Iterable[Mapping[str, Any]], texts: Iterable[str]) -> list[dict[str, Any]]:
    """Return the description of each body; those named by the texts have the role ``goal``."""
    named = {key for text in texts for key in _PLACEHOLDER.findall(text)}
    return [
        {
            **{name: body.get(name) for name in _OBJECT_FIELDS},
            "role": "goal" if body["key"] in named else "distractor",
        }
        for body in bodies
    ]
