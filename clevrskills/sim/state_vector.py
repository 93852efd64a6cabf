"""State vector: the measurements of a robot that policies are shown."""

from collections.abc import Mapping
from dataclasses import dataclass

from clevrskills.sim.robots.description import ROBOTS, robot


@dataclass(frozen=True)
class StatePart:
    """A measurement in the state vector that policies are shown.

    Attributes:
        size: How many numbers it has.
        meaning: What they are, with their units.
        flag: Whether it is true or false.
    """

    size: int
    meaning: str
    flag: bool = False


def state_parts(name: str = "") -> Mapping[str, StatePart]:
    """Return the measurements that make up the state vector of a robot, in this order.

    Args:
        name: Name of the robot; empty: the first of :data:`ROBOTS`.
    """
    joints = len(robot(name or next(iter(ROBOTS))).joint_names)
    return {
        "qpos": StatePart(joints, "joint positions (rad)"),
        "ee_pose": StatePart(7, "pose of the end effector in the world (m, quaternion w x y z)"),
        "vacuum_on": StatePart(1, "whether the vacuum is on", flag=True),
        "holding": StatePart(1, "whether something is held", flag=True),
    }
