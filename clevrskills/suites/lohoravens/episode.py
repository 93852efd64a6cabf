"""Episodes of LoHoRavens: limits, tags, and the packed form in frozen files.

A packed episode leaves out what follows from the task and the layout.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from math import atan2, cos, sin
from typing import Any, Self

import numpy as np

from clevrskills.envs.episode import EpisodeSpec, layout_to_json, read_layout
from clevrskills.sim.body import Body, Pose
from clevrskills.suites.lohoravens import CATALOG
from clevrskills.tasks import task as make_task
from clevrskills.tasks.base import Task
from clevrskills.tasks.layout import Layout

PRIMITIVE_TURNS = 3
"""Limit of turns of a primitive."""
_BINS = ((1, "1"), (3, "2-3"), (5, "4-5"), (8, "6-8"))
PLACE_DIGITS, TURN_DIGITS = 4, 3
"""Decimals of positions in meters and of angles in radians."""
PACKED = "packed"
_USUAL: Mapping[str, Any] = {
    "qualifier": "",
    "ghost": False,
    "static": False,
    "hinge": None,
    "density": None,
    "noun": "",
}
_SHORT = {"s": "shape", "t": "texture", "z": "size"}


def turn_limit(level: str, n_min: int) -> int:
    """Return the limit of turns of an episode: 2 n_min + 4, or 3 for a primitive."""
    return PRIMITIVE_TURNS if level == "primitive" else 2 * n_min + 4


def moves_bin(n_min: int) -> str:
    """Return the bin of a number of moves in tables, e.g. ``4-5``."""
    return next((name for most, name in _BINS if n_min <= most), "9+")


def tags_of(task: str) -> dict[str, Any]:
    """Return the tags by which reports group the episodes of a task, as JSON data."""
    row = CATALOG[task]
    count = len(row["capabilities"])
    return {
        "capabilities": [*row["capabilities"]],
        "capability_count": count,
        "family": row["family"],
    }


class RavensEpisode(EpisodeSpec):
    """An episode of the suite."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read the output of :meth:`to_json` or :meth:`pack`."""
        return super().from_json(unpack(data))

    def pack(self) -> Mapping[str, Any]:
        return pack(self.to_json())

    @property
    def n_min(self) -> int:
        """Least number of moves."""
        return int(self.layout.roles["n_min"])

    @property
    def planned_turns(self) -> tuple[int, int]:
        return self.n_min, self.limit

    @cached_property
    def limit(self) -> int:  # type: ignore[override]
        """Limit of turns."""
        return turn_limit(CATALOG[self.task]["level"], self.n_min)

    @cached_property
    def tags(self) -> Mapping[str, Any]:  # type: ignore[override]
        """Tags for tables: capabilities and their number, family, ``n_min`` and its bin."""
        return {**tags_of(self.task), "n_min": self.n_min, "moves": moves_bin(self.n_min)}


def upright(pose: Pose) -> Pose:
    """Return the pose of an upright body, rounded as in packed episodes."""
    x, y, z, w, _, _, turn = pose
    return _pose([*(round(v, PLACE_DIGITS) for v in (x, y, z)), _yaw(w, turn)])


def _yaw(w: float, z: float) -> float:
    return round(2 * atan2(z, w), TURN_DIGITS)


def _pose(values: list[float]) -> Pose:
    x, y, z, yaw = values
    return (x, y, z, cos(yaw / 2), 0.0, 0.0, sin(yaw / 2))


def pack(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the packed JSON data of an episode, or ``data`` if :func:`unpack` would not restore
    it.
    """
    try:
        layout, prompt = data["layout"], data["prompt"]
        roles = {name: role.tolist() for name, role in read_layout(layout).roles.items()}
        packed = {
            PACKED: [data[name] for name in ("task", "split", "index", "seed", "robot")],
            "bodies": [body and _packed_body(body) for body in layout["bodies"]],
            "roles": roles,
            "prompt": [prompt["text"], prompt["wording"]["index"]],
        }
        return packed if unpack(packed) == data else data
    except (KeyError, ValueError, TypeError, IndexError):
        return data


def _packed_body(body: Mapping[str, Any]) -> dict[str, Any]:
    x, y, z, w, _, _, turn = body["pose"]
    short = {name: body[key] for name, key in _SHORT.items()}
    found = {name: body[name] for name, usual in _USUAL.items() if body.get(name, usual) != usual}
    return {**short, **found, "p": [x, y, z, _yaw(w, turn)]}


def unpack(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the JSON data of an episode, packed or not.

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
    return {
        "task": key,
        "split": split,
        "index": data.get("index", index),
        "seed": seed,
        "robot": robot,
        "task_args": {},
        "layout": layout_to_json(layout),
        "prompt": _prompt(task, layout, *data["prompt"]),
    }


def _body(slot: str, packed: Mapping[str, Any]) -> Body:
    values = {**_USUAL, **{name: packed[name] for name in packed if name in _USUAL}}
    values |= {name: packed[short] for short, name in _SHORT.items()}
    return Body.from_json({**values, "key": slot, "pose": _pose(packed["p"])})


def _prompt(task: Task, layout: Layout, text: str, number: int) -> dict[str, Any]:
    """Return the prompt with a wording, and the other wordings of its kind."""
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
