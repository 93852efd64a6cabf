"""Language columns of LeRobot 0.6, filled with ground truth; see ``docs/formats.md``.

``language_persistent`` has texts that are valid from a timestamp until the next one of their style,
repeated on every frame. ``language_events`` has questions and answers on single frames, once a
second for each camera, at most one question per frame.
"""

import json
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa

from clevrskills.dataset_tools.dataset import Episode
from clevrskills.dataset_tools.export.lerobot.features import image_key, task_sentences

SEEN = 0.1
"""Visible share from which an object counts as visible."""
WHOLE = 0.95
"""Visible share from which an object counts as fully visible."""
_WORDS = [("role", pa.string()), ("content", pa.string()), ("style", pa.string())]
_REST = [("camera", pa.string()), ("tool_calls", pa.list_(pa.string()))]
PERSISTENT = pa.list_(pa.struct([*_WORDS, ("timestamp", pa.float32()), *_REST]))
EVENTS = pa.list_(pa.struct([*_WORDS, *_REST]))


def with_language(rows: pa.Table, episode: Episode) -> pa.Table:
    """Return the frames of an episode with the two columns."""
    persistent = pa.array([persistent_rows(episode)], PERSISTENT).values
    count, each = len(rows), len(persistent)
    broadcast = pa.ListArray.from_arrays(
        pa.array(np.arange(count + 1) * each, pa.int32()),
        persistent.take(pa.array(np.tile(np.arange(each), count))),
    )
    events = event_rows(episode)
    found = pa.array([events.get(step, []) for step in range(count)], EVENTS)
    return rows.append_column("language_persistent", broadcast).append_column(
        "language_events", found
    )


def _row(role: str, style: str, content: str, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, "style": style, **more}


def persistent_rows(episode: Episode) -> list[dict[str, Any]]:
    """Return the persistent texts in the order of their timestamps."""
    segments = episode.segments["subtask"]
    runs = [(text, next(run)) for text, run in groupby(segments, key=lambda run: run["plain"])]
    reached = [key for key in episode.keysteps if key["subgoal"] is not None]
    names = {node["leaf"]: node["plain"] for node in episode.nodes if node["leaf"] is not None}
    asked = task_sentences(episode)
    rows = [_row("user", "task_aug", text, timestamp=0.0) for text in asked if len(asked) > 1]
    for number, (text, run) in enumerate(runs):
        timestamp = float(np.float32(run["start"] / episode.info["fps"]))
        coming = enumerate((later for later, _ in runs[number:]), start=1)
        plan = "\n".join(f"{place}. {later}" for place, later in coming)
        rows.append(_row("assistant", "subtask", text, timestamp=timestamp))
        rows.append(_row("assistant", "plan", plan, timestamp=timestamp))
        done = [names[key["subgoal"]] for key in reached if key["step"] <= run["start"]]
        if done:
            memory = f"Done: {'; '.join(done)}."
            rows.append(_row("assistant", "memory", memory, timestamp=timestamp))
    return rows


def event_rows(episode: Episode) -> dict[int, list[dict[str, Any]]]:
    """Return questions and answers by frame, once a second for each camera."""
    events: dict[int, list[dict[str, Any]]] = {}
    names = [str(each["name"]) for each in episode.objects]
    cameras, fps = episode.cameras if names else (), int(episode.info["fps"])
    for order, camera in enumerate(cameras):
        boxes, visible = episode.boxes(camera), episode.visible(camera)
        # lerobot 0.6.1 supports one question per frame, for any camera
        steps = range(order * fps // len(cameras), len(episode), fps)
        for number, step in enumerate(steps, start=order):
            question, answer = _ask(number, names, boxes[step], visible[step])
            content = {"user": question, "assistant": json.dumps(answer, ensure_ascii=False)}
            events[step] = [
                _row(role, "vqa", text, camera=image_key(camera)) for role, text in content.items()
            ]
    return events


def _ask(
    number: int, names: list[str], boxes: np.ndarray, visible: np.ndarray
) -> tuple[str, dict[str, Any]]:
    """Return a numbered question with its answer; boxes are (K, 4), visible shares (K,)."""
    visible_ones = [index for index in range(len(names)) if visible[index] >= SEEN]
    turn, kind = divmod(number, 3)
    if kind == 0:
        detections = [
            {"label": names[index], "bbox_format": "xyxy", "bbox": boxes[index].tolist()}
            for index in visible_ones
        ]
        return "Where are the objects that can be seen?", {"detections": detections}
    if kind == 1:
        return "How many objects can be seen?", {"label": "object", "count": len(visible_ones)}
    index = turn % len(names)
    share = float(visible[index])
    words = "fully visible" if share >= WHOLE else "partly visible"
    answer = {
        "label": names[index],
        "attribute": "visibility",
        "value": words if share >= SEEN else "not visible",
        "note": f"{share:.0%} of it",
    }
    return f"How much of the {names[index]} can be seen?", answer
