"""Interfaces of six numbers: pick and place in the world, or in pixels of the map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import pi
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from clevrskills.core.interface import BoxInterface, Codes, check_spec
from clevrskills.core.policy import ActionError, TextAction
from clevrskills.sim.setting import Workspace
from clevrskills.solvers.requirements import require_planner
from clevrskills.suites.lohoravens.interfaces.actuator import CODES, PickPlaceActuator, Request
from clevrskills.suites.lohoravens.move import Move
from clevrskills.suites.lohoravens.setting import FIELD, MAP, PIXEL_M

TURNS = 36
"""Number of angles in a full turn, in pixel actions."""
NOWHERE_M, NOWHERE_PX = 10.0, -1000
"""Coordinates outside the field and the map."""


@dataclass(frozen=True)
class PoseInterface:
    """A pick and a place in the world: x, y and angle each; nothing is clipped."""

    name: str  # name of the interface
    spec: Mapping[str, Any]  # meaning of the numbers
    sentence: str  # meaning of the numbers, in words
    labels: Sequence[str]  # short names of the numbers
    codes: ClassVar[Codes] = CODES

    def read(self, answer: Any, clip: bool = True) -> NDArray[Any]:
        """Return the actions of an answer, (H, 6); a text has six numbers separated by blanks.

        Raises:
            ActionError: It is something else, or not finite.
        """
        if isinstance(answer, TextAction):  # ``done``
            answer = self.none()
        if isinstance(answer, str):
            try:
                answer = [float(word) for word in answer.split()]
            except ValueError:
                raise ActionError(f"{answer!r} is no action; allowed: six numbers") from None
        found = BoxInterface(self.name, self.spec).numbers(answer).astype(np.float64)
        if not np.isfinite(found).all():
            raise ActionError("an entry of an action is not a number")
        return found

    def check(self, theirs: Mapping[str, Any], policy_name: str) -> None:
        """Check the declaration of a policy against :attr:`spec`, field by field."""
        check_spec(self.spec, theirs, policy_name)

    def begin(self, env: Any) -> PickPlaceActuator:
        """Return the actuator of the actions.

        Raises:
            ClevrSkillsError: The planner is not installed or cannot run.
        """
        require_planner()
        return PickPlaceActuator(env, self.request)

    def request(self, action: NDArray[Any], env: Any) -> Request:
        """Return the pick and place of an action (6,)."""
        return Request(Move.of(action.tolist()))

    def none(self, after: Any = None) -> NDArray[Any]:
        """Return a pick far outside the field, (6,)."""
        return np.array([NOWHERE_M, NOWHERE_M, 0.0] * 2)

    @property
    def bounds(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Least and greatest numbers of picks and places in the field, (6,) each."""
        low, high = ([FIELD.x_m[k], FIELD.y_m[k], (-pi, pi)[k]] for k in range(2))
        return np.array(low * 2), np.array(high * 2)

    def random(self, generator: np.random.Generator) -> NDArray[Any]:
        """Return a random pick and place in the field, (6,)."""
        return generator.uniform(*self.bounds)


@dataclass(frozen=True)
class PixelInterface(PoseInterface):
    """A pick and a place in the map: row, column and number of the angle each."""

    def read(self, answer: Any, clip: bool = True) -> NDArray[Any]:
        """Return the actions of an answer, (H, 6) integers.

        Raises:
            ActionError: It is something else, or not whole.
        """
        found = super().read(answer, clip)
        if (found != np.rint(found)).any():
            raise ActionError("an entry of an action is not a whole number; allowed: pixels, turns")
        return found

    def request(self, action: NDArray[Any], env: Any) -> Request:
        """Return the pick and place of an action (6,)."""
        return Request(Move.of([*_world(action[:3]), *_world(action[3:])]))

    def none(self, after: Any = None) -> NDArray[Any]:
        """Return a pick far outside the map, (6,)."""
        return np.array([NOWHERE_PX, NOWHERE_PX, 0] * 2)

    @property
    def bounds(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Least and greatest numbers of picks and places in the map, (6,) each."""
        assert MAP.width_px is not None
        high = np.array([MAP.size_px, MAP.width_px, TURNS] * 2) - 1
        return np.zeros_like(high), high

    def random(self, generator: np.random.Generator) -> NDArray[Any]:
        """Return a random pick and place in the map, (6,)."""
        return generator.integers(*self.bounds, endpoint=True)


def _world(pixel: NDArray[Any], field: Workspace = FIELD) -> tuple[float, float, float]:
    """Return the world x and y of the middle of a pixel, and the angle in rad."""
    row, column, turn = map(float, pixel)
    x, y = field.x_m[0] + (row + 0.5) * PIXEL_M, field.y_m[0] + (column + 0.5) * PIXEL_M
    return x, y, turn % TURNS * (2 * pi / TURNS)


def pixel_of(place: Sequence[float], field: Workspace = FIELD) -> tuple[int, int, int]:
    """Return row, column and number of the angle nearest to a world x, y and angle in rad."""
    x, y, yaw = map(float, place)
    row, column = (int((v - low) // PIXEL_M) for v, low in ((x, field.x_m[0]), (y, field.y_m[0])))
    return row, column, round(yaw * TURNS / (2 * pi)) % TURNS


PICK_PLACE = PoseInterface(
    "pick_place",
    {
        "shape": [6],
        "frame": "world",
        "parts": [
            {"name": "pick", "indices": [0, 1, 2], "units": "m, m, rad"},
            {"name": "place", "indices": [3, 4, 5], "units": "m, m, rad"},
        ],
        "field_x_m": list(FIELD.x_m),
        "field_y_m": list(FIELD.y_m),
    },
    "six numbers: x, y and turn of the pick, then of the place, in meters and radians",
    ("pick x", "pick y", "pick turn", "place x", "place y", "place turn"),
)
PICK_PLACE_PIXELS = PixelInterface(
    "pick_place_pixels",
    {
        "shape": [6],
        "frame": "map",
        "parts": [
            {"name": "pick", "indices": [0, 1, 2], "units": "row, column, turn"},
            {"name": "place", "indices": [3, 4, 5], "units": "row, column, turn"},
        ],
        "height_px": MAP.size_px,
        "width_px": MAP.width_px,
        "pixel_m": PIXEL_M,
        "turns": TURNS,
    },
    "six whole numbers: row, column and number of the turn (10 degrees each) of the pick, then of "
    "the place, in the map",
    ("pick row", "pick column", "pick turn", "place row", "place column", "place turn"),
)
