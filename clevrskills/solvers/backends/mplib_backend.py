"""Planning backend of MPlib 0.1, which needs numpy < 2."""

from __future__ import annotations

import ctypes
import re
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import mplib
import numpy as np
from mplib.pymp.collision_detection import fcl

from clevrskills.sim.robots.description import RobotDescription
from clevrskills.solvers.backends.backend import PlanningBackend, Solid

PLANNING_TIME_S = 5.0
"""Time limit that is never reached in practice, so that plans do not depend on the load."""
HELD_LINK = """<link name="held"><collision><origin xyz="{xyz}"/>
<geometry><box size="{size}"/></geometry></collision></link>
<joint name="held_mount" type="fixed"><parent link="{tcp}"/><child link="held"/></joint>
"""


@cache
def _seed_function() -> Any:
    """Return the function that seeds OMPL's generators, which MPlib 0.1.1 does not expose."""
    package = Path(mplib.__file__).parent
    library = ctypes.CDLL(str(next(package.parent.glob("mplib.libs/libompl*"))))
    function = library._ZN4ompl3RNG7setSeedEm
    function.argtypes, function.restype = [ctypes.c_ulong], None
    return function


class MplibBackend(PlanningBackend):
    """Backend with collisions by FCL and RRT-Connect by OMPL."""

    def __init__(self, description: RobotDescription, lower: np.ndarray, upper: np.ndarray) -> None:
        super().__init__(description, lower, upper)
        self._free = self._planner = self._load(None)
        self._held: tuple[np.ndarray, Any] | None = None

    def _load(self, held: Solid | None) -> Any:
        """Return an MPlib planner for the arm; a held box is an additional link, since MPlib 0.1.1
        checks attached boxes against point clouds only.
        """
        description = self._description
        link = pairs = ""
        if held is not None:
            size, center = (" ".join(f"{v:.6f}" for v in values) for values in held)
            link = HELD_LINK.format(tcp=description.tcp_link, size=size, xyz=center)
            pairs = "".join(
                f'<disable_collisions link1="held" link2="{name}" reason="Adjacent"/>'
                for name in (description.tcp_link, description.gripper_link)
            )
        urdf = re.sub(
            r'(lower|upper)="(-?)6\.28\d*"',
            rf'\1="\g<2>{self._upper.max()}"',
            description.urdf(visual=False).read_text(),
        )
        joints = len(description.joint_names)
        with tempfile.TemporaryDirectory(prefix="clevrskills-planner-") as folder:
            files = {}
            for kind, text, extra in (
                ("urdf", urdf, link),
                ("srdf", description.srdf().read_text(), pairs),
            ):
                files[kind] = f"{folder}/robot.{kind}"
                Path(files[kind]).write_text(text.replace("</robot>", extra + "</robot>"))
            return mplib.Planner(
                **files,
                move_group=description.tcp_link,
                joint_vel_limits=np.ones(joints),
                joint_acc_limits=np.ones(joints),
            )

    def set_scene(self, boxes: Mapping[str, Solid], held: Solid | None) -> None:
        if held is None:
            self._planner = self._free
        else:
            if self._held is None or not np.array_equal(held, self._held[0]):
                self._held = np.stack(held), self._load(held)
            self._planner = self._held[1]
        world = self._planner.planning_world
        for name in world.get_normal_object_names():
            world.remove_normal_object(name)
        for name, (size, pose) in boxes.items():
            box = fcl.Box(np.asarray(size, dtype=np.float64))
            pose = np.asarray(pose, dtype=np.float64)
            world.set_normal_object(name, fcl.CollisionObject(box, pose[:3], pose[3:]))

    def touched(self, qpos: np.ndarray) -> set[str]:
        self._planner.robot.set_qpos(qpos, True)
        base = self._planner.user_link_names[0]
        return {
            name
            for pair in self._planner.planning_world.collide_full()
            for name in (pair.object_name1, pair.object_name2)
            if pair.link_name1 != base or pair.object_name1 == pair.object_name2
        }

    def blocked(self, points: np.ndarray) -> bool:
        return any(self.touched(qpos) for qpos in points)

    def rrt_connect(
        self, start: np.ndarray, goal: np.ndarray, range_rad: float, seed: int
    ) -> np.ndarray | None:
        ctypes.CDLL(None).srand(ctypes.c_uint(seed))
        _seed_function()(seed)
        self._planner.robot.set_qpos(start, True)
        status, path = self._planner.planner.plan(
            start,
            [goal],
            range=range_rad,
            time=PLANNING_TIME_S,
            fixed_joints=set(),
            planner_name="RRTConnect",
            no_simplification=False,
            constraint_function=None,
            constraint_jacobian=None,
            constraint_tolerance=1e-3,
            verbose=False,
        )
        return np.asarray(path) if status == "Exact solution" else None


BACKEND = MplibBackend
