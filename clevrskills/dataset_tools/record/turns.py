"""Turns: records an episode of a suite whose policies act in words, one row for each turn."""

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from clevrskills.core.env_config import EnvConfig
from clevrskills.core.episode import episode_id
from clevrskills.core.goal.tree import nodes, outcomes
from clevrskills.core.interface import Turn
from clevrskills.core.rollout import Rollout
from clevrskills.core.suite import Environment, Episode, Oracle, Suite
from clevrskills.dataset_tools.layout import IMAGES_FILE, TURNS_FILE
from clevrskills.dataset_tools.record.camera_tracks import IMAGE_TYPE, spent
from clevrskills.dataset_tools.record.columns import OWNER
from clevrskills.dataset_tools.record.recorder import write_info
from clevrskills.dataset_tools.record.rollout import EpisodeResult
from clevrskills.jobs.files import PartialDirectory, storage_errors, to_json
from clevrskills.jobs.run_folder import versions

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


class TurnRecorder:
    """Records one episode of turns into ``<root>/<task>/<split>_<seed>``, which appears with
    :meth:`commit`; used as a context manager, what was not committed is removed.

    Args:
        root: The dataset.
        config: What the environment was made from; its ``cameras`` are the views that are images.
        episode: The episode.
        suite: Where the environment is from.
        views: Names of the views that are recorded.
        writer: Who writes, for what is left of interrupted writers.

    Attributes:
        times_s: CPU time by phase, so far: ``render`` (views), ``encode`` (images), ``write``.
    """

    def __init__(
        self,
        root: Path,
        config: EnvConfig,
        episode: Episode,
        suite: Suite,
        views: Sequence[str] = (),
        writer: str = "local",
    ) -> None:
        self.config, self.episode = config, episode
        self.times_s = {"render": 0.0, "encode": 0.0, "write": 0.0}
        final = root / episode_id(config.task, config.split, episode.seed)
        self._directory = PartialDirectory(root, final, writer)
        self.suite, self._views = suite, tuple(views)
        self._rows: list[dict[str, Any]] = []
        self._names: dict[bytes, str] = {}  # of the images, by content
        self._info: dict[str, Any] = {}
        self._seen: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._directory.discard()

    def __len__(self) -> int:
        """Number of turns recorded so far."""
        return len(self._rows)

    def start(self, env: Environment) -> None:
        """Record what is seen after the reset, the prompt, the goal and the episode."""
        self._info = {
            "task": self.config.task,
            "level": env.task.level,
            "split": self.config.split,
            "seed": self.episode.seed,
            "robot": self.config.robot,
            "criteria": self.config.criteria,
            "task_args": dict(self.config.task_args),
            "prompt": {
                "text": env.prompt.text,
                "plain": env.prompt.plain(),
                "images": {},
                "data": env.prompt.to_json(),
                "about": dict(getattr(env.prompt, "about", {})),
            },
            "nodes": [
                {
                    "path": node.path,
                    "predicate": node.predicate.name,
                    "depth": node.depth,
                    "leaf": node.leaf,
                    "text": (text := node.predicate.describe(getattr(env, "world", None))),
                    "plain": env.prompt.plain(text),
                }
                for node in nodes(env.goal)
            ],
            "objects": [],
            "limit": env.limit,
            "episode": self.episode.to_json(),
            "content_hash": self.episode.content_hash,
        }
        self._seen = self._look(env)

    def record(self, env: Environment, action: Any, oracle: Oracle, turn: Turn) -> None:
        """Record a turn that was just taken.

        Args:
            env: The environment, after the turn.
            action: The action: text, or numbers.
            oracle: What gave it, with its labels.
            turn: What came of it.
        """
        before, start = self._seen, self._rows[-1]["step_stop"] if self._rows else 0
        told = turn_facts(env, turn, self.suite)
        self._rows.append(
            {
                "turn": len(self._rows),
                "action": action if isinstance(action, str) else to_json(action),
                "pose": None,
                **told,
                "subtask": env.prompt.plain(oracle.subtask),
                "instruction": env.prompt.plain(oracle.step),
                "predicate": oracle.predicate,
                "attempt": oracle.attempt,
                "failed": bool(getattr(oracle, "mistaken", False)),
                "step_start": start,
                "step_stop": start + turn.steps,
                **before,
            }
        )
        self._seen = self._look(env)

    def commit(self, success: bool) -> Path:
        """Complete the files and move the episode into place; returns its directory."""
        whose = {
            "episode": episode_id(self.config.task, self.config.split, self.episode.seed),
            **{name: self._info[name] for name in ("task", "split", "seed")},
        }
        path = self._directory.path
        with spent(self.times_s, "write"), storage_errors(self._directory.final):
            rows = [{**whose, **row} for row in self._rows]
            table = pa.Table.from_pylist(rows, pa.schema(list(COLUMNS.items())))
            pq.write_table(table, path / TURNS_FILE, compression="zstd")
            if self.config.cameras:
                images = [
                    {"name": name, "image": {"bytes": data, "path": f"{name}.png"}}
                    for data, name in self._names.items()
                ]
                schema = pa.schema([("name", pa.string()), ("image", IMAGE_TYPE)])
                table = pa.Table.from_pylist(images, schema)
                pq.write_table(table, path / IMAGES_FILE, compression="none")
            write_info(
                path,
                {
                    **self._info,
                    "success": success,
                    "steps": self._rows[-1]["step_stop"],
                    "turns": len(self._rows),
                    "return": float(sum(row["reward"] for row in self._rows)),
                    "segments": {},
                    "keysteps": [],
                    "cameras": {},
                    "final": self._seen,
                    "versions": versions(),
                },
            )
            return self._directory.commit()

    def _look(self, env: Environment) -> dict[str, str]:
        """State, names of images and texts, all as JSON."""
        with spent(self.times_s, "render"):
            shown = look(env, self._views, self.config.cameras)
        names, texts = {}, {}
        with spent(self.times_s, "encode"):
            for view, content in shown.items():
                if isinstance(content, str):
                    texts[view] = content
                else:
                    name = f"turns/{len(self._rows):03d}/{view}"
                    names[view] = self._names.setdefault(png(content), name)
        return {"state": state_json(env), "views": to_json(names), "texts": to_json(texts)}


def rollout_turns(
    env: Environment, oracle: Oracle, recorder: TurnRecorder, interface: str | None = None
) -> EpisodeResult:
    """Run the oracle through the recorder's episode until success, failure or the limit of turns.

    Returns:
        How it went; ``steps`` are turns. Committing is left to the caller.
    """
    times_s = recorder.times_s
    with spent(times_s, "reset"):
        env.reset(seed=recorder.episode.seed, options={"episode": recorder.episode})
        oracle.reset()
    recorder.start(env)
    episode = Rollout(env, actuator=recorder.suite.interface(interface).begin(env))

    def act() -> Any:
        with spent(times_s, "plan"):
            return oracle.act()

    def record(action: Any, turn: Turn) -> None:
        recorder.record(env, action, oracle, turn)

    reason, kind = episode.run(act, record)
    reward = episode.total_reward
    return EpisodeResult(episode.success, episode.turns, reward, reason, kind, times_s)


def turn_facts(env: Environment, turn: Turn, suite: Suite) -> dict[str, Any]:
    """What is recorded of what came of a turn, by column."""
    found = list(outcomes(env.goal, env.outcome))
    return {
        "ok": turn.ok,
        "code": turn.code,
        "message": suite.phrasebook().message(turn),
        "reward": turn.reward,
        "progress": turn.progress,
        "success": turn.success,
        "holds": [bool(outcome.holds[0]) for outcome in found],
        "terms": [float(outcome.reward[0]) for outcome in found],
    }


def look(env: Any, views: Sequence[str], images: Sequence[str]) -> Mapping[str, Any]:
    """Views by name, in this order: images (H, W, 3) uint8 as :meth:`capture` gives them, or what
    the environment's ``look`` says.
    """
    others = [view for view in views if view not in images]
    shown = {**(env.capture() if images else {}), **(env.look(others) if others else {})}
    return {view: shown[view] for view in views}


def state_json(env: Environment) -> str:
    """The state of an environment as JSON."""
    return json.dumps(np.asarray(env.get_state()).tolist())


def png(pixels: np.ndarray) -> bytes:
    """An image (H, W, 3) uint8 as PNG."""
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels[..., :3])).save(buffer, "PNG")
    return buffer.getvalue()
