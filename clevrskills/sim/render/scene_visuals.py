"""Visuals of a scene: textured bodies, table, floor, backdrop and lights."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from math import cos, sin
from typing import TYPE_CHECKING

import numpy as np
import sapien

from clevrskills.assets import Shape, surface_texture, texture
from clevrskills.sim.setting import TABLETOP, Light, Setting, Surfaces

if TYPE_CHECKING:
    from mani_skill.envs.scene import ManiSkillScene
    from mani_skill.utils.building import ActorBuilder
    from mani_skill.utils.structs import Actor

TABLE_THICKNESS_M = 0.01
FLOOR_RADIUS_M = 6.0
FLOOR_COLOR = (0.27, 0.40, 0.41)  # sRGB, dark teal-grey
HORIZON_COLOR = (0.62, 0.68, 0.69)
ZENITH_COLOR = (0.90, 0.92, 0.93)
# the ground is larger than the table: bodies that leave the table rest at its height
GROUND_HALF_SIZE_M = (2.0, 2.0, 0.25)
BEYOND_M = 50.0  # width of the ground around it, for bodies that are thrown or roll away
AMBIENT_LIGHT = {"soft": (0.36, 0.36, 0.36), **dict.fromkeys(("flat", "stock"), (0.3, 0.3, 0.3))}
SHADOW_CENTER_M = (-0.3, 0.0, 0.0)
SHADOW_HALF_SIZE_M = 1.1
SHADOW_MAP_PX = 256  # 8.6 mm per texel; soft edges are up to 24 mm wide
_Light = tuple[tuple[float, float, float], tuple[float, float, float]]
# (direction, color) by look; only the first light casts shadows: it is steep, so that shadows lie
# beside the bodies and show their height, and gives less than half of the light
_PLAIN_LIGHTS: tuple[_Light, ...] = (
    ((-0.6, 0.7, -1.2), (1.7, 1.68, 1.62)),
    ((0.35, -0.75, -0.9), (0.85, 0.87, 0.9)),
)
LIGHTS: Mapping[str, tuple[_Light, ...]] = {
    "soft": (((0.12, 0.5, -1.25), (1.5, 1.48, 1.44)), ((-0.75, -0.5, -0.9), (1.05, 1.07, 1.1))),
    "flat": _PLAIN_LIGHTS,
    "stock": _PLAIN_LIGHTS,
}


def _matte(image: np.ndarray) -> sapien.render.RenderMaterial:
    """Return a matte material with a texture, (H, W, 3) uint8 sRGB."""
    opaque = np.full((*image.shape[:2], 1), 255, np.uint8)
    pixels = np.concatenate([image, opaque], axis=-1)
    levels = min(5, 1 + min(image.shape[:2]).bit_length() // 2)
    material = sapien.render.RenderMaterial(base_color=[1, 1, 1, 1], roughness=0.9)
    material.base_color_texture = sapien.render.RenderTexture2D(
        pixels, "R8G8B8A8Unorm", mipmap_levels=levels, srgb=True
    )
    return material


# materials are cached: textures are uploaded once, and the renderer is not restarted for each scene


@lru_cache(maxsize=16)
def _body_material(texture_name: str | None) -> sapien.render.RenderMaterial:
    if texture_name is None:
        return _matte(np.full((4, 4, 3), 190, np.uint8))
    return _matte(texture(texture_name))


@lru_cache(maxsize=4)
def _table_material(surfaces: Surfaces | None) -> sapien.render.RenderMaterial:
    """Return the material of plain or stained wood."""
    wood = surface_texture("table wood")
    if surfaces is None:
        return _matte(wood)
    stained = _grain(wood) * surfaces.table * 255
    return _matte(_to_bytes((1 - surfaces.stain) * wood + surfaces.stain * stained))


@lru_cache(maxsize=4)
def _floor_material(surfaces: Surfaces | None) -> sapien.render.RenderMaterial:
    color = surfaces.floor if surfaces else FLOOR_COLOR
    return _matte(_to_bytes(_grain(surface_texture("floor")) * color * 255))


@lru_cache(maxsize=4)
def _backdrop_material(surfaces: Surfaces | None) -> sapien.render.RenderMaterial:
    """Return the gradient from the color of the horizon to that of the zenith."""
    horizon = surfaces.horizon if surfaces else HORIZON_COLOR
    zenith = surfaces.zenith if surfaces else ZENITH_COLOR
    blend = np.linspace(0, 1, 64)[:, None] ** 0.6
    rows = (1 - blend) * horizon + blend * np.array(zenith)
    return _matte(np.repeat((rows[:, None] * 255).astype(np.uint8), 4, axis=1))


def _grain(image: np.ndarray) -> np.ndarray:
    """Return the brightness of an image with mean 1, (H, W, 1)."""
    pixels = image.astype(np.float32)
    grain: np.ndarray = pixels.mean(axis=-1, keepdims=True) / pixels.mean()
    return grain


def _to_bytes(image: np.ndarray) -> np.ndarray:
    return image.clip(0, 255).astype(np.uint8)


def body_visual(shape: Shape, texture_name: str | None) -> sapien.render.RenderShapeTriangleMesh:
    """Return a render shape of an object with a texture; ``None``: plain gray."""
    return sapien.render.RenderShapeTriangleMesh(
        shape.vertices, shape.faces, shape.normals, shape.uvs, _body_material(texture_name)
    )


def add_body_visual(builder: ActorBuilder, shape: Shape, texture_name: str | None) -> None:
    """Add the visual of an object to a ManiSkill actor builder."""
    # ManiSkill's list for meshes that are not read from files
    builder._procedural_shapes.append(body_visual(shape, texture_name))


def repaint(entity: sapien.Entity, shape: Shape, texture_name: str | None) -> None:
    """Replace the texture of an object; ``None``: plain gray."""
    entity.remove_component(entity.find_component_by_type(sapien.render.RenderBodyComponent))
    component = sapien.render.RenderBodyComponent()
    component.attach(body_visual(shape, texture_name))
    entity.add_component(component)


def _mesh(
    vertices: np.ndarray,
    faces: np.ndarray,
    normals: np.ndarray,
    uvs: np.ndarray,
    material: sapien.render.RenderMaterial,
) -> sapien.render.RenderShapeTriangleMesh:
    return sapien.render.RenderShapeTriangleMesh(
        vertices.astype(np.float32),
        faces.reshape(-1, 3).astype(np.uint32),
        normals.astype(np.float32),
        uvs.astype(np.float32),
        material,
    )


def _table_visual(setting: Setting) -> sapien.render.RenderShapeTriangleMesh:
    """Return the table top and its four edges; the wood texture repeats every 0.75 m."""
    corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)]) * setting.table_size_m / 2
    quads = [np.column_stack([corners, np.zeros(4)])]
    normals = [np.tile((0.0, 0.0, 1.0), (4, 1))]
    uvs = [corners / 0.75]
    for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        low = -TABLE_THICKNESS_M
        quads.append(np.array([(*a, low), (*b, low), (*b, 0), (*a, 0)]))
        outward = np.array([b[1] - a[1], a[0] - b[0], 0.0])
        normals.append(np.tile(outward / np.linalg.norm(outward), (4, 1)))
        uvs.append(np.array([(0, 0), (2, 0), (2, 0.02), (0, 0.02)]))
    starts = 4 * np.arange(len(quads))[:, None, None]
    faces = starts + np.array([(0, 1, 2), (0, 2, 3)])
    vertices = np.concatenate(quads) + (*setting.table_center_m, 0.0)
    material = _table_material(setting.surfaces)
    return _mesh(vertices, faces, np.concatenate(normals), np.concatenate(uvs), material)


def _floor_visual(surfaces: Surfaces | None) -> sapien.render.RenderShapeTriangleMesh:
    """Return a square floor; the texture repeats every meter."""
    corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)]) * FLOOR_RADIUS_M
    vertices = np.column_stack([corners, np.full(4, -TABLE_THICKNESS_M)])
    normals = np.tile((0.0, 0.0, 1.0), (4, 1))
    faces = np.array([(0, 1, 2), (0, 2, 3)])
    return _mesh(vertices, faces, normals, corners / 1.0, _floor_material(surfaces))


def _backdrop_visual(
    surfaces: Surfaces | None, segments: int = 24, rings: int = 6
) -> sapien.render.RenderShapeTriangleMesh:
    """Return a dome around the scene."""
    around, up = np.meshgrid(
        np.linspace(0, 2 * np.pi, segments + 1), np.linspace(0, np.pi / 2, rings + 1)
    )
    outward = np.stack([np.cos(around) * np.cos(up), np.sin(around) * np.cos(up), np.sin(up)], -1)
    index = np.arange(around.size).reshape(around.shape)
    a, b, c, d = index[:-1, :-1], index[:-1, 1:], index[1:, 1:], index[1:, :-1]
    faces = np.stack([a, c, b, a, d, c], axis=-1)
    vertices = outward.reshape(-1, 3) * FLOOR_RADIUS_M - (0, 0, TABLE_THICKNESS_M)
    uvs = np.stack([around, (2 * up / np.pi).clip(0.01, 0.99)], axis=-1).reshape(-1, 2)
    normals = np.tile((0.0, 0.0, 1.0), (len(vertices), 1))  # evenly lit
    return _mesh(vertices, faces, normals, uvs, _backdrop_material(surfaces))


def table_visuals(setting: Setting = TABLETOP) -> list[sapien.render.RenderShapeTriangleMesh]:
    """Return the visuals of the table, its top at z = 0, the floor and the backdrop."""
    surfaces = setting.surfaces
    return [_table_visual(setting), _floor_visual(surfaces), _backdrop_visual(surfaces)]


def load_table(scene: ManiSkillScene, with_visual: bool, setting: Setting = TABLETOP) -> Actor:
    """Build the static actor "table": ground with its top at z = 0, optionally with visuals."""
    builder = scene.create_actor_builder()
    ground = sapien.Pose([*setting.table_center_m, -GROUND_HALF_SIZE_M[2]])
    builder.add_box_collision(pose=ground, half_size=GROUND_HALF_SIZE_M)
    half_x, half_y, half_z = GROUND_HALF_SIZE_M
    for side in (-1.0, 1.0):
        for x, y, half_size in (
            (side * (half_x + BEYOND_M), 0.0, (BEYOND_M, half_y + 2.0 * BEYOND_M, half_z)),
            (0.0, side * (half_y + BEYOND_M), (half_x, BEYOND_M, half_z)),
        ):
            around = ground * sapien.Pose([x, y, 0.0])
            builder.add_box_collision(pose=around, half_size=half_size)
    if with_visual:
        builder._procedural_shapes.extend(table_visuals(setting))
    builder.initial_pose = sapien.Pose()
    return builder.build_static("table")


def load_lighting(
    scene: ManiSkillScene | sapien.Scene, look: str, light: Light | None = None
) -> None:
    """Add ambient and directional lights of a look, changed by ``light``; with ``soft``, the first
    casts shadows.
    """
    light = light or Light(1.0, ((0.0, (1.0, 1.0, 1.0)),) * len(LIGHTS[look]))
    scene.set_ambient_light([light.ambient * value for value in AMBIENT_LIGHT[look]])
    lamps = []
    for ((x, y, z), color), (turn, factors) in zip(LIGHTS[look], light.lamps, strict=True):
        turned = (cos(turn) * x - sin(turn) * y, sin(turn) * x + cos(turn) * y, z)
        lamps.append((turned, tuple(np.multiply(color, factors).tolist())))
    for index, (direction, color) in enumerate((*lamps, *light.added)):
        scene.add_directional_light(
            direction,
            color,
            shadow=look == "soft" and index == 0,
            position=SHADOW_CENTER_M,
            shadow_scale=SHADOW_HALF_SIZE_M,
            shadow_near=-2.0,
            shadow_far=2 * FLOOR_RADIUS_M,  # darkness beyond
            shadow_map_size=SHADOW_MAP_PX,
        )


def lights_digest(look: str) -> str:
    """Return the digest of the lights and the shadow map of a look, 8 hexadecimal digits."""
    shadows = SHADOW_CENTER_M, SHADOW_HALF_SIZE_M, SHADOW_MAP_PX
    values = AMBIENT_LIGHT[look], LIGHTS[look], shadows if look == "soft" else ()
    return hashlib.sha256(repr(values).encode()).hexdigest()[:8]
