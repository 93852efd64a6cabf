"""Franka Emika Panda with the vacuum gripper in place of its hand.

Joint origins, limits and inertias are from the public franka_description (as shipped by ManiSkill);
the primitives enclose the housings. Visual meshes are read from ManiSkill at run time.
"""

import importlib.util
from math import pi
from pathlib import Path

from clevrskills.errors import ClevrSkillsError
from clevrskills.sim.robots import meshes
from clevrskills.sim.robots.geometry import BoxGeometry, Cylinder, Inertia, Joint, Link, Visual
from clevrskills.sim.robots.gripper import (
    GripperDimensions,
    gripper_joints,
    gripper_links,
    gripper_looks,
)

GRIPPER = GripperDimensions(
    head_bottom_m=0.0805,
    head_top_m=0.1055,
    head_size_m=(0.062, 0.090),
    cup_tip_m=0.127,
    cup_radius_m=0.015,
    tcp_m=0.126,
)
_ALONG_Y = (pi / 2, 0.0, 0.0)
_LIMITS_RAD = (
    (-2.8973, 2.8973),
    (-1.7628, 1.7628),
    (-2.8973, 2.8973),
    (-3.0718, -0.0698),
    (-2.8973, 2.8973),
    (-0.0175, 3.7525),
    (-2.8973, 2.8973),
)
_ORIGINS = (
    ((0, 0, 0.333), (0, 0, 0)),
    ((0, 0, 0), (-pi / 2, 0, 0)),
    ((0, -0.316, 0), (pi / 2, 0, 0)),
    ((0.0825, 0, 0), (pi / 2, 0, 0)),
    ((-0.0825, 0.384, 0), (-pi / 2, 0, 0)),
    ((0, 0, 0), (pi / 2, 0, 0)),
    ((0.088, 0, 0), (pi / 2, 0, 0)),
)
_INERTIAS = (
    Inertia(
        0.629769,
        (-0.041018, -0.00014, 0.049974),
        (0.00315, 8.2904e-07, 0.00015, 0.00388, 8.2299e-06, 0.004285),
    ),
    Inertia(
        4.970684,
        (0.003875, 0.002081, -0.04762),
        (0.70337, -0.000139, 0.006772, 0.70661, 0.019169, 0.009117),
    ),
    Inertia(
        0.646926,
        (-0.003141, -0.02872, 0.003495),
        (0.007962, -0.003925, 0.010254, 0.02811, 0.000704, 0.025995),
    ),
    Inertia(
        3.228604,
        (0.027518, 0.039252, -0.066502),
        (0.037242, -0.004761, -0.011396, 0.036155, -0.012805, 0.01083),
    ),
    Inertia(
        3.587895,
        (-0.05317, 0.104419, 0.027454),
        (0.025853, 0.007796, -0.001332, 0.019552, 0.008641, 0.028323),
    ),
    Inertia(
        1.225946,
        (-0.011953, 0.041065, -0.038437),
        (0.035549, -0.002117, -0.004037, 0.029474, 0.000229, 0.008627),
    ),
    Inertia(
        1.666555,
        (0.060149, -0.014117, -0.010517),
        (0.001964, 0.000109, -0.001158, 0.004354, 0.000341, 0.005433),
    ),
    Inertia(
        0.735522,
        (0.010517, -0.004252, 0.061597),
        (0.012516, -0.000428, -0.001196, 0.010027, -0.000741, 0.004815),
    ),
)
_COLLISIONS: tuple[tuple[BoxGeometry | Cylinder, ...], ...] = (
    (BoxGeometry((0.226, 0.190, 0.140), (-0.041, 0, 0.070)),),
    (
        Cylinder(0.055, 0.192, (0, 0, -0.096)),
        Cylinder(0.055, 0.184, (0, -0.037, 0), _ALONG_Y),
        BoxGeometry((0.096, 0.075, 0.075), (0, -0.055, -0.055), (pi / 4, 0, 0)),
    ),
    (
        Cylinder(0.055, 0.184, (0, 0, 0.037)),
        Cylinder(0.055, 0.194, (0, -0.097, 0), _ALONG_Y),
        BoxGeometry((0.096, 0.075, 0.075), (0, -0.055, 0.055), (pi / 4, 0, 0)),
    ),
    (Cylinder(0.055, 0.121, (0, 0, -0.0605)), Cylinder(0.055, 0.166, (0.0825, 0.028, 0), _ALONG_Y)),
    (Cylinder(0.055, 0.166, (0, 0, 0.028)), Cylinder(0.055, 0.124, (-0.0825, 0.062, 0), _ALONG_Y)),
    (
        Cylinder(0.055, 0.125, (0, 0, -0.2025)),
        Cylinder(0.050, 0.230, (0, 0.050, -0.115), (-0.12, 0, 0)),
        Cylinder(0.050, 0.180, (0, 0.040, 0), _ALONG_Y),
    ),
    (Cylinder(0.048, 0.100, (0, 0, 0.006)), Cylinder(0.046, 0.132, (0.088, 0.016, 0), _ALONG_Y)),
    (
        Cylinder(0.044, 0.055, (0, 0, 0.0795)),
        BoxGeometry((0.095, 0.075, 0.050), (0.030, 0.030, 0.080), (0, 0, pi / 4)),
    ),
)
_NAMES = tuple(f"panda_link{i}" for i in range(9))

LINKS = (
    *(Link(*parts) for parts in zip(_NAMES[:8], _INERTIAS, _COLLISIONS, strict=True)),
    Link("panda_link8", Inertia(0.001, (0, 0, 0), (1e-6, 0.0, 0.0, 1e-6, 0.0, 1e-6))),
    *gripper_links(GRIPPER),
)
JOINTS = (
    *(
        Joint(
            f"panda_joint{i + 1}",
            _NAMES[i],
            _NAMES[i + 1],
            xyz,
            rpy,
            "revolute",
            limits,
            87 if i < 4 else 12,
            2.175 if i < 4 else 2.61,
        )
        for i, ((xyz, rpy), limits) in enumerate(zip(_ORIGINS, _LIMITS_RAD, strict=True))
    ),
    Joint("panda_joint8", _NAMES[7], _NAMES[8], (0.0, 0.0, 0.107)),
    *gripper_joints(GRIPPER, _NAMES[8], yaw_rad=-pi / 4),
)
NEUTRAL_QPOS = (0.0, 0.0, 0.0, -2 * pi / 3, 0.0, 2 * pi / 3, pi / 4)
# neighbors, and pairs that the joint limits keep apart
DISABLED_PAIRS = (
    *zip(_NAMES[:8], _NAMES[1:], strict=False),
    (_NAMES[8], "gripper"),
    (_NAMES[7], "gripper"),
    (_NAMES[6], "gripper"),
    (_NAMES[5], _NAMES[7]),
    (_NAMES[0], _NAMES[2]),
    (_NAMES[1], _NAMES[3]),
    (_NAMES[2], _NAMES[4]),
    (_NAMES[3], _NAMES[5]),
    (_NAMES[4], _NAMES[6]),
)

CELL_M = 0.014  # grid size of mesh simplification


def asset_directory() -> Path:
    """Return the directory of the Panda's files in the installed ManiSkill.

    Raises:
        ClevrSkillsError: ManiSkill is not installed.
    """
    found = importlib.util.find_spec("mani_skill")
    if found is None or found.origin is None:
        raise ClevrSkillsError("the robot panda needs files of ManiSkill, which is not installed")
    return Path(found.origin).parent / "assets" / "robots" / "panda" / "franka_description"


def write_visuals(directory: Path) -> dict[str, list[Visual]]:
    """Write the visual meshes of the robot into `directory`; return them by link.

    ManiSkill's meshes have 126,000 triangles, several times the cost of the rest of an image, and
    are simplified.
    """
    import trimesh

    looks: dict[str, list[tuple[meshes.Mesh, meshes.Color]]] = {"gripper": gripper_looks(GRIPPER)}
    for index, name in enumerate(_NAMES[:8]):
        scene = trimesh.load_scene(asset_directory() / "meshes" / "visual" / f"link{index}.glb")
        looks[name] = []
        for body in scene.dump():
            red, green, blue = (float(c) / 255 for c in body.visual.material.main_color[:3])
            thin = meshes.thinned(meshes.Mesh(body.vertices, body.faces), CELL_M)
            if len(thin.faces) > 0:
                looks[name].append((thin, (red, green, blue)))
    return meshes.write_visuals(directory, looks)
