"""Captions: descriptions of the field in words.

Bodies that were covered at the start are not mentioned until they are uncovered.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection

import numpy as np

from clevrskills.envs.recorder_view import RecorderView
from clevrskills.suites.lohoravens.field import MOVED_M, FieldBody, FieldView
from clevrskills.tasks.leaf_slots import listed

CAPTIONS = ("caption_objects", "caption_positions", "caption_change")
"""Views in words: the number of bodies of each color and kind; in addition, where each is; in
addition, what moved in the last turn."""
_STATEMENT = re.compile(
    r"^[*\- ]*(The (?:smaller |bigger )?\w+ (?:block|box|bowl|zone) is in the [a-z]+ [a-z]+ area"
    r"[^.\n]*\.)",
    re.MULTILINE | re.IGNORECASE,
)


class CaptionState:
    """Memory of captions in an episode.

    Args:
        env: The environment, at the start of the episode.

    Attributes:
        hidden_at_start: Keys of the bodies covered at the start.
        covering_at_start: The bodies on top of them.
    """

    def __init__(self, env: RecorderView) -> None:
        scene = FieldView(env)
        self.hidden_at_start = {body.key for body in scene.movable if scene.covered(body)}
        self.covering_at_start = [body for body in scene.movable if scene.stacked(body)]
        self._hidden = self.hidden_at_start
        self._before: dict[str, np.ndarray] = {}
        self._places: dict[str, str] = {}

    def note(self, env: RecorderView) -> None:
        """Record positions and uncovered bodies at the beginning of a turn."""
        scene = self._look(env)
        self._before = {body.key: scene.xy(body.slot) for body in scene.movable}
        self._places = {
            body.key: position_text(scene, body, self._hidden) for body in scene.movable
        }

    def _look(self, env: RecorderView) -> FieldView:
        """Return the present scene; bodies that are uncovered in it are no longer hidden."""
        scene = FieldView(env)
        self._hidden = self._hidden & {t.key for t in scene.movable if scene.covered(t)}
        return scene

    def caption(self, env: RecorderView, view: str) -> str:
        """Return a caption of the present scene, one of :data:`CAPTIONS`."""
        scene = self._look(env)
        seen = [body for body in scene.bodies if body.key not in self._hidden]
        lines = [counted(seen)]
        if view != CAPTIONS[0]:
            lines += [f"The {_name(t)} is {position_text(scene, t, self._hidden)}." for t in seen]
        if view == CAPTIONS[2]:
            lines.append(self._changes(scene, seen))
        return "\n".join(lines)

    def _changes(self, scene: FieldView, seen: list[FieldBody]) -> str:
        """Return sentences on the bodies that moved since the last turn began."""
        moved = (
            f"The {_name(body)} has moved: it was {self._places[body.key]} and is now "
            f"{position_text(scene, body, self._hidden)}."
            for body in seen
            if body.key in self._before
            and np.hypot(*(scene.xy(body.slot) - self._before[body.key])) > MOVED_M
        )
        return " ".join(moved) or "Nothing has moved."


def true_statements(report: str, truth: str) -> tuple[int, int]:
    """Return the number of true statements of a report, and of all its statements.

    Args:
        report: The report; phrases in the form of a caption's lines are statements.
        truth: A caption with positions.
    """
    statements = _STATEMENT.findall(report)
    known = {line.lower() for line in _STATEMENT.findall(truth)}
    return sum(line.lower() in known for line in statements), len(statements)


def counted(bodies: list[FieldBody]) -> str:
    """Return a sentence with the number of bodies of each size, color and kind."""
    names = Counter(_name(body) for body in bodies)
    plural = {name: f"{name}es" if name.endswith("x") else f"{name}s" for name in names}
    parts = [f"{count} {plural[name] if count > 1 else name}" for name, count in names.items()]
    if not parts:
        return "There is nothing on the table."
    verb = "is" if next(iter(names.values())) == 1 else "are"
    return f"There {verb} {listed(parts)}."


def position_text(scene: FieldView, body: FieldBody, hidden: Collection[str] = ()) -> str:
    """Return the area of a body and what it is on or in, except for hidden bodies."""
    area = f"in the {scene.area(body)} area"
    below = [
        ("in" if other.kind == "bowl" else "on", other)
        for other in scene.bodies
        if other.key not in hidden and scene.holds(body, other)
    ]
    if not below:
        return area
    return f"{area}, {listed([f'{word} the {_name(other)}' for word, other in below])}"


def _name(body: FieldBody) -> str:
    return f"{body.size} {body.name}" if body.kind == "block" else body.name
