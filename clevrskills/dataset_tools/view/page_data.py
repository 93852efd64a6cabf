"""JSON data of the page of an episode: rounded numbers, runs, images, videos."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from clevrskills.core.suite import step_interface
from clevrskills.dataset_tools.layout import DatasetError
from clevrskills.dataset_tools.record.columns import segments
from clevrskills.sim.render.images import encode_image

if TYPE_CHECKING:
    import pandas as pd

    from clevrskills.dataset_tools.dataset import Episode
    from clevrskills.jobs.files import StoredFile

PLACEHOLDER = re.compile(r"(\{\w+:\w+\})")
_IMAGE_PX = {"prompt": 128, "keystep": 224, "thumbnail": 96, "turn": 480}
_FACTS = ("task", "level", "split", "seed", "robot", "criteria", "success", "steps", "return")
_LANES = {
    "subtask": ("subtask", "subgoal", "attempt", "predicate"),
    "instruction": ("instruction", "failed", "skill", "attempt"),
    "action": ("action_class", "failed"),
}
_SIGNALS: dict[str, tuple[str, int, tuple[str, ...]]] = {
    "end effector (m)": ("ee_pose", 3, ("x", "y", "z")),
    "joints (rad)": ("qpos", 9, ()),
}


def facts(episode: Episode) -> dict[str, Any]:
    """Return the entry of an episode in lists, without its image."""
    info = episode.info
    return {
        "id": episode.id,
        **{name: info[name] for name in _FACTS},
        "steps": info["steps"] if episode.has_steps else info["turns"],
        "return": round(info["return"], 2),
        "plain": episode.prompt["plain"],
    }


def thumbnail(episode: Episode) -> bytes | None:
    """Return the last key-step, or the first view of the first turn, as a small JPEG, if any."""
    images = episode.keystep_images()
    if episode.has_turns and not images:
        images = [view for view in episode.views(0).values() if _is_image(view)][:1]
    return jpeg(images[-1], "thumbnail") if images else None


def contents(episode: Episode) -> dict[str, Any]:
    """Return all data of the page of an episode."""
    info, steps, images = episode.info, episode.steps, episode.images()
    return {
        **facts(episode),
        "fps": info["fps"],
        "prompt": _prompt_parts(episode, images),
        "cameras": {name: _camera(episode, name) for name in episode.cameras},
        "objects": episode.objects,
        "nodes": episode.nodes,
        "holds": [_true_runs(column) for column in np.stack(steps["holds"].to_numpy()).T],
        "terms": _rounded(np.stack(steps["terms"].to_numpy()).T, 3),
        "lanes": {
            **{name: _runs(steps, columns) for name, columns in _LANES.items()},
            "turn": turn_runs(episode),
        },
        "turns": lane(episode) if episode.has_turns else [],
        "flags": {name: _true_runs(steps[name]) for name in episode.flags},
        "reward": _rounded(steps["reward"], 4),
        "progress": _rounded(steps["progress"], 4),
        "signals": _signals(episode),
        "keysteps": _keysteps(episode, images),
        "events": info.get("events", []),
        "bodies": info["scene"].get("bodies", []),
        "goal": info["goal"],
        "versions": info["versions"],
    }


def lane(episode: Episode) -> list[dict[str, Any]]:
    """Return the turns of an episode with first control step and views before; the last entry is
    the end.
    """
    columns = ("turn", "action", "ok", "code", "message", "reward", "progress", "success")
    table = episode.turns.to_dict("records")
    rows = [
        {
            **{name: row[name] for name in columns},
            "step": row["step_start"],
            "goals": [
                {"plain": node["plain"], "holds": bool(holds)}
                for node, holds in zip(episode.nodes, row["holds"], strict=True)
                if node["leaf"] is not None
            ],
        }
        for row in table
    ]
    end = {"step": episode.info["steps"]}
    return [{**row, "views": _views(episode, k)} for k, row in enumerate([*rows, end])]


def _views(episode: Episode, turn: int) -> list[dict[str, str]]:
    """Return ``name`` and ``image`` or ``text`` of the views after ``turn`` turns."""
    return [
        {"name": name, "text": view}
        if isinstance(view, str)
        else {"name": name, "image": data_uri(jpeg(drawn(view), "turn"))}
        for name, view in episode.views(turn).items()
    ]


def drawn(view: np.ndarray) -> np.ndarray:
    """Return a view as an image (H, W, 3) uint8; numbers (H, W) scaled to their range."""
    if _is_image(view):
        return view
    low, span = float(view.min()), float(np.ptp(view)) or 1.0
    return np.repeat((255 * (view - low) / span).astype(np.uint8)[..., None], 3, axis=-1)


def _is_image(view: Any) -> bool:
    return isinstance(view, np.ndarray) and view.ndim == 3


def turn_runs(episode: Episode) -> list[dict[str, Any]]:
    """Return the control steps and command of each turn with control steps."""
    if not episode.has_turns:
        return []
    return [
        {
            "start": int(row["step_start"]),
            "stop": int(row["step_stop"]),
            "label": row["action"],
            "turn": int(row["turn"]),
            "code": row["code"],
            "failed": bool(row["failed"]),
        }
        for row in episode.turns.to_dict("records")
        if row["step_stop"] > row["step_start"]
    ]


def data_uri(jpeg: bytes) -> str:
    """Return a JPEG as a data URI."""
    return "data:image/jpeg;base64," + base64.b64encode(jpeg).decode()


def _runs(steps: pd.DataFrame, columns: Sequence[str]) -> list[dict[str, Any]]:
    """Return runs of steps with equal columns; ``label`` is the first column, ``failed`` is true if
    all steps failed.
    """
    rows = steps[list({*columns, "failed"})].to_dict("records")
    return [
        {
            "start": run["start"],
            "stop": run["stop"],
            "label": run[columns[0]],
            **{name: run[name] for name in columns[1:]},
            "failed": run.get("failed", False),
        }
        for run in segments(rows, columns)
    ]


def _true_runs(values: Any) -> list[list[int]]:
    """Return the ranges in which a flag is true, as ``[start, stop)``."""
    edges = np.diff(np.concatenate([[0], np.asarray(values).astype(int), [0]]))
    starts, stops = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    return [[int(a), int(b)] for a, b in zip(starts, stops, strict=True)]


def _camera(episode: Episode, name: str) -> dict[str, Any]:
    """Return video and, by frame, boxes (4 K) and visible percentages (K) of the objects."""
    camera = episode.info["cameras"][name]
    return {
        "width": camera["width"],
        "height": camera["height"],
        "video": _base64(episode.video_file(name)),
        "boxes": episode.boxes(name).reshape(len(episode) + 1, -1).tolist(),
        "visible": np.round(100 * episode.visible(name)).astype(int).tolist(),
    }


def _signals(episode: Episode) -> dict[str, dict[str, Any]]:
    """Return curves with ``names`` and ``values`` of their parts."""
    labels = list(step_interface(episode.suite).labels)
    found = {"action": {"names": labels, "values": _rounded(episode.actions.T, 3)}}
    for title, (column, count, names) in _SIGNALS.items():
        if column in episode.steps:
            values = episode.proprioception(column).reshape(len(episode) + 1, -1)[:, :count]
            parts = list(names) or [str(k + 1) for k in range(values.shape[1])]
            found[title] = {"names": parts, "values": _rounded(values.T, 3)}
    return found


def _keysteps(episode: Episode, images: Mapping[str, np.ndarray]) -> list[dict[str, Any]]:
    """Return key-steps with the subtasks that they complete."""
    subtasks = ["Start", *episode.steps["subtask"]]
    return [
        {
            "step": keystep["step"],
            "label": subtasks[keystep["step"]],
            "image": data_uri(jpeg(images[keystep["image"]], "keystep"))
            if keystep["image"]
            else None,
        }
        for keystep in episode.keysteps
    ]


def _prompt_parts(episode: Episode, images: Mapping[str, np.ndarray]) -> list[dict[str, str]]:
    """Return the prompt as ``{"text"}`` and ``{"image", "name"}`` entries."""
    prompt = episode.prompt
    found = {k: data_uri(jpeg(images[name], "prompt")) for k, name in prompt["images"].items()}
    names = {f"{{obj:{one['key']}}}": one["name"] for one in episode.objects}
    parts = (part for part in PLACEHOLDER.split(prompt["text"]) if part)
    return [
        {"image": found[p], "name": names.get(p, p.strip("{}"))} if p in found else {"text": p}
        for p in parts
    ]


def _rounded(values: Any, digits: int) -> list[Any]:
    rounded: list[Any] = np.round(np.asarray(values, np.float64), digits).tolist()
    return rounded


def jpeg(image: np.ndarray, use: str) -> bytes:
    """Return an image (H, W, 3) as JPEG in the size for its use."""
    from PIL import Image

    size = _IMAGE_PX[use]
    scaled = Image.fromarray(image)
    scaled.thumbnail((size, size))
    return encode_image(np.asarray(scaled), "JPEG", quality=88)


def _base64(file: StoredFile) -> str:
    try:
        return base64.b64encode(file.read()).decode()
    except OSError as error:
        raise DatasetError.of(file, error) from error
