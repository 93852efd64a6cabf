"""Images for prompts: objects, textures and imagined scenes.

They are rendered in separate scenes without physics, so they never affect an episode.
"""

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache

import numpy as np
import sapien

from clevrskills import assets
from clevrskills.sim.cameras import OBJECT_CAMERA
from clevrskills.sim.render import scene_visuals
from clevrskills.sim.render.offscreen import (
    UPRIGHT,
    OffscreenScene,
    link_poses,
    looking_at,
    render_device,
)
from clevrskills.sim.setting import TABLETOP, Setting

__all__ = ["prompt_renderer"]

BACKGROUND = (216, 221, 225)  # sRGB
OBJECT_MARGIN = 1.08  # space around the bounding sphere
CACHED_IMAGES = 16

Placed = tuple[assets.Shape, "str | None", Sequence[float]]


class PromptRenderer:
    """Renderer of prompt images, with a cache of scenes and object images.

    Args:
        device: SAPIEN's name of the render device, e.g. "cpu" or "cuda:0"; ``None``: SAPIEN's
            default.
        setting: Camera, table and look of the scenes.
        object_size_px: Width and height of images of objects.
    """

    def __init__(
        self,
        device: str | None = None,
        setting: Setting = TABLETOP,
        object_size_px: int = OBJECT_CAMERA.size_px,
    ) -> None:
        self._device, self._setting, self._object_size_px = device, setting, object_size_px
        self._object_scene: _OneCamera | None = None
        self._table_scenes: dict[str | None, tuple[_OneCamera, Mapping[str, sapien.Entity]]] = {}
        self._object_image = lru_cache(CACHED_IMAGES)(self._render_object)

    def object_image(
        self,
        shape: assets.Shape | str,
        texture: str | None,
        size: tuple[float, float, float] | None = None,
        radius_m: float | None = None,
    ) -> np.ndarray:
        """Return an image of a single object on a plain background.

        Args:
            shape: Geometry of the object, or the name of a shape.
            texture: Name of the texture; ``None``: plain gray.
            size: Bounding box in meters of a shape given by name; ``None``: default size.
            radius_m: Visible radius around the object's center; ``None``: fits the object.

        Returns:
            (S, S, 3) uint8 with S = ``object_size_px``, a copy.

        Raises:
            UnknownNameError: The shape or texture is unknown.
        """
        solid = assets.shape(shape, size) if isinstance(shape, str) else shape
        return self._object_image(solid, texture, radius_m).copy()

    def texture_image(self, name: str) -> np.ndarray:
        """Return a copy of a texture, (256, 256, 3) uint8.

        Raises:
            UnknownNameError: The texture is unknown.
        """
        return np.array(assets.texture(name))

    def scene_image(
        self, bodies: Sequence[Placed], robot: str | None = None, qpos: Sequence[float] = ()
    ) -> np.ndarray:
        """Return an image of a scene from the main camera, (H, W, 3) uint8.

        Args:
            bodies: Shape, texture and pose (x, y, z, then quaternion w, x, y, z) of each object.
            robot: Key of the visible robot; ``None``: none.
            qpos: Joint angles of the robot (n,).

        Raises:
            UnknownNameError: A texture or the robot is unknown.
        """
        main = self._setting.main_camera
        if robot not in self._table_scenes:
            size = main.width_of(main.size_px), main.size_px
            scene = _OneCamera(self._setting.look, size, main.fov_rad, self._device)
            scene.add(scene_visuals.table_visuals(self._setting))
            scene.aim(main.eye_m, main.target_m, main.up)
            self._table_scenes[robot] = scene, scene.add_robot(robot) if robot else {}
        scene, links = self._table_scenes[robot]
        if robot is not None:
            for name, pose in link_poses(robot, qpos).items():
                links[name].set_pose(pose)
        placed = [([scene_visuals.body_visual(shape, name)], pose) for shape, name, pose in bodies]
        return scene.render(placed)[..., :3]

    def _render_object(
        self, shape: assets.Shape, texture: str | None, radius_m: float | None
    ) -> np.ndarray:
        if self._object_scene is None:
            fov_rad = OBJECT_CAMERA.fov_rad
            whole = (2 * self._object_size_px, 2 * self._object_size_px)
            self._object_scene = _OneCamera(self._setting.look, whole, fov_rad, self._device)
        view = np.array(OBJECT_CAMERA.eye_m) / np.linalg.norm(OBJECT_CAMERA.eye_m)
        around_m = radius_m or float(np.linalg.norm(shape.vertices, axis=1).max())
        distance_m = OBJECT_MARGIN * around_m
        self._object_scene.aim(view * distance_m / np.sin(OBJECT_CAMERA.fov_rad / 2), (0, 0, 0))
        image = self._object_scene.render([([scene_visuals.body_visual(shape, texture)], UPRIGHT)])
        # composite on the background by alpha, then average 2 x 2 pixels against aliasing; per
        # channel takes a fifth of the time
        rest = (1 - image[..., 3] / np.float32(255)).astype(np.float64)
        smooth = np.empty((self._object_size_px, self._object_size_px, 3), np.uint8)
        for channel, level in enumerate(BACKGROUND):
            color = image[..., channel] + rest * level
            rows = color[::2] + color[1::2]
            smooth[..., channel] = ((rows[:, ::2] + rows[:, 1::2]) / 4).round()
        return smooth


@cache
def prompt_renderer(setting: Setting = TABLETOP) -> PromptRenderer:
    """Return the renderer of this process, on the device used by environments."""
    return PromptRenderer(render_device(), setting)


class _OneCamera(OffscreenScene):
    """Scene with one camera."""

    def __init__(
        self, look: str, size: tuple[int, int], fov_rad: float, device: str | None
    ) -> None:
        super().__init__(look, device)
        self._camera = self.add_camera("camera", *size, fov_rad)

    def aim(
        self,
        eye_m: Sequence[float],
        target_m: Sequence[float],
        up: Sequence[float] = (0.0, 0.0, 1.0),
    ) -> None:
        """Set the pose of the camera."""
        self._camera.entity.set_pose(looking_at(eye_m, target_m, up))

    def render(
        self, placed: Sequence[tuple[Sequence[sapien.render.RenderShape], Sequence[float]]]
    ) -> np.ndarray:
        """Return an image with additional shapes at poses, (H, W, 4) uint8."""
        entities = [self.add(shapes, pose) for shapes, pose in placed]
        self.scene.update_render()
        self._camera.take_picture()
        image = self._camera.get_picture("Color")
        for entity in entities:
            self.scene.remove_entity(entity)
        return np.array(image)
