"""UFACTORY xArm 6: kinematics, inertia and collision primitives.

Joint origins, limits and link inertias are published by the manufacturer; the primitives enclose
the housings.
"""

from math import pi

from clevrskills.sim.robots.geometry import BoxGeometry, Cylinder, Inertia, Joint, Link
from clevrskills.sim.robots.gripper import GripperDimensions, gripper_joints, gripper_links

GRIPPER = GripperDimensions()
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
            2.7, (0, 0, 0.09103), (0.00494875, -3.5e-06, 1.25e-05, 0.00494174, 1.67e-06, 0.002219)
        ),
        (Cylinder(0.063, 0.014, (0, 0, 0.007)), Cylinder(0.049, 0.154, (0, 0, 0.077))),
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
            BoxGeometry((0.090, 0.110, 0.043), (0.005, -0.060, 0.0975)),
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
            BoxGeometry((0.107, 0.083, 0.040), (0.03875, 0.0365, 0.087), (0, 0, 0.7554)),
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
            BoxGeometry((0.079, 0.058, 0.100), (0, 0.042, -0.070), (-0.515, 0, 0)),
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
            BoxGeometry((0.076, 0.071, 0.062), (0.038, 0, 0.018)),
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
# neighbors, and pairs that the joint limits keep apart
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
