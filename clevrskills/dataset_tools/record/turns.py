"""Recorder of the turns of an episode; see :mod:`.arm_turns` for arms."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from clevrskills.core.env import Env, Episode, RecordableEnv
from clevrskills.core.env_config import EnvConfig
from clevrskills.core.goal.tree import nodes, outcomes
from clevrskills.core.interface import Interface, Turn, turn_message
from clevrskills.core.suite import Labels, Suite, path_of
from clevrskills.dataset_tools.layout import TURNS_FILE
from clevrskills.dataset_tools.record.camera_tracks import cpu_timer, write_images
from clevrskills.dataset_tools.record.columns import OWNER, owner
from clevrskills.dataset_tools.record.recorder import write_info
from clevrskills.dataset_tools.record.rollout import EpisodeRecorder
from clevrskills.jobs.files import storage_errors, to_json
from clevrskills.jobs.run_folder import versions
from clevrskills.sim.render.images import encode_image

COLUMNS = {
    **OWNER,
    "turn": pa.int32(),
    "action": pa.string(),
    "pose": pa.list_(pa.float32()),
    "ok": pa.bool_(),
    "code": pa.string(),
    "message": pa.string(),
    "reward": pa.float32(),
    "progress": pa.float32(),
    "success": pa.bool_(),
    "holds": pa.list_(pa.bool_()),
    "terms": pa.list_(pa.float32()),
    "subtask": pa.string(),
    "instruction": pa.string(),
    "predicate": pa.string(),
    "attempt": pa.int32(),
    "failed": pa.bool_(),
    "step_start": pa.int32(),
    "step_stop": pa.int32(),
    "state": pa.string(),
    "views": pa.string(),
    "texts": pa.string(),
}
"""Columns of ``turns.parquet``."""


class TurnLog:
    """Log of turns with the observations before each; adds CPU times to ``times_s``.

    Attributes:
        rows: Row of each turn, without the columns of :func:`~.columns.owner`.
        seen: Current views, and the state of a symbolic world, as JSON.
    """

    def __init__(
        self,
        suite: Suite,
        interface: Interface,
        views: Sequence[str],
        images: Sequence[str],
        times_s: dict[str, float],
    ) -> None:
        self._suite, self._interface, self._times_s = suite, interface, times_s
        self._views, self._cameras = tuple(views), tuple(images)
        self._names: dict[bytes, str] = {}
        self.rows: list[dict[str, Any]] = []
        self.seen: dict[str, str] = {}

    @property
    def images(self) -> dict[str, bytes]:
        """Encoded images by name, without duplicates."""
        return {name: data for data, name in self._names.items()}

    def look(self, env: Env) -> None:
        """Record the current views."""
        with cpu_timer(self._times_s, "render"):
            shown = look(env, self._views, self._cameras)
        names, texts = {}, {}
        with cpu_timer(self._times_s, "encode"):
            for view, content in shown.items():
                if isinstance(content, str):
                    texts[view] = content
                else:
                    name = f"turns/{len(self.rows):03d}/{view}"
                    names[view] = self._names.setdefault(encoded(content), name)
        self.seen = {"state": state_json(env), "views": to_json(names), "texts": to_json(texts)}

    def add(
        self, env: Env, action: Any, labels: Labels, turn: Turn, pose: Sequence[float] | None = None
    ) -> None:
        """Add a turn; ``pose`` is (6,), that of pick and place in the world."""
        start = self.rows[-1]["step_stop"] if self.rows else 0
        self.rows.append(
            {
                "turn": len(self.rows),
                "action": action if isinstance(action, str) else to_json(action),
                "pose": None if pose is None else [float(number) for number in pose],
                **turn_facts(env, turn, self._interface),
                "subtask": env.prompt.plain(labels.subtask),
                "instruction": env.prompt.plain(labels.step),
                "predicate": labels.predicate,
                "attempt": labels.attempt,
                "failed": (bool(turn.steps) and not turn.ok)
                or bool(getattr(labels, "mistaken", False)),
                "step_start": start,
                "step_stop": start + turn.steps,
                **self.seen,
            }
        )
        self.look(env)

    def write(self, path: Path, info: Mapping[str, Any]) -> None:
        """Write the table into the directory of an episode."""
        rows = [{**owner(info), **row} for row in self.rows]
        table = pa.Table.from_pylist(rows, pa.schema(list(COLUMNS.items())))
        pq.write_table(table, path / TURNS_FILE, compression="zstd")

    def start_facts(self, episode: Episode, limit: int) -> dict[str, Any]:
        """Return the metadata specific to episodes of turns."""
        return {
            "suite": path_of(self._suite),
            "limit": limit,
            "episode": episode.to_json(),
            "content_hash": episode.content_hash,
        }


class TurnRecorder(EpisodeRecorder):
    """Recorder of an episode of a symbolic world; ``config.cameras`` are the image views."""

    def __init__(
        self,
        root: Path,
        config: EnvConfig,
        episode: Episode,
        suite: Suite,
        interface: Interface,
        views: Sequence[str] = (),
        writer: str = "local",
    ) -> None:
        super().__init__(root, config, episode, interface, writer)
        self.log = TurnLog(suite, interface, views, config.cameras, self.times_s)

    def __len__(self) -> int:
        return len(self.log.rows)

    def start(self, env: Env, limit: int) -> None:
        described = self._described(env)
        self._info = {
            **described,
            "prompt": {**described["prompt"], "about": dict(env.prompt.about)},
            "nodes": [
                {
                    "path": node.path,
                    "predicate": node.predicate.name,
                    "depth": node.depth,
                    "leaf": node.leaf,
                    "text": (text := node.predicate.describe(env.world)),
                    "plain": env.prompt.plain(text),
                }
                for node in nodes(env.goal)
            ],
            "objects": [],
            **self.log.start_facts(self.episode, limit),
        }
        self.log.look(env)

    def record(self, env: Env, action: Any, oracle: Labels, turn: Turn) -> None:
        self.log.add(env, action, oracle, turn)

    def commit(self, success: bool) -> Path:
        path, rows = self._directory.path, self.log.rows
        with cpu_timer(self.times_s, "write"), storage_errors(self._directory.final):
            self.log.write(path, self._info)
            if self.config.cameras:
                write_images(path, self.log.images, self._info)
            write_info(
                path,
                {
                    **self._info,
                    "success": success,
                    "steps": rows[-1]["step_stop"],
                    "turns": len(rows),
                    "return": float(sum(row["reward"] for row in rows)),
                    "segments": {},
                    "keysteps": [],
                    "cameras": {},
                    "final": self.log.seen,
                    "versions": versions(),
                },
            )
            return self._directory.commit()


def turn_facts(env: Env, turn: Turn, interface: Interface) -> dict[str, Any]:
    """Return the columns with the outcome of a turn."""
    holds, terms = status(env)
    return {
        "ok": turn.ok,
        "code": turn.code,
        "message": turn_message(interface, turn),
        "reward": turn.reward,
        "progress": turn.progress,
        "success": turn.success,
        "holds": holds,
        "terms": terms,
    }


def status(env: Env) -> tuple[list[bool], list[float]]:
    """Return for each node of the goal whether it holds, and its reward."""
    if isinstance(env, RecordableEnv):
        holds, terms = env.goal_status()
        return [bool(value) for value in holds], [float(value) for value in terms]
    found = list(outcomes(env.goal, env.outcome))
    return [bool(o.holds[0]) for o in found], [float(o.reward[0]) for o in found]


def look(env: Env, views: Sequence[str], images: Sequence[str]) -> Mapping[str, Any]:
    """Return views by name: images (H, W, 3) uint8 of ``capture``, others of the environment's
    ``look``.
    """
    others = [view for view in views if view not in images]
    shown = {**(env.capture() if images else {}), **(env.look(others) if others else {})}
    return {view: shown[view] for view in views}


def state_json(env: Env) -> str:
    """Return the state of a symbolic world as JSON; empty for arms."""
    if isinstance(env, RecordableEnv):
        return ""
    return json.dumps(np.asarray(env.get_state()).tolist())


def encoded(pixels: np.ndarray) -> bytes:
    """Return an image (H, W, 3) uint8 as PNG, numbers (H, W) float32 as lossless TIFF."""
    if pixels.dtype == np.uint8:
        return encode_image(pixels[..., :3], "PNG")
    return encode_image(pixels, "TIFF", compression="tiff_deflate")
