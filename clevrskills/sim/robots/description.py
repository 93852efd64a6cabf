"""Descriptions of robots: names, poses, suction cups, wrist camera, URDF and SRDF files."""

import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from math import pi
from pathlib import Path
from typing import Any

from clevrskills.assets.tables import read_toml
from clevrskills.core.registry import load, others
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.sim.cache import cached_directory
from clevrskills.sim.robots import gripper, panda
from clevrskills.sim.robots.geometry import (
    BoxGeometry,
    Cylinder,
    Inertia,
    Joint,
    Link,
    Vector,
    Visual,
    srdf_text,
    urdf_text,
)

__all__ = ["ROBOTS"]

VisualBuilder = Callable[[Path], Mapping[str, Sequence[Visual]]]


@dataclass(frozen=True)
class HandCamera:
    """The wrist camera."""

    position_m: Vector = gripper.CAMERA_POSITION_M  # lens in the gripper frame
    # w, x, y, z; the camera looks along its x axis, z is up in the image
    quaternion: tuple[float, float, float, float] = gripper.CAMERA_QUATERNION
    fov_rad: float = 1.5707963267948966  # vertical field of view
    size_px: int = 256  # image width and height


@dataclass(frozen=True)
class RobotDescription:
    """Arm with the vacuum gripper."""

    name: str  # key of the robot
    joint_names: tuple[str, ...]  # joints of the arm, base first
    neutral_qpos: tuple[float, ...]  # initial joint angles in radians
    base_position: Vector  # world position of the base in meters; it faces +x
    # rounded initial position of the tool center point in meters; layouts keep clear of it
    start_position: Vector
    # centers of the suction cups, x and y in the tcp frame, in meters
    cup_centers: tuple[tuple[float, float], ...]
    cup_radius: float  # radius of a cup in meters
    cup_tip_z: float  # height of the cup tips in the tcp frame in meters
    links: tuple[Link, ...] = field(repr=False)  # all links, with collision primitives
    joints: tuple[Joint, ...] = field(repr=False)  # all joints
    # link pairs without collision checks
    disabled_pairs: tuple[tuple[str, str], ...] = field(repr=False)
    # writes the visual meshes into a directory and returns them by link
    visuals: VisualBuilder = field(repr=False)
    hand_camera: HandCamera = HandCamera()
    gripper_link: str = "gripper"  # flange link of the gripper
    tcp_link: str = "tcp"  # tool center point; z points out of the cups
    stiffness: float = 5000.0  # gain of the joint drives on the position error, N m / rad
    damping: float = 100.0  # gain of the joint drives on the speed error, N m s / rad
    reach_m: float = 0.80  # reach of the downward gripper at the table, from the base

    @property
    def joint_limits(self) -> tuple[tuple[float, float], ...]:
        """Lower and upper limit of each arm joint in radians."""
        by_name = {joint.name: joint.limits_rad for joint in self.joints}
        return tuple(by_name[name] for name in self.joint_names)

    def urdf(self, visual: bool) -> Path:
        """Return the URDF file in the cache, written if necessary.

        Args:
            visual: Whether it has visuals. Without them, no renderer is needed to load it.

        Raises:
            ClevrSkillsError: The cache directory cannot be written.
        """
        kind = "drawn" if visual else "plain"
        code = _content_hash() if self.name in ROBOTS else _description_hash(self)
        name = f"robots/{code}/{self.name}-{kind}"
        return cached_directory(name, partial(self._write, visual)) / f"{self.name}.urdf"

    def srdf(self) -> Path:
        """Return the SRDF file with the link pairs that may touch, see :meth:`urdf`."""
        return self.urdf(visual=False).with_suffix(".srdf")

    def _write(self, visual: bool, directory: Path) -> None:
        visuals = self.visuals(directory) if visual else None
        urdf = urdf_text(self.name, self.links, self.joints, visuals)
        (directory / f"{self.name}.urdf").write_text(urdf, encoding="utf-8")
        srdf = srdf_text(self.name, self.disabled_pairs)
        (directory / f"{self.name}.srdf").write_text(srdf, encoding="utf-8")


@cache
def _content_hash() -> str:
    """Return the hash of the code that writes the files, part of the directory name."""
    digest = hashlib.sha256()
    for stem in ("description", "geometry", "gripper", "meshes", "panda", "ur5e", "xarm6"):
        for path in sorted(Path(__file__).parent.glob(f"{stem}.*")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _description_hash(description: RobotDescription) -> str:
    """Return the hash of a robot of another distribution."""
    values = {name: value for name, value in vars(description).items() if name != "visuals"}
    path = inspect.getsourcefile(inspect.unwrap(description.visuals))
    drawn = Path(path).read_bytes() if path else b""
    digest = hashlib.sha256(f"{_content_hash()} {values}".encode() + drawn)
    return digest.hexdigest()[:16]


def _read_arm(name: str, size: gripper.GripperDimensions, yaw_rad: float = 0.0) -> dict[str, Any]:
    """Return fields of a robot: the arm of its TOML file, with gripper, turned by `yaw_rad`."""

    def values(row: Mapping[str, Any]) -> dict[str, Any]:
        return {key: tuple(v) if isinstance(v, list) else v for key, v in row.items()}

    data = read_toml(Path(__file__).with_name(f"{name}.toml"))
    solids: dict[str, tuple[BoxGeometry | Cylinder, ...]] = {
        link: tuple(
            BoxGeometry(**values(row)) if "size_m" in row else Cylinder(**values(row))
            for row in rows
        )
        for link, rows in data["collisions"].items()
    }
    inertias = {link: Inertia(**values(row)) for link, row in data["inertias"].items()}
    links = [Link(link, inertia, solids.get(link, ())) for link, inertia in inertias.items()]
    joints = [Joint(joint, **values(row)) for joint, row in data["joints"].items()]
    return {
        "joint_names": tuple(joint.name for joint in joints if joint.kind == "revolute"),
        "neutral_qpos": tuple(data["neutral_rad"]),
        "links": (*links, *gripper.gripper_links(size)),
        "joints": (*joints, *gripper.gripper_joints(size, links[-1].name, yaw_rad)),
        "disabled_pairs": tuple(map(tuple, data["disabled_pairs"])),
        "cup_radius": size.cup_radius_m,
        "cup_tip_z": size.cup_tip_z_m,
        "cup_centers": gripper.CUP_CENTERS_M,
    }


_GRIPPER = gripper.GripperDimensions()
ROBOTS = {
    "xarm6": RobotDescription(
        name="xarm6",
        reach_m=0.715,
        base_position=(-0.562, 0.0, 0.0),
        start_position=(-0.09, 0.0, 0.4066),
        **_read_arm("xarm6", _GRIPPER),
        visuals=partial(gripper.write_arm_visuals, "xarm6", _GRIPPER),
    ),
    "panda": RobotDescription(
        name="panda",
        base_position=(-0.65, 0.0, 0.0),
        start_position=(-0.106, 0.0, 0.295),
        **_read_arm("panda", panda.GRIPPER, -pi / 4),
        visuals=panda.write_visuals,
        stiffness=20000.0,
        damping=400.0,
    ),
    "ur5e": RobotDescription(
        name="ur5e",
        reach_m=0.91,
        base_position=(-0.60, 0.0, 0.0),
        start_position=(-0.13, 0.0, 0.40),
        **_read_arm("ur5e", _GRIPPER),
        visuals=partial(gripper.write_arm_visuals, "ur5e", _GRIPPER),
        stiffness=20000.0,
        damping=400.0,
    ),
}
"""Robots of the package by name; other distributions can add robots."""


def other_robots() -> tuple[str, ...]:
    """Return the names of robots of other distributions, which may do every task.

    Raises:
        NameTakenError: Two robots have the same name.
    """
    return tuple(others("robots", ROBOTS))


@cache
def robot(name: str) -> RobotDescription:
    """Return a robot by name.

    Raises:
        UnknownNameError: The robot is unknown.
        ClevrSkillsError: The entry point of another distribution cannot be imported or is not a
            robot.
    """
    if name in ROBOTS:
        return ROBOTS[name]
    if name not in (added := others("robots", ROBOTS)):
        raise UnknownNameError("robot", name, (*ROBOTS, *added))
    found: RobotDescription = load(added[name], RobotDescription)
    if found.name != name:
        raise ClevrSkillsError(f"the robot {name!r} is named {found.name!r} in its description")
    return found
