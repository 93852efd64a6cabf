"""Pictures of all objects and textures, to look at after a change of the catalogue.

python -m clevrskills.assets.contact_sheet --out sheet.png
python -m clevrskills.assets.contact_sheet --in-scene --out scene.png
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from clevrskills.assets import shape, shape_names, surface_texture, texture, texture_names
from clevrskills.cameras import BASE_CAMERA, FixedCamera

_TILE_PX = 144
_LABEL_PX = 14
_COLUMNS = 11
_TEXTURE_STEP = 29  # shares no factor with the number of textures: neighbours look different
_CLOSE_UP_FROM = (0.64, -0.15, 0.75)  # direction, unit length
_BACKGROUND = 235
_PLACES_M = [(x, y) for x in (-0.24, -0.09, 0.06) for y in (-0.24, -0.06, 0.12)]

Placed = tuple[str, str, tuple[float, float], float]  # shape, texture, place, yaw


def take_picture(bodies: Sequence[Placed], camera: FixedCamera, with_table: bool) -> np.ndarray:
    """Picture (size_px, size_px, 3) uint8 of bodies that stand on z = 0."""
    import sapien

    from clevrskills import rendering

    rendering.use_shader_pack()
    scene = sapien.Scene([sapien.render.RenderSystem(sapien.Device("cpu"))])
    rendering.load_lighting(scene, shadows=False)

    def add(visuals: Sequence[object], pose: sapien.Pose) -> None:
        entity, component = sapien.Entity(), sapien.render.RenderBodyComponent()
        for visual in visuals:
            component.attach(visual)
        entity.add_component(component)
        entity.set_pose(pose)
        scene.add_entity(entity)

    if with_table:
        add(rendering.table_visuals(), sapien.Pose())
    for name, texture_name, (x, y), yaw in bodies:
        item = shape(name)
        pose = sapien.Pose([x, y, item.half_extents[2]], [np.cos(yaw / 2), 0, 0, np.sin(yaw / 2)])
        add([rendering.body_visual(item, texture_name)], pose)
    return _shoot(scene, camera)


def _shoot(scene: object, camera: FixedCamera) -> np.ndarray:
    import sapien

    component = sapien.render.RenderCameraComponent(camera.size_px, camera.size_px)
    component.set_fovy(camera.fov_rad, compute_x=True)
    component.near, component.far = 0.01, 10.0
    entity = sapien.Entity()
    entity.add_component(component)
    eye, target = np.array(camera.eye_m), np.array(camera.target_m)
    forward = (target - eye) / np.linalg.norm(target - eye)
    left = np.cross([0.0, 0.0, 1.0], forward)
    left /= np.linalg.norm(left)
    matrix = np.eye(4)
    matrix[:3] = np.column_stack([forward, left, np.cross(forward, left), eye])
    entity.set_pose(sapien.Pose(matrix))
    scene.add_entity(entity)  # type: ignore[attr-defined]
    scene.update_render()  # type: ignore[attr-defined]
    component.take_picture()
    picture = component.get_picture("Color")  # (size_px, size_px, 4) uint8
    return np.where(picture[..., 3:] == 0, _BACKGROUND, picture[..., :3]).astype(np.uint8)


def catalogue_sheet() -> Image.Image:
    """Every object with some texture, then a swatch of every texture."""
    textures = texture_names()
    tiles = [
        (name, _close_up(name, textures[k * _TEXTURE_STEP % len(textures)]))
        for k, name in enumerate(shape_names())
    ]
    tiles += [(name, texture(name)) for name in textures]
    tiles += [(name, surface_texture(name)) for name in ("table wood", "floor")]
    return _mosaic(tiles)


def _close_up(name: str, texture_name: str) -> np.ndarray:
    half = np.array(shape(name).half_extents)
    x, y, z = 2.2 * float(np.linalg.norm(half)) * np.array(_CLOSE_UP_FROM)
    camera = FixedCamera((x, y, z), (0.0, 0.0, float(half[2])), 1.0, 2 * _TILE_PX)
    return take_picture([(name, texture_name, (0.0, 0.0), 0.0)], camera, with_table=False)


def _mosaic(tiles: Sequence[tuple[str, np.ndarray]]) -> Image.Image:
    rows = -(-len(tiles) // _COLUMNS)
    height = _TILE_PX + _LABEL_PX
    sheet = Image.new("RGB", (_COLUMNS * _TILE_PX, rows * height), "white")
    draw = ImageDraw.Draw(sheet)
    for k, (label, picture) in enumerate(tiles):
        x, y = k % _COLUMNS * _TILE_PX, k // _COLUMNS * height
        image = Image.fromarray(picture).resize((_TILE_PX - 2, _TILE_PX - 2))
        sheet.paste(image, (x, y + _LABEL_PX))
        draw.text((x + 2, y + 1), label, fill="black")
    return sheet


def scene_sheet() -> Image.Image:
    """All objects on the table, nine at a time, as the base camera sees them."""
    textures, names = texture_names(), shape_names()
    order = np.random.default_rng(0).permutation(names).tolist()
    pictures = []
    for start in range(0, len(order), len(_PLACES_M)):
        chunk = order[start : start + len(_PLACES_M)]
        bodies = [
            (name, textures[(start + k) * _TEXTURE_STEP % len(textures)], place, 0.4 * (k % 3 - 1))
            for k, (name, place) in enumerate(zip(chunk, _PLACES_M, strict=False))
        ]
        pictures.append(take_picture(bodies, BASE_CAMERA, with_table=True))
    pictures += [np.zeros_like(pictures[0])] * (-len(pictures) % 4)
    rows = [np.concatenate(pictures[k : k + 4], axis=1) for k in range(0, len(pictures), 4)]
    return Image.fromarray(np.concatenate(rows))


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="picture to write")
    parser.add_argument("--in-scene", action="store_true", help="objects on the table instead")
    arguments = parser.parse_args()
    sheet = scene_sheet() if arguments.in_scene else catalogue_sheet()
    sheet.save(arguments.out)


if __name__ == "__main__":
    main()
