"""Tileable patterns on the unit square, as numpy images.

A *mask* is an (n, n) float array in [0, 1], an *image* an (n, n, 3) one. Patterns are periodic, and
the edges of masks are antialiased (:func:`fill`).
"""

import numpy as np

Array = np.ndarray
Color = tuple[float, float, float]


def grid(n: int) -> tuple[Array, Array]:
    """Return pixel centers: x to the right, y upwards, both (n, n) in (0, 1)."""
    centers = (np.arange(n) + 0.5) / n
    x, y = np.meshgrid(centers, centers[::-1])
    return x, y


def fill(distance: Array) -> Array:
    """Return the antialiased mask of points with negative signed distance in tile units."""
    return np.clip(0.5 - distance * len(distance), 0.0, 1.0)


def mix(below: Color | Array, above: Color | Array, mask: Array) -> Array:
    """Return `below` blended with `above` where the mask is 1."""
    low, high = np.asarray(below, dtype=float), np.asarray(above, dtype=float)
    return low + (high - low) * mask[..., None]


def wrap(values: Array) -> Array:
    """Return values modulo 1 in [-0.5, 0.5)."""
    return (values + 0.5) % 1.0 - 0.5


def noise(n: int, seed: int, coarse: float, fine: float, stretch: float = 1.0) -> Array:
    """Return smooth periodic noise in [0, 1].

    Args:
        n: Pixels per side.
        seed: Random seed.
        coarse: Lowest frequency, waves per tile.
        fine: Highest frequency, waves per tile.
        stretch: Aspect ratio of the features, y over x.
    """
    spectrum = np.fft.fft2(np.random.Generator(np.random.PCG64(seed)).random((n, n)))
    frequency = np.fft.fftfreq(n, 1 / n)
    radius = np.hypot(frequency[None, :], frequency[:, None] * stretch)
    band = np.where((radius >= coarse) & (radius <= fine), 1.0 / np.maximum(radius, 1.0), 0.0)
    field = np.fft.ifft2(spectrum * band).real
    low, high = np.quantile(field, [0.01, 0.99])
    return np.clip((field - low) / (high - low), 0.0, 1.0)


def cell_borders(n: int, seed: int, per_side: int) -> Array:
    """Return distances (n, n) to the nearest border of periodic Voronoi cells, in tile units."""
    x, y = grid(n)
    jitter = np.random.Generator(np.random.PCG64(seed)).random((per_side**2, 2)) * 0.8 + 0.1
    corner = np.stack(np.divmod(np.arange(per_side**2), per_side), axis=1)
    seeds = (corner + jitter) / per_side
    distance = np.hypot(wrap(x[..., None] - seeds[:, 0]), wrap(y[..., None] - seeds[:, 1]))
    nearest = np.partition(distance, 1, axis=2)[..., :2]
    return (nearest[..., 1] - nearest[..., 0]) / 2


def stripes(n: int, share: float = 0.5, bands: int = 4) -> Array:
    """Return a mask of diagonal stripes that cover a share of the tile."""
    x, y = grid(n)
    return fill((np.abs(wrap((x + y) * bands)) - share / 2) / (bands * 2**0.5))


def polka_dots(n: int, share: float = 0.304, rows: int = 4) -> Array:
    """Return a mask of dots on a diagonal lattice that cover a share of at most half the tile."""
    x, y = grid(n)
    radius = (2 * share / np.pi) ** 0.5 / rows
    distance = np.minimum(*(_lattice_radius(x, y, rows, shift) for shift in (0.25, 0.75)))
    return fill(distance - radius)


def _lattice_radius(x: Array, y: Array, rows: int, shift: float) -> Array:
    half = rows / 2
    return np.hypot(wrap(x * half - shift), wrap(y * half - shift)) / half


def checkerboard(n: int, squares: int = 4) -> Array:
    """Return a checkerboard mask."""
    x, y = grid(n)
    across = np.abs(wrap(x * squares / 2)) - 0.25
    up = np.abs(wrap(y * squares / 2)) - 0.25
    return fill(np.where(across * up > 0, -1, 1) * np.minimum(abs(across), abs(up)) * 2 / squares)


def swirls(n: int, per_side: int = 2, arms: int = 3) -> Array:
    """Return a mask of spirals on disks."""
    x, y = grid(n)
    dx, dy = wrap(x * per_side - 0.5), wrap(y * per_side - 0.5)
    radius = np.hypot(dx, dy)
    phase = np.arctan2(dy, dx) * arms / (2 * np.pi) + 1.9 * radius
    width = (
        np.maximum(radius, 1e-3) * 2 * np.pi / arms / np.hypot(1, 1.9 * 2 * np.pi * radius / arms)
    )
    arm = (np.abs(wrap(phase)) - 0.25) * width / per_side
    return fill(np.maximum(arm, (radius - 0.47) / per_side))


def paisley(n: int, per_side: int = 2) -> tuple[Array, Array]:
    """Return masks of curled drops in alternating orientation, and of the rings inside them."""
    x, y = grid(n)
    column = np.floor(x * per_side)
    turn = np.where(column % 2, -1.0, 1.0)
    dx = 0.9 * turn * wrap(x * per_side - 0.5)
    dy = 0.9 * turn * wrap(y * per_side - 0.5 + column / 2)
    eye = np.hypot(dx + 0.02, dy + 0.16)
    tail = np.clip((dy + 0.16) / 0.58, 0.0, 1.0)
    bent = dx + 0.02 - 0.3 * tail**2.2
    drop = np.where(dy < -0.16, eye - 0.25, np.abs(bent) - 0.25 * (1 - tail) ** 0.7)
    rings = np.minimum(np.abs(eye - 0.155) - 0.03, eye - 0.065)
    return fill(drop / per_side), fill(rings / per_side)


def shaded(height: Array, strength: float) -> Array:
    """Return the shading of a periodic relief lit from the upper left."""
    slope = np.roll(height, 1, axis=1) - np.roll(height, -1, axis=1)
    slope = slope + np.roll(height, 1, axis=0) - np.roll(height, -1, axis=0)
    return 1.0 - strength * slope


def rainbow(n: int) -> Array:
    """Return the image of diagonal rainbow bands."""
    x, y = grid(n)
    hue = (x + y) % 1.0
    channels = [np.clip(np.abs((hue * 6 + shift) % 6 - 3) - 1, 0, 1) for shift in (0, 4, 2)]
    return 0.1 + 0.85 * np.stack(channels, axis=2)


def brick(n: int) -> Array:
    """Return the image of a brick wall."""
    x, y = grid(n)
    row = np.floor(y * 6)
    column = x * 3 + 0.5 * (row % 2)
    edge = np.minimum((0.5 - np.abs(wrap(column - 0.5))) / 3, (0.5 - np.abs(wrap(y * 6 - 0.5))) / 6)
    tone = (np.sin(np.floor(column) % 3 * 12.9 + row * 78.2) * 43.7) % 1.0
    clay = mix((0.55, 0.2, 0.13), (0.75, 0.33, 0.2), 0.7 * tone + 0.3 * noise(n, 1, 4, 60))
    return mix((0.8, 0.77, 0.72), clay, fill(0.011 - edge))


def granite(n: int) -> Array:
    """Return the image of speckled stone."""
    base = mix((0.42, 0.4, 0.4), (0.72, 0.68, 0.66), noise(n, 2, 3, 30))
    dark = np.clip((noise(n, 3, 8, 24) - 0.68) * 10, 0, 1)
    light = np.clip((noise(n, 4, 9, 26) - 0.72) * 10, 0, 1)
    return mix(mix(base, (0.12, 0.12, 0.14), dark), (0.95, 0.9, 0.87), light)


def wooden(n: int) -> Array:
    """Return the image of dark wood grain along y."""
    x, _ = grid(n)
    rings = x * 6 + 1.3 * noise(n, 5, 1, 4, stretch=3)
    grain = 0.5 + 0.5 * np.sin(2 * np.pi * rings)
    fibre = noise(n, 6, 10, 110, stretch=14)
    return mix((0.36, 0.2, 0.09), (0.7, 0.45, 0.22), 0.6 * grain + 0.4 * fibre)


def tiled(n: int) -> Array:
    """Return the image of glazed square tiles."""
    x, y = grid(n)
    edge = (0.5 - np.maximum(np.abs(wrap(x * 4 - 0.5)), np.abs(wrap(y * 4 - 0.5)))) / 4
    tone = (np.sin(np.floor(x * 4) * 12.9 + np.floor(y * 4) * 37.7) * 43.7) % 1.0
    glaze = mix((0.2, 0.5, 0.55), (0.45, 0.75, 0.72), tone)
    return mix((0.93, 0.92, 0.88), glaze, fill(0.014 - edge))


def plastic(n: int) -> Array:
    """Return the image of toy bricks' round studs."""
    x, y = grid(n)
    radius = np.hypot(wrap(x * 4 - 0.5), wrap(y * 4 - 0.5)) / 4
    height = np.clip((0.085 - radius) * 40, 0, 1)
    light = shaded(height, 0.35) + 0.12 * fill(radius - 0.08)
    return np.clip(np.array([0.95, 0.5, 0.1]) * light[..., None], 0, 1)


def tiger(n: int) -> Array:
    """Return the image of a tiger's coat."""
    x, y = grid(n)
    warp = noise(n, 7, 1, 4) - 0.5
    bands = np.sin(2 * np.pi * (5 * y + 1.5 * warp)) + 1.2 * (noise(n, 8, 1, 5) - 0.5)
    fur = mix(
        (0.9, 0.45, 0.08), (1.0, 0.68, 0.25), noise(n, 9, 1, 6) * 0.7 + 0.3 * noise(n, 10, 20, 90)
    )
    return mix(fur, (0.08, 0.06, 0.05), np.clip((bands - 0.15) * 5, 0, 1))


def magma(n: int) -> Array:
    """Return the image of glowing cracks in black rock."""
    border = cell_borders(n, 11, 5)
    glow = np.exp(-np.maximum(border - 0.004, 0) / 0.016)
    rock = mix((0.09, 0.05, 0.05), (0.25, 0.13, 0.1), noise(n, 12, 4, 50))
    lava = mix((0.8, 0.12, 0.02), (1.0, 0.85, 0.25), np.clip(glow * 1.6 - 0.6, 0, 1))
    return mix(rock, lava, np.clip(glow * 1.5, 0, 1))


def table_wood(n: int) -> Array:
    """Return the image of a light wooden table top: planks along x."""
    x, y = grid(n)
    plank = np.floor(y * 4)
    gap = (0.5 - np.abs(wrap(y * 4 - 0.5))) / 4
    tone = np.array([0.35, 0.65, 0.45, 0.8])[plank.astype(int)]
    rings = 0.5 + 0.5 * np.sin(
        2 * np.pi * (y * 20 + 2.5 * noise(n, 13, 1, 4, stretch=0.3) + 0.37 * plank)
    )
    fibre = noise(n, 14, 8, 200, stretch=0.06)
    wood = mix((0.7, 0.54, 0.36), (0.86, 0.72, 0.53), 0.4 * tone + 0.25 * rings + 0.35 * fibre)
    return mix((0.5, 0.36, 0.22), wood, fill(0.0015 - gap))


def floor(n: int) -> Array:
    """Return the image of a plain grey floor of large square slabs."""
    x, y = grid(n)
    edge = (0.5 - np.maximum(np.abs(wrap(x * 2 - 0.5)), np.abs(wrap(y * 2 - 0.5)))) / 2
    slab = mix((0.55, 0.56, 0.58), (0.64, 0.65, 0.66), noise(n, 15, 2, 90))
    return mix((0.42, 0.43, 0.45), slab, fill(0.004 - edge))
