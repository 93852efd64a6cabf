"""Pictures of things that are not the running simulation: objects, textures, imagined scenes.

They are taken in scenes of their own, without physics, so an episode is never disturbed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from clevrskills import assets, rendering

if TYPE_CHECKING:
    import sapien

SIZE = 256
BACKGROUND = (236, 238, 240)  # sRGB
OBJECT_VIEW = (1.0, 1.0, 1.0)  # direction of the camera, seen from the object
OBJECT_FOV_RAD = 1.0
OBJECT_MARGIN = 1.08  # of the bounding sphere
BASE_CAMERA_EYE_M = (0.3, -0.1, 0.3)
BASE_CAMERA_TARGET_M = (-0.1, 0.0, 0.1)
BASE_CAMERA_FOV_RAD = float(np.pi / 2)
NEAR_M, FAR_M = 0.01, 10.0
CACHED_IMAGES = 256

Placed = tuple[assets.Shape, "str | None", Sequence[float]]


class Studio:
    """Takes pictures; the scenes, and the pictures of objects, are kept for the next call.

    Args:
        device: SAPIEN's name of the render device, e.g. "cpu" or "cuda:0"; None leaves the choice
            to SAPIEN.
    """

    def __init__(self, device: str | None = None) -> None:
        self._device = device
        self._object_stage: _Stage | None = None
        self._table_stage: _Stage | None = None
        self._object_images: OrderedDict[tuple[Any, ...], np.ndarray] = OrderedDict()

    def object_image(
        self,
        shape: assets.Shape | str,
        texture: str | None,
        size: tuple[float, float, float] | None = None,
    ) -> np.ndarray:
        """Returns a picture of an object alone on a plain light background.

        Args:
            shape: The object's geometry, or the name of a shape.
            texture: Name of its texture; None is plain grey.
            size: With a name: full bounding box in metres; None is the shape's own.

        Returns:
            (256, 256, 3) uint8, a copy.

        Raises:
            UnknownNameError: There is no such shape or texture.
        """
        solid = assets.shape(shape, size) if isinstance(shape, str) else shape
        extents = tuple(float(x) for x in solid.half_extents)
        key = (solid.name, extents, texture)
        if key not in self._object_images:
            self._object_images[key] = self._take_object(solid, texture)
            if len(self._object_images) > CACHED_IMAGES:
                self._object_images.popitem(last=False)
        self._object_images.move_to_end(key)
        return self._object_images[key].copy()

    def texture_image(self, name: str) -> np.ndarray:
        """Returns a texture, seen flat: (256, 256, 3) uint8, a copy.

        Raises:
            UnknownNameError: There is no such texture.
        """
        return np.array(assets.texture(name))

    def scene_image(self, bodies: Sequence[Placed]) -> np.ndarray:
        """Returns what the base camera would see if there was no robot.

        Args:
            bodies: Shape, texture and pose (x, y, z, then quaternion w, x, y, z) of each object.

        Returns:
            (256, 256, 3) uint8.

        Raises:
            UnknownNameError: There is no such texture.
        """
        if self._table_stage is None:
            self._table_stage = _Stage(SIZE, BASE_CAMERA_FOV_RAD, self._device)
            self._table_stage.add(rendering.table_visuals(), (0, 0, 0, 1, 0, 0, 0))
            self._table_stage.aim(BASE_CAMERA_EYE_M, BASE_CAMERA_TARGET_M)
        shown = [([rendering.body_visual(shape, name)], pose) for shape, name, pose in bodies]
        return self._table_stage.shoot(shown)[..., :3]

    def _take_object(self, shape: assets.Shape, texture: str | None) -> np.ndarray:
        if self._object_stage is None:
            self._object_stage = _Stage(2 * SIZE, OBJECT_FOV_RAD, self._device)
        view = np.array(OBJECT_VIEW) / np.linalg.norm(OBJECT_VIEW)
        radius_m = OBJECT_MARGIN * float(np.linalg.norm(shape.vertices, axis=1).max())
        self._object_stage.aim(view * radius_m / np.sin(OBJECT_FOV_RAD / 2), (0.0, 0.0, 0.0))
        upright = (0, 0, 0, 1, 0, 0, 0)
        picture = self._object_stage.shoot([([rendering.body_visual(shape, texture)], upright)])
        # averaging four pixels smooths the edges; nothing was drawn where alpha is 0
        color = np.where(picture[..., 3:] > 0, picture[..., :3], np.uint8(BACKGROUND))
        blocks = color.reshape(SIZE, 2, SIZE, 2, 3).astype(np.float32)
        return blocks.mean(axis=(1, 3)).round().astype(np.uint8)


class _Stage:
    """A lit scene with one camera and without physics."""

    def __init__(self, size: int, fov_rad: float, device: str | None) -> None:
        import sapien

        system = sapien.render.RenderSystem(*([sapien.Device(device)] if device else []))
        rendering.use_shader_pack()
        self._scene = _scene_class()([system])
        rendering.load_lighting(self._scene, shadows=False)
        self._camera = self._scene.add_camera("camera", size, size, fov_rad, NEAR_M, FAR_M)
        self.shoot([])  # picture formats are global: make the camera while they are set

    def aim(self, eye_m: Sequence[float], target_m: Sequence[float]) -> None:
        """Puts the camera at `eye_m`, looking at `target_m`, upright."""
        import sapien

        forward = np.subtract(target_m, eye_m)
        forward = forward / np.linalg.norm(forward)
        left = np.cross((0.0, 0.0, 1.0), forward)
        left = left / np.linalg.norm(left)
        matrix = np.eye(4)
        matrix[:3] = np.column_stack([forward, left, np.cross(forward, left), eye_m])
        self._camera.entity.set_pose(sapien.Pose(matrix))

    def add(
        self, shapes: Sequence[sapien.render.RenderShape], pose: Sequence[float]
    ) -> sapien.Entity:
        """Shows shapes at a pose (position, then quaternion w, x, y, z)."""
        import sapien

        component = sapien.render.RenderBodyComponent()
        for shape in shapes:
            component.attach(shape)
        entity = sapien.Entity()
        entity.add_component(component)
        entity.set_pose(sapien.Pose(list(pose[:3]), list(pose[3:])))
        self._scene.add_entity(entity)
        return entity

    def shoot(
        self, shown: Sequence[tuple[Sequence[sapien.render.RenderShape], Sequence[float]]]
    ) -> np.ndarray:
        """Takes a picture with these shapes at these poses as well: (size, size, 4) uint8."""
        entities = [self.add(shapes, pose) for shapes, pose in shown]
        self._scene.update_render()
        self._camera.take_picture()
        picture = self._camera.get_picture("Color")
        for entity in entities:
            self._scene.remove_entity(entity)
        return np.array(picture)


def _scene_class() -> type[sapien.Scene]:
    """SAPIEN's scene, whose own clean-up fails where there is no physics."""
    import sapien

    class Scene(sapien.Scene):
        def __del__(self) -> None:
            pass

    return Scene
