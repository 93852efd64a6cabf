"""Surfaces: colors, patterns, gloss and overlays, as procedural textures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal
from zlib import crc32

import numpy as np

from clevrskills.assets import patterns

Color = tuple[float, float, float]
Pattern = Literal[
    "plain", "wood", "planks", "tiles", "stone", "fabric", "speckle", "gradient", "print", "view"
]
Overlay = Literal["dirt", "browned", "droplets"]
Contrast = Literal["high", "medium", "low"]
STRENGTH: dict[Contrast, float] = {"high": 1.0, "medium": 0.5, "low": 0.2}
"""Share of the difference between two states that is drawn, by contrast."""
TEXTURE_PX = 256
STAINS_M = 0.2
"""Minimum period of stains."""
BAR_M = 0.026
"""Spacing of sear marks."""
_COVERAGE = 0.3
"""Share of a surface that droplets cover."""
_WAVES = (0.16, 0.10, 0.04)
"""Relative amplitudes of the waves in the outline of a spill."""
_CRUST: Color = (0.58, 0.40, 0.20)
"""Color of stains on dark surfaces."""
_OVERLAY_COLOR: dict[Overlay, Color] = {
    "dirt": (0.29, 0.15, 0.05),
    "browned": (0.66, 0.37, 0.11),
    "droplets": (0.97, 0.99, 1.0),
}


def blend(a: Color, b: Color, share: float) -> Color:
    """Interpolate between two colors."""
    x, y, z = (p + (q - p) * share for p, q in zip(a, b, strict=True))
    return x, y, z


@dataclass(frozen=True)
class Appearance:
    """Appearance of a piece of a model."""

    color: Color  # sRGB, each 0 to 1
    pattern: Pattern = "plain"
    second: Color = (0.0, 0.0, 0.0)  # other color of the pattern, sRGB
    period_m: float = 0.1  # period of the pattern
    gloss: float = 0.0  # strength of reflections, 0 to 1
    glow: float = 0.0  # emitted share of the color, 0 to 1
    overlay: Overlay | None = None
    strength: float = 1.0  # strength of overlay and glow, 0 to 1
    repeats: int = 1  # repeats of the pattern, each way, below an overlay

    def with_overlay(self, overlay: Overlay | None, strength: float = 1.0) -> Appearance:
        """Return the surface with an overlay, which removes its gloss."""
        if overlay is None:
            return self
        over = replace(self, overlay=overlay, strength=strength, gloss=0.0)
        repeats = round(STAINS_M / self.period_m) if overlay == "dirt" else 1
        if repeats <= 1:
            return over
        return replace(over, period_m=repeats * self.period_m, repeats=repeats)

    @property
    def mirrors(self) -> bool:
        """``True`` if the texture is mapped by the normal, as a reflection."""
        return self.gloss > 0 and self.pattern == "plain" and self.overlay is None


STEEL = Appearance((0.66, 0.68, 0.71), gloss=0.75)
BLACK = Appearance((0.09, 0.09, 0.10), gloss=0.15)
HANDLE = Appearance((0.14, 0.10, 0.08), gloss=0.1)
WOOD = Appearance((0.66, 0.45, 0.25), "wood", (0.42, 0.26, 0.13), 0.12)
INTERIOR = Appearance((0.74, 0.66, 0.53), "wood", (0.62, 0.52, 0.38), 0.6)
DARK_WOOD = Appearance((0.40, 0.26, 0.16), "wood", (0.24, 0.14, 0.08), 0.7)
WHITE, ENAMEL = Appearance((0.95, 0.95, 0.94)), Appearance((0.93, 0.94, 0.94))
LINING, GREY = Appearance((0.90, 0.94, 0.96)), Appearance((0.62, 0.64, 0.66))
PORCELAIN, SHADE = Appearance((0.95, 0.95, 0.94), gloss=0.3), Appearance((0.10, 0.10, 0.11))
SHARED = {
    **{"steel": STEEL, "black": BLACK, "handle": HANDLE, "wood": WOOD, "white": WHITE},
    **{"dark_wood": DARK_WOOD, "interior": INTERIOR},
    **{"enamel": ENAMEL, "lining": LINING, "grey": GREY, "porcelain": PORCELAIN, "shade": SHADE},
}
"""Surfaces of several models, by name."""


def texture(surface: Appearance) -> np.ndarray:
    """Return the texture of a surface, (n, n, 3) sRGB in 0 to 1."""
    n = TEXTURE_PX
    if surface.mirrors:
        return _reflections(surface)
    if surface.overlay is None:
        return _PATTERNS[surface.pattern](surface, n)
    tile = _PATTERNS[surface.pattern](surface, n // surface.repeats)
    image = np.tile(tile, (surface.repeats, surface.repeats, 1))
    return _OVERLAYS[surface.overlay](image, surface)


def _seed(*words: object) -> int:
    return crc32(repr(words).encode())


def _stained(image: np.ndarray, surface: Appearance) -> np.ndarray:
    """Draw dried spills with dark rims, and splashes around them."""
    n = len(image)
    x, y = patterns.grid(n)
    rng = np.random.Generator(np.random.PCG64(_seed("stains")))
    middles = _apart(rng, 7)
    mask, rim = np.zeros((n, n)), np.zeros((n, n))
    spots = [
        (place, radius, 1.0)
        for place, radius in zip(middles, np.geomspace(0.20, 0.07, 7), strict=True)
    ]
    spots += [(rng.random(2), rng.uniform(0.006, 0.02), 0.0) for _ in range(22)]
    for place, radius, wobble in spots:
        phase = rng.uniform(0, 2 * np.pi, 3)
        across, above = ((a - b + 0.5) % 1 - 0.5 for a, b in zip((x, y), place, strict=True))
        near = np.hypot(across, above) < 1.1 * radius * (1 + wobble * sum(_WAVES))
        across, above = across[near], above[near]
        turn = np.arctan2(above, across)
        waves = sum(
            size * np.cos(k * turn + p) for size, k, p in zip(_WAVES, (2, 3, 8), phase, strict=True)
        )
        far = np.hypot(across, above) / (radius * (1 + wobble * waves))
        mask[near] = np.maximum(mask[near], ((1 - far) / 0.16).clip(0, 1))
        ring = np.exp(-(((far - 0.88) / 0.09) ** 2)) * (far < 1.05)
        rim[near] = np.maximum(rim[near], ring)
    dark = max(surface.color) < 0.4
    color = np.asarray(_CRUST if dark else _OVERLAY_COLOR["dirt"])
    shade = 1.05 + 0.9 * patterns.noise(n, _seed("dirt", "shade"), 3, 14) - 0.55 * rim
    return image + (color * shade[..., None] - image) * (mask * surface.strength)[..., None]


def _apart(rng: np.random.Generator, count: int) -> np.ndarray:
    """Return spread positions in a periodic tile (n, 2), by best-candidate sampling."""
    places = rng.random((1, 2))
    while len(places) < count:
        tried = rng.random((24, 2))
        gaps = (tried[:, None] - places + 0.5) % 1 - 0.5
        places = np.vstack([places, tried[np.hypot(*gaps.T).T.min(axis=1).argmax()]])
    return places


def _seared(image: np.ndarray, surface: Appearance) -> np.ndarray:
    """Draw golden brown with dark parallel sear marks, which distinguish it from dirt."""
    n = len(image)
    x, _ = patterns.grid(n)
    bars = max(1, round(surface.period_m / BAR_M))
    mark = np.clip((0.22 - np.abs((bars * x) % 1 - 0.5)) / 0.06 + 0.5, 0, 1)
    shade = 0.85 + 0.3 * patterns.noise(n, _seed("browned", "shade"), 4, 20)
    over = patterns.mix(_OVERLAY_COLOR["browned"], (0.20, 0.09, 0.03), mark) * shade[..., None]
    return image + (over - image) * surface.strength


def _wetted(image: np.ndarray, surface: Appearance) -> np.ndarray:
    """Draw droplets."""
    field = patterns.noise(len(image), _seed("droplets"), 14, 26)
    mask = np.clip((field - np.quantile(field, 1 - _COVERAGE)) / 0.05 + 0.5, 0, 1)
    over = np.asarray(_OVERLAY_COLOR["droplets"])
    return image + (over - image) * (mask * surface.strength)[..., None]


def _reflections(surface: Appearance) -> np.ndarray:
    """Return the reflections on a surface, by azimuth (u) and elevation (v) of the normal."""
    n = TEXTURE_PX
    u, v = patterns.grid(n)
    lamp = np.exp(-(((v - 0.80) / 0.05) ** 2)) * np.clip(np.cos(4 * np.pi * u) * 3, 0, 1)
    window = np.exp(-(((v - 0.58) / 0.10) ** 4)) * np.clip(np.cos(6 * np.pi * u + 1) * 4 - 2, 0, 1)
    dark = np.exp(-(((v - 0.40) / 0.10) ** 2))
    base = np.asarray(surface.color) * np.ones((n, n, 1))
    light = (0.75 * lamp + 0.5 * window).clip(0, 1)[..., None] * surface.gloss
    image = base * (1 - 0.5 * surface.gloss * dark[..., None])
    return image + (1 - image) * light


def _plain(surface: Appearance, n: int) -> np.ndarray:
    return np.asarray(surface.color) * np.ones((n, n, 1))


def _wood(surface: Appearance, n: int) -> np.ndarray:
    grain = patterns.noise(n, _seed(surface.color), 2, 60, stretch=14)
    bands = patterns.noise(n, _seed(surface.color, 2), 1, 6, stretch=10)
    return patterns.mix(surface.color, surface.second, 0.45 * grain + 0.4 * bands).swapaxes(0, 1)


def _planks(surface: Appearance, n: int) -> np.ndarray:
    image = _wood(surface, n)
    x, y = patterns.grid(n)
    board = np.floor(y * 5)
    tone = 0.9 + 0.2 * ((board * 0.618) % 1)
    gap = np.abs((y * 5) % 1 - 0.5) > 0.485
    gap |= np.abs((x + board * 0.37) % 1 - 0.5) > 0.496
    return image * tone[..., None] * np.where(gap, 0.6, 1.0)[..., None]


def _tiles(surface: Appearance, n: int) -> np.ndarray:
    x, y = patterns.grid(n)
    row = np.floor(y * 2)
    shifted = (x + 0.5 * row * (surface.second[0] < 0.99)) % 1
    joint = (np.abs(shifted - 0.5) > 0.485) | (np.abs((y * 2) % 1 - 0.5) > 0.47)
    tone = 1 + 0.06 * (patterns.noise(n, 5, 1, 5) - 0.5)
    return patterns.mix(_plain(surface, n) * tone[..., None], surface.second, joint.astype(float))


def _stone(surface: Appearance, n: int) -> np.ndarray:
    cloud = patterns.noise(n, _seed(surface.color), 1, 8)
    fine = patterns.noise(n, _seed(surface.color, 2), 30, 90)
    vein = np.exp(-((np.abs(patterns.noise(n, 11, 1, 5) - 0.5) / 0.02) ** 2))
    return patterns.mix(surface.color, surface.second, 0.25 * cloud + 0.2 * fine + 0.35 * vein)


def _fabric(surface: Appearance, n: int) -> np.ndarray:
    x, y = patterns.grid(n)
    weave = 0.5 + 0.25 * np.sin(2 * np.pi * 32 * x) + 0.25 * np.sin(2 * np.pi * 32 * y)
    mottled = patterns.noise(n, _seed(surface.color), 3, 30)
    return patterns.mix(surface.color, surface.second, 0.35 * weave + 0.3 * mottled)


def _speckle(surface: Appearance, n: int) -> np.ndarray:
    field = patterns.noise(n, _seed(surface.color), 12, 40)
    return patterns.mix(surface.color, surface.second, np.clip((field - 0.7) * 8, 0, 1))


def _gradient(surface: Appearance, n: int) -> np.ndarray:
    x, y = patterns.grid(n)
    streak = np.exp(-((((x + 0.7 * y) % 1 - 0.5) / 0.07) ** 2)) * 0.35
    streak += np.exp(-((((x + 0.7 * y) % 1 - 0.68) / 0.02) ** 2)) * 0.3
    image = patterns.mix(surface.color, surface.second, np.abs(2 * y - 1))
    return image + (1 - image) * streak[..., None]


def _print(surface: Appearance, n: int) -> np.ndarray:
    """Draw lines of text with a heading and a picture."""
    x, y = patterns.grid(n)
    line = (np.floor(y * 28) % 2 == 0) & (np.abs((x * 3) % 1 - 0.5) < 0.43)
    ragged = patterns.noise(n, 3, 20, 60) > 0.2
    heading = (np.abs(y - 0.86) < 0.05) & (np.abs(x - 0.5) < 0.42)
    picture = (np.abs(x - 0.5) < 0.15) & (np.abs(y - 0.62) < 0.14)
    mask = np.where(y > 0.78, heading, np.where(picture, 0.6, line & ragged))
    return patterns.mix(surface.color, surface.second, mask.astype(float))


def _view(surface: Appearance, n: int) -> np.ndarray:
    """Draw hills under a sky with a sun: the view out of a window or on a screen."""
    x, y = patterns.grid(n)
    sky = patterns.mix((0.80, 0.91, 0.98), (0.36, 0.62, 0.90), np.clip(y * 1.6 - 0.6, 0, 1))
    far = patterns.fill((y - 0.42 - 0.06 * np.sin(2 * np.pi * (x + 0.1))) * 1.0)
    near = patterns.fill((y - 0.27 - 0.05 * np.sin(2 * np.pi * (2 * x + 0.4))) * 1.0)
    sun = patterns.fill(np.hypot(x - 0.72, y - 0.78) - 0.07)
    image = patterns.mix(sky, (1.0, 0.95, 0.70), sun)
    image = patterns.mix(image, (0.45, 0.66, 0.46), far)
    return patterns.mix(image, (0.28, 0.50, 0.25), near)


_OVERLAYS = {"dirt": _stained, "browned": _seared, "droplets": _wetted}
_PATTERNS = {
    "plain": _plain,
    "wood": _wood,
    "planks": _planks,
    "tiles": _tiles,
    "stone": _stone,
    "fabric": _fabric,
    "speckle": _speckle,
    "gradient": _gradient,
    "print": _print,
    "view": _view,
}
