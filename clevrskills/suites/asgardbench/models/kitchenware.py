"""Dishes, cookware and cutlery."""

from __future__ import annotations

import numpy as np

from clevrskills.assets.outlines import Outline, Points, rounded_rectangle
from clevrskills.assets.solids import Solid, Station, box, lathe, prism, tube, vessel
from clevrskills.suites.asgardbench.models.model import (
    Builder,
    Look,
    Model,
    Piece,
    arc3,
    hollow,
    revolved,
    rod,
    round_vessel,
    scaled,
)
from clevrskills.suites.asgardbench.models.surfaces import Surface

STEEL = Surface((0.66, 0.68, 0.71), gloss=0.75)
BLACK = Surface((0.09, 0.09, 0.10), gloss=0.15)
HANDLE = Surface((0.14, 0.10, 0.08), gloss=0.1)
WOOD = Surface((0.66, 0.45, 0.25), "wood", (0.42, 0.26, 0.13), 0.12)


def plate(look: Look) -> Model:
    """Build a white plate with a blue rim."""
    white = look.dirt(Surface((0.94, 0.94, 0.92), gloss=0.35))
    rim = look.dirt(Surface((0.22, 0.38, 0.72), gloss=0.3))
    body = hollow(
        [(62, 0), (68, 3), (124, 20)], [(114, 20), (104, 16), (74, 6), (70, 5)], white, white
    )
    ring = revolved([(124.5, 19.5), (124.5, 21.5), (123, 22.5), (113, 20.5)])
    return Model(*body, Piece(ring, rim))


def bowl(look: Look) -> Model:
    """Build a deep bowl, teal outside, cream inside."""
    outside = look.dirt(Surface((0.16, 0.50, 0.52), gloss=0.35))
    inside = look.dirt(Surface((0.95, 0.92, 0.84), gloss=0.2))
    shell = hollow(
        [(38, 0), (40, 4), (62, 22), (78, 48), (84, 72)],
        [(81, 72), (76, 48), (59, 24), (36, 9), (30, 8)],
        outside,
        inside,
    )
    return Model(*shell, *look.liquid(78.5, 62, inside.color))


def cup(look: Look) -> Model:
    """Build a tall tumbler without a handle."""
    glass = look.dirt(Surface((0.93, 0.68, 0.20), gloss=0.45))
    inside = look.dirt(Surface((0.98, 0.88, 0.62), gloss=0.1))
    shell = hollow(
        [(30, 0), (33, 3), (42, 118), (43, 122)], [(40.5, 122), (31, 10), (28, 9)], glass, inside
    )
    return Model(*shell, *look.liquid(39.0, 110, inside.color))


def mug(look: Look) -> Model:
    """Build a red mug with a handle."""
    red = look.dirt(Surface((0.80, 0.16, 0.13), gloss=0.4))
    inside = look.dirt(Surface((0.96, 0.94, 0.90), gloss=0.1))
    shell = hollow(
        [(36, 0), (40, 4), (41, 92), (41.5, 95)], [(38.5, 95), (37.5, 9), (32, 8)], red, inside
    )
    ear = rod(arc3((38, 0, 50), 27, -75, 75, "xz", 11), 5.5)
    pieces = (*shell, Piece(ear, red))
    return Model(*pieces, *look.liquid(37.9, 86, inside.color))


def pan(look: Look) -> Model:
    """Build a frying pan, wide and shallow, with a long handle."""
    iron = look.dirt(Surface((0.16, 0.16, 0.17), gloss=0.25))
    inside = look.dirt(Surface((0.34, 0.34, 0.36), gloss=0.1))
    shell = hollow([(78, 0), (83, 3), (100, 42)], [(97, 42), (80, 8), (76, 6)], iron, inside)
    # turned, so that it takes no more room than a plate
    grip = rod([(93, 0, 34), (120, 0, 44), (170, 0, 52), (240, 0, 56)], [8, 9, 11, 10])
    pieces = (*shell, Piece(grip.turned("z", -45), HANDLE))
    return Model(*pieces, *look.liquid(93.3, 36, inside.color))


def pot(look: Look) -> Model:
    """Build a deep steel pot with two ears."""
    steel = look.dirt(Surface((0.70, 0.72, 0.75), gloss=0.7))
    inside = look.dirt(Surface((0.50, 0.52, 0.55), gloss=0.2))
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
    return Model(*pieces, *look.liquid(101.2, 92, inside.color))


def kettle(look: Look) -> Model:
    """Build a round-bellied kettle with spout, lid, handle, and a band of glass at its content."""
    body = Surface((0.13, 0.42, 0.38), gloss=0.45)
    belly = lathe([(84, 0), (92, 6), (96, 40), (84, 84), (58, 112), (44, 118)], 40)
    lid = lathe([(46, 117), (44, 122), (14, 128), (9, 130), (12, 138), (10, 146), (2, 148)], 32)
    spout = rod([(80, 0, 56), (112, 0, 84), (132, 0, 116), (146, 0, 124)], [18, 14, 10, 9])
    hoop = rod(arc3((0, 0, 92), 88, 20, 160, "xz", 13), 7)
    pale = Surface((0.86, 0.90, 0.90))
    band = lathe([(94.6, 16), (97.4, 40), (91.5, 66)], 40)
    gauge = [Piece(box(26, 10, 66, y=-91, bottom=18), pale, use="rules")]
    gauge.append(Piece(band, pale, use="drawn"))
    if look.state.filled is not None:
        level = look.liquid(1, 1, pale.color)[0].surface
        gauge.append(Piece(lathe([(95.6, 18), (98.4, 40), (94.6, 57)], 40), level, use="drawn"))
    return Model(
        Piece(belly, body), Piece(lid, STEEL), Piece(spout, body), Piece(hoop, HANDLE), *gauge
    )


def _lying(stations: list[tuple[float, float, float, float]]) -> Solid:
    """Build a bar along x; stations (x, width, height, bottom)."""
    return tube([Station(x, 0.0, w, h, 0.0, z) for x, w, h, z in stations], 1.0)


def _grip(surface: Surface, length: float = 100, width: float = 20, height: float = 14) -> Piece:
    profile = [
        (-length, width * 0.8, height * 0.8, 0.0),
        (-length * 0.85, width, height, 0.0),
        (-length * 0.4, width * 0.85, height, 0.0),
        (0.0, width * 0.7, height * 0.8, 1.0),
    ]
    return Piece(_lying(profile), surface)


def knife(look: Look) -> Model:
    """Build a chef's knife: broad pointed blade, black handle."""
    blade: Points = [(0, -13), (95, -14), (150, -6), (182, 12), (170, 14), (0, 14)]
    rivets = tuple(
        Piece(lathe([(3, 13), (3, 15)], 12).moved(x=-x), STEEL) for x in (25.0, 50.0, 75.0)
    )
    whole = Model(_grip(BLACK, 112, 24, 14), Piece(prism(blade, 3, 5), STEEL), *rivets)
    return scaled(whole, 0.93)


def butter_knife(look: Look) -> Model:
    """Build a table knife: all steel, narrow, rounded tip."""
    blade: Points = [(0, -7), (80, -10), (100, -8), (108, 0), (104, 6), (90, 8), (0, 7)]
    return Model(_grip(STEEL, 96, 15, 9), Piece(prism(blade, 2.5, 2), STEEL))


def fork(look: Look) -> Model:
    """Build a table fork: four tines apart on a broad root."""
    neck = _lying([(-110, 15, 4, 0), (-60, 10, 4, 3), (30, 8, 4, 8), (48, 24, 4, 6)])
    tines = [rod([(46, y, 8), (66, y, 5), (96, y, 8)], [2.8, 2.6, 1.4], 8) for y in (-9, -3, 3, 9)]
    block = [Piece(part, STEEL, use="rules") for part in (neck, *tines)]
    shaft = _lying([(-110, 17, 4, 0), (-60, 10, 4, 3), (14, 8, 4, 9), (28, 26, 4, 7),
                    (42, 34, 4, 5)])  # fmt: skip
    prongs = [
        rod([(38, y, 7), (66, 1.04 * y, 4), (100, y, 10)], [2.4, 2.0, 1.1], 8)
        for y in (-14.5, -4.9, 4.9, 14.5)
    ]
    drawn = [Piece(part, STEEL, use="drawn") for part in (shaft, *prongs)]
    return Model(*block, *drawn)


def spoon(look: Look) -> Model:
    """Build a table spoon."""
    neck = _lying([(-110, 15, 4, 0), (-60, 10, 4, 3), (30, 8, 4, 8), (52, 10, 4, 8)])
    outline = [
        [(70 + 27 * s * np.cos(t), 19 * s * np.sin(t)) for t in np.linspace(0, 6.2832, 33)[:-1]]
        for s in (0.45, 0.8, 1.0, 0.93, 0.7, 0.35)
    ]
    heights = (0.0, 3.0, 10.0, 10.0, 4.5, 2.0)
    rings = [
        ([(float(x), float(y)) for x, y in ring], z)
        for ring, z in zip(outline, heights, strict=True)
    ]
    return Model(Piece(neck, STEEL), Piece(vessel(rings[:3], rings[3:]), STEEL))


def spatula(look: Look) -> Model:
    """Build a turner: a slotted red blade on a long handle."""
    holes = tuple(
        tuple((x + 60, y + k) for x, y in rounded_rectangle(52, 8, 3)) for k in (-20, 0, 20)
    )
    outer = [(x + 60, y) for x, y in rounded_rectangle(96, 74, 12)]
    blade = prism(Outline(outer, holes), 4, 2)
    red = Surface((0.82, 0.18, 0.12), gloss=0.1)
    neck = rod([(-80, 0, 16), (-10, 0, 14), (20, 0, 6)], 4)
    grip = _grip(BLACK, 110, 22, 16).solid.moved(x=-75, z=6)
    return scaled(Model(Piece(blade, red), Piece(neck, STEEL), Piece(grip, BLACK)), 0.93)


def ladle(look: Look) -> Model:
    """Build a ladle: a deep round bowl whose handle rises from the rim."""
    cup_ = round_vessel(
        [(20, 0), (34, 8), (44, 28), (46, 42)], [(43, 42), (40, 26), (30, 11), (16, 5)]
    )
    neck = rod([(-44, 0, 40), (-62, 0, 62), (-140, 0, 74), (-240, 0, 80)], [6, 5, 5, 7])
    hook = rod(arc3((-252, 0, 92), 14, -90, 110, "xz", 7), 4)
    return scaled(Model(Piece(cup_, STEEL), Piece(neck, STEEL), Piece(hook, STEEL)), 0.9)


def dish_sponge(look: Look) -> Model:
    """Build a yellow sponge with a green scouring pad."""
    foam = Surface((0.97, 0.82, 0.22), "speckle", (0.78, 0.58, 0.10), 0.06)
    pad = Surface((0.13, 0.45, 0.20), "speckle", (0.08, 0.30, 0.12), 0.04)
    shape = rounded_rectangle(112, 72, 10)
    return Model(Piece(prism(shape, 24), foam), Piece(prism(shape, 10, 24), pad))


def salt_shaker(look: Look) -> Model:
    """Build a white shaker with a grey cap that has holes."""
    body = lathe([(24, 0), (26, 3), (20, 50), (18, 66)], 32)
    cap = lathe([(19, 66), (20, 68), (19, 80), (12, 88), (4, 90)], 32)
    holes = tuple(
        Piece(
            lathe([(2.2, 88), (2.0, 90.5)], 10).moved(x=7 * np.cos(k), y=7 * np.sin(k)),
            Surface((0.05, 0.05, 0.05)),
        )
        for k in np.arange(5) * 2 * np.pi / 5
    )
    return Model(Piece(body, Surface((0.95, 0.95, 0.94), gloss=0.3)), Piece(cap, STEEL), *holes)


def aluminum_foil(look: Look) -> Model:
    """Roll of foil in a long box, a sheet hanging out."""
    carton = Surface((0.16, 0.30, 0.62))
    foil = Surface((0.80, 0.81, 0.83), gloss=0.9)
    sheet = box(280, 3, 44, y=-26, bottom=4)
    label = box(120, 1, 26, y=-24.2, bottom=10)
    whole = Model(
        Piece(box(300, 48, 50), carton),
        Piece(sheet, foil),
        Piece(label.moved(y=-4), Surface((0.95, 0.85, 0.2))),
        Piece(rod([(-140, 0, 52), (140, 0, 52)], 18, 16), foil),
    )
    return scaled(whole, 0.9)


BUILDERS: dict[str, Builder] = {
    "Plate": plate,
    "Bowl": bowl,
    "Cup": cup,
    "Mug": mug,
    "Pan": pan,
    "Pot": pot,
    "Kettle": kettle,
    "Knife": knife,
    "ButterKnife": butter_knife,
    "Fork": fork,
    "Spoon": spoon,
    "Spatula": spatula,
    "Ladle": ladle,
    "DishSponge": dish_sponge,
    "SaltShaker": salt_shaker,
    "AluminumFoil": aluminum_foil,
}
