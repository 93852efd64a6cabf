"""Fixtures: furniture, cupboards and what is built in. Fronts face −y; the back is at y = 0."""

from __future__ import annotations

import numpy as np

from clevrskills.assets.outlines import Outline, circle, rounded_rectangle
from clevrskills.assets.solids import Solid, box, lathe, loft, prism, vessel
from clevrskills.suites.asgardbench.drawing.kitchenware import BLACK, STEEL, WOOD
from clevrskills.suites.asgardbench.drawing.model import (
    Builder,
    Joint,
    Look,
    Model,
    Piece,
    ball,
    blend,
    rod,
    round_vessel,
)
from clevrskills.suites.asgardbench.drawing.surfaces import Color, Surface

FRONT = Surface((0.87, 0.89, 0.85))
CARCASS = Surface((0.80, 0.80, 0.77))
INSIDE = Surface((0.74, 0.66, 0.53), "wood", (0.62, 0.52, 0.38), 0.6)
TOP = Surface((0.58, 0.55, 0.52), "stone", (0.32, 0.30, 0.29), 0.6)
OAK = Surface((0.76, 0.56, 0.34), "wood", (0.54, 0.36, 0.18), 0.7)
DARK_WOOD = Surface((0.40, 0.26, 0.16), "wood", (0.24, 0.14, 0.08), 0.7)
PORCELAIN = Surface((0.95, 0.95, 0.94), gloss=0.3)
SHADE = Surface((0.10, 0.10, 0.11))
COUNTER_MM, DEEP_MM, WIDE_MM = 920.0, 600.0, 600.0
"""Height, depth and module width of counters."""
WATER: Color = (0.45, 0.70, 0.95)


def case(
    width: float, depth: float, height: float, bottom: float = 0.0, wall: float = 18.0
) -> list[Solid]:
    """Cupboard without a front: two sides, back, floor and top."""
    inner = height - 2 * wall
    return [
        box(wall, depth, height, x=side * (width - wall) / 2, y=-depth / 2, bottom=bottom)
        for side in (-1, 1)
    ] + [
        box(width - 2 * wall, wall, height, y=-wall / 2, bottom=bottom),
        box(width - 2 * wall, depth, wall, y=-depth / 2, bottom=bottom),
        box(width - 2 * wall, depth, wall, y=-depth / 2, bottom=bottom + wall + inner),
    ]


def _panel(width: float, height: float, x: float, y: float, bottom: float) -> list[Solid]:
    """Door or drawer front with a raised frame; its back is at y."""
    frame = [
        box(width, 6, 56, x=x, y=y - 21, bottom=bottom),
        box(width, 6, 56, x=x, y=y - 21, bottom=bottom + height - 56),
    ]
    if height > 250:
        frame += [
            box(56, 6, height - 112, x=x + s * (width - 56) / 2, y=y - 21, bottom=bottom + 56)
            for s in (-1, 1)
        ]
        return [box(width, 18, height, x=x, y=y - 9, bottom=bottom), *frame]
    return [box(width, 22, height, x=x, y=y - 11, bottom=bottom)]


def _bar(x: float, y: float, z: float, length: float, upright: bool) -> Solid:
    half = length / 2
    ends = [(x, y, z - half), (x, y, z + half)] if upright else [(x - half, y, z), (x + half, y, z)]
    stand = 26.0
    return rod([(e[0], e[1] - stand, e[2]) for e in ends], 6, 10)


def _door(
    name: str, width: float, height: float, y: float, bottom: float, front: Surface, left: bool
) -> tuple[list[Piece], dict[str, Joint]]:
    """Door over the whole width, hinged at its left or right edge, opening towards −y."""
    side = -1 if left else 1
    parts = [Piece(part, front, name) for part in _panel(width - 6, height - 6, 0, y, bottom + 3)]
    grip = _bar(-side * (width / 2 - 45), y - 20, bottom + height / 2, min(160, height / 2), True)
    # an axis up: a door hinged on the left swings by a negative angle to come to the front
    joint = Joint("hinge", "open", (0, 0, float(side)), 95.0, (side * width / 2, y, 0))
    return [*parts, Piece(grip, STEEL, name)], {name: joint}


def base_cabinet(look: Look) -> Model:
    """Floor cupboard with a door, under a counter."""
    pieces = [Piece(part, INSIDE) for part in case(WIDE_MM, DEEP_MM - 22, 780, 100)]
    pieces.append(Piece(box(WIDE_MM, DEEP_MM - 80, 100, y=-(DEEP_MM - 80) / 2), SHADE))
    door, joints = _door("door", WIDE_MM, 780, -DEEP_MM + 22, 100, FRONT, True)
    return Model((*pieces, *door), joints)


def wall_cabinet(look: Look) -> Model:
    """Wall cupboard with a door and a shelf; its frame is at its lower edge."""
    pieces = [Piece(part, INSIDE) for part in case(WIDE_MM, 330, 700)]
    pieces.append(Piece(box(WIDE_MM - 36, 300, 16, y=-160, bottom=340), INSIDE))
    door, joints = _door("door", WIDE_MM, 700, -330, 0, FRONT, True)
    return Model((*pieces, *door), joints)


def drawer(look: Look) -> Model:
    """One drawer of a counter, 0.26 m high, with the case around it."""
    high = 260.0
    shell = case(WIDE_MM, DEEP_MM - 22, high, 0, 12)
    y, depth = -(DEEP_MM - 22), 500.0
    tray = [
        box(WIDE_MM - 60, depth, 10, y=y + depth / 2, bottom=30),
        *(
            box(10, depth, 130, x=s * (WIDE_MM - 60) / 2, y=y + depth / 2, bottom=30)
            for s in (-1, 1)
        ),
        box(WIDE_MM - 60, 10, 130, y=y + depth, bottom=30),
    ]
    fronts = _panel(WIDE_MM - 6, high - 6, 0, y, 3)
    pieces = [Piece(part, CARCASS) for part in shell]
    pieces += [Piece(part, INSIDE, "tray") for part in tray]
    pieces += [Piece(part, FRONT, "tray") for part in fronts]
    pieces.append(Piece(_bar(0, y - 22, high / 2 + 40, 200, False), STEEL, "tray"))
    return Model(tuple(pieces), {"tray": Joint("slide", "open", (0, -1, 0), 350.0)})


def counter_top(look: Look) -> Model:
    """Worktop of one module; its frame is at the floor."""
    slab = box(WIDE_MM, DEEP_MM + 20, 40, y=-(DEEP_MM + 20) / 2, bottom=COUNTER_MM - 40)
    return Model((Piece(slab, TOP),))


def _basin(
    width: float, depth: float, deep: float, y: float, top: float, wall: Surface
) -> list[Piece]:
    """Rectangular basin let in at a height: floor, walls and a drain."""
    ring = rounded_rectangle(width, depth, 40)
    small = rounded_rectangle(width - 40, depth - 40, 30)
    outer = [([(a, b + y) for a, b in ring], top - deep - 4.0)]
    shell = vessel(
        [*outer, ([(1.02 * a, 1.02 * b + y) for a, b in ring], top + 1.0)],
        [
            ([(a, b + y) for a, b in ring], top + 1.0),
            ([(a, b + y) for a, b in small], top - deep + 6),
            ([(0.9 * a, 0.9 * b + y) for a, b in small], top - deep),
        ],
    )
    drain = lathe([(24, top - deep), (22, top - deep + 1.2)], 20).moved(y=y)
    return [Piece(shell, wall), Piece(drain, SHADE)]


def sink(look: Look) -> Model:
    """Counter module with a steel basin; its faucet is an entity of its own."""
    hole = tuple((a, b - 305) for a, b in rounded_rectangle(450, 350, 40))
    top = Outline([(-300, -620), (300, -620), (300, 0), (-300, 0)], (hole,))
    slab = prism(top, 40, COUNTER_MM - 40)
    steel = Surface((0.62, 0.64, 0.67), gloss=0.0)
    front = _panel(WIDE_MM - 6, 774, 0, -DEEP_MM + 22, 103)
    pieces = [Piece(part, FRONT) for part in front]
    pieces.append(Piece(box(WIDE_MM, DEEP_MM - 80, 100, y=-(DEEP_MM - 80) / 2), SHADE))
    pieces += [
        Piece(box(18, DEEP_MM - 22, 780, x=s * 291, y=-(DEEP_MM - 22) / 2, bottom=100), CARCASS)
        for s in (-1, 1)
    ]
    return Model((Piece(slab, TOP), *pieces, *_basin(450, 350, 160, -305, COUNTER_MM, steel)))


def faucet(look: Look) -> Model:
    """Swan-neck faucet with a lever; a stream when on. Stands on the counter behind the basin."""
    neck = [(0, 0, 0), (0, 0, 200), (0, -20, 250), (0, -70, 280), (0, -120, 262), (0, -138, 210)]
    base = lathe([(28, 0), (28, 14), (20, 20)], 24)
    lever = rod([(26, 0, 60), (60, 0, 72), (120, 0, 86)], [13, 8, 7])
    pieces = [
        Piece(rod(neck, 14, 14), STEEL),
        Piece(base, STEEL),
        Piece(lever, Surface((0.82, 0.14, 0.12)), "lever"),
    ]
    if look.state.on:
        stream = rod([(0, -139, 206), (0, -141, 60), (0, -141, -150)], [10, 8, 12], 12)
        splash = lathe([(62, -150), (54, -146), (24, -142)], 24).moved(y=-141)
        steel: Color = (0.55, 0.57, 0.60)
        water = Surface(blend(steel, WATER, look.strength), glow=0.25, strength=look.strength)
        pieces += [Piece(stream, water), Piece(splash, water)]
    joint = Joint("hinge", "on", (0, 0, 1), -70.0, (0, 0, 60))
    return Model(tuple(pieces), {"lever": joint})


def dining_table(look: Look) -> Model:
    """Table of oak, 1.4 x 0.8 m; its frame is in the middle."""
    top = prism(rounded_rectangle(1400, 800, 40), 36, 714)
    legs = [
        loft(
            [
                ([(a * 0.7 + x, b * 0.7 + y) for a, b in rounded_rectangle(70, 70, 12)], 0),
                ([(a + x, b + y) for a, b in rounded_rectangle(70, 70, 12)], 714),
            ]
        )
        for x in (-620, 620)
        for y in (-320, 320)
    ]
    rails = [box(1180, 24, 80, y=y, bottom=630) for y in (-320, 320)]
    return Model(tuple(Piece(part, OAK) for part in (top, *legs, *rails)))


def _small_table(width: float, depth: float, height: float, surface: Surface) -> Model:
    top = prism(rounded_rectangle(width, depth, 20), 28, height - 28)
    shelf = prism(rounded_rectangle(width - 60, depth - 60, 16), 18, height * 0.3)
    legs = [
        box(40, 40, height - 28, x=x * (width / 2 - 40), y=y * (depth / 2 - 40))
        for x in (-1, 1)
        for y in (-1, 1)
    ]
    return Model(tuple(Piece(part, surface) for part in (top, shelf, *legs)))


def side_table(look: Look) -> Model:
    """Small square table, 0.55 m high; its frame is in the middle."""
    return _small_table(500, 500, 560, DARK_WOOD)


def coffee_table(look: Look) -> Model:
    """Low table in front of a sofa; its frame is in the middle."""
    return _small_table(1100, 600, 420, OAK)


def shelf(look: Look) -> Model:
    """Board on the wall with two brackets; its frame is below the board."""
    board = box(800, 250, 26, y=-125, bottom=0)
    brackets = [box(22, 180, 14, x=x, y=-90, bottom=-14) for x in (-300, 300)]
    braces = [rod([(x, -4, -130), (x, -170, -10)], 7, 8) for x in (-300, 300)]
    return Model((Piece(board, OAK), *(Piece(part, BLACK) for part in (*brackets, *braces))))


def chair(look: Look) -> Model:
    """Wooden chair; its back is towards +y."""
    seat = prism(rounded_rectangle(430, 420, 40), 28, 440)
    legs = [rod([(x * 190, y * 180, 0), (x * 165, y * 160, 440)], [16, 22], 10)
            for x in (-1, 1) for y in (-1, 1)]  # fmt: skip
    posts = [rod([(x * 185, 180, 460), (x * 185, 230, 900)], [20, 15], 10) for x in (-1, 1)]
    slats = [box(360, 16, 60, y=200 + k * 0.11 - 20, bottom=float(k)) for k in (600, 720, 840)]
    cushion = prism(rounded_rectangle(380, 370, 60), 24, 468)
    fabric = Surface((0.30, 0.46, 0.52), "fabric", (0.20, 0.34, 0.40), 0.1)
    wood = [Piece(part, OAK) for part in (seat, *legs, *posts, *slats)]
    return Model((*wood, Piece(cushion, fabric)))


def stool(look: Look) -> Model:
    """Round bar stool with a foot ring."""
    seat = lathe([(150, 640), (165, 650), (165, 676), (150, 690)], 32)
    legs = [
        rod([(180 * np.cos(k), 180 * np.sin(k), 0), (110 * np.cos(k), 110 * np.sin(k), 645)], 16)
        for k in np.pi / 4 + np.arange(4) * np.pi / 2
    ]
    ring = rod([(158 * np.cos(t), 158 * np.sin(t), 200) for t in np.linspace(0, 6.2832, 25)], 8)
    return Model((Piece(seat, DARK_WOOD), *(Piece(leg, OAK) for leg in legs), Piece(ring, STEEL)))


def garbage_can(look: Look) -> Model:
    """Round pedal bin, open on top, with a black bag's rim."""
    body = round_vessel(
        [(130, 0), (134, 10), (148, 460), (150, 470)], [(140, 470), (125, 60), (118, 55)]
    )
    bag = round_vessel([(151, 440), (153, 450), (153, 474)], [(139, 474), (126, 120), (110, 110)])
    pedal = box(70, 40, 16, y=-145, bottom=8)
    return Model((Piece(body, STEEL), Piece(bag, SHADE), Piece(pedal, SHADE)))


def light_switch(look: Look) -> Model:
    """Switch on the wall: its rocker tips, its lamp shines."""
    frame = prism(rounded_rectangle(86, 86, 8), 8).turned("x", 90)
    rocker = box(44, 12, 60, y=-8, bottom=-30)
    lamp = box(14, 4, 8, y=-15, bottom=14)
    tip = Joint("hinge", "on", (1, 0, 0), -14.0, (0, -8, 0))
    return Model(
        (
            Piece(frame, Surface((0.97, 0.97, 0.95))),
            Piece(rocker, Surface((0.86, 0.87, 0.86)), "rocker"),
            Piece(lamp, look.lit((0.25, 0.10, 0.08), (1.0, 0.55, 0.10)), "rocker"),
        ),
        {"rocker": tip},
    )


def _frame(width: float, height: float, thick: float, deep: float) -> list[Solid]:
    return [
        box(width, deep, thick, y=-deep / 2, bottom=0),
        box(width, deep, thick, y=-deep / 2, bottom=height - thick),
        *(box(thick, deep, height, x=s * (width - thick) / 2, y=-deep / 2) for s in (-1, 1)),
    ]


def window(look: Look) -> Model:
    """Window with a cross bar and a sill; its frame is at its lower edge."""
    view = Surface((0.5, 0.7, 0.9), "view", period_m=1.0, glow=0.0)
    pane = box(1000, 6, 1000, y=-6)
    bars = [
        *_frame(1060, 1060, 50, 50),
        box(40, 40, 1000, y=-20),
        box(1000, 40, 40, y=-20, bottom=500),
    ]
    sill = box(1160, 150, 30, y=-75, bottom=-30)
    white = Surface((0.97, 0.97, 0.96))
    return Model((Piece(pane, view), *(Piece(bar, white) for bar in (*bars, sill))))


def mirror(look: Look) -> Model:
    """Mirror in a frame: streaks of light; smears when dirty, droplets when sprayed."""
    glass = look.dirt(Surface((0.66, 0.76, 0.82), "gradient", (0.84, 0.90, 0.94), 0.45))
    pieces = [Piece(part, DARK_WOOD) for part in _frame(740, 940, 40, 36)]
    pane = box(670, 6, 870, y=-16, bottom=35)
    pieces.append(Piece(pane, glass))
    if look.state.sprayed:
        rng = np.random.Generator(np.random.PCG64(7))
        wet = Surface(blend((0.70, 0.78, 0.84), (1.0, 1.0, 1.0), look.strength))
        rim = Surface(blend((0.70, 0.78, 0.84), (0.30, 0.46, 0.60), look.strength))
        drops = np.column_stack([rng.uniform(-300, 300, 90), rng.uniform(70, 870, 90)])
        for (x, z), r in zip(drops.tolist(), rng.uniform(7, 15, 90).tolist(), strict=True):
            trail = rod([(x, -20, z), (x, -20, z - 2.2 * r)], [0.7 * r, r], 10)
            drop = ball(0.62 * r, 4, 0.62 * r, 6).moved(x, -19 - 0.8 * r, z - 2.9 * r)
            pieces += [Piece(trail, rim), Piece(drop, wet)]
    return Model(tuple(pieces))


def toilet(look: Look) -> Model:
    """Toilet with a cistern; its lid opens."""
    foot = loft([([(0.62 * a, 0.8 * b - 300) for a, b in rounded_rectangle(360, 460, 150)], 0),
                 ([(0.6 * a, 0.75 * b - 290) for a, b in rounded_rectangle(360, 460, 150)], 180),
                 ([(a, b - 330) for a, b in rounded_rectangle(360, 470, 160)], 370)])  # fmt: skip
    ring = rounded_rectangle(360, 470, 160)

    def oval(across: float, along: float) -> list[tuple[float, float]]:
        return [(across * a, along * b - 330) for a, b in ring]

    rim = vessel(
        [(oval(1, 1), 340), (oval(1.02, 1.02), 400)],
        [(oval(0.72, 0.74), 400), (oval(0.5, 0.55), 372)],
    )
    pond = prism(oval(0.48, 0.53), 2, 373)
    cistern = loft([(rounded_rectangle(380, 180, 30), 380), (rounded_rectangle(400, 190, 30), 760)])
    button = lathe([(26, 772), (24, 780)], 20)
    lid = prism([(0.98 * a, 0.98 * b - 330) for a, b in ring], 22, 404)
    pieces = [Piece(part, PORCELAIN) for part in (foot, rim)]
    pieces += [
        Piece(cistern.moved(y=-95), PORCELAIN),
        Piece(box(410, 200, 14, y=-100, bottom=760), PORCELAIN),
    ]
    pieces += [Piece(button.moved(y=-100), STEEL), Piece(pond, Surface((0.55, 0.75, 0.88)))]
    pieces.append(Piece(lid, Surface((0.90, 0.90, 0.89)), "lid"))
    return Model(tuple(pieces), {"lid": Joint("hinge", "open", (-1, 0, 0), 95.0, (0, -105, 404))})


def bathtub(look: Look) -> Model:
    """Bathtub along the wall, with a tap."""
    ring, small = rounded_rectangle(1600, 700, 60), rounded_rectangle(1480, 580, 180)
    body = vessel(
        [([(a, b - 350) for a, b in ring], 0.0), ([(a, b - 350) for a, b in ring], 560.0)],
        [
            ([(a, b - 350) for a, b in small], 560.0),
            ([(0.82 * a, 0.72 * b - 350) for a, b in small], 150.0),
        ],
    )
    tap = rod([(-700, -20, 560), (-700, -20, 660), (-690, -60, 690), (-680, -140, 670)], 16, 12)
    return Model((Piece(body, PORCELAIN), Piece(tap, STEEL)))


def towel_holder(look: Look) -> Model:
    """Bar on the wall."""
    bar = rod([(-260, -70, 0), (260, -70, 0)], 10, 12)
    arms = [rod([(x, 0, 0), (x, -70, 0)], 9, 10) for x in (-250, 250)]
    plates = [lathe([(26, 0), (24, 8)], 20).turned("x", 90).moved(x=x) for x in (-250, 250)]
    return Model(tuple(Piece(part, STEEL) for part in (bar, *arms, *plates)))


def toilet_paper_hanger(look: Look) -> Model:
    """Short bar on the wall for a roll."""
    bar = rod([(-70, 0, 0), (-70, -70, 0), (70, -70, 0)], 7, 10)
    cover = box(150, 130, 4, y=-65, bottom=62)
    return Model((Piece(bar, STEEL), Piece(cover, STEEL)))


def tv_stand(look: Look) -> Model:
    """Low board with open compartments."""
    shell = case(1500, 420, 480, 40, 24)
    post = [box(24, 400, 432, x=x, y=-205, bottom=64) for x in (-250, 250)]
    feet = [box(60, 60, 40, x=x, y=y) for x in (-680, 680) for y in (-60, -360)]
    return Model(
        (*(Piece(part, DARK_WOOD) for part in (*shell, *post)), *(Piece(f, SHADE) for f in feet))
    )


def _seat(width: float, look: Look, color: Color, seats: int) -> Model:
    fabric = Surface(color, "fabric", tuple(0.75 * c for c in color), 0.12)  # type: ignore[arg-type]
    soft = Surface(blend(color, (1, 1, 1), 0.12), "fabric", color, 0.12)

    def block(w: float, d: float, h: float, x: float, y: float, z: float) -> Solid:
        ring = rounded_rectangle(w, d, 40)
        inner = rounded_rectangle(w - 40, d - 40, 40)
        rings = [(inner, 0.0), (ring, 20.0), (ring, h - 30), (inner, h)]
        return loft([([(a + x, b + y) for a, b in o], q + z) for o, q in rings])

    pieces = [Piece(block(width, 820, 300, 0, -430, 80), fabric)]
    pieces.append(Piece(block(width, 220, 520, 0, -120, 320), fabric))
    pieces += [
        Piece(block(170, 820, 420, s * (width / 2 - 85), -430, 200), fabric) for s in (-1, 1)
    ]
    each = (width - 340) / seats
    for k in range(seats):
        x = (k - (seats - 1) / 2) * each
        pieces.append(Piece(block(each - 10, 600, 130, x, -520, 370), soft))
        pieces.append(Piece(block(each - 10, 150, 360, x, -270, 490), soft))
    feet = [box(50, 50, 90, x=s * (width / 2 - 80), y=y) for s in (-1, 1) for y in (-80, -780)]
    return Model((*pieces, *(Piece(foot, DARK_WOOD) for foot in feet)))


def sofa(look: Look) -> Model:
    """Sofa for three."""
    return _seat(2000, look, (0.32, 0.42, 0.52), 3)


def arm_chair(look: Look) -> Model:
    """Arm chair, rust red."""
    return _seat(900, look, (0.68, 0.34, 0.22), 1)


def floor_lamp(look: Look) -> Model:
    """Standing lamp; its shade shines when on."""
    foot = lathe([(150, 0), (150, 16), (30, 30)], 32)
    pole = rod([(0, 0, 20), (0, 0, 1420)], 12)
    shade = round_vessel([(210, 1280), (210, 1281), (140, 1580)], [(136, 1580), (206, 1284)], 32)
    lit = look.lit((0.80, 0.74, 0.62), (1.0, 0.90, 0.62))
    bulb = ball(42, 42, 50).moved(z=1330)
    return Model((Piece(foot, BLACK), Piece(pole, BLACK), Piece(shade, lit), Piece(bulb, lit)))


def house_plant(look: Look) -> Model:
    """Plant with broad leaves in a pot."""
    pot = round_vessel([(110, 0), (150, 260), (158, 264), (158, 300)], [(146, 300), (140, 270)], 32)
    soil = lathe([(142, 268), (140, 276)], 24)
    green = (Surface((0.16, 0.44, 0.18)), Surface((0.26, 0.56, 0.22)))
    pieces = [Piece(pot, Surface((0.72, 0.40, 0.26))), Piece(soil, Surface((0.22, 0.15, 0.10)))]
    for k in range(16):
        turn, rise = 137.5 * k, 300 + 34 * k
        leaf = loft([([(a, b * 0.16) for a, b in circle(s, 16)], z)
                     for s, z in ((8, 0), (52, 80), (74, 180), (56, 280), (4, 400))])  # fmt: skip
        tilt = leaf.turned("x", 62 - 3.2 * k).moved(z=float(rise) * 0.8)
        pieces.append(Piece(tilt.turned("z", turn), green[k % 2]))
    return Model((*pieces, Piece(rod([(0, 0, 260), (0, 0, 760)], 14), WOOD)))


BUILDERS: dict[str, Builder] = {
    "Cabinet": base_cabinet,
    "WallCabinet": wall_cabinet,
    "Drawer": drawer,
    "CounterTop": counter_top,
    "Sink": sink,
    "Faucet": faucet,
    "DiningTable": dining_table,
    "SideTable": side_table,
    "CoffeeTable": coffee_table,
    "Shelf": shelf,
    "Chair": chair,
    "Stool": stool,
    "GarbageCan": garbage_can,
    "LightSwitch": light_switch,
    "Window": window,
    "Mirror": mirror,
    "Toilet": toilet,
    "Bathtub": bathtub,
    "TowelHolder": towel_holder,
    "ToiletPaperHanger": toilet_paper_hanger,
    "TVStand": tv_stand,
    "Sofa": sofa,
    "ArmChair": arm_chair,
    "FloorLamp": floor_lamp,
    "HousePlant": house_plant,
}
