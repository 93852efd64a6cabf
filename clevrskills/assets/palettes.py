"""Palettes: plain colors of suites in namespaces, such as ``ravens/red``."""

from collections.abc import Mapping

import numpy as np

Rgb = tuple[int, int, int]

PALETTES: Mapping[str, Mapping[str, Rgb]] = {
    "ivispar": {
        "red": (214, 39, 40),
        "green": (44, 160, 44),
        "blue": (31, 87, 196),
        "yellow": (240, 200, 20),
        "orange": (245, 130, 32),
        "purple": (128, 60, 170),
        "light": (205, 205, 205),
        "dark": (70, 70, 74),
    },
    "ravens": {
        "blue": (78, 121, 167),
        "red": (255, 87, 89),
        "green": (89, 169, 78),
        "orange": (242, 142, 43),
        "yellow": (237, 201, 72),
        "purple": (176, 122, 161),
        "pink": (255, 157, 167),
        "cyan": (118, 183, 178),
        "brown": (156, 117, 95),
        "white": (255, 255, 255),
        "gray": (186, 176, 172),
        "indigo": (75, 0, 130),
        "violet": (143, 0, 255),
        "black": (0, 0, 0),
        "silver": (192, 192, 192),
        "gold": (255, 215, 0),
    },
}
"""sRGB colors by namespace and name; ``ravens`` are those of LoHoRavens, the first eleven used by
default."""


def palette_color(texture: str) -> Rgb | None:
    """Return the color of a texture of a palette; ``None`` for other textures."""
    namespace, slash, name = texture.partition("/")
    return PALETTES.get(namespace, {}).get(name) if slash else None


def bare_name(texture: str) -> str:
    """Return the name of a texture without its namespace, as in sentences."""
    return texture.rpartition("/")[2]


def lab(color: np.ndarray) -> tuple[float, float, float]:
    """Return an sRGB color (3,), 0 to 255, in CIELAB (D65)."""
    value = np.asarray(color) / 255
    linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    xyz = to_xyz @ linear / np.array([0.95047, 1.0, 1.08883])
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return float(116 * f[1] - 16), float(500 * (f[0] - f[1])), float(200 * (f[1] - f[2]))
