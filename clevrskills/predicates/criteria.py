"""Tolerances of the success criteria, all in one place.

The paper and its released code disagree on some numbers. ``paper`` is the default and the stricter.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, radians

from clevrskills.errors import UnknownNameError


@dataclass(frozen=True)
class Criteria:
    """Tolerances of the predicates.

    Attributes:
        name: Key of this table.
        pick_clearance_m: Distance from everything else at which an object counts as picked.
        support_share: Share of an object's weight that the body below must carry.
        release_distance_m: Distance that the suction cups must keep from an object that is put
            down.
        inside_overhang_m: How far an object may reach over the edge of the area that it is in.
        position_m: Horizontal distance to a target position.
        angle_rad: Rotation away from a target orientation.
    """

    name: str
    pick_clearance_m: float = 0.02
    support_share: float = 0.5
    release_distance_m: float = 0.002
    inside_overhang_m: float = 0.01
    position_m: float = 0.05
    angle_rad: float = radians(5.0)


PAPER = Criteria("paper")
RELEASED = Criteria(
    "released", release_distance_m=-inf, inside_overhang_m=inf, angle_rad=0.1 * radians(180.0)
)
CRITERIA = {c.name: c for c in (PAPER, RELEASED)}


def criteria(name: str) -> Criteria:
    """Look up a table of tolerances.

    Raises:
        UnknownNameError: No table has this name.
    """
    if name not in CRITERIA:
        raise UnknownNameError("criteria", name, tuple(CRITERIA))
    return CRITERIA[name]
