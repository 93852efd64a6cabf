"""Textures by name, such as "dark red swirl"."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np

from clevrskills.assets import patterns
from clevrskills.assets.palettes import palette_color
from clevrskills.assets.plugins import other_texture, others
from clevrskills.assets.splits import pools
from clevrskills.assets.tables import read_rows
from clevrskills.errors import UnknownNameError

TEXTURE_PX = 256
SURFACE_PX = 512

COLORS: dict[str, patterns.Color] = {
    "red": (0.86, 0.09, 0.09),
    "green": (0.10, 0.62, 0.18),
    "blue": (0.10, 0.25, 0.85),
    "yellow": (0.98, 0.84, 0.08),
    "purple": (0.70, 0.15, 0.78),
    "cyan": (0.08, 0.80, 0.88),
    "white": (0.95, 0.95, 0.95),
    "black": (0.10, 0.10, 0.11),
    "grey": (0.50, 0.50, 0.51),
}
_PALE = (0.96, 0.93, 0.86)

# textures with their own function; the others are one or two colors and a pattern
_IMAGES: dict[str, Callable[[int], np.ndarray]] = {
    "brick": patterns.brick,
    "granite": patterns.granite,
    "magma": patterns.magma,
    "plastic": patterns.plastic,
    "rainbow": patterns.rainbow,
    "tiger": patterns.tiger,
    "tiled": patterns.tiled,
    "wooden": patterns.wooden,
}
_SURFACES: dict[str, Callable[[int], np.ndarray]] = {
    "table wood": patterns.table_wood,
    "floor": patterns.floor,
}


def texture_names() -> tuple[str, ...]:
    """Return all textures of the splits, those of training first."""
    return pools("train").textures + pools("test").textures


@lru_cache(maxsize=64)  # those of a split
def texture(name: str) -> np.ndarray:
    """Return a read-only tile of a texture, (256, 256, 3) uint8 sRGB, which covers 0.1 m x 0.1 m.

    Raises:
        UnknownNameError: The texture is unknown.
        ClevrSkillsError: The texture of another distribution is invalid.
    """
    color = palette_color(name)
    if color is not None:
        return _to_bytes(np.broadcast_to(np.array(color) / 255, (TEXTURE_PX, TEXTURE_PX, 3)))
    if name not in texture_names():
        added = others("textures", texture_names())
        if name not in added:
            raise UnknownNameError("texture", name, (*texture_names(), *added))
        return _to_bytes(other_texture(added[name], TEXTURE_PX))
    *tint, share = read_rows(Path(__file__).with_name("tints.toml"), float, 4)[name]
    return _to_bytes(_image(name.removeprefix("dark "), TEXTURE_PX, share) * tint)


@lru_cache(maxsize=8)
def surface_texture(name: str) -> np.ndarray:
    """Return the read-only texture "table wood" or "floor", (512, 512, 3) uint8 sRGB.

    Raises:
        UnknownNameError: The name is unknown.
    """
    if name not in _SURFACES:
        raise UnknownNameError("surface texture", name, tuple(_SURFACES))
    return _to_bytes(_SURFACES[name](SURFACE_PX))


def _to_bytes(image: np.ndarray) -> np.ndarray:
    pixels = np.round(np.clip(image, 0.0, 1.0) * 255).astype(np.uint8)
    pixels.flags.writeable = False
    return pixels


def _image(name: str, n: int, share: float) -> np.ndarray:
    if name in _IMAGES:
        return _IMAGES[name](n)
    words = name.split()
    colors = [COLORS[word] for word in words if word in COLORS]
    match words[-1]:
        case "dot":
            return patterns.mix(colors[0], colors[1], patterns.polka_dots(n, share))
        case "stripe":
            return patterns.mix(colors[0], colors[1], patterns.stripes(n, share))
        case "checkerboard":
            return patterns.mix(COLORS["white"], COLORS["black"], patterns.checkerboard(n))
        case "swirl":
            paint = np.array(colors[0]) if colors else patterns.rainbow(n)
            return patterns.mix(_PALE, paint, patterns.swirls(n))
        case "paisley":
            drops, rings = patterns.paisley(n)
            return patterns.mix(patterns.mix(colors[0], _PALE, drops), colors[0], rings)
        case _:
            return np.broadcast_to(np.array(colors[0]), (n, n, 3))
