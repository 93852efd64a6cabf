"""Universal Robots UR5e: kinematics, inertia and collision primitives.

Lengths, masses and centers of mass are published by the manufacturer ("DH parameters for
calculations of kinematics and dynamics", row UR5e); limits are from its data sheet and its ROS
description. The manufacturer publishes no inertia tensors for this arm, as they are negligible;
here they are those of solid cylinders. The primitives enclose the housings.

The frame of a link is at the axis of its joint: the previous Denavit-Hartenberg frame, rotated by
the joint. The base faces +x, half a turn from the manufacturer's frame.
"""

from math import pi

import numpy as np

from clevrskills.sim.robots.geometry import BoxGeometry, Cylinder, Inertia, Joint, Link, Vector
from clevrskills.sim.robots.gripper import GripperDimensions, gripper_joints, gripper_links

GRIPPER = GripperDimensions()
DH = (
    (0.0, 0.1625, pi / 2),
    (-0.425, 0.0, 0.0),
    (-0.3922, 0.0, 0.0),
    (0.0, 0.1333, pi / 2),
    (0.0, 0.0997, -pi / 2),
    (0.0, 0.0996, 0.0),
)
"""Denavit-Hartenberg parameters of the six joints: a in metres, d in metres, alpha in radians."""
MASSES = (
    (3.761, (0.0, -0.02561, 0.00193)),
    (8.058, (0.2125, 0.0, 0.11336)),
    (2.846, (0.15, 0.0, 0.0265)),
    (1.37, (0.0, -0.0018, 0.01634)),
    (1.3, (0.0, 0.0018, 0.01634)),
    (0.365, (0.0, 0.0, -0.001159)),
)
"""Mass in kilograms, and center of mass in the Denavit-Hartenberg frame, of each link."""
_HOUSINGS = ((0.06, 0.15), (0.055, 0.54), (0.045, 0.49), (0.04, 0.12), (0.04, 0.12), (0.0375, 0.05))
"""Radius and length in meters of the solid cylinder that approximates each link."""
SPEED_RADPS = pi
_ELBOW = 2
_ALONG_X, _ALONG_Y = (0.0, pi / 2, 0.0), (pi / 2, 0.0, 0.0)
SHOULDER_M, FOREARM_M = 0.138, 0.007
"""Distances of the centers of upper arm and forearm from the shoulder, along its axis."""
_UPPER_M, _FORE_M, _WRIST_1_M, _WRIST_2_M = -DH[1][0], -DH[2][0], DH[3][1], DH[4][1]
_SHOULDER_HEIGHT_M, _FLANGE_M = DH[0][1], DH[5][1]


def _inertia(index: int) -> Inertia:
    """Return the inertia of a link about its center of mass, in the frame of the link."""
    (a, d, alpha), (mass_kg, (x, y, z)), (radius, length) = (
        DH[index],
        MASSES[index],
        _HOUSINGS[index],
    )
    cos, sin = round(np.cos(alpha)), round(np.sin(alpha))
    center = (x + a, cos * y - sin * z, d + sin * y + cos * z)
    along, across = mass_kg * radius**2 / 2, mass_kg * (3 * radius**2 + length**2) / 12
    long_x = index in (1, 2)  # the two tubes are along x, the others along z
    xx, zz = (along, across) if long_x else (across, along)
    return Inertia(mass_kg, center, (xx, 0.0, 0.0, across, 0.0, zz))


def _origin(index: int) -> tuple[Vector, Vector]:
    """Return the position and rotation of a joint in its parent link."""
    if index == 0:
        return (0.0, 0.0, 0.0), (0.0, 0.0, pi)
    a, d, alpha = DH[index - 1]
    return (a, 0.0, d), (alpha, 0.0, 0.0)


_NAMES = ("link_base", *(f"link{i}" for i in range(1, 7)))
_ARM_JOINTS = tuple(
    Joint(
        f"joint{i + 1}",
        _NAMES[i],
        _NAMES[i + 1],
        *_origin(i),
        "revolute",
        (-pi, pi) if i == _ELBOW else (-2 * pi, 2 * pi),
        150.0 if i <= _ELBOW else 28.0,
        SPEED_RADPS,
    )
    for i in range(6)
)
_COLLISIONS: tuple[tuple[BoxGeometry | Cylinder, ...], ...] = (
    (Cylinder(0.0745, 0.030, (0, 0, 0.015)), Cylinder(0.0640, 0.095, (0, 0, 0.0475))),
    (
        Cylinder(0.0600, 0.126, (0, 0, 0.159)),
        Cylinder(0.0600, 0.136, (0, -0.008, _SHOULDER_HEIGHT_M), _ALONG_Y),
    ),
    (
        Cylinder(0.0600, 0.122, (0, 0, SHOULDER_M)),
        Cylinder(0.0530, _UPPER_M, (-_UPPER_M / 2, 0, SHOULDER_M), _ALONG_X),
        Cylinder(0.0575, 0.122, (-_UPPER_M, 0, SHOULDER_M)),
    ),
    (
        Cylinder(0.0550, 0.130, (0, 0, FOREARM_M)),
        Cylinder(0.0460, _FORE_M, (-_FORE_M / 2, 0, FOREARM_M), _ALONG_X),
        Cylinder(0.0430, 0.104, (-_FORE_M, 0, FOREARM_M)),
    ),
    (
        Cylinder(0.0415, 0.116, (0, 0, 0.1185)),
        Cylinder(0.0415, 0.097, (0, -0.0055, _WRIST_1_M), _ALONG_Y),
    ),
    (
        Cylinder(0.0415, 0.088, (0, 0, 0.0995)),
        Cylinder(0.0415, 0.097, (0, 0.0055, _WRIST_2_M), _ALONG_Y),
    ),
    (Cylinder(0.0375, 0.0446, (0, 0, 0.0773)),),
)
_BASE = Inertia(4.0, (0.0, 0.0, 0.05), (0.0077, 0.0, 0.0, 0.0077, 0.0, 0.0082))

LINKS = (
    *map(Link, _NAMES, (_BASE, *map(_inertia, range(6))), _COLLISIONS),
    Link("flange", Inertia(0.001, (0.0, 0.0, 0.0), (1e-6, 0.0, 0.0, 1e-6, 0.0, 1e-6))),
    *gripper_links(GRIPPER),
)
JOINTS = (
    *_ARM_JOINTS,
    Joint("flange_mount", "link6", "flange", (0.0, 0.0, _FLANGE_M)),
    *gripper_joints(GRIPPER, "flange"),
)
NEUTRAL_QPOS = (-0.287564, -1.663219, 1.562811, -1.470388, -pi / 2, -1.858360)
# neighbors, and pairs that cannot touch
DISABLED_PAIRS = (
    *zip(_NAMES[:6], _NAMES[1:], strict=False),
    ("link_base", "link2"),
    ("link3", "link5"),
    ("link4", "link6"),
    ("link4", "gripper"),
    ("link5", "gripper"),
    ("link6", "gripper"),
)
