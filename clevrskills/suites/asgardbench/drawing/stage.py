"""Lit stage that renders models with joints."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import lru_cache

import numpy as np
import sapien

from clevrskills.assets.meshes import TEXTURE_PERIOD_M, render_mesh
from clevrskills.sim.render.offscreen import OffscreenScene, looking_at, render_device
from clevrskills.suites.asgardbench.models.catalogue import builder
from clevrskills.suites.asgardbench.models.model import BuildInput, FixtureModel, Piece, State
from clevrskills.suites.asgardbench.models.style import PLAIN, Style
from clevrskills.suites.asgardbench.models.surfaces import Appearance, Color, Contrast, texture
from clevrskills.suites.asgardbench.rules.camera import FOV_RAD
from clevrskills.suites.asgardbench.rules.sight import SIZE_PX

AMBIENT = (0.50, 0.50, 0.51)
SUN = ((0.10, 0.42, -1.0), (1.62, 1.56, 1.44))
"""Direction and color of the light that casts shadows."""
FILLS = (((-0.75, 0.55, -0.45), (0.70, 0.71, 0.75)), ((0.6, -0.85, -0.35), (0.78, 0.77, 0.76)))
SHADOW_MAP_PX = 1024
CEILING = (0.93, 0.92, 0.90)
"""Background color, sRGB, in place of a ceiling that would block the light."""


class RenderStage:
    """Models on a stage.

    Args:
        half_size_m: Half the width of the square around the origin that shadows cover.
        size_px: Width and height of images.
        contrast: Contrast of visible states.
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
        # model, and a SAPIEN entity for its static part and for each joint
        self._shown: dict[Hashable, tuple[FixtureModel, dict[str | None, sapien.Entity]]] = {}
        self._numbers: dict[int, Hashable] = {}

    def show(
        self, key: Hashable, kind: str, place_m: tuple[float, float, float], state: State
    ) -> None:
        """Show or move an entity of a type."""
        base = np.eye(4)
        base[:3, 3] = place_m
        self.show_at(key, model(kind, state, self._contrast), base, state)

    def show_at(self, key: Hashable, drawn: FixtureModel, base: np.ndarray, state: State) -> None:
        """Show a model at a pose, a matrix (4, 4)."""
        there, bodies = self._shown.get(key, (None, {}))
        if there is not drawn:
            self.hide(key)
            bodies = self._bodies(drawn)
            self._shown[key] = drawn, bodies
            for body in bodies.values():
                self._numbers[body.per_scene_id] = key
        for joint, body in bodies.items():
            own = np.eye(4) if joint is None else drawn.joints[joint].matrix(state)
            body.set_pose(sapien.Pose(base @ own))

    def shows(self, key: Hashable) -> bool:
        """Return whether an entity is on the stage."""
        return key in self._shown

    def hide(self, key: Hashable) -> None:
        """Remove an entity, if it is on the stage."""
        for body in self._shown.pop(key, (None, {}))[1].values():
            del self._numbers[body.per_scene_id]
            body.remove_from_scene()

    def clear(self) -> None:
        """Remove all entities."""
        for key in list(self._shown):
            self.hide(key)

    def look(self, eye_m: Sequence[float], target_m: Sequence[float]) -> None:
        """Set position and target of the camera."""
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
        # alpha is the coverage of a pixel; the rest is the ceiling
        rows, columns = np.nonzero(drawn[..., 3] < 255)
        rest = 255 - drawn[rows, columns, 3:].astype(np.float32)
        mixed = image[rows, columns] + rest * np.array(CEILING, np.float32)
        image[rows, columns] = mixed.round().clip(0, 255).astype(np.uint8)
        return image

    def segmentation(self) -> tuple[np.ndarray, dict[int, Hashable]]:
        """Return the segmentation of the last image, (n, n) int32, 0 for the background, and the
        key of each number.
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
    # moving parts are drawn first: doors hide the insides, which then are not shaded
    for piece in sorted(drawn.pieces, key=lambda piece: piece.joint is None):
        if piece.use == "rules":
            continue
        groups.setdefault((piece.joint, piece.surface), []).append(piece)
    return groups


Mesh = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@lru_cache(maxsize=4096)
def mesh(piece: Piece) -> Mesh:
    """Return vertices (V, 3) meters, normals (V, 3), texture coordinates (V, 2), faces (F, 3)."""
    vertices, normals, uvs, faces = render_mesh(piece.solid.transformed(np.eye(3) / 1000))
    if piece.surface.mirrors:
        around = np.arctan2(normals[:, 1], normals[:, 0]) / (2 * np.pi) + 0.5
        up = np.arcsin(normals[:, 2].clip(-1, 1)) / np.pi + 0.5
        # image rows go down; the ends of the texture must not be interpolated
        uvs = np.column_stack([around, 1 - up.clip(0.01, 0.99)])
    else:
        level = np.abs(normals[:, 2:]) > 0.75  # the center of the texture is at the origin
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


@lru_cache(maxsize=1024)
def material(surface: Appearance) -> sapien.render.RenderMaterial:
    """Return the SAPIEN material of a surface."""
    made = sapien.render.RenderMaterial(base_color=[1, 1, 1, 1], roughness=0.9)
    if surface.pattern == "plain" and surface.overlay is None and not surface.mirrors:
        made.base_color = [*(_linear(surface.color)), 1.0]
    else:
        pixels = (texture(surface).clip(0, 1) * 255).round().astype(np.uint8)
        opaque = np.full((*pixels.shape[:2], 1), 255, np.uint8)
        made.base_color_texture = sapien.render.RenderTexture2D(
            np.concatenate([pixels, opaque], axis=-1), "R8G8B8A8Unorm", mipmap_levels=5, srgb=True
        )
    if surface.glow > 0:
        power = surface.glow * surface.strength
        made.emission = [*(power * c for c in _linear(surface.color)), 1.0]
    return made


def _linear(color: Color) -> list[float]:
    """Convert a color from sRGB to linear light."""
    return [c**2.2 for c in color]
