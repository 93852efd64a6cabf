"""Vacuum gripper of all arms: mount ring, trunk, head with five suction cups, camera.

Its frame is the flange of the arm, z towards the cups.
"""

from dataclasses import dataclass
from pathlib import Path

from clevrskills.sim.robots.geometry import (
    BoxGeometry,
    Cylinder,
    Inertia,
    Joint,
    Link,
    Primitive,
    Visual,
)
from clevrskills.sim.robots.meshes import (
    Color,
    Mesh,
    lathe,
    moved,
    pillar,
    read_bodies,
    rounded_box,
    write_visuals,
)

CUP_CENTERS_M = ((0.018, -0.025), (0.018, 0.025), (-0.018, -0.025), (-0.018, 0.025), (0.0, 0.0))
# lens of the wrist camera; it looks along the gripper's +z, +x is up in the image
CAMERA_POSITION_M = (0.0465, -0.02, 0.036)
CAMERA_QUATERNION = (0.0, 0.5**0.5, 0.0, 0.5**0.5)
# the housing ends behind the lens, so it is never visible in the image
CAMERA_BOX = BoxGeometry((0.024, 0.060, 0.022), (0.0465, -0.02, 0.0235))
BODY_INERTIA = Inertia(
    0.656,
    (0.0, 0.0, 0.055),
    (0.00047106, 3.9292e-07, 2.6537e-06, 0.00033072, -1.0975e-05, 0.00025642),
)
_TUBE_RADIUS_M, _ARM_RADIUS_M, _ARM_HEIGHT_M, _CUP_SHARE = 0.0055, 0.0035, 0.007, 0.6
_DARK = (0.045, 0.047, 0.052)
_GREY = (0.16, 0.165, 0.175)
_RUBBER = (0.012, 0.012, 0.013)
_METAL = (0.42, 0.43, 0.45)
TCP_INERTIA = Inertia(0.001, (0.0, 0.0, 0.0), (1e-6, 0.0, 0.0, 1e-6, 0.0, 1e-6))


@dataclass(frozen=True)
class GripperDimensions:
    """Heights along z above the flange, and sizes, in meters."""

    head_bottom_m: float = 0.0865
    head_top_m: float = 0.1115
    head_size_m: tuple[float, float] = (0.065, 0.090)
    cup_tip_m: float = 0.1265
    cup_radius_m: float = 0.0142
    tcp_m: float = 0.1254
    ring_radius_m: float = 0.037
    ring_height_m: float = 0.005
    trunk_size_m: tuple[float, float] = (0.040, 0.070)

    @property
    def cup_tip_z_m(self) -> float:
        """Height of the cup tips in the tcp frame in meters."""
        return round(self.cup_tip_m - self.tcp_m, 6)


def _slab(size_m: tuple[float, float], low_m: float, high_m: float) -> BoxGeometry:
    return BoxGeometry((*size_m, high_m - low_m), (0.0, 0.0, (low_m + high_m) / 2))


def gripper_links(size: GripperDimensions) -> tuple[Link, Link]:
    """Return the links "gripper" and "tcp"."""
    ring = Cylinder(size.ring_radius_m, size.ring_height_m, (0.0, 0.0, size.ring_height_m / 2))
    trunk = _slab(size.trunk_size_m, size.ring_height_m, size.head_bottom_m)
    head = _slab(size.head_size_m, size.head_bottom_m, size.head_top_m)
    # the collision shape of a cup reaches into the head, so nothing slips in between
    length_m = size.cup_tip_m - size.head_top_m
    height_m = size.head_top_m + length_m / 2
    cups = [Cylinder(size.cup_radius_m, length_m, (x, y, height_m)) for x, y in CUP_CENTERS_M]
    collision: tuple[Primitive, ...] = (ring, trunk, head, CAMERA_BOX, *cups)
    return Link("gripper", BODY_INERTIA, collision), Link("tcp", TCP_INERTIA)


def gripper_joints(
    size: GripperDimensions, flange: str, yaw_rad: float = 0.0
) -> tuple[Joint, Joint]:
    """Return the fixed joints from the link `flange` to the gripper and from it to the tcp."""
    return (
        Joint("gripper_mount", flange, "gripper", (0.0, 0.0, 0.0), (0.0, 0.0, yaw_rad)),
        Joint("tcp_mount", "gripper", "tcp", (0.0, 0.0, size.tcp_m)),
    )


def gripper_visuals(size: GripperDimensions) -> list[tuple[Mesh, Color]]:
    """Return the visual meshes and linear colors of the gripper, in its own frame.

    They are slimmer than the collision shapes, so the wrist camera can look past them.
    """
    top = size.head_top_m
    bodies = [
        (pillar([(0, 0, size.ring_radius_m)], 0.0, size.ring_height_m, (0.0, 0.001)), _METAL),
        (pillar([(0, 0, _TUBE_RADIUS_M)], size.ring_height_m, top, (0.0, 0.001)), _GREY),
        *_camera_looks(size),
    ]
    for x, y in CUP_CENTERS_M[:4]:
        ends = [(0, 0, _ARM_RADIUS_M), (x, y, _ARM_RADIUS_M)]
        bodies.append((pillar(ends, top - _ARM_HEIGHT_M, top, (0.0, 0.001)), _DARK))
    cup = _cup(size)
    return bodies + [(moved(cup, (x, y, 0.0)), _RUBBER) for x, y in CUP_CENTERS_M]


def write_arm_visuals(
    name: str, size: GripperDimensions, directory: Path
) -> dict[str, list[Visual]]:
    """Write the visual meshes of an arm, from its TOML file, with gripper; return them by link."""
    bodies = read_bodies(Path(__file__).with_name(f"{name}.toml"))
    return write_visuals(directory, {**bodies, "gripper": gripper_visuals(size)})


def _cup(size: GripperDimensions) -> Mesh:
    """Return a rubber cup with one bellow and a lip."""
    base, tip, radius = size.head_top_m - 0.001, size.cup_tip_m, _CUP_SHARE * size.cup_radius_m
    height = tip - base
    return lathe(
        [
            (0.55 * radius, base),
            (0.60 * radius, base + 0.20 * height),
            (0.86 * radius, base + 0.42 * height),
            (0.66 * radius, base + 0.62 * height),
            (radius, tip - 0.0004),
            (0.94 * radius, tip),
            (0.45 * radius, tip - 0.25 * height),
        ],
        segments=12,
    )


def _camera_looks(size: GripperDimensions) -> list[tuple[Mesh, Color]]:
    width, depth, height = CAMERA_BOX.size_m
    x, y, z = CAMERA_BOX.xyz_m
    inner = _TUBE_RADIUS_M
    bracket = rounded_box((x - inner + 0.004, 0.020), z - 0.004, z + 0.004, 0.002, 0.001)
    housing = rounded_box((width, depth), z - height / 2, z + height / 2, 0.010, 0.002)
    return [
        (moved(bracket, ((x + inner) / 2, y, 0.0)), _GREY),
        (moved(housing, (x, y, 0.0)), _METAL),
    ]
