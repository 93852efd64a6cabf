"""Stage: a lit place where models stand, move by their joints, and are photographed."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import radians

import numpy as np
import sapien

from clevrskills.assets.meshes import TEXTURE_PERIOD_M, render_mesh
from clevrskills.sim.render.offscreen import OffscreenScene, looking_at, render_device
from clevrskills.suites.asgardbench.drawing.materials import material
from clevrskills.suites.asgardbench.models.catalogue import builder
from clevrskills.suites.asgardbench.models.model import BuildInput, FixtureModel, Piece, State
from clevrskills.suites.asgardbench.models.style import PLAIN, Style
from clevrskills.suites.asgardbench.models.surfaces import Appearance, Contrast

SIZE_PX = 1024
FOV_RAD = radians(60)
AMBIENT = (0.50, 0.50, 0.51)
SUN = ((0.10, 0.42, -1.0), (1.62, 1.56, 1.44))
"""Direction and color of the light that casts shadows."""
FILLS = (((-0.75, 0.55, -0.45), (0.70, 0.71, 0.75)), ((0.6, -0.85, -0.35), (0.78, 0.77, 0.76)))
SHADOW_MAP_PX = 1024
CEILING = (0.93, 0.92, 0.90)
"""Color where nothing is drawn, sRGB: a ceiling would keep the light out."""
Pose = tuple[float, float, float, float]
"""x, y, z in metres and yaw in radians."""


@dataclass
class _Shown:
    """An entity of the household, drawn: one SAPIEN entity for what stays and one a joint."""

    model: FixtureModel
    bodies: dict[str | None, sapien.Entity]


class RenderStage:
    """Models on a stage.

    Args:
        half_size_m: Half the width of the square that the shadows cover, about the origin.
        size_px: Width and height of images.
        contrast: How strongly states show.
    """

    def __init__(
        self, half_size_m: float = 3.0, size_px: int = SIZE_PX, contrast: Contrast = "high"
    ) -> None:
        def lights(scene: sapien.Scene) -> None:
            scene.set_ambient_light(AMBIENT)
            scene.add_directional_light(
                *SUN, shadow=True, position=[0, 0, 1.0], shadow_scale=half_size_m * 1.25,
                shadow_near=-8.0, shadow_far=8.0, shadow_map_size=SHADOW_MAP_PX,
            )  # fmt: skip
            for direction, color in FILLS:
                scene.add_directional_light(direction, color)

        self._contrast: Contrast = contrast
        self._offscreen = OffscreenScene("soft", render_device(), numbers=True, lighting=lights)
        self._camera = self._offscreen.add_camera("agent", size_px, size_px, FOV_RAD)
        self._shown: dict[Hashable, _Shown] = {}
        self._numbers: dict[int, Hashable] = {}

    def show(self, key: Hashable, kind: str, pose: Pose, state: State | None = None) -> None:
        """Show an entity, or show it anew, by its type, pose and state."""
        state = state or State()
        self.show_model(key, model(kind, state, self._contrast), pose, state)

    def show_model(self, key: Hashable, drawn: FixtureModel, pose: Pose, state: State) -> None:
        """Show a model that is not in the list of types."""
        self.show_at(key, drawn, _matrix(pose), state)

    def show_at(self, key: Hashable, drawn: FixtureModel, base: np.ndarray, state: State) -> None:
        """Show a model at any pose, a matrix (4, 4)."""
        there = self._shown.get(key)
        if there is None or there.model is not drawn:
            self.hide(key)
            there = self._shown[key] = _Shown(drawn, self._bodies(drawn))
            for body in there.bodies.values():
                self._numbers[body.per_scene_id] = key
        for joint, body in there.bodies.items():
            own = np.eye(4) if joint is None else drawn.joints[joint].matrix(state)
            body.set_pose(sapien.Pose(base @ own))

    def shows(self, key: Hashable) -> bool:
        """Return whether an entity is on the stage."""
        return key in self._shown

    def hide(self, key: Hashable) -> None:
        """Take an entity off the stage, if it is on it."""
        shown = self._shown.pop(key, None)
        for body in shown.bodies.values() if shown else ():
            del self._numbers[body.per_scene_id]
            body.remove_from_scene()

    def clear(self) -> None:
        """Take everything off the stage."""
        for key in list(self._shown):
            self.hide(key)

    def look(self, eye_m: Sequence[float], target_m: Sequence[float]) -> None:
        """Turn the camera: from where it looks, and at what."""
        self._camera.entity.set_pose(looking_at(eye_m, target_m))

    @property
    def camera_pose(self) -> sapien.Pose:
        """Pose of the camera: x forward, y left, z up."""
        return self._camera.entity.pose

    def image(self) -> np.ndarray:
        """Take an image, (n, n, 3) uint8."""
        self._offscreen.scene.update_render()
        self._camera.take_picture()
        drawn = np.asarray(self._camera.get_picture("Color"))
        image = np.ascontiguousarray(drawn[..., :3])
        # alpha is the share of a pixel that was drawn; the rest is the ceiling
        rows, columns = np.nonzero(drawn[..., 3] < 255)
        rest = 255 - drawn[rows, columns, 3:].astype(np.float32)
        mixed = image[rows, columns] + rest * np.array(CEILING, np.float32)
        image[rows, columns] = mixed.round().clip(0, 255).astype(np.uint8)
        return image

    def segmentation(self) -> tuple[np.ndarray, dict[int, Hashable]]:
        """Return which entity each pixel of the last image shows.

        Returns:
            Numbers (n, n) int32, 0 where nothing is, and the key of each number.
        """
        if self._offscreen.numbered:
            numbers = np.asarray(self._camera.get_picture("Number")).astype(np.int32)
        else:
            numbers = np.asarray(self._camera.get_picture("PositionSegmentation"))[..., 3]
        return numbers.reshape(numbers.shape[:2]).astype(np.int32), dict(self._numbers)

    def pixels(self, key: Hashable) -> np.ndarray:
        """Return the mask of the pixels of the last image that show an entity, (n, n) bool."""
        numbers, keys = self.segmentation()
        return np.isin(numbers, [number for number, owner in keys.items() if owner == key])

    def _bodies(self, drawn: FixtureModel) -> dict[str | None, sapien.Entity]:
        groups: dict[str | None, list[sapien.render.RenderShape]] = {}
        for (joint, surface), pieces in _grouped(drawn).items():
            groups.setdefault(joint, []).append(_shape(pieces, surface))
        return {joint: self._offscreen.add(shapes) for joint, shapes in groups.items()}


@lru_cache(maxsize=2048)
def model(
    kind: str, state: State, contrast: Contrast = "high", style: Style = PLAIN, width_m: float = 0.0
) -> FixtureModel:
    """Return the model of a type in a state, in the style of a room and of a width.

    Raises:
        ValueError: The type is unknown.
    """
    return builder(kind)(BuildInput(state, contrast, style, 1000 * width_m))


def _grouped(drawn: FixtureModel) -> dict[tuple[str | None, Appearance], list[Piece]]:
    groups: dict[tuple[str | None, Appearance], list[Piece]] = {}
    # what moves is drawn first: doors hide the insides, which then need no shading
    for piece in sorted(drawn.pieces, key=lambda piece: piece.joint is None):
        if piece.use == "rules":
            continue
        groups.setdefault((piece.joint, piece.surface), []).append(piece)
    return groups


Mesh = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@lru_cache(maxsize=4096)
def mesh(piece: Piece) -> Mesh:
    """Return vertices (V, 3) metres, normals (V, 3), texture coordinates (V, 2), faces (F, 3)."""
    vertices, normals, uvs, faces = render_mesh(piece.solid.transformed(np.eye(3) / 1000))
    if piece.surface.mirrors:
        around = np.arctan2(normals[:, 1], normals[:, 0]) / (2 * np.pi) + 0.5
        up = np.arcsin(normals[:, 2].clip(-1, 1)) / np.pi + 0.5
        # rows of an image go down; the ends of the texture are not to be mixed
        uvs = np.column_stack([around, 1 - up.clip(0.01, 0.99)])
    else:
        level = np.abs(normals[:, 2:]) > 0.75  # there the middle of the texture is at the origin
        uvs = uvs * (TEXTURE_PERIOD_M / piece.surface.period_m) + 0.5 * level
        uvs[:, 1] = 1 - uvs[:, 1]
    return vertices, normals, uvs.astype(np.float32), faces


def _shape(pieces: list[Piece], surface: Appearance) -> sapien.render.RenderShapeTriangleMesh:
    meshes = [mesh(piece) for piece in pieces]
    starts = np.cumsum([0, *(len(vertices) for vertices, *_ in meshes)])
    faces = [m[3] + start for m, start in zip(meshes, starts[:-1], strict=True)]
    vertices, normals, uvs = (np.concatenate([m[k] for m in meshes]) for k in range(3))
    return sapien.render.RenderShapeTriangleMesh(
        vertices.astype(np.float32),
        np.concatenate(faces).astype(np.uint32),
        normals.astype(np.float32),
        uvs.astype(np.float32),
        material(surface),
    )


def _matrix(pose: Pose) -> np.ndarray:
    x, y, z, yaw = pose
    matrix = np.eye(4)
    matrix[:2, :2] = [[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]]
    matrix[:3, 3] = x, y, z
    return matrix
