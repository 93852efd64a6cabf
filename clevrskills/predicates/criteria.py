"""Tolerances of the success criteria.

The paper and its released code disagree on some numbers; ``paper`` is the default and stricter.
"""

from dataclasses import dataclass
from math import inf, radians

from clevrskills.errors import UnknownNameError


@dataclass(frozen=True)
class Criteria:
    """Tolerances of the predicates."""

    name: str  # key of this table
    pick_clearance_m: float = 0.02  # distance of a picked object from everything else
    # greatest speed of the gripper with a picked object; not in the paper, prevents picks by chance
    pick_speed_m_per_s: float = 0.2
    support_share: float = 0.5  # least share of an object's weight carried by the body below
    release_distance_m: float = 0.002  # least distance of the suction cups from a released object
    inside_overhang_m: float = 0.01  # greatest overhang of an object beyond its area
    position_m: float = 0.05  # horizontal distance to a target position
    angle_rad: float = radians(5.0)  # rotation away from a target orientation
    any_direction: bool = False  # whether the direction of a rotation is ignored
    end_effector_m: float = 0.05  # distance of the tool center point from a position
    # distance of the tool center point in m plus norm of the difference of the quaternions
    end_effector_pose: float = 0.05
    touch_displacement_m: float = 0.03  # greatest displacement of a touched object
    # greatest rotation of a touched object, from the released code; not in the paper
    touch_turn_rad: float = 0.1 * radians(180.0)
    # speed at which a touch is a strike, see :meth:`~clevrskills.sim.world.World.strike_speed`; the
    # paper requires a gentle touch without a number
    touch_speed_m_per_s: float = 0.7
    push_displacement_m: float = 0.10  # least displacement of a touched and pushed object
    topple_angle_rad: float = radians(45.0)  # least tilt of a toppled object
    topple_displacement_m: float = 0.0  # least displacement of a toppled object
    push_gain: float = 0.3  # least share of the distance covered by a push
    # end of that distance on the way to the other object; the midpoint in the released code
    push_target_share: float = 1.0
    pushed_position_m: float = 0.03  # horizontal distance to the target position of a push
    # least horizontal flight of a thrown object; not in the paper, any contact in the released code
    fly_distance_m: float = 0.15
    # greatest horizontal flight of an object that is set down; in neither of them
    fling_distance_m: float = 0.15
    # tilt of a balanced scale; the released code accepts all but the last degree before the stops
    tilt_rad: float = radians(2.0)


PAPER = Criteria("paper")
RELEASED = Criteria(
    "released",
    pick_speed_m_per_s=inf,
    release_distance_m=-inf,
    inside_overhang_m=inf,
    angle_rad=0.1 * radians(180.0),
    any_direction=True,
    fling_distance_m=inf,
    end_effector_pose=0.15,
    touch_displacement_m=0.10,
    touch_speed_m_per_s=inf,
    topple_displacement_m=0.10,
    push_target_share=0.5,
    fly_distance_m=0.0,
    tilt_rad=radians(14.0),
)
CRITERIA = {c.name: c for c in (PAPER, RELEASED)}
"""Tolerances by name."""


def criteria(name: str) -> Criteria:
    """Return the tolerances with a name.

    Raises:
        UnknownNameError: There are none with this name.
    """
    if name not in CRITERIA:
        raise UnknownNameError("criteria", name, tuple(CRITERIA))
    return CRITERIA[name]
