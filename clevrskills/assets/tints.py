"""Tints of textures, so that no two of a split have nearly the same mean colour.

Found by simulated annealing over all of them, kept close to plain colours; a test compares what the
renderer makes of them.
"""

import numpy as np

TINTS: dict[str, tuple[float, float, float, float]] = {
    "black paisley": (1.00, 0.74, 0.89, 0.00),
    "black white polka dot": (0.95, 0.93, 0.88, 0.24),
    "checkerboard": (1.09, 0.98, 0.95, 0.00),
    "cyan": (0.91, 0.88, 1.03, 0.00),
    "green blue polka dot": (1.03, 0.97, 0.94, 0.35),
    "green blue stripe": (1.08, 1.03, 1.14, 0.47),
    "green paisley": (0.99, 0.92, 0.93, 0.00),
    "green swirl": (1.16, 1.11, 1.13, 0.00),
    "purple paisley": (1.15, 1.04, 1.12, 0.00),
    "red": (0.95, 0.94, 1.08, 0.00),
    "red purple stripe": (1.02, 0.97, 1.11, 0.43),
    "red swirl": (1.03, 1.02, 1.01, 0.00),
    "red yellow stripe": (1.11, 1.10, 1.20, 0.55),
    "tiled": (1.10, 1.11, 1.06, 0.00),
    "white": (1.09, 1.00, 1.00, 0.00),
    "wooden": (1.06, 1.07, 1.00, 0.00),
    "yellow": (1.00, 1.08, 1.03, 0.00),
    "yellow green stripe": (0.99, 1.01, 0.94, 0.52),
    "yellow paisley": (1.02, 0.91, 0.92, 0.00),
    "yellow swirl": (0.98, 1.11, 1.04, 0.00),
    "dark green blue polka dot": (0.47, 0.51, 0.45, 0.20),
    "dark green swirl": (0.35, 0.35, 0.41, 0.00),
    "dark red purple stripe": (0.56, 0.56, 0.59, 0.59),
    "dark red swirl": (0.64, 0.77, 0.64, 0.00),
    "dark red yellow stripe": (0.32, 0.40, 0.37, 0.58),
    "dark yellow swirl": (0.38, 0.46, 0.42, 0.00),
    "dark green purple stripe": (0.43, 0.44, 0.45, 0.57),
    "dark green blue stripe": (0.53, 0.51, 0.54, 0.47),
    "black": (0.93, 0.98, 0.99, 0.00),
    "blue": (0.88, 0.93, 0.89, 0.00),
    "blue purple polka dot": (1.10, 1.04, 1.09, 0.20),
    "blue purple stripe": (0.88, 0.85, 0.86, 0.59),
    "blue swirl": (1.05, 1.06, 1.09, 0.00),
    "brick": (1.02, 1.03, 1.08, 0.00),
    "granite": (1.10, 0.98, 1.14, 0.00),
    "green": (1.01, 1.09, 1.06, 0.00),
    "green purple stripe": (0.98, 0.98, 1.06, 0.60),
    "grey": (0.89, 1.10, 1.22, 0.00),
    "plastic": (0.91, 1.03, 0.94, 0.00),
    "purple": (1.01, 0.95, 1.05, 0.00),
    "red blue stripe": (0.85, 0.87, 0.90, 0.47),
    "red green polka dot": (1.10, 1.03, 0.98, 0.23),
    "red green stripe": (1.14, 1.15, 1.12, 0.52),
    "red purple polka dot": (1.05, 1.11, 1.08, 0.29),
    "red yellow polka dot": (1.12, 1.14, 1.14, 0.22),
    "tiger": (0.94, 0.94, 0.98, 0.00),
    "yellow blue polka dot": (0.94, 0.84, 0.89, 0.37),
    "yellow green polka dot": (0.96, 0.90, 0.91, 0.27),
    "yellow purple polka dot": (0.93, 0.93, 1.01, 0.26),
    "dark blue purple polka dot": (0.36, 0.40, 0.37, 0.26),
    "dark blue purple stripe": (0.51, 0.49, 0.53, 0.49),
    "dark blue swirl": (0.53, 0.46, 0.58, 0.00),
    "dark red blue stripe": (0.43, 0.50, 0.47, 0.41),
    "dark red green polka dot": (0.47, 0.51, 0.47, 0.21),
    "dark red green stripe": (0.41, 0.38, 0.44, 0.50),
    "dark red purple polka dot": (0.52, 0.46, 0.49, 0.28),
    "dark red yellow polka dot": (0.60, 0.51, 0.50, 0.21),
    "dark yellow green stripe": (0.58, 0.52, 0.57, 0.37),
    "dark yellow blue polka dot": (0.58, 0.57, 0.57, 0.23),
    "dark yellow green polka dot": (0.53, 0.63, 0.55, 0.31),
    "dark yellow purple polka dot": (0.47, 0.48, 0.49, 0.39),
    "blue paisley": (0.99, 1.02, 0.99, 0.00),
    "magma": (0.90, 0.95, 0.92, 0.00),
    "red blue polka dot": (0.84, 0.97, 0.81, 0.40),
    "swirl": (1.10, 1.01, 1.06, 0.00),
    "yellow blue stripe": (1.00, 0.95, 0.91, 0.40),
    "dark red blue polka dot": (0.49, 0.47, 0.45, 0.25),
    "dark yellow blue stripe": (0.43, 0.46, 0.51, 0.64),
    "green purple polka dot": (0.95, 0.97, 0.97, 0.29),
    "rainbow": (1.01, 0.99, 1.07, 0.00),
    "red paisley": (0.96, 0.95, 0.96, 0.00),
    "purple swirl": (0.92, 0.98, 1.09, 0.00),
    "yellow purple stripe": (1.17, 1.02, 1.12, 0.46),
    "dark green purple polka dot": (0.46, 0.44, 0.46, 0.33),
    "dark purple swirl": (0.47, 0.51, 0.50, 0.00),
    "dark yellow purple stripe": (0.43, 0.45, 0.43, 0.43),
}
"""By name of the texture: factors of red, green and blue, and the share of the tile that dots or
stripes cover, 0 if it has neither."""


def lab(color: np.ndarray) -> tuple[float, float, float]:
    """An sRGB color (3,), 0 to 255, in CIELAB (D65)."""
    value = np.asarray(color) / 255
    linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    xyz = to_xyz @ linear / np.array([0.95047, 1.0, 1.08883])
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return float(116 * f[1] - 16), float(500 * (f[0] - f[1])), float(200 * (f[1] - f[2]))
