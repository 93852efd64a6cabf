"""Offscreen scene: a lit scene without physics."""

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import sapien
from sapien.wrapper.articulation_builder import LinkBuilder
from sapien.wrapper.urdf_loader import URDFLoader

from clevrskills.sim.cameras import FAR_M, NEAR_M
from clevrskills.sim.render import scene_visuals, shaders
from clevrskills.sim.robots.controller import kinematics
from clevrskills.sim.robots.description import robot

UPRIGHT = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)


class _Scene(sapien.Scene):
    """SAPIEN's scene without its destructor, which fails without physics."""

    def __del__(self) -> None:
        pass


class OffscreenScene:
    """Lit scene without physics, with shapes, robots and cameras.

    Args:
        look: One of :data:`~clevrskills.core.env_config.LOOKS`.
        device: SAPIEN's name of the render device, e.g. "cpu" or "cuda:0"; ``None``: SAPIEN's
            default.
        numbers: Whether cameras render the entity number of each pixel.
        lighting: Adds the lights; by default those of the look.

    Attributes:
        numbered: Whether entity numbers are the picture "Number"; SAPIEN's own shaders write them
            to "PositionSegmentation".
    """

    def __init__(
        self,
        look: str,
        device: str | None = None,
        numbers: bool = False,
        lighting: Callable[[sapien.Scene], None] | None = None,
    ) -> None:
        self._look, self._numbers = look, numbers
        pack = shaders.use_shader_pack(look, numbers=numbers)
        self.numbered = numbers and pack != shaders.STOCK_PACK
        system = sapien.render.RenderSystem(*([sapien.Device(device)] if device else []))
        self.scene = _Scene([system])
        if lighting is None:
            scene_visuals.load_lighting(self.scene, look)
        else:
            lighting(self.scene)

    def add_camera(
        self,
        name: str,
        width: int,
        height: int,
        fov_rad: float,
        orthographic_m: float | None = None,
    ) -> sapien.render.RenderCameraComponent:
        """Add a camera and render its first image; see
        :class:`~clevrskills.sim.cameras.FixedCamera`.
        """
        # shaders and image formats are global state: set them before creating the camera
        shaders.use_shader_pack(self._look, numbers=self._numbers)
        camera = self.scene.add_camera(name, width, height, fov_rad, NEAR_M, FAR_M)
        if orthographic_m is not None:
            camera.set_orthographic_parameters(NEAR_M, FAR_M, orthographic_m / 2)
        self.scene.update_render()
        camera.take_picture()
        camera.get_picture("Color")  # waits: a scene must not be destroyed while rendering
        return camera

    def add(
        self, shapes: Sequence[sapien.render.RenderShape], pose: Sequence[float] = UPRIGHT
    ) -> sapien.Entity:
        """Add shapes at a pose (position, then quaternion w, x, y, z)."""
        component = sapien.render.RenderBodyComponent()
        for shape in shapes:
            component.attach(shape)
        entity = self._add(component)
        entity.set_pose(sapien.Pose(list(pose[:3]), list(pose[3:])))
        return entity

    def add_robot(self, name: str) -> dict[str, sapien.Entity]:
        """Add a robot; return its links by name."""
        return {link.name: self._add(link.build_render_component()) for link in _links(name)}

    def _add(self, component: sapien.render.RenderBodyComponent) -> sapien.Entity:
        entity = sapien.Entity()
        entity.add_component(component)
        self.scene.add_entity(entity)
        return entity


def looking_at(
    eye_m: Sequence[float], target_m: Sequence[float], up: Sequence[float] = (0.0, 0.0, 1.0)
) -> sapien.Pose:
    """Return the pose of a camera that looks at a target."""
    forward = np.subtract(target_m, eye_m)
    forward = forward / np.linalg.norm(forward)
    left = np.cross(up, forward)
    left = left / np.linalg.norm(left)
    matrix = np.eye(4)
    matrix[:3] = np.column_stack([forward, left, np.cross(forward, left), eye_m])
    return sapien.Pose(matrix)


def link_poses(name: str, qpos: Sequence[float] | np.ndarray) -> dict[str, sapien.Pose]:
    """Return the world poses of the links of a robot at joint angles (n,)."""
    base = sapien.Pose(robot(name).base_position)
    poses = kinematics(name).link_poses(np.asarray(qpos, dtype=np.float64))
    return {link: base * pose for link, pose in poses.items()}


@cache
def _links(name: str) -> tuple[LinkBuilder, ...]:
    """Return builders of the links of a robot, cached as parsing its URDF is slow."""
    loader = URDFLoader()
    loader.set_scene(_Scene([]))  # required, but not used by the loader
    builder = loader.load_file_as_articulation_builder(str(robot(name).urdf(visual=True)))
    return tuple(builder.link_builders)


@cache
def render_device() -> str:
    """Return SAPIEN's name of the render device of environments."""
    return "cuda" if shaders.default_backend() == "gpu" else "cpu"
