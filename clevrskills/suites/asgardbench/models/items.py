"""Builders of objects with computed shapes."""

from __future__ import annotations

import numpy as np

from clevrskills.assets.outlines import rounded_rectangle
from clevrskills.assets.solids import Solid, loft, vessel
from clevrskills.suites.asgardbench.models.model import (
    Builder,
    BuildInput,
    FixtureModel,
    Piece,
    ball,
    blend,
    standing,
)
from clevrskills.suites.asgardbench.models.parts import lying
from clevrskills.suites.asgardbench.models.surfaces import STEEL, Appearance

RED = Appearance((0.78, 0.10, 0.10), gloss=0.35)


def spoon(look: BuildInput) -> FixtureModel:
    """Build a table spoon."""
    neck = lying([(-110, 15, 4, 0), (-60, 10, 4, 3), (30, 8, 4, 8), (52, 10, 4, 8)])
    outline = [
        [(70 + 27 * s * np.cos(t), 19 * s * np.sin(t)) for t in np.linspace(0, 6.2832, 33)[:-1]]
        for s in (0.45, 0.8, 1.0, 0.93, 0.7, 0.35)
    ]
    heights = (0.0, 3.0, 10.0, 10.0, 4.5, 2.0)
    rings = [
        ([(float(x), float(y)) for x, y in ring], z)
        for ring, z in zip(outline, heights, strict=True)
    ]
    return FixtureModel(Piece(neck, STEEL), Piece(vessel(rings[:3], rings[3:]), STEEL))


def pillow(look: BuildInput) -> FixtureModel:
    """Build a soft square pillow with piping."""
    body = Appearance((0.86, 0.60, 0.22), "fabric", (0.72, 0.44, 0.12), 0.08)
    rings = []
    for angle in np.linspace(-np.pi / 2, np.pi / 2, 13):
        r, z = max(float(np.cos(angle)) ** 0.55, 0.02), float(np.sin(angle))
        pinch = [
            (x * r * (1 + 0.10 * (abs(x * y) / 125**2)), y * r * (1 + 0.10 * (abs(x * y) / 125**2)))
            for x, y in rounded_rectangle(250, 250, 30)
        ]
        rings.append((pinch, 48 + 48 * z))
    return FixtureModel(Piece(loft(rings), body))


def apple_sliced(look: BuildInput) -> FixtureModel:
    """Build a wedge of an apple: white flesh, red skin, seeds."""
    flesh = Appearance((0.97, 0.93, 0.76))
    turn = np.linspace(-0.6, 0.6, 9)
    profile = [(10.0, 2.0), (26.0, 4.0), (38.0, 24.0), (38.0, 46.0), (26.0, 62.0), (10.0, 64.0)]

    def wedge(cut: float, stretch: float, tip: float) -> Solid:
        rings = [
            [(float((r - cut) * np.cos(t)), float((r - cut) * stretch * np.sin(t))) for t in turn]
            for r, _ in profile
        ]
        return loft([([*ring, (tip, 0.0)], z) for ring, (_, z) in zip(rings, profile, strict=True)])

    body, core = wedge(0, 1.0, 0.0), wedge(2, 1.05, -0.5)
    seeds = [
        Piece(ball(2, 3, 5, 6).moved(9, y, 28), Appearance((0.25, 0.12, 0.05))) for y in (-7.5, 7.5)
    ]
    lay = [
        Piece(piece.solid.turned("y", 90).turned("z", 90).moved(z=0), piece.surface)
        for piece in (Piece(body, RED), Piece(core, flesh), *seeds)
    ]
    return standing(FixtureModel(*lay))


def egg_cracked(look: BuildInput) -> FixtureModel:
    """Build an egg out of its shell: glassy white with a yolk; cooked: opaque with a brown edge."""
    done = look.strength * look.state.cooked
    white = blend((0.70, 0.74, 0.66), (1.0, 1.0, 0.98), done)
    edge = blend((0.66, 0.70, 0.62), (0.55, 0.30, 0.10), done)
    yolk = blend((1.0, 0.62, 0.05), (1.0, 0.80, 0.25), done)
    blob = [
        (float(r * np.cos(t)), float(r * np.sin(t)))
        for t in np.linspace(0, 2 * np.pi, 41)[:-1]
        for r in [54 + 5 * np.sin(3 * t) + 4 * np.cos(5 * t)]
    ]
    inner = [(0.9 * x, 0.9 * y) for x, y in blob]
    top = [(0.8 * x, 0.8 * y) for x, y in blob]
    dome = ball(20, 20, 12, 10).moved(6, 4, 0)
    return FixtureModel(
        Piece(loft([(blob, 0), (inner, 4)]), Appearance(edge)),
        Piece(loft([(inner, 3), (top, 6)]), Appearance(white)),
        Piece(dome, Appearance(yolk, gloss=0.5 * (1 - 0.7 * done))),
    )


BUILDERS: dict[str, Builder] = {
    "Spoon": spoon,
    "Pillow": pillow,
    "AppleSliced": apple_sliced,
    "EggCracked": egg_cracked,
}
