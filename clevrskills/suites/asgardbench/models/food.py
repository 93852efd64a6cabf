"""Food, whole and in pieces, raw and cooked."""

from __future__ import annotations

import numpy as np

from clevrskills.assets.outlines import circle, rounded_rectangle
from clevrskills.assets.solids import Solid, lathe, loft, prism
from clevrskills.suites.asgardbench.models.model import (
    Builder,
    Look,
    Model,
    Piece,
    ball,
    blend,
    rod,
)
from clevrskills.suites.asgardbench.models.surfaces import Surface

RED = Surface((0.78, 0.10, 0.10), gloss=0.35)
STEM = Surface((0.32, 0.22, 0.10))
LEAF = Surface((0.22, 0.52, 0.16))


def apple(look: Look) -> Model:
    """Build a red apple: dimple on top, stem and leaf."""
    body = lathe([(14, 3), (24, 0), (34, 12), (40, 36), (38, 56), (28, 68), (18, 69), (6, 62)], 40)
    leaf = prism([(0, 0), (10, -7), (26, -4), (32, 3), (18, 8), (6, 6)], 1.5).turned("y", -25)
    stem = rod([(0, 0, 60), (1, 0, 72), (5, 2, 84)], 2.2, 8)
    return Model(Piece(body, RED), Piece(stem, STEM), Piece(leaf.moved(2, 0, 74), LEAF))


def apple_sliced(look: Look) -> Model:
    """Build a wedge of an apple: white flesh, red skin, seeds."""
    flesh = Surface((0.97, 0.93, 0.76))
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
        Piece(ball(2, 3, 5, 6).moved(9, y, 28), Surface((0.25, 0.12, 0.05))) for y in (-7.5, 7.5)
    ]
    lay = [
        Piece(piece.solid.turned("y", 90).turned("z", 90).moved(z=0), piece.surface)
        for piece in (Piece(body, RED), Piece(core, flesh), *seeds)
    ]
    return _standing(lay)


def tomato(look: Look) -> Model:
    """Build a flat orange-red tomato with a green star."""
    skin = Surface((0.90, 0.24, 0.09), gloss=0.5)
    body = ball(40, 40, 29, 14, 0.03, 6)
    star = [
        (r * float(np.cos(k * np.pi / 5)), r * float(np.sin(k * np.pi / 5)))
        for k, r in enumerate((26.0, 6.0) * 5)
    ]
    stem = rod([(0, 0, 56), (2, 0, 66)], 3, 8)
    return Model(Piece(body, skin), Piece(prism(star, 2.5, 56.5), LEAF), Piece(stem, LEAF))


def _disc(
    radius: float, thick: float, skin: Surface, flesh: Surface, squash: float = 1.0
) -> tuple[Piece, ...]:
    def stretched(solid: Solid) -> Solid:
        return solid.transformed(np.diag([1.0, squash, 1.0]))

    rim = lathe([(radius - 1, 0), (radius, 1), (radius, thick - 1), (radius - 1, thick)], 32)
    face = lathe([(radius - 3, 0), (radius - 3, thick + 0.6)], 32)
    return Piece(stretched(rim), skin), Piece(stretched(face), flesh)


def tomato_sliced(look: Look) -> Model:
    """Build a round slice with chambers of seeds."""
    flesh = look.browned(Surface((0.93, 0.42, 0.30)))
    chambers = [
        Piece(
            prism(circle(7, 12, 20 * float(np.cos(k)), 20 * float(np.sin(k))), 12),
            Surface((0.97, 0.72, 0.36)),
        )
        for k in np.arange(5) * 2 * np.pi / 5
    ]
    rim = Surface((0.85, 0.16, 0.08))
    return Model(*_disc(36, 11, rim, flesh), *chambers)


def potato(look: Look) -> Model:
    """Build a brown lumpy ellipsoid with eyes; dark and split open when cooked."""
    raw = Surface((0.80, 0.65, 0.42), "speckle", (0.55, 0.40, 0.22), 0.09)
    body = ball(54, 38, 33, 14, 0.04, 3)
    pieces = [Piece(body, look.browned(raw))]
    if look.state.cooked:
        flesh = blend(raw.color, (1.0, 0.93, 0.55), look.strength)
        cut = [(-22, 0), (-10, -5), (10, -6), (22, 0), (9, 6), (-11, 5)]
        pieces.append(Piece(prism(cut, 7, 60), Surface(flesh)))
    return Model(*pieces)


def potato_sliced(look: Look) -> Model:
    """Build an oval slice with a brown rim."""
    flesh = look.browned(Surface((0.95, 0.88, 0.58)))
    rim = Surface((0.56, 0.40, 0.22))
    return Model(*_disc(40, 10, rim, flesh, 0.75))


def lettuce(look: Look) -> Model:
    """Build a head of ruffled leaves."""
    tones = ((0.34, 0.60, 0.18), (0.48, 0.72, 0.24), (0.62, 0.82, 0.36))
    pieces = [Piece(ball(62, 62, 54, 14, 0.05, 5), Surface(tones[0]))]
    for k in range(13):
        turn = 2.4 * k
        size = 52 - 1.6 * k
        leaf = ball(size, 14, size * 0.9, 10, 0.12, 9)
        tilted = leaf.moved(y=34 - 2.2 * k, z=-4).turned("x", -14 + k)
        surface = Surface(tones[k % 3])
        pieces.append(Piece(tilted.turned("z", float(np.degrees(turn))).moved(z=6 + k), surface))
    return _standing(pieces)


def lettuce_sliced(look: Look) -> Model:
    """Build loose ruffled leaf pieces."""
    pieces = []
    for k in range(4):
        leaf = ball(36 - 3 * k, 26 - 2 * k, 5, 8, 0.16, 7).turned("y", 12 - 8 * k)
        tone = ((0.40, 0.66, 0.20), (0.60, 0.80, 0.34))[k % 2]
        pieces.append(Piece(leaf.turned("z", 70.0 * k).moved(z=6.0 * k), Surface(tone)))
    return _standing(pieces)


def bread(look: Look) -> Model:
    """Build a tin loaf with cuts in its crust."""
    crust = Surface((0.72, 0.43, 0.16), "speckle", (0.54, 0.29, 0.09), 0.08)
    ring = rounded_rectangle(200, 92, 20)
    small = rounded_rectangle(190, 82, 20)
    crown = [rounded_rectangle(206, 98, 24), rounded_rectangle(194, 82, 24)]
    top = rounded_rectangle(160, 46, 18)
    rings = [(small, 0), (ring, 12), (ring, 56), (crown[0], 70), (crown[1], 90), (top, 98)]
    body = loft(rings)
    pale = Surface((0.93, 0.80, 0.55))
    cuts = [
        Piece(rod([(x - 14, -26, 96), (x, 0, 99), (x + 14, 26, 96)], [2, 5, 2], 8), pale)
        for x in (-55, 0, 55)
    ]
    return Model(Piece(body, crust), *cuts)


def bread_sliced(look: Look) -> Model:
    """Build a slice of bread, lying: pale crumb in a brown crust; toasted when cooked."""
    outline = [*rounded_rectangle(88, 66, 10)]
    bump = [(x * (1.0 if y < 12 else 1.12), y * (1.0 if y < 12 else 1.15)) for x, y in outline]
    crumb_outline = [(0.88 * x, 0.88 * y) for x, y in bump]
    crumb = look.browned(Surface((0.98, 0.92, 0.74), "speckle", (0.90, 0.80, 0.58), 0.05))
    crust = Surface((0.60, 0.34, 0.12))
    return Model(Piece(prism(bump, 16), crust), Piece(prism(crumb_outline, 17.2, -0.6), crumb))


def egg(look: Look) -> Model:
    """Build a white egg, lying a little tilted."""
    shape = lathe(
        [(22 * np.sin(t) ** 0.9 + 0.1, 30 - 30 * np.cos(t) * (1 if t < 1.57 else 0.85))
         for t in np.linspace(0.02, 3.12, 16)], 28)  # fmt: skip
    body = shape.turned("y", 78)
    return _standing([Piece(body, Surface((0.97, 0.93, 0.88), gloss=0.15))])


def egg_cracked(look: Look) -> Model:
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
    return Model(
        Piece(loft([(blob, 0), (inner, 4)]), Surface(edge)),
        Piece(loft([(inner, 3), (top, 6)]), Surface(white)),
        Piece(dome, Surface(yolk, gloss=0.5 * (1 - 0.7 * done))),
    )


def _standing(pieces: list[Piece]) -> Model:
    low = min(piece.solid.bounds()[0, 2] for piece in pieces)
    return Model(*(Piece(piece.solid.moved(z=-low), piece.surface) for piece in pieces))


BUILDERS: dict[str, Builder] = {
    "Apple": apple,
    "AppleSliced": apple_sliced,
    "Bread": bread,
    "BreadSliced": bread_sliced,
    "Egg": egg,
    "EggCracked": egg_cracked,
    "Lettuce": lettuce,
    "LettuceSliced": lettuce_sliced,
    "Potato": potato,
    "PotatoSliced": potato_sliced,
    "Tomato": tomato,
    "TomatoSliced": tomato_sliced,
}
