"""State vector: proprioception of a robot in observations of policies."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clevrskills.errors import ClevrSkillsError
from clevrskills.sim.robots.description import ROBOTS, robot


@dataclass(frozen=True)
class StatePart:
    """Part of the state vector."""

    size: int  # number of entries
    meaning: str  # description with units
    flag: bool = False  # whether the entry is boolean


def state_parts(name: str = "") -> Mapping[str, StatePart]:
    """Return the parts of the state vector of a robot, in order; by default the first of
    :data:`ROBOTS`.
    """
    joints = len(robot(name or next(iter(ROBOTS))).joint_names)
    return {
        "qpos": StatePart(joints, "joint positions (rad)"),
        "ee_pose": StatePart(7, "pose of the end effector in the world (m, quaternion w x y z)"),
        "vacuum_on": StatePart(1, "whether the vacuum is on", flag=True),
        "holding": StatePart(1, "whether something is held", flag=True),
    }


def parts_of(state: NDArray[Any]) -> Mapping[str, NDArray[Any]]:
    """Split a state vector (..., n) into its parts by name.

    Raises:
        ClevrSkillsError: No robot has a state of this size.
    """
    sizes = []
    for name in ROBOTS:
        parts = state_parts(name)
        stops = np.cumsum([part.size for part in parts.values()])
        if state.shape[-1:] == (stops[-1],):
            return dict(zip(parts, np.split(state, stops[:-1], axis=-1), strict=True))
        sizes.append(f"{stops[-1]} ({name})")
    raise ClevrSkillsError(
        f"the state has the shape {state.shape}; allowed: {', '.join(state_parts())}, "
        f"numbers in all: {', '.join(sizes)}"
    )
