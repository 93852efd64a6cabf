"""Packed episodes: as few bytes of JSON data as frozen files need; what follows from the rest is
left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import atan2, cos, sin
from typing import Any

import numpy as np

from clevrskills.envs.episode import layout_to_json, read_layout
from clevrskills.sim.body import Body, Pose
from clevrskills.tasks import task as make_task
from clevrskills.tasks.base import Task
from clevrskills.tasks.layout import Layout

PLACE_DIGITS, TURN_DIGITS = 4, 3
"""Decimals of places in meters and of turns in radians."""
PACKED = "packed"
_USUAL: Mapping[str, Any] = {
    "qualifier": "",
    "ghost": False,
    "static": False,
    "hinge": None,
    "density": None,
    "noun": "",
}
_SHORT = {"shape": "s", "texture": "t", "size": "z", "pose": "p"}


def upright(pose: Pose) -> Pose:
    """Return the pose of an upright body on the grid of places and turns that is kept of it."""
    x, y, z, w, _, _, turn = pose
    return _pose([*(round(v, PLACE_DIGITS) for v in (x, y, z)), _yaw(w, turn)])


def _yaw(w: float, z: float) -> float:
    return round(2 * atan2(z, w), TURN_DIGITS)


def _pose(values: list[float]) -> Pose:
    x, y, z, yaw = values
    return (x, y, z, cos(yaw / 2), 0.0, 0.0, sin(yaw / 2))


def pack(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an episode as JSON data, packed; as it is if :func:`unpack` would not give it back."""
    try:
        packed = _pack(data)
        return packed if unpack(packed) == data else data
    except (KeyError, ValueError, TypeError, IndexError):
        return data


def _pack(data: Mapping[str, Any]) -> dict[str, Any]:
    layout, prompt = data["layout"], data["prompt"]
    bodies = [body and _packed_body(body) for body in layout["bodies"]]
    roles = {name: role.tolist() for name, role in read_layout(layout).roles.items()}
    named = [data[name] for name in ("task", "split", "index", "seed", "robot")]
    asked = [prompt["text"], prompt["wording"]["index"]]
    return {PACKED: named, "bodies": bodies, "roles": roles, "prompt": asked}


def _packed_body(body: Mapping[str, Any]) -> dict[str, Any]:
    x, y, z, w, _, _, turn = body["pose"]
    found = {name: body.get(name, usual) for name, usual in _USUAL.items()}
    found = {name: value for name, value in found.items() if value != _USUAL[name]}
    of_shape = {_SHORT[name]: body[name] for name in ("shape", "texture", "size")}
    return {**of_shape, **found, "p": [x, y, z, _yaw(w, turn)]}


def unpack(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an episode as JSON data, as :func:`pack` was given it; what is not packed as it is.

    Raises:
        ValueError, KeyError, TypeError, IndexError: It is damaged.
    """
    if PACKED not in data:
        return data
    key, split, index, seed, robot = data[PACKED]
    task = make_task(key)
    bodies = [
        body and _body(slot, body) for slot, body in zip(task.slots, data["bodies"], strict=True)
    ]
    layout = Layout(tuple(bodies), {name: np.array(of) for name, of in data["roles"].items()})
    text, number = data["prompt"]
    return {
        "task": key,
        "split": split,
        "index": data.get("index", index),
        "seed": seed,
        "robot": robot,
        "task_args": {},
        "layout": layout_to_json(layout),
        "prompt": _prompt(task, layout, text, number),
    }


def _body(slot: str, packed: Mapping[str, Any]) -> Body:
    values = {**_USUAL, **{name: packed[name] for name in packed if name in _USUAL}}
    values |= {name: packed[short] for name, short in _SHORT.items()}
    return Body.from_json({**values, "key": slot, "pose": _pose(packed["p"])})


def _prompt(task: Task, layout: Layout, text: str, number: int) -> dict[str, Any]:
    """Return the prompt in a wording, and in the others of its kind."""
    wordings = task.wordings(layout)
    own = wordings[number]
    others = [w for w in wordings if w.held_out == own.held_out and w.text != own.text]
    return {
        "text": text,
        "others": [wording.text for wording in others],
        "names": [wording.names for wording in (own, *others)],
        "wording": {"index": number, "style": own.style, "held_out": own.held_out},
        "keysteps": [],
    }
