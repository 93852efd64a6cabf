"""Looks: size of the images, and colors of the pieces."""

WIDTH, HEIGHT = 1200, 900
"""Size of images, in pixels."""
INK = {
    **{"red": (214, 39, 40), "green": (44, 160, 44), "blue": (31, 87, 196)},
    **{"yellow": (240, 200, 20), "orange": (245, 130, 32), "purple": (128, 60, 170)},
}
"""Colors of the geoms."""
RINGS = ((44, 160, 44), (214, 39, 40), (31, 87, 196))
"""Colors of numbered tiles, by the ring of cells around the middle that they belong to at the goal:
the outermost, the next, the innermost."""


def ring(tile: int, size: int) -> int:
    """Which ring of cells a numbered tile belongs to at the goal, 0 the outermost, at most 2."""
    z, x = divmod(tile - 1, size)
    return min(x, z, size - 1 - x, size - 1 - z, 2)
