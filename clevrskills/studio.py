"""Pictures of things that are not the running simulation: objects, textures, imagined scenes.

They are taken in scenes of their own, without physics, so an episode is never disturbed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from clevrskills import assets, rendering
from clevrskills.cameras import BASE_CAMERA, FAR_M, NEAR_M, OBJECT_CAMERA

if TYPE_CHECKING:
    import sapien

BACKGROUND = (216, 221, 225)  # sRGB
OBJECT_MARGIN = 1.08  # space around the bounding sphere
CACHED_IMAGES = 16
UPRIGHT = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)

Placed = tuple[assets.Shape, "str | None", Sequence[float]]


class Studio:
    """Takes pictures; the scenes, and the pictures of objects, are kept for the next call."""

    def __init__(self, device: str | None = None) -> None:
        """Does nothing yet: a scene is made when its first picture is taken.

        Args:
            device: SAPIEN's name of the render device, e.g. "cpu" or "cuda:0"; None leaves the
                choice to SAPIEN.
        """
        self._device = device
        self._object_stage: _Stage | None = None
        self._table_stages: dict[str | None, tuple[_Stage, Mapping[str, sapien.Entity]]] = {}
        self._object_images: OrderedDict[tuple[Any, ...], np.ndarray] = OrderedDict()

    def object_image(
        self,
        shape: assets.Shape | str,
        texture: str | None,
        size: tuple[float, float, float] | None = None,
        radius_m: float | None = None,
    ) -> np.ndarray:
        """Returns a picture of an object alone on a plain light background.

        Args:
            shape: The object's geometry, or the name of a shape.
            texture: Name of its texture; None is plain grey.
            size: With a name: full bounding box in metres; None is the shape's own.
            radius_m: What the picture shows around the middle of the object; None: just the object.

        Returns:
            (256, 256, 3) uint8, a copy.

        Raises:
            UnknownNameError: There is no such shape or texture.
        """
        solid = assets.shape(shape, size) if isinstance(shape, str) else shape
        extents = tuple(float(x) for x in solid.half_extents)
        key = (solid.name, extents, texture, radius_m)
        if key not in self._object_images:
            self._object_images[key] = self._take_object(solid, texture, radius_m)
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

    def scene_image(
        self, bodies: Sequence[Placed], robot: str | None = None, qpos: Sequence[float] = ()
    ) -> np.ndarray:
        """Returns what the base camera would see, by default without a robot.

        Args:
            bodies: Shape, texture and pose (x, y, z, then quaternion w, x, y, z) of each object.
            robot: Key of the robot to show.
            qpos: Its joint angles (n,).

        Returns:
            (256, 256, 3) uint8.

        Raises:
            UnknownNameError: There is no such texture or robot.
        """
        if robot not in self._table_stages:
            stage = _Stage(BASE_CAMERA.size_px, BASE_CAMERA.fov_rad, self._device)
            stage.add(rendering.table_visuals(), UPRIGHT)
            stage.aim(BASE_CAMERA.eye_m, BASE_CAMERA.target_m)
            self._table_stages[robot] = stage, stage.add_robot(robot) if robot else {}
        stage, links = self._table_stages[robot]
        if robot is not None:
            for name, pose in _link_poses(robot, qpos).items():
                links[name].set_pose(pose)
        shown = [([rendering.body_visual(shape, name)], pose) for shape, name, pose in bodies]
        return stage.shoot(shown)[..., :3]

    def _take_object(
        self, shape: assets.Shape, texture: str | None, radius_m: float | None
    ) -> np.ndarray:
        size = OBJECT_CAMERA.size_px
        if self._object_stage is None:
            self._object_stage = _Stage(2 * size, OBJECT_CAMERA.fov_rad, self._device)
        view = np.array(OBJECT_CAMERA.eye_m) / np.linalg.norm(OBJECT_CAMERA.eye_m)
        shown_m = radius_m or float(np.linalg.norm(shape.vertices, axis=1).max())
        distance_m = OBJECT_MARGIN * shown_m
        self._object_stage.aim(view * distance_m / np.sin(OBJECT_CAMERA.fov_rad / 2), (0, 0, 0))
        picture = self._object_stage.shoot([([rendering.body_visual(shape, texture)], UPRIGHT)])
        # averaging four pixels smooths the edges; nothing was drawn where alpha is 0
        color = np.where(picture[..., 3:] > 0, picture[..., :3], np.array(BACKGROUND, np.uint8))
        blocks = color.reshape(size, 2, size, 2, 3).astype(np.float32)
        return blocks.mean(axis=(1, 3)).round().astype(np.uint8)


@cache
def studio() -> Studio:
    """The process's own studio, on the device that environments draw with."""
    return Studio(device="cuda" if rendering.default_backend() == "gpu" else "cpu")


class _Stage:
    """A lit scene with one camera and without physics."""

    def __init__(self, size: int, fov_rad: float, device: str | None) -> None:
        import sapien

        rendering.use_shader_pack()
        system = sapien.render.RenderSystem(*([sapien.Device(device)] if device else []))
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
        entity = self._add(component)
        entity.set_pose(sapien.Pose(list(pose[:3]), list(pose[3:])))
        return entity

    def add_robot(self, name: str) -> dict[str, sapien.Entity]:
        """Shows a robot; returns its links by name."""
        from sapien.wrapper.urdf_loader import URDFLoader

        from clevrskills.robots.description import robot

        loader = URDFLoader()
        loader.set_scene(self._scene)
        builder = loader.load_file_as_articulation_builder(str(robot(name).urdf(visual=True)))
        return {
            link.name: self._add(link.build_render_component()) for link in builder.link_builders
        }

    def _add(self, component: sapien.render.RenderBodyComponent) -> sapien.Entity:
        import sapien

        entity = sapien.Entity()
        entity.add_component(component)
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


def _link_poses(name: str, qpos: Sequence[float]) -> dict[str, sapien.Pose]:
    """World poses of a robot's links at joint angles (n,)."""
    import sapien

    from clevrskills.robots.controller import kinematics
    from clevrskills.robots.description import robot

    base = sapien.Pose(robot(name).base_position)
    poses = kinematics(name).link_poses(np.asarray(qpos, dtype=np.float64))
    return {link: base * pose for link, pose in poses.items()}


@cache
def _scene_class() -> type[sapien.Scene]:
    """SAPIEN's scene, whose own clean-up fails where there is no physics."""
    import sapien

    class Scene(sapien.Scene):
        def __del__(self) -> None:
            pass

    return Scene
