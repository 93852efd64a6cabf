"""Trajectory renderer: renders recorded states of an episode.

A state consists of joint angles and body poses. It is rendered in a separate scene without physics,
so recordings can be rendered later by other cameras or in other sizes, with identical images.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import sapien

from clevrskills.assets import Shape
from clevrskills.errors import ClevrSkillsError
from clevrskills.sim.body import Body
from clevrskills.sim.cameras import (
    MIN_SIZE_PX,
    ROBOT_ID,
    TABLE_ID,
    UPRIGHT,
    Camera,
    CameraImage,
    orthographic_depth_m,
    to_buffer,
)
from clevrskills.sim.conditions import Conditions
from clevrskills.sim.prompt import Prompt
from clevrskills.sim.render import scene_visuals
from clevrskills.sim.render.image_noise import NoisyCamera
from clevrskills.sim.render.offscreen import OffscreenScene, link_poses, looking_at, render_device
from clevrskills.sim.render.vulkan import renderer
from clevrskills.sim.robots.description import robot
from clevrskills.sim.setting import TABLETOP, Setting

AWAY = sapien.Pose([0.0, 0.0, -50.0])
"""Pose below the floor, out of sight."""


def camera(
    name: str, robot_name: str, size_px: int | None = None, setting: Setting = TABLETOP
) -> Camera:
    """Return a camera by name.

    Args:
        name: Name of the camera in the setting.
        robot_name: Name of the robot, which carries the wrist camera.
        size_px: Image height; ``None``: the default of the camera. Orthographic cameras keep their
            own.
        setting: The setting.

    Raises:
        UnknownNameError: The camera or robot is unknown.
        ClevrSkillsError: Videos cannot have this size.
    """
    fixed = setting.camera(name)
    if size_px is not None and (size_px < MIN_SIZE_PX or size_px % 2):
        raise ClevrSkillsError(f"image size {size_px}; allowed: even numbers from 16")
    if fixed is not None:
        size = fixed.height_of(size_px)
        place: dict[str, Any] = {"eye_m": list(fixed.eye_m), "target_m": list(fixed.target_m)}
        if fixed.up != UPRIGHT:
            place["up"] = list(fixed.up)
        width = fixed.width_of(size)
        return Camera(name, width, size, fixed.fov_rad, place, fixed.orthographic_m)
    description = robot(robot_name)
    hand = description.hand_camera
    size = size_px or hand.size_px
    place = {
        "link": description.gripper_link,
        "position_m": list(hand.position_m),
        "quaternion_wxyz": list(hand.quaternion),
    }
    return Camera(name, size, size, hand.fov_rad, place)


class TrajectoryRenderer:
    """Renderer of episodes, each in a new scene.

    Args:
        cameras: Names of the cameras.
        robot_name: Name of the robot.
        size_px: Image height; ``None``: the default of each camera.
        setting: Table, cameras and look.

    Raises:
        UnknownNameError: A camera or the robot is unknown.
    """

    def __init__(
        self,
        cameras: Sequence[str],
        robot_name: str = "xarm6",
        size_px: int | None = None,
        setting: Setting = TABLETOP,
    ) -> None:
        self.robot_name, self._setting, self._size_px = robot_name, setting, size_px
        self.cameras = {name: camera(name, robot_name, size_px, setting) for name in cameras}
        self.bodies: tuple[Body, ...] = ()

    @property
    def renderer(self) -> str:
        """Name and driver of the render device, and the digests of shaders and lights."""
        return renderer(self._setting.look)

    def open(self, scene: Mapping[str, Any]) -> list[Shape]:
        """Build a scene from ``scene_description``; return the shapes of its bodies."""
        self.bodies = tuple(Body.from_json(data) for data in scene["bodies"])
        conditions = Conditions.from_json(scene.get("conditions", {}))
        setting = conditions.of(self._setting)
        robot_name, size_px = self.robot_name, self._size_px
        self.cameras = {name: camera(name, robot_name, size_px, setting) for name in self.cameras}
        self._noise = NoisyCamera(conditions.image) if conditions.image else None
        self._moments = 0
        lighting = partial(scene_visuals.load_lighting, look=setting.look, light=setting.light)
        drawn = OffscreenScene(setting.look, render_device(), numbers=True, lighting=lighting)
        # first, as each camera renders an image when it is added
        self._cameras = {
            name: drawn.add_camera(name, one.width, one.height, one.fov_rad, one.orthographic_m)
            for name, one in self.cameras.items()
        }
        self._fixed: dict[str, np.ndarray] = {}  # extrinsics of fixed cameras
        for name, one in self.cameras.items():
            if "eye_m" in one.mounting:
                up = one.mounting.get("up", UPRIGHT)
                pose = looking_at(one.mounting["eye_m"], one.mounting["target_m"], up)
                self._cameras[name].entity.set_pose(pose)
                self._fixed[name] = _extrinsic(self._cameras[name].entity.pose)
        self._labels = np.zeros(1, np.uint8)
        # nearest first: hidden fragments are not shaded
        self._links = drawn.add_robot(self.robot_name)
        for link in self._links.values():
            self._identify(link, ROBOT_ID)
        self._entities = [
            drawn.add([scene_visuals.body_visual(body.geometry, body.texture)])
            for body in self.bodies
        ]
        for k, entity in enumerate(self._entities):
            self._identify(entity, 1 + k)
        table, *around = scene_visuals.table_visuals(setting)
        self._identify(drawn.add([table]), TABLE_ID)
        self._identify(drawn.add(around), 0)
        self._repainted: dict[str, str] = {}
        self._scene = drawn
        return [body.geometry for body in self.bodies]

    def _identify(self, entity: sapien.Entity, number: int) -> None:
        """Set the segmentation value of an entity."""
        missing = entity.per_scene_id + 1 - len(self._labels)
        self._labels = np.pad(self._labels, (0, max(0, missing)))
        self._labels[entity.per_scene_id] = number

    def prompt_images(self, prompt: Mapping[str, Any]) -> Mapping[str, np.ndarray]:
        """Return the images of a prompt in JSON data by placeholder."""
        return Prompt.from_json(prompt, self._setting).images()

    def render(
        self, qpos: np.ndarray | None, body_poses: np.ndarray, textures: Mapping[str, str]
    ) -> dict[str, CameraImage]:
        """Render a state with all cameras, see :meth:`draw`."""
        self.draw(qpos, body_poses, textures)
        return self.views()

    def draw(
        self, qpos: np.ndarray | None, body_poses: np.ndarray, textures: Mapping[str, str]
    ) -> None:
        """Start rendering a state; :meth:`views` waits for the images.

        Args:
            qpos: Joint angles (n,); ``None``: without the robot.
            body_poses: Positions and quaternions w, x, y, z of the bodies, (K, 7).
            textures: Replaced textures by body key.
        """
        links = {} if qpos is None else link_poses(self.robot_name, qpos)
        for name, entity in self._links.items():
            entity.set_pose(links.get(name, AWAY))
        for entity, pose in zip(self._entities, body_poses, strict=True):
            entity.set_pose(sapien.Pose(pose[:3], pose[3:]))
        self._repaint(textures)
        for name, camera in self._cameras.items():
            place = self.cameras[name].mounting
            if "link" in place:
                pose = sapien.Pose(place["position_m"], place["quaternion_wxyz"])
                camera.entity.set_pose(links.get(place["link"], AWAY) * pose)
        self._scene.scene.update_render()
        for camera in self._cameras.values():
            camera.take_picture()

    def views(self) -> dict[str, CameraImage]:
        """Return the images of the state drawn last, by camera."""
        views = {name: self._view(name, camera) for name, camera in self._cameras.items()}
        if self._noise is None:
            return views
        colors = {name: np.ascontiguousarray(view.color[..., :3]) for name, view in views.items()}
        shown = self._noise(colors, self._moments)
        self._moments += 1
        return {name: replace(view, color=shown[name]) for name, view in views.items()}

    def _repaint(self, textures: Mapping[str, str]) -> None:
        for body, entity in zip(self.bodies, self._entities, strict=True):
            texture = textures.get(body.key, body.texture)
            if texture != self._repainted.get(body.key, body.texture):
                scene_visuals.repaint(entity, body.geometry, texture)
        self._repainted = dict(textures)

    def _view(self, name: str, camera: sapien.render.RenderCameraComponent) -> CameraImage:
        if self._scene.numbered:
            numbers, buffer = camera.get_picture("Number"), camera.get_picture("GbufferDepth")
            if self.cameras[name].orthographic_m is not None:
                buffer = to_buffer(orthographic_depth_m(buffer))
        else:  # x, y, z in millimeters, y up and z backwards, and the entity number
            geometry = camera.get_picture("PositionSegmentation")
            numbers, buffer = geometry[..., 3], to_buffer(-1e-3 * geometry[..., 2])
        extrinsic = self._fixed[name] if name in self._fixed else _extrinsic(camera.entity.pose)
        return CameraImage(camera.get_picture("Color"), numbers, self._labels, buffer, extrinsic)


def _extrinsic(camera: sapien.Pose) -> np.ndarray:
    """Return the matrix (3, 4) from world to camera coordinates (x right, y down, z forward)."""
    matrix = camera.to_transformation_matrix()
    axes = np.stack([-matrix[:3, 1], -matrix[:3, 2], matrix[:3, 0]])
    return np.column_stack([axes, -axes @ matrix[:3, 3]])
