"""Setting: cameras, table and workspace shared by the tasks of a suite."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import hypot, pi

import numpy as np

from clevrskills.core.env_config import LOOKS
from clevrskills.core.registry import load, others
from clevrskills.errors import UnknownNameError
from clevrskills.sim.cameras import FixedCamera
from clevrskills.sim.robots.description import ROBOTS, robot

HAND_CAMERA = "hand_camera"
"""Name of the wrist camera, which every robot has."""


@dataclass(frozen=True)
class Workspace:
    """Area of the table where bodies are placed, in meters."""

    x_m: tuple[float, float] = (-0.40, 0.05)  # range of x
    y_m: tuple[float, float] = (-0.32, 0.32)  # range of y
    reach_m: tuple[float, float] = (0.22, 0.64)  # range of the distance from the robot's base
    base_x_m: float = ROBOTS["xarm6"].base_position[0]

    def contains(self, x: float, y: float) -> bool:
        """Return whether the gripper reaches a position."""
        return self.reach_m[0] <= hypot(x - self.base_x_m, y) <= self.reach_m[1]


Color = tuple[float, float, float]
Direction = tuple[float, float, float]


@dataclass(frozen=True)
class Light:
    """Change of the lights of a look, linear RGB."""

    ambient: float  # factor of the ambient light
    # of each directional light: rotation about the vertical axis in rad, factors of its color
    lamps: tuple[tuple[float, Color], ...]
    added: tuple[tuple[Direction, Color], ...] = ()  # direction and color of further lights


@dataclass(frozen=True)
class Surfaces:
    """Colors of table, floor and background, sRGB."""

    table: Color  # stain of the table wood
    floor: Color
    horizon: Color  # lower color of the background
    zenith: Color  # upper color of the background
    stain: float = 1.0  # opacity of the stain, from 0 (plain wood) to 1


@dataclass(frozen=True)
class Setting:
    """Setting of a suite's tasks: table, robot, cameras, workspace."""

    name: str
    # fixed cameras by name; ``render_camera`` is used by ``env.render()``
    cameras: Mapping[str, FixedCamera] = field(hash=False)
    # default cameras of observations; the first is fixed, sees all bodies of a layout and takes the
    # images of key-steps
    watch: tuple[str, ...]
    workspace: Workspace = Workspace()  # default workspace of tasks
    table_center_m: tuple[float, float] = (-0.5, 0.0)  # world x and y; the top is at z = 0
    table_size_m: tuple[float, float] = (1.7, 2.2)  # size along x and y
    look: str = LOOKS[0]  # one of :data:`~clevrskills.core.env_config.LOOKS`
    # initial joint angles by robot, where the neutral ones would occlude the scene
    start_qpos: Mapping[str, tuple[float, ...]] = field(default_factory=dict, hash=False)
    light: Light | None = None  # ``None``: no change
    surfaces: Surfaces | None = None  # ``None``: wood, tiles and a pale sky

    def __post_init__(self) -> None:
        if self.look not in LOOKS:
            raise UnknownNameError("look", self.look, LOOKS)

    @property
    def main_camera(self) -> FixedCamera:
        """The first camera of :attr:`watch`."""
        return self.cameras[self.watch[0]]

    def qpos_at_start(self, robot_name: str) -> np.ndarray:
        """Return the initial joint angles (n,) of a robot in rad.

        Raises:
            UnknownNameError: The robot is unknown.
        """
        return np.array(self.start_qpos.get(robot_name) or robot(robot_name).neutral_qpos)

    def camera_names(self) -> tuple[str, ...]:
        """Return the names of all cameras, those of other distributions last.

        Raises:
            NameTakenError: Two cameras have the same name.
        """
        own = sorted((HAND_CAMERA, *self.cameras))
        return (*own, *others("cameras", own))

    def camera(self, name: str) -> FixedCamera | None:
        """Return a camera by name; ``None`` for the wrist camera.

        Raises:
            UnknownNameError: The camera is unknown.
            ClevrSkillsError: The entry point of another distribution cannot be imported or is not
                a camera.
        """
        if name == HAND_CAMERA or name in self.cameras:
            return self.cameras.get(name)
        added = others("cameras", (HAND_CAMERA, *self.cameras))
        if name not in added:
            raise UnknownNameError("camera", name, self.camera_names())
        found: FixedCamera = load(added[name], FixedCamera)
        return found


TABLETOP = Setting(
    "tabletop",
    {
        "base_camera": FixedCamera((0.3, -0.1, 0.3), (-0.1, 0.0, 0.1), pi / 2),
        "render_camera": FixedCamera((1.0, 1.0, 0.8), (0.0, 0.0, 0.5), 1.0, 512),
    },
    watch=("base_camera", HAND_CAMERA),
)
"""Setting of ClevrSkills: paper, section 3, and camera table of the released code."""
