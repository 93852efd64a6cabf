"""Filming: what cameras see of a moment of an episode, drawn from plain numbers.

A moment is the joint angles of the robot and the poses of the bodies. It is drawn in a scene of its
own without physics, so the simulation need not render, and what was recorded can be filmed later,
by other cameras or in other sizes, with the very same images.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import tan
from typing import TYPE_CHECKING, Any

import numpy as np

from clevrskills.errors import ClevrSkillsError
from clevrskills.sim.body import Body
from clevrskills.sim.cameras import FAR_M, NEAR_M, fixed_camera
from clevrskills.sim.prompt import Prompt
from clevrskills.sim.render import scene_visuals
from clevrskills.sim.render.offscreen import Stage, link_poses, looking_at, render_device
from clevrskills.sim.render.vulkan import renderer
from clevrskills.sim.robots.description import robot

if TYPE_CHECKING:
    import sapien

    from clevrskills.assets import Shape

HAND_CAMERA_SIZE_PX = 256
MIN_SIZE_PX = 16
TABLE_ID, ROBOT_ID = 254, 255
"""What the table and the robot are in a segmentation; 0 is the background, 1 + k is body k."""


@dataclass(frozen=True)
class Camera:
    """A camera that films.

    Attributes:
        name: Its name.
        width: Width of its images in pixels.
        height: Height of its images in pixels.
        fov_rad: Vertical field of view.
        mounting: Where it is, in the world or on a link of the robot, as JSON data.
    """

    name: str
    width: int
    height: int
    fov_rad: float
    mounting: Mapping[str, Any]

    @property
    def intrinsic(self) -> np.ndarray:
        """The matrix (3, 3) from camera coordinates (x right, y down, z ahead) to pixels."""
        focal = self.height / 2 / tan(self.fov_rad / 2)
        return np.array(
            [[focal, 0.0, self.width / 2], [0.0, focal, self.height / 2], [0.0, 0.0, 1.0]]
        )

    def to_json(self) -> dict[str, Any]:
        """Plain JSON data."""
        return {
            "width": self.width,
            "height": self.height,
            "fov_rad": self.fov_rad,
            "intrinsic": self.intrinsic.tolist(),
            **self.mounting,
        }


@dataclass(frozen=True)
class View:
    """What a camera sees.

    Attributes:
        color: (H, W, 3 or 4) uint8 sRGB.
        numbers: Number of the entity that each pixel shows, (H, W), of any type.
        labels: What these numbers are in a segmentation, (n,) uint8.
        buffer: Depth as renderers keep it, see :func:`to_buffer`, (H, W).
        extrinsic: World to camera coordinates (x right, y down, z ahead), (3, 4).
    """

    color: np.ndarray
    numbers: np.ndarray
    labels: np.ndarray
    buffer: np.ndarray
    extrinsic: np.ndarray

    @property
    def segmentation(self) -> np.ndarray:
        """What is seen, (H, W) uint8: 0 background, 1 + k body k, 254 table, 255 robot."""
        return self.labels[self.numbers.astype(np.intp)]

    @property
    def depth_mm(self) -> np.ndarray:
        """Millimetres along the optical axis, (H, W) uint16; 0: nothing within range."""
        depth = NEAR_M / (1.0 - self.buffer.astype(np.float64) * (1.0 - NEAR_M / FAR_M))
        return np.where(self.buffer < 1.0, np.rint(1e3 * depth), 0.0).astype(np.uint16)


def to_buffer(depth_m: np.ndarray) -> np.ndarray:
    """Depth along the optical axis as renderers keep it: 0 at the near plane, 1 at the far one."""
    return (1.0 - NEAR_M / depth_m) / (1.0 - NEAR_M / FAR_M)


def camera(name: str, robot_name: str, size_px: int | None = None) -> Camera:
    """A camera by name.

    Args:
        name: One of :func:`clevrskills.sim.cameras.camera_names`.
        robot_name: The robot, which may carry it.
        size_px: Width and height of its images; ``None``: its own.

    Raises:
        UnknownNameError: There is no such camera or robot.
        ClevrSkillsError: Videos cannot have this size.
    """
    fixed = fixed_camera(name)
    if size_px is not None and (size_px < MIN_SIZE_PX or size_px % 2):
        raise ClevrSkillsError(f"size of images {size_px}: allowed are even numbers from 16")
    if fixed is not None:
        size = size_px or fixed.size_px
        place: dict[str, Any] = {"eye_m": list(fixed.eye_m), "target_m": list(fixed.target_m)}
        return Camera(name, size, size, fixed.fov_rad, place)
    description = robot(robot_name)
    hand, size = description.hand_camera, size_px or HAND_CAMERA_SIZE_PX
    place = {
        "link": description.gripper_link,
        "position_m": list(hand.position_m),
        "quaternion_wxyz": list(hand.quaternion),
    }
    return Camera(name, size, size, hand.fov_rad, place)


class TrajectoryRenderer:
    """Films episodes, one after the other; each in a scene of its own, so none depends on others.

    Args:
        cameras: Names of the cameras.
        robot_name: The robot.
        size_px: Width and height of all images; ``None``: each camera's own.
        device: SAPIEN's name of the render device; ``None``: what environments draw with.

    Raises:
        UnknownNameError: There is no such camera or robot.
    """

    def __init__(
        self,
        cameras: Sequence[str],
        robot_name: str = "xarm6",
        size_px: int | None = None,
        device: str | None = None,
    ) -> None:
        self.robot_name = robot_name
        self.cameras = {name: camera(name, robot_name, size_px) for name in cameras}
        self.bodies: tuple[Body, ...] = ()
        self._device = device

    @property
    def renderer(self) -> str:
        """Name and driver of the device that draws."""
        return renderer()

    def open(self, scene: Mapping[str, Any]) -> list[Shape]:
        """Build the scene of an episode from its description, as ``scene_description`` gave it.

        Returns:
            The geometry of its bodies.
        """
        self.bodies = tuple(Body.from_json(data) for data in scene["bodies"])
        stage = Stage(self._device or render_device(), numbers=True)
        # first, as each takes an image of what is there
        self._lenses = {
            name: stage.add_camera(name, one.width, one.height, one.fov_rad)
            for name, one in self.cameras.items()
        }
        for name, one in self.cameras.items():
            if "eye_m" in one.mounting:
                pose = looking_at(one.mounting["eye_m"], one.mounting["target_m"])
                self._lenses[name].entity.set_pose(pose)
        self._labels = np.zeros(1, np.uint8)
        # the nearest first: what they hide need not be shaded
        self._links = stage.add_robot(self.robot_name)
        for link in self._links.values():
            self._identify(link, ROBOT_ID)
        self._entities = [
            stage.add([scene_visuals.body_visual(body.geometry, body.texture)])
            for body in self.bodies
        ]
        for k, entity in enumerate(self._entities):
            self._identify(entity, 1 + k)
        table, *around = scene_visuals.table_visuals()
        self._identify(stage.add([table]), TABLE_ID)
        self._identify(stage.add(around), 0)
        self._shown: dict[str, str] = {}
        self._stage = stage
        return [body.geometry for body in self.bodies]

    def _identify(self, entity: sapien.Entity, number: int) -> None:
        """Have an entity segmented under a number."""
        missing = entity.per_scene_id + 1 - len(self._labels)
        self._labels = np.pad(self._labels, (0, max(0, missing)))
        self._labels[entity.per_scene_id] = number

    def prompt_images(self, prompt: Mapping[str, Any]) -> Mapping[str, np.ndarray]:
        """The images of a prompt given as JSON data, by placeholder."""
        return Prompt.from_json(prompt).images()

    def render(
        self, qpos: np.ndarray, body_poses: np.ndarray, textures: Mapping[str, str]
    ) -> dict[str, View]:
        """Draw a moment of the episode that was opened last.

        Args:
            qpos: Joint angles (n,).
            body_poses: Positions and quaternions w, x, y, z of the bodies, (K, 7).
            textures: Textures that bodies show in place of their own, by key.

        Returns:
            What each camera sees.
        """
        import sapien

        links = link_poses(self.robot_name, qpos)
        for name, entity in self._links.items():
            entity.set_pose(links[name])
        for entity, pose in zip(self._entities, body_poses, strict=True):
            entity.set_pose(sapien.Pose(pose[:3], pose[3:]))
        self._repaint(textures)
        for name, lens in self._lenses.items():
            place = self.cameras[name].mounting
            if "link" in place:
                pose = sapien.Pose(place["position_m"], place["quaternion_wxyz"])
                lens.entity.set_pose(links[place["link"]] * pose)
        self._stage.scene.update_render()
        return {name: self._view(lens) for name, lens in self._lenses.items()}

    def _repaint(self, textures: Mapping[str, str]) -> None:
        for body, entity in zip(self.bodies, self._entities, strict=True):
            texture = textures.get(body.key, body.texture)
            if texture != self._shown.get(body.key, body.texture):
                scene_visuals.repaint(entity, body.geometry, texture)
        self._shown = dict(textures)

    def _view(self, lens: sapien.render.RenderCameraComponent) -> View:
        lens.take_picture()
        if self._stage.numbered:
            numbers, buffer = lens.get_picture("Number"), lens.get_picture("GbufferDepth")
        else:  # x, y, z in millimetres, y up and z backwards, and the number of the entity
            geometry = lens.get_picture("PositionSegmentation")
            numbers, buffer = geometry[..., 3], to_buffer(-1e-3 * geometry[..., 2])
        pose = lens.entity.pose.to_transformation_matrix()
        axes = np.stack([-pose[:3, 1], -pose[:3, 2], pose[:3, 0]])
        extrinsic = np.column_stack([axes, -axes @ pose[:3, 3]])
        return View(lens.get_picture("Color"), numbers, self._labels, buffer, extrinsic)
