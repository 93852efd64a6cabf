"""Tolerances of the success criteria, all in one place.

The paper and its released code disagree on some numbers. ``paper`` is the default and the stricter.
"""

from dataclasses import dataclass
from math import inf, radians

from clevrskills.errors import UnknownNameError


@dataclass(frozen=True)
class Criteria:
    """Tolerances of the predicates."""

    name: str  # key of this table
    # distance from everything else at which an object counts as picked
    pick_clearance_m: float = 0.02
    # speed that the gripper must stay below for what it holds to count as picked: the paper gives
    # none, but arms that flail about lift things by chance
    pick_speed_m_per_s: float = 0.2
    support_share: float = 0.5  # share of an object's weight that the body below must carry
    # distance that the suction cups must keep from an object that is put down
    release_distance_m: float = 0.002
    # how far an object may reach over the edge of the area that it is in
    inside_overhang_m: float = 0.01
    position_m: float = 0.05  # horizontal distance to a target position
    angle_rad: float = radians(5.0)  # rotation away from a target orientation
    any_direction: bool = False  # whether of a turn only the end counts, not the direction
    end_effector_m: float = 0.05  # distance of the tool centre point from a position
    # distance of the tool centre point in m plus norm of the difference of the quaternions
    end_effector_pose: float = 0.05
    touch_displacement_m: float = 0.03  # how far an object that is only touched may move
    # how far it may turn; the paper does not say, so as in the released code
    touch_turn_rad: float = 0.1 * radians(180.0)
    # speed of the gripper from which it strikes what it touches, see
    # :meth:`~clevrskills.sim.world.World.strike_speed`; the paper asks for a gentle touch and gives
    # no number, and the released code has none
    touch_speed_m_per_s: float = 0.7
    push_displacement_m: float = 0.10  # how far an object that is touched and pushed must move
    topple_angle_rad: float = radians(45.0)  # tilt from which an object has fallen over
    # how far a toppled object must move; the paper does not ask for it
    topple_displacement_m: float = 0.0
    push_gain: float = 0.3  # share of the distance by which a push must bring an object nearer
    # share of the way to the other object at which that distance ends; the released code measures
    # it to the midpoint
    push_target_share: float = 1.0
    pushed_position_m: float = 0.03  # horizontal distance to a place that an object is pushed to
    # how far a thrown object must fly horizontally before it hits; the paper does not say, and the
    # released code accepts any contact
    fly_distance_m: float = 0.15
    # how far an object that is set down may fly horizontally, as it is let go; neither the paper
    # nor the released code says anything of it
    fling_distance_m: float = 0.15
    # tilt of a scale that is in balance; the released code accepts all but the last degree before
    # the beam's stops
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
    """Look up a table of tolerances.

    Raises:
        UnknownNameError: No table has this name.
    """
    if name not in CRITERIA:
        raise UnknownNameError("criteria", name, tuple(CRITERIA))
    return CRITERIA[name]
