"""Setting of LoHoRavens: the field on the table, and the cameras around it.

The rows of the map go away from the robot, world +x, its columns go in the direction of world +y.
In sentences, "top" is near the robot and "left" is -y.
"""

from math import atan2

from clevrskills.sim.cameras import FixedCamera
from clevrskills.sim.robots.description import ROBOTS
from clevrskills.sim.setting import TABLETOP, Setting, Workspace

PIXEL_M = 0.003125
"""Size of a pixel of the map (LoHoRavens, after CLIPort)."""
FIELD = Workspace(
    x_m=(-0.33, 0.07),
    y_m=(-0.40, 0.40),
    reach_m=(0.20, 0.86),
    base_x_m=ROBOTS["ur5e"].base_position[0],
)
"""Part of the table that the UR5e reaches with the gripper straight down."""
FIELD_MIDDLE_M = (sum(FIELD.x_m) / 2, sum(FIELD.y_m) / 2)

_FOCAL_PX, _WIDTH_PX, _HEIGHT_PX = 450.0, 640, 480
_TOP_FOCAL_PX, _TOP_SIZE_PX = 600.0, (640, 360)
_TOP_HEIGHT_M, _MAP_HEIGHT_M = 1.1, 1.0
_AWAY = (-1.0, 0.0, 0.0)
"""Up direction of images from above: the top of the field is near the robot."""


def _side(eye_m: tuple[float, float, float], target_m: tuple[float, float]) -> FixedCamera:
    """Return a camera beside the field, from positions relative to the robot's base."""
    x_m = FIELD.base_x_m
    eye, target = (eye_m[0] + x_m, *eye_m[1:]), (target_m[0] + x_m, target_m[1], 0.0)
    fov_rad = 2 * atan2(_HEIGHT_PX / 2, _FOCAL_PX)
    return FixedCamera(eye, target, fov_rad, _HEIGHT_PX, _WIDTH_PX)


def _above(height_m: float, fov_rad: float, size_px: tuple[int, int]) -> FixedCamera:
    """Return a camera above the middle of the field."""
    x, y = FIELD_MIDDLE_M
    width, height = size_px
    return FixedCamera((x, y, height_m), (x, y, 0.0), fov_rad, height, width, _AWAY)


_DEPTH_M, _BREADTH_M = (high - low for low, high in (FIELD.x_m, FIELD.y_m))
MAP = FixedCamera(
    (*FIELD_MIDDLE_M, _MAP_HEIGHT_M),
    (*FIELD_MIDDLE_M, 0.0),
    1.0,
    round(_DEPTH_M / PIXEL_M),
    round(_BREADTH_M / PIXEL_M),
    _AWAY,
    orthographic_m=_DEPTH_M,
)
"""The map: the field from straight above, 128 x 256 pixels."""

SETTING = Setting(
    "lohoravens",
    {
        "top": _above(_TOP_HEIGHT_M, 2 * atan2(_TOP_SIZE_PX[1] / 2, _TOP_FOCAL_PX), _TOP_SIZE_PX),
        "map": MAP,
        "front": _side((1.0, 0.0, 0.75), (0.25, 0.0)),
        "left": _side((0.0, 0.5, 0.75), (0.445, 0.055)),
        "right": _side((0.0, -0.5, 0.75), (0.445, -0.055)),
        **TABLETOP.cameras,
    },
    watch=("top", "map"),
    workspace=FIELD,
    start_qpos={"ur5e": (-0.73, -2.32, 1.78, -1.03, -1.5708, -2.30)},
)
"""Cameras, field and start posture of the arm, which is out of sight between turns."""
