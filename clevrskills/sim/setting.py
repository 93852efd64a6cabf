"""Setting: the cameras, the table and the workspace that the tasks of a suite share."""

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
"""Name of the camera at the wrist, which every robot has."""


@dataclass(frozen=True)
class Workspace:
    """The part of the table where things are put, in metres."""

    x_m: tuple[float, float] = (-0.40, 0.05)  # range of x
    y_m: tuple[float, float] = (-0.32, 0.32)  # range of y
    reach_m: tuple[float, float] = (0.22, 0.64)  # range of the distance from the robot's base
    # where that is: by default the xArm 6's; the Panda reaches further
    base_x_m: float = ROBOTS["xarm6"].base_position[0]

    def contains(self, x: float, y: float) -> bool:
        """Return whether the gripper reaches the place."""
        return self.reach_m[0] <= hypot(x - self.base_x_m, y) <= self.reach_m[1]


Color = tuple[float, float, float]
Direction = tuple[float, float, float]


@dataclass(frozen=True)
class Light:
    """The light in a scene, linear RGB."""

    ambient: Color  # light from everywhere
    # direction and color of each lamp, infinitely far away; where shadows are cast, they are those
    # of the first
    lamps: tuple[tuple[Direction, Color], ...]


@dataclass(frozen=True)
class Surfaces:
    """Surroundings in place of wood, tiles and a pale sky; colors are sRGB."""

    table: Color  # color that the table's wood is stained with
    floor: Color  # color of the floor
    horizon: Color  # color of the walls around, below
    zenith: Color  # the same, above
    # how much of the stain there is: 0 leaves the wood as it is, 1 hides its color
    stain: float = 1.0


@dataclass(frozen=True)
class Setting:
    """Setting of a suite's tasks: table, robot, cameras, workspace."""

    name: str  # its name
    # cameras that stand still, by name; ``render_camera`` is that of ``env.render()``
    cameras: Mapping[str, FixedCamera] = field(hash=False)
    # cameras of observations if none are named; the first stands still, has all that is laid out in
    # view, and takes the images of key-steps
    watch: tuple[str, ...]
    workspace: Workspace = Workspace()  # where things are put if a task does not say otherwise
    # world x and y of the middle of the table, whose top is at z = 0
    table_center_m: tuple[float, float] = (-0.5, 0.0)
    table_size_m: tuple[float, float] = (1.7, 2.2)  # its size along x and y
    look: str = LOOKS[0]  # how images look, one of :data:`~clevrskills.core.env_config.LOOKS`
    # joint angles of robots at the start, by name, where their neutral ones would hide what the
    # cameras are to see
    start_qpos: Mapping[str, tuple[float, ...]] = field(default_factory=dict, hash=False)
    light: Light | None = None  # the light; ``None``: that of the look
    surfaces: Surfaces | None = None  # what is around; ``None``: wood, tiles and a pale sky

    def __post_init__(self) -> None:
        if self.look not in LOOKS:
            raise UnknownNameError("look", self.look, LOOKS)

    @property
    def main_camera(self) -> FixedCamera:
        """The first camera of :attr:`watch`."""
        return self.cameras[self.watch[0]]

    def qpos_at_start(self, robot_name: str) -> np.ndarray:
        """Return joint angles (n,) of a robot at the start of an episode, rad.

        Raises:
            UnknownNameError: There is no such robot.
        """
        return np.array(self.start_qpos.get(robot_name) or robot(robot_name).neutral_qpos)

    def camera_names(self) -> tuple[str, ...]:
        """Return names of all cameras, those that other distributions add last.

        Raises:
            NameTakenError: Two have the same name.
        """
        own = sorted((HAND_CAMERA, *self.cameras))
        return (*own, *others("cameras", own))

    def camera(self, name: str) -> FixedCamera | None:
        """Return the camera of a name, ``None`` for that of the wrist.

        Raises:
            UnknownNameError: There is no such camera.
            ClevrSkillsError: What another distribution adds cannot be imported, or is no camera.
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
"""That of ClevrSkills: paper, section 3, and the released code's table of cameras."""
