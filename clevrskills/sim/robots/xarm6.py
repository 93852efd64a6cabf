"""UFACTORY xArm 6: kinematics, inertia and collision primitives.

Joint origins, limits and link inertias are the manufacturer's published numbers; the primitives
enclose the housings.
"""

from math import pi
from pathlib import Path

from clevrskills.sim.robots import meshes
from clevrskills.sim.robots.geometry import Box, Cylinder, Inertia, Joint, Link, Visual
from clevrskills.sim.robots.gripper import (
    GripperDimensions,
    gripper_joints,
    gripper_links,
    gripper_looks,
)
from clevrskills.sim.robots.meshes import Color, Mesh, moved, pillar, tube

GRIPPER = GripperDimensions(
    head_bottom_m=0.0865,
    head_top_m=0.1115,
    head_size_m=(0.065, 0.090),
    cup_tip_m=0.1265,
    cup_radius_m=0.0142,
    tcp_m=0.1254,
)
_QUARTER = 1.5708  # as published
_ALONG_Y = (pi / 2, 0.0, 0.0)

_ARM_JOINTS = tuple(
    Joint(f"joint{i + 1}", parent, f"link{i + 1}", xyz, rpy, "revolute", limits, effort, 3.14)
    for i, (parent, xyz, rpy, limits, effort) in enumerate(
        (
            ("link_base", (0, 0, 0.267), (0, 0, 0), (-2 * pi, 2 * pi), 50),
            ("link1", (0, 0, 0), (-_QUARTER, 0, 0), (-2.059, 2.0944), 50),
            ("link2", (0.0535, -0.2845, 0), (0, 0, 0), (-3.927, 0.19198), 32),
            ("link3", (0.0775, 0.3425, 0), (-_QUARTER, 0, 0), (-2 * pi, 2 * pi), 32),
            ("link4", (0, 0, 0), (_QUARTER, 0, 0), (-1.69297, pi), 32),
            ("link5", (0.076, 0.097, 0), (-_QUARTER, 0, 0), (-2 * pi, 2 * pi), 20),
        )
    )
)

_ARM_LINKS = (
    Link(
        "link_base",
        Inertia(
            2.7,
            (0, 0, 0.09103),
            (0.00494875, -3.5e-06, 1.25e-05, 0.00494174, 1.67e-06, 0.002219),
        ),
        (
            Cylinder(0.063, 0.014, (0, 0, 0.007)),
            Cylinder(0.049, 0.154, (0, 0, 0.077)),
        ),
    ),
    Link(
        "link1",
        Inertia(
            2.3814,
            (0.00022, 0.02951, -0.0124),
            (0.0058562, -1.79e-05, 3.55e-06, 0.0050316, -0.000888336, 0.003536652),
        ),
        (
            Cylinder(0.0485, 0.152, (0, 0, -0.036)),
            Cylinder(0.0482, 0.128, (0, 0.0113, 0), _ALONG_Y),
        ),
    ),
    Link(
        "link2",
        Inertia(
            2.2675,
            (0.03881, -0.22783, 0.03496),
            (0.028315776, 0.005, 0.00066546, 0.0058, -0.0045741, 0.0273447),
        ),
        (
            Cylinder(0.0475, 0.043, (0, 0, 0.0975)),
            Box((0.090, 0.110, 0.043), (0.005, -0.060, 0.0975)),
            Cylinder(0.0425, 0.160, (0.009, -0.110, 0.0375)),
            Cylinder(0.0400, 0.155, (0.032, -0.2045, 0), (pi / 2, 0, 0.299)),
            Cylinder(0.0425, 0.132, (0.0535, -0.2845, -0.003)),
        ),
    ),
    Link(
        "link3",
        Inertia(
            1.875,
            (0.07041, 0.11631, 0.0107),
            (0.0063483, -0.0015397, 0.00096858, 0.00379758, 0.00186567, 0.00595768),
        ),
        (
            Cylinder(0.0425, 0.040, (0, 0, 0.087)),
            Box((0.107, 0.083, 0.040), (0.03875, 0.0365, 0.087), (0, 0, 0.7554)),
            Cylinder(0.0415, 0.137, (0.0775, 0.073, 0.0385)),
            Cylinder(0.0425, 0.120, (0.0775, 0.109, 0), _ALONG_Y),
        ),
    ),
    Link(
        "link4",
        Inertia(
            1.3192,
            (-0.00018, 0.01798, -0.02291),
            (0.004896, -6.925e-06, -1.418e-05, 0.00445694, -0.00023186, 0.00134332),
        ),
        (
            Cylinder(0.0425, 0.073, (0, 0, -0.1365)),
            Box((0.079, 0.058, 0.100), (0, 0.042, -0.070), (-0.515, 0, 0)),
            Cylinder(0.0375, 0.079, (0, 0.047, 0), _ALONG_Y),
        ),
    ),
    Link(
        "link5",
        Inertia(
            1.33854,
            (0.0651, 0.03096, 0.00315),
            (0.00146378, -0.000450624, 0.000284306, 0.00184192, 0.000130866, 0.002333524),
        ),
        (
            Cylinder(0.0375, 0.060, (0, 0, 0.028)),
            Box((0.076, 0.071, 0.062), (0.038, 0, 0.018)),
            Cylinder(0.0375, 0.106, (0.076, 0.0155, 0), _ALONG_Y),
        ),
    ),
    Link(
        "link6",
        Inertia(0.17, (0, -0.00677, -0.01098), (9.3e-05, 0.0, 0.0, 5.87e-05, -3.6e-06, 0.000132)),
        (Cylinder(0.0376, 0.027, (0, 0, -0.0135)),),
    ),
)

LINKS = (*_ARM_LINKS, *gripper_links(GRIPPER))
JOINTS = (*_ARM_JOINTS, *gripper_joints(GRIPPER, "link6"))
NEUTRAL_QPOS = (0.0, 0.0, -pi / 2, 0.0, pi / 2, 0.0)
# neighbours, and pairs that the joint limits keep apart
DISABLED_PAIRS = (
    ("link_base", "link1"),
    ("link1", "link2"),
    ("link2", "link3"),
    ("link3", "link4"),
    ("link4", "link5"),
    ("link5", "link6"),
    ("link6", "gripper"),
    ("link_base", "link2"),
    ("link1", "link3"),
    ("link3", "link5"),
    ("link4", "link6"),
    ("link5", "gripper"),
)


_WHITE = (0.86, 0.87, 0.88)
_CAP = (0.50, 0.51, 0.53)
_SEAM = (0.05, 0.05, 0.055)
_FLANGE = (0.30, 0.31, 0.33)
Looks = list[tuple[Mesh, Color]]


def _base_looks() -> Looks:
    plug = moved(pillar([(0, 0, 0.011)], 0.0, 0.046, (0.0, 0.002), 12), (0, 0, 0), "-x")
    return [
        (pillar([(0, 0, 0.063)], 0.0, 0.012, (0.0, 0.003)), _CAP),
        (pillar([(0, 0, 0.049)], 0.011, 0.1545, (0.0, 0.002)), _WHITE),
        (pillar([(0, 0, 0.046)], 0.150, 0.158, (0.0, 0.0)), _SEAM),
        (moved(plug, (-0.042, 0.014, 0.034)), _SEAM),
        (moved(plug, (-0.042, -0.016, 0.034)), _SEAM),
    ]


def _link1_looks() -> Looks:
    r = 0.0482
    return [
        (pillar([(0, 0, r)], -0.111, r, (0.002, r)), _WHITE),
        (moved(pillar([(0, 0, r)], -r, 0.0753, (r, 0.002)), (0, 0, 0), "y"), _WHITE),
        (moved(pillar([(0, 0, 0.045)], 0.073, 0.078, (0.0, 0.0)), (0, 0, 0), "y"), _SEAM),
    ]


def _link2_looks() -> Looks:
    shoulder, column, elbow = (0.0, 0.0), (0.009, -0.110), (0.0535, -0.2845)
    r = 0.0425
    arm = [(*column, 0.0, r, r), (0.028, -0.185, 0.0, 0.0405, 0.0405), (*elbow, 0.0, 0.040, 0.040)]
    return [
        (pillar([(*shoulder, 0.0475), (*column, r)], 0.0765, 0.119, (0.002, 0.014)), _WHITE),
        (pillar([(*column, r)], -r, 0.090, (r, 0.0)), _WHITE),
        (tube(arm, (0.0, 0.0, 1.0)), _WHITE),
        (pillar([(*elbow, r)], -0.069, 0.065, (0.012, 0.002)), _WHITE),
        (pillar([(*shoulder, 0.033)], 0.118, 0.1196, (0.0, 0.0006)), _CAP),
        (pillar([(*elbow, 0.030)], -0.0696, -0.068, (0.0006, 0.0)), _CAP),
        (pillar([(*elbow, 0.0395)], 0.062, 0.068, (0.0, 0.0)), _SEAM),
    ]


def _link3_looks() -> Looks:
    column, r = (0.0775, 0.073), 0.0418
    forearm = pillar([(0, 0, 0.0425)], 0.0, 0.0955, (0.0, 0.002))
    seam = pillar([(0, 0, 0.0395)], 0.0, 0.004, (0.0, 0.0))
    return [
        (pillar([(0, 0, 0.0425), (*column, r)], 0.0665, 0.107, (0.002, 0.014)), _WHITE),
        (pillar([(*column, r)], -r, 0.085, (r, 0.0)), _WHITE),
        (moved(forearm, (*column, 0.0), "y"), _WHITE),
        (pillar([(0, 0, 0.029)], 0.106, 0.1076, (0.0, 0.0006)), _CAP),
        (moved(seam, (0.0775, 0.167, 0.0), "y"), _SEAM),
    ]


def _link4_looks() -> Looks:
    neck = [
        (0.0, 0.000, -0.150, 0.0420, 0.0420),
        (0.0, 0.004, -0.128, 0.0415, 0.0400),
        (0.0, 0.024, -0.100, 0.0400, 0.0320),
        (0.0, 0.047, -0.072, 0.0385, 0.0270),
        (0.0, 0.058, -0.040, 0.0380, 0.0265),
        (0.0, 0.058, 0.000, 0.0372, 0.0262),
    ]
    return [
        (pillar([(0, 0, 0.0425)], -0.1715, -0.135, (0.002, 0.006)), _WHITE),
        (tube(neck, (1.0, 0.0, 0.0)), _WHITE),
        (moved(pillar([(0, 0, 0.0375)], 0.0085, 0.0864, (0.002, 0.014)), (0, 0, 0), "y"), _WHITE),
        (moved(pillar([(0, 0, 0.0255)], 0.0855, 0.0870, (0.0, 0.0006)), (0, 0, 0), "y"), _CAP),
        (moved(pillar([(0, 0, 0.0350)], 0.0060, 0.0100, (0.0, 0.0)), (0, 0, 0), "y"), _SEAM),
    ]


def _link5_looks() -> Looks:
    r = 0.0375
    bridge = [
        (0.000, 0.0, 0.0270, 0.0355, 0.0270),
        (0.030, 0.0, 0.0235, 0.0355, 0.0275),
        (0.060, 0.0, 0.0070, 0.0365, 0.0310),
        (0.076, 0.0, 0.0000, 0.0370, 0.0340),
    ]
    return [
        (pillar([(0, 0, r)], -0.0060, 0.0579, (0.002, 0.018)), _WHITE),
        (tube(bridge, (0.0, 1.0, 0.0)), _WHITE),
        (moved(pillar([(0, 0, r)], -r, 0.0685, (r, 0.002)), (0.076, 0, 0), "y"), _WHITE),
        (pillar([(0, 0, 0.0225)], 0.0570, 0.0585, (0.0, 0.0006)), _CAP),
    ]


def _link6_looks() -> Looks:
    plug = pillar([(0, 0, 0.007)], 0.0, 0.016, (0.0, 0.001), 12)
    return [
        (pillar([(0, 0, 0.0376)], -0.0270, 0.0, (0.002, 0.002)), _FLANGE),
        (pillar([(0, 0, 0.0350)], -0.0300, -0.025, (0.0, 0.0)), _SEAM),
        (moved(plug, (0.0, -0.036, -0.0135), "-y"), _SEAM),
    ]


def write_visuals(directory: Path) -> dict[str, list[Visual]]:
    """Write the meshes of the robot's looks into `directory`; returns them by link name."""
    looks = {
        "link_base": _base_looks(),
        "link1": _link1_looks(),
        "link2": _link2_looks(),
        "link3": _link3_looks(),
        "link4": _link4_looks(),
        "link5": _link5_looks(),
        "link6": _link6_looks(),
        "gripper": gripper_looks(GRIPPER),
    }
    return meshes.write_visuals(directory, looks)
