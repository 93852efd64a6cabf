"""Builders of objects whose shape or color is computed: dishes, household items, food."""

from __future__ import annotations

import numpy as np

from clevrskills.assets.outlines import circle, rounded_rectangle
from clevrskills.assets.solids import Solid, box, lathe, loft, prism, vessel
from clevrskills.suites.asgardbench.models.model import (
    Builder,
    BuildInput,
    FixtureModel,
    Piece,
    arc3,
    ball,
    blend,
    hollow,
    rod,
)
from clevrskills.suites.asgardbench.models.parts import lying
from clevrskills.suites.asgardbench.models.surfaces import BLACK, HANDLE, STEEL, Appearance, Color

RED = Appearance((0.78, 0.10, 0.10), gloss=0.35)
LEAF = Appearance((0.22, 0.52, 0.16))
LABEL = Appearance((0.96, 0.93, 0.84), "print", (0.30, 0.26, 0.22), 0.09)


def pot(look: BuildInput) -> FixtureModel:
    """Build a deep steel pot with two ears."""
    steel = look.dirt(Appearance((0.70, 0.72, 0.75), gloss=0.7))
    inside = look.dirt(Appearance((0.50, 0.52, 0.55), gloss=0.2))
    shell = hollow(
        [(98, 0), (104, 4), (105, 100), (108, 103)], [(102, 103), (100, 10), (94, 8)], steel, inside
    )
    ears = [
        Piece(
            rod(
                [
                    (side * (102 + 26 * np.cos(t)), 34 * np.sin(t), 84)
                    for t in np.linspace(-np.pi / 2, np.pi / 2, 9)
                ],
                5.5,
            ),
            BLACK,
        )
        for side in (-1, 1)
    ]
    pieces = (*shell, *ears)
    return FixtureModel(*pieces, *look.liquid(101.2, 92, inside.color))


def kettle(look: BuildInput) -> FixtureModel:
    """Build a round-bellied kettle with spout, lid, handle, and a band of glass at its content."""
    body = Appearance((0.13, 0.42, 0.38), gloss=0.45)
    belly = lathe([(84, 0), (92, 6), (96, 40), (84, 84), (58, 112), (44, 118)], 40)
    lid = lathe([(46, 117), (44, 122), (14, 128), (9, 130), (12, 138), (10, 146), (2, 148)], 32)
    spout = rod([(80, 0, 56), (112, 0, 84), (132, 0, 116), (146, 0, 124)], [18, 14, 10, 9])
    hoop = rod(arc3((0, 0, 92), 88, 20, 160, "xz", 13), 7)
    pale = Appearance((0.86, 0.90, 0.90))
    band = lathe([(94.6, 16), (97.4, 40), (91.5, 66)], 40)
    gauge = [Piece(box(26, 10, 66, y=-91, bottom=18), pale, use="rules")]
    gauge.append(Piece(band, pale, use="drawn"))
    if look.state.filled is not None:
        level = look.liquid(1, 1, pale.color)[0].surface
        gauge.append(Piece(lathe([(95.6, 18), (98.4, 40), (94.6, 57)], 40), level, use="drawn"))
    return FixtureModel(
        Piece(belly, body), Piece(lid, STEEL), Piece(spout, body), Piece(hoop, HANDLE), *gauge
    )


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


def salt_shaker(look: BuildInput) -> FixtureModel:
    """Build a white shaker with a grey cap that has holes."""
    body = lathe([(24, 0), (26, 3), (20, 50), (18, 66)], 32)
    cap = lathe([(19, 66), (20, 68), (19, 80), (12, 88), (4, 90)], 32)
    holes = tuple(
        Piece(
            lathe([(2.2, 88), (2.0, 90.5)], 10).moved(x=7 * np.cos(k), y=7 * np.sin(k)),
            Appearance((0.05, 0.05, 0.05)),
        )
        for k in np.arange(5) * 2 * np.pi / 5
    )
    return FixtureModel(
        Piece(body, Appearance((0.95, 0.95, 0.94), gloss=0.3)), Piece(cap, STEEL), *holes
    )


def _bottle(look: BuildInput, glass: Color, label: Appearance, tall: float) -> FixtureModel:
    body = Appearance(glass, gloss=0.6)
    k = tall / 300
    shape = lathe(
        [(34, 0), (37, 4), (37, 180 * k), (30, 205 * k), (15, 230 * k), (14, tall - 12)], 32
    )
    mouth = lathe([(16, tall - 14), (16, tall - 2), (13, tall)], 24)
    wrap = lathe([(37.5, 55 * k), (37.5, 140 * k)], 32)
    pieces = [Piece(shape, body), Piece(mouth, body), Piece(wrap, label)]
    if look.state.filled is not None:
        pieces += look.liquid(11, tall + 1.0, glass)
        level = look.liquid(1, 1, glass)[0].surface
        for low, high in ((4, 54 * k), (141 * k, 178 * k)):  # below the label and above it
            pieces.append(Piece(lathe([(37.6, low), (37.6, high)], 32), level))
    return FixtureModel(*pieces)


def wine_bottle(look: BuildInput) -> FixtureModel:
    """Build a tall dark green bottle."""
    return _bottle(look, (0.10, 0.24, 0.12), LABEL, 310)


def bottle(look: BuildInput) -> FixtureModel:
    """Build a clear-blue water bottle."""
    return _bottle(look, (0.66, 0.83, 0.90), Appearance((0.95, 0.55, 0.15)), 230)


def cell_phone(look: BuildInput) -> FixtureModel:
    """Build a smartphone, screen up; its icons shine when on."""
    body = prism(rounded_rectangle(74, 152, 10), 9)
    screen = prism(rounded_rectangle(67, 144, 7), 0.6, 9)
    lit = look.lit((0.05, 0.06, 0.08), (0.35, 0.62, 0.95))
    pieces = [Piece(body, BLACK), Piece(screen, lit)]
    if look.state.on:
        colors: tuple[Color, ...] = ((0.95, 0.30, 0.25), (0.98, 0.80, 0.2), (0.30, 0.80, 0.4))
        for k in range(12):
            icon = box(11, 11, 0.8, x=-21 + 21 * (k % 3), y=50 - 24 * (k // 3), bottom=9.6)
            color = blend((0.05, 0.06, 0.08), colors[(k + k // 3) % 3], look.strength)
            pieces.append(Piece(icon, Appearance(color, glow=0.6, strength=look.strength)))
    return FixtureModel(*pieces)


def _textile(
    look: BuildInput, color: Color, second: Color, width: float, depth: float, layers: int
) -> FixtureModel:
    surface = look.dirt(Appearance(color, "fabric", second, 0.04))
    band = look.dirt(Appearance(second, "fabric", color, 0.04))
    folds = [
        Piece(prism(rounded_rectangle(width - 3 * k, depth - 3 * k, 9), 9, 9.5 * k), surface)
        for k in range(layers)
    ]
    stripe = box(22, depth - 3 * layers, 1.2, x=width / 2 - 45, bottom=9.5 * layers - 0.5)
    return FixtureModel(*folds, Piece(stripe, band))


def cloth(look: BuildInput) -> FixtureModel:
    """Build a cleaning cloth, folded once."""
    return _textile(look, (0.95, 0.80, 0.25), (0.80, 0.35, 0.20), 180, 150, 2)


def hand_towel(look: BuildInput) -> FixtureModel:
    """Build a small folded towel."""
    return _textile(look, (0.36, 0.62, 0.78), (0.92, 0.95, 0.98), 210, 150, 4)


def towel(look: BuildInput) -> FixtureModel:
    """Build a large folded bath towel."""
    plain = BuildInput(type(look.state)(), look.contrast)
    return _textile(plain, (0.87, 0.50, 0.45), (0.98, 0.90, 0.86), 275, 200, 6)


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


def boots(look: BuildInput) -> FixtureModel:
    """Build a pair of brown ankle boots."""
    leather = Appearance((0.40, 0.22, 0.10), gloss=0.2)
    sole = Appearance((0.10, 0.08, 0.07))
    pieces = []
    for x in (-52, 52):
        outline = [(x + 0.44 * a, b) for a, b in rounded_rectangle(100 * 2, 270, 80)]
        upper = [(x + 0.42 * a, b) for a, b in rounded_rectangle(96 * 2, 258, 78)]
        instep = [(x + 0.36 * a, 0.72 * b + 32) for a, b in rounded_rectangle(96 * 2, 258, 78)]
        ankle = [(x + 0.36 * a, 0.44 * b + 66) for a, b in rounded_rectangle(96 * 2, 258, 78)]
        pieces.append(Piece(prism(outline, 22), sole))
        pieces.append(
            Piece(
                loft([(upper, 22), (upper, 58), (instep, 92), (ankle, 120), (ankle, 210)]), leather
            )
        )
        dark = [(0.9 * (a - x) + x, 0.9 * (b - 66) + 66) for a, b in ankle]
        pieces.append(Piece(prism(dark, 1, 210), sole))
        for k in range(3):
            lace = rod(
                [(x - 16, 14 - 14 * k + 2, 126 - 14 * k), (x + 16, 14 - 14 * k, 126 - 14 * k)], 3, 6
            )
            pieces.append(Piece(lace.moved(y=-30 + 12 * k, z=20), Appearance((0.9, 0.8, 0.5))))
    return FixtureModel(*pieces)


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
    return _standing(lay)


def tomato(look: BuildInput) -> FixtureModel:
    """Build a flat orange-red tomato with a green star."""
    skin = Appearance((0.90, 0.24, 0.09), gloss=0.5)
    body = ball(40, 40, 29, 14, 0.03, 6)
    star = [
        (r * float(np.cos(k * np.pi / 5)), r * float(np.sin(k * np.pi / 5)))
        for k, r in enumerate((26.0, 6.0) * 5)
    ]
    stem = rod([(0, 0, 56), (2, 0, 66)], 3, 8)
    return FixtureModel(Piece(body, skin), Piece(prism(star, 2.5, 56.5), LEAF), Piece(stem, LEAF))


def _disc(
    radius: float, thick: float, skin: Appearance, flesh: Appearance, squash: float = 1.0
) -> tuple[Piece, ...]:
    def stretched(solid: Solid) -> Solid:
        return solid.transformed(np.diag([1.0, squash, 1.0]))

    rim = lathe([(radius - 1, 0), (radius, 1), (radius, thick - 1), (radius - 1, thick)], 32)
    face = lathe([(radius - 3, 0), (radius - 3, thick + 0.6)], 32)
    return Piece(stretched(rim), skin), Piece(stretched(face), flesh)


def tomato_sliced(look: BuildInput) -> FixtureModel:
    """Build a round slice with chambers of seeds."""
    flesh = look.browned(Appearance((0.93, 0.42, 0.30)))
    chambers = [
        Piece(
            prism(circle(7, 12, 20 * float(np.cos(k)), 20 * float(np.sin(k))), 12),
            Appearance((0.97, 0.72, 0.36)),
        )
        for k in np.arange(5) * 2 * np.pi / 5
    ]
    rim = Appearance((0.85, 0.16, 0.08))
    return FixtureModel(*_disc(36, 11, rim, flesh), *chambers)


def potato(look: BuildInput) -> FixtureModel:
    """Build a brown lumpy ellipsoid with eyes; dark and split open when cooked."""
    raw = Appearance((0.80, 0.65, 0.42), "speckle", (0.55, 0.40, 0.22), 0.09)
    body = ball(54, 38, 33, 14, 0.04, 3)
    pieces = [Piece(body, look.browned(raw))]
    if look.state.cooked:
        flesh = blend(raw.color, (1.0, 0.93, 0.55), look.strength)
        cut = [(-22, 0), (-10, -5), (10, -6), (22, 0), (9, 6), (-11, 5)]
        pieces.append(Piece(prism(cut, 7, 60), Appearance(flesh)))
    return FixtureModel(*pieces)


def potato_sliced(look: BuildInput) -> FixtureModel:
    """Build an oval slice with a brown rim."""
    flesh = look.browned(Appearance((0.95, 0.88, 0.58)))
    rim = Appearance((0.56, 0.40, 0.22))
    return FixtureModel(*_disc(40, 10, rim, flesh, 0.75))


def lettuce(look: BuildInput) -> FixtureModel:
    """Build a head of ruffled leaves."""
    tones = ((0.34, 0.60, 0.18), (0.48, 0.72, 0.24), (0.62, 0.82, 0.36))
    pieces = [Piece(ball(62, 62, 54, 14, 0.05, 5), Appearance(tones[0]))]
    for k in range(13):
        turn = 2.4 * k
        size = 52 - 1.6 * k
        leaf = ball(size, 14, size * 0.9, 10, 0.12, 9)
        tilted = leaf.moved(y=34 - 2.2 * k, z=-4).turned("x", -14 + k)
        surface = Appearance(tones[k % 3])
        pieces.append(Piece(tilted.turned("z", float(np.degrees(turn))).moved(z=6 + k), surface))
    return _standing(pieces)


def lettuce_sliced(look: BuildInput) -> FixtureModel:
    """Build loose ruffled leaf pieces."""
    pieces = []
    for k in range(4):
        leaf = ball(36 - 3 * k, 26 - 2 * k, 5, 8, 0.16, 7).turned("y", 12 - 8 * k)
        tone = ((0.40, 0.66, 0.20), (0.60, 0.80, 0.34))[k % 2]
        pieces.append(Piece(leaf.turned("z", 70.0 * k).moved(z=6.0 * k), Appearance(tone)))
    return _standing(pieces)


def bread_sliced(look: BuildInput) -> FixtureModel:
    """Build a slice of bread, lying: pale crumb in a brown crust; toasted when cooked."""
    outline = [*rounded_rectangle(88, 66, 10)]
    bump = [(x * (1.0 if y < 12 else 1.12), y * (1.0 if y < 12 else 1.15)) for x, y in outline]
    crumb_outline = [(0.88 * x, 0.88 * y) for x, y in bump]
    crumb = look.browned(Appearance((0.98, 0.92, 0.74), "speckle", (0.90, 0.80, 0.58), 0.05))
    crust = Appearance((0.60, 0.34, 0.12))
    return FixtureModel(
        Piece(prism(bump, 16), crust), Piece(prism(crumb_outline, 17.2, -0.6), crumb)
    )


def egg(look: BuildInput) -> FixtureModel:
    """Build a white egg, lying a little tilted."""
    shape = lathe(
        [(22 * np.sin(t) ** 0.9 + 0.1, 30 - 30 * np.cos(t) * (1 if t < 1.57 else 0.85))
         for t in np.linspace(0.02, 3.12, 16)], 28)  # fmt: skip
    body = shape.turned("y", 78)
    return _standing([Piece(body, Appearance((0.97, 0.93, 0.88), gloss=0.15))])


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


def _standing(pieces: list[Piece]) -> FixtureModel:
    low = min(piece.solid.bounds()[0, 2] for piece in pieces)
    return FixtureModel(*(Piece(piece.solid.moved(z=-low), piece.surface) for piece in pieces))


BUILDERS: dict[str, Builder] = {
    "Pot": pot,
    "Kettle": kettle,
    "Spoon": spoon,
    "SaltShaker": salt_shaker,
    "WineBottle": wine_bottle,
    "Bottle": bottle,
    "CellPhone": cell_phone,
    "Cloth": cloth,
    "HandTowel": hand_towel,
    "Towel": towel,
    "Pillow": pillow,
    "Boots": boots,
    "AppleSliced": apple_sliced,
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
