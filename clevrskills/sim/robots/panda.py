"""Franka Emika Panda with the vacuum gripper in place of its hand; its visual meshes are read from
ManiSkill at run time.
"""

import importlib.util
from pathlib import Path

from clevrskills.errors import ClevrSkillsError
from clevrskills.sim.robots import meshes
from clevrskills.sim.robots.geometry import Visual
from clevrskills.sim.robots.gripper import GripperDimensions, gripper_visuals

GRIPPER = GripperDimensions(
    head_bottom_m=0.0805,
    head_top_m=0.1055,
    head_size_m=(0.062, 0.090),
    cup_tip_m=0.127,
    cup_radius_m=0.015,
    tcp_m=0.126,
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

    visuals: dict[str, list[tuple[meshes.Mesh, meshes.Color]]] = {
        "gripper": gripper_visuals(GRIPPER)
    }
    for index in range(8):
        scene = trimesh.load_scene(asset_directory() / "meshes" / "visual" / f"link{index}.glb")
        visuals[f"panda_link{index}"] = bodies = []
        for body in scene.dump():
            red, green, blue = (float(c) / 255 for c in body.visual.material.main_color[:3])
            thin = meshes.thinned(meshes.Mesh(body.vertices, body.faces), CELL_M)
            if len(thin.faces) > 0:
                bodies.append((thin, (red, green, blue)))
    return meshes.write_visuals(directory, visuals)
