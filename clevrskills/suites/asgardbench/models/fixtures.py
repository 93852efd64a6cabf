"""Fixtures: furniture, cupboards and what is built in. Fronts face −y; the back is at y = 0."""

from __future__ import annotations

import numpy as np

from clevrskills.assets.outlines import Outline, circle, rounded_rectangle
from clevrskills.assets.solids import Solid, box, lathe, loft, prism, vessel
from clevrskills.suites.asgardbench.models.kitchenware import BLACK, STEEL, WOOD
from clevrskills.suites.asgardbench.models.model import (
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
from clevrskills.suites.asgardbench.models.surfaces import Color, Surface

CARCASS = Surface((0.80, 0.80, 0.77))
INSIDE = Surface((0.74, 0.66, 0.53), "wood", (0.62, 0.52, 0.38), 0.6)
DARK_WOOD = Surface((0.40, 0.26, 0.16), "wood", (0.24, 0.14, 0.08), 0.7)
PORCELAIN = Surface((0.95, 0.95, 0.94), gloss=0.3)
SHADE = Surface((0.10, 0.10, 0.11))
COUNTER_MM, DEEP_MM, WIDE_MM = 920.0, 600.0, 600.0
"""Height, depth and module width of counters."""
SINK_MM = 900.0
"""Width of the counter module with the sink."""
WATER: Color = (0.45, 0.70, 0.95)


def case(
    width: float, depth: float, height: float, bottom: float = 0.0, wall: float = 18.0
) -> list[Solid]:
    """Build a cupboard without a front: two sides, back, floor and top."""
    inner = height - 2 * wall
    return [
        box(wall, depth, height, x=side * (width - wall) / 2, y=-depth / 2, bottom=bottom)
        for side in (-1, 1)
    ] + [
        box(width - 2 * wall, wall, height, y=-wall / 2, bottom=bottom),
        box(width - 2 * wall, depth, wall, y=-depth / 2, bottom=bottom),
        box(width - 2 * wall, depth, wall, y=-depth / 2, bottom=bottom + wall + inner),
    ]


def _panel(
    look: Look, width: float, height: float, x: float, y: float, bottom: float
) -> list[Solid]:
    """Build a door or drawer front as the style has it; its back is at y."""
    kind = look.style.panel
    if height <= 250 or kind == "flat":
        return [box(width, 22, height, x=x, y=y - 11, bottom=bottom)]
    board = box(width, 18, height, x=x, y=y - 9, bottom=bottom)
    if kind == "slats":
        count = max(3, round(width / 75))
        pitch = width / count
        return [board] + [
            box(pitch - 8, 6, height, x=x + (k - (count - 1) / 2) * pitch, y=y - 21, bottom=bottom)
            for k in range(count)
        ]
    frame = [box(width, 6, 56, x=x, y=y - 21, bottom=b) for b in (bottom, bottom + height - 56)]
    frame += [
        box(56, 6, height - 112, x=x + s * (width - 56) / 2, y=y - 21, bottom=bottom + 56)
        for s in (-1, 1)
    ]
    return [board, *frame]


def _grip(look: Look, x: float, y: float, z: float, length: float, upright: bool) -> Solid:
    """Handle whose feet are at y."""
    if look.style.handle == "knob":
        return (
            lathe([(7, 0), (7, 14), (15, 20), (16, 28), (11, 32)], 20)
            .turned("x", 90)
            .moved(x, y, z)
        )
    half = length / 2
    ends = [(x, y, z - half), (x, y, z + half)] if upright else [(x - half, y, z), (x + half, y, z)]
    if look.style.handle == "rail":
        wide, tall = (14.0, length) if upright else (length, 14.0)
        return box(wide, 16, tall, x=x, y=y - 8, bottom=z - tall / 2)
    return rod([(e[0], e[1] - 26, e[2]) for e in ends], 6, 10)


def _door(
    look: Look, name: str, width: float, height: float, y: float, bottom: float, high: bool
) -> tuple[list[Piece], dict[str, Joint]]:
    """Build a door over the whole width, hinged on the left, that opens to the front; its grip is
    high or low.
    """
    parts = [
        Piece(part, look.style.front, name)
        for part in _panel(look, width - 6, height - 6, 0, y, bottom + 3)
    ]
    z = bottom + (height - 130 if high else 130)
    parts.append(Piece(_grip(look, width / 2 - 45, y - 22, z, 160, True), STEEL, name))
    # an axis up: a door hinged on the left swings by a negative angle to come to the front
    joint = Joint("hinge", "open", (0, 0, -1.0), 90.0, (-width / 2, y, 0))
    return parts, {name: joint}


def base_cabinet(look: Look) -> Model:
    """Build a floor cupboard with a door and a shelf, under a counter."""
    wide = look.width_mm or WIDE_MM
    pieces = [Piece(part, INSIDE) for part in case(wide, DEEP_MM - 22, 780, 100)]
    pieces.append(Piece(box(wide - 36, 540, 16, y=-290, bottom=484), INSIDE))
    pieces.append(Piece(box(wide, DEEP_MM - 80, 100, y=-(DEEP_MM - 80) / 2), SHADE))
    door, joints = _door(look, "door", wide, 780, -DEEP_MM + 22, 100, True)
    return Model(*pieces, *door, **joints)


def sink_cabinet(look: Look) -> Model:
    """Build a low floor cupboard under a sink."""
    pieces = [Piece(part, INSIDE) for part in case(SINK_MM, DEEP_MM - 22, 620, 100)]
    pieces.append(Piece(box(SINK_MM, DEEP_MM - 80, 100, y=-(DEEP_MM - 80) / 2), SHADE))
    door, joints = _door(look, "door", SINK_MM, 620, -DEEP_MM + 22, 100, True)
    return Model(*pieces, *door, **joints)


def wall_cabinet(look: Look) -> Model:
    """Build a wall cupboard with a door and a shelf; its frame is at its lower edge."""
    pieces = [Piece(part, INSIDE) for part in case(WIDE_MM, 330, 700)]
    pieces.append(Piece(box(WIDE_MM - 36, 300, 16, y=-160, bottom=340), INSIDE))
    door, joints = _door(look, "door", WIDE_MM, 700, -330, 0, False)
    return Model(*pieces, *door, **joints)


def drawer(look: Look) -> Model:
    """Build one drawer of a counter, 0.26 m high, with the case around it."""
    high = 260.0
    shell = case(WIDE_MM, DEEP_MM - 22, high, 0, 12)
    y, depth = -(DEEP_MM - 22), 500.0
    tray = [
        box(WIDE_MM - 44, depth, 10, y=y + depth / 2, bottom=30),
        *(
            box(10, depth, 110, x=s * (WIDE_MM - 54) / 2, y=y + depth / 2, bottom=30)
            for s in (-1, 1)
        ),
        box(WIDE_MM - 60, 10, 110, y=y + depth, bottom=30),
    ]
    fronts = _panel(look, WIDE_MM - 6, high - 6, 0, y, 3)
    pieces = [Piece(part, CARCASS) for part in shell]
    pieces += [Piece(part, INSIDE, "tray") for part in tray]
    pieces += [Piece(part, look.style.front, "tray") for part in fronts]
    pieces.append(Piece(_grip(look, 0, y - 22, high / 2 + 40, 200, False), STEEL, "tray"))
    return Model(*pieces, tray=Joint("slide", "open", (0, -1, 0), 450.0))


def counter_top(look: Look) -> Model:
    """Build a worktop; its frame is at the floor."""
    wide = look.width_mm or WIDE_MM
    slab = box(wide, DEEP_MM + 20, 40, y=-(DEEP_MM + 20) / 2, bottom=COUNTER_MM - 40)
    return Model(Piece(slab, look.style.top))


def corner(look: Look) -> Model:
    """Build a counter in a corner, closed, of one block."""
    deep = DEEP_MM + 20
    slab = box(deep, deep, 40, y=-deep / 2, bottom=COUNTER_MM - 40)
    body = box(deep - 2, DEEP_MM - 2, 780, y=-DEEP_MM / 2, bottom=100)
    foot = box(deep - 80, DEEP_MM - 80, 100, y=-(DEEP_MM - 80) / 2)
    return Model(Piece(slab, look.style.top), Piece(body, look.style.front), Piece(foot, SHADE))


def back_splash(look: Look) -> Model:
    """Build tiles on the wall behind a counter."""
    slab = box(look.width_mm or WIDE_MM, 8, 530, y=-4, bottom=COUNTER_MM)
    return Model(Piece(slab, look.style.splash))


def rug(look: Look) -> Model:
    """Build a rug on the floor; its frame is in the middle."""
    color = look.style.fabric
    pale = blend(color, (1.0, 1.0, 0.96), 0.55)
    layers = (
        (1800.0, 1300.0, color, 4.0),
        (1700.0, 1200.0, pale, 5.5),
        (1560.0, 1060.0, color, 7.0),
    )
    return Model(
        *(
            Piece(box(w, d, h), Surface(c, "fabric", blend(c, (0, 0, 0), 0.2), 0.12))
            for w, d, c, h in layers
        )
    )


def picture(look: Look) -> Model:
    """Build a framed picture on the wall; its frame is at its lower edge."""
    frame = _frame(640, 480, 30, 26)
    pane = Surface((0.5, 0.7, 0.9), "view", period_m=0.5)
    return Model(*(Piece(part, look.style.wood) for part in frame),
         Piece(box(580, 8, 420, y=-8, bottom=30), pane))  # fmt: skip


def _basin(
    width: float, depth: float, deep: float, y: float, top: float, wall: Surface
) -> list[Piece]:
    """Build a rectangular basin let in at a height: floor, walls and a drain."""
    ring = rounded_rectangle(width, depth, 40)
    small = rounded_rectangle(width - 40, depth - 40, 30)
    outer = [([(a, b + y) for a, b in ring], top - deep - 4.0)]
    shell = vessel(
        [*outer, ([(1.02 * a, 1.02 * b + y) for a, b in ring], top + 1.0)],
        [
            ([(a, b + y) for a, b in ring], top + 1.0),
            ([(a, b + y) for a, b in small], top - deep + 6),
            ([(0.97 * a, 0.97 * b + y) for a, b in small], top - deep),
        ],
    )
    drain = lathe([(24, top - deep), (22, top - deep + 1.2)], 20).moved(y=y)
    return [Piece(shell, wall), Piece(drain, SHADE)]


def sink(look: Look) -> Model:
    """Build a counter module with a hole for the basin and faucet, entities of their own."""
    half, deep = SINK_MM / 2, DEEP_MM + 20
    hole = tuple((a, b - 305) for a, b in rounded_rectangle(720, 430, 40))
    top = Outline([(-half, -deep), (half, -deep), (half, 0), (-half, 0)], (hole,))
    pieces = [Piece(prism(top, 40, COUNTER_MM - 40), look.style.top)]
    for side in (-1, 1):
        fronts = _panel(look, half - 6, 150, side * half / 2, -DEEP_MM + 22, 727)
        pieces += [Piece(part, look.style.front) for part in fronts]
    return Model(*pieces)


def sink_basin(look: Look) -> Model:
    """Build a steel basin, 0.16 m deep; its frame is that of the sink."""
    steel = Surface((0.64, 0.66, 0.69), gloss=0.0)
    return Model(*_basin(720, 430, 160, -305, COUNTER_MM, steel))


def faucet(look: Look) -> Model:
    """Build a swan-neck faucet with a lever; a stream when on. It stands behind the basin."""
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
    return Model(*pieces, lever=joint)


def dining_table(look: Look) -> Model:
    """Build a table of oak, 1.4 x 0.8 m; its frame is in the middle."""
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
    return Model(*(Piece(part, look.style.wood) for part in (top, *legs, *rails)))


def _small_table(width: float, depth: float, height: float, surface: Surface) -> Model:
    top = prism(rounded_rectangle(width, depth, 20), 28, height - 28)
    shelf = prism(rounded_rectangle(width - 60, depth - 60, 16), 18, height * 0.3)
    legs = [
        box(40, 40, height - 28, x=x * (width / 2 - 40), y=y * (depth / 2 - 40))
        for x in (-1, 1)
        for y in (-1, 1)
    ]
    return Model(*(Piece(part, surface) for part in (top, shelf, *legs)))


def side_table(look: Look) -> Model:
    """Build a small table, 0.62 m high; its frame is in the middle."""
    return _small_table(640, 500, 620, look.style.wood)


def coffee_table(look: Look) -> Model:
    """Build a low table in front of a sofa; its frame is in the middle."""
    return _small_table(1100, 600, 420, look.style.wood)


def shelf(look: Look) -> Model:
    """Build a board on the wall with two brackets; its frame is below the board."""
    board = box(900, 300, 26, y=-150, bottom=0)
    brackets = [box(22, 220, 14, x=x, y=-110, bottom=-14) for x in (-340, 340)]
    braces = [rod([(x, -4, -130), (x, -200, -10)], 7, 8) for x in (-340, 340)]
    return Model(
        Piece(board, look.style.wood), *(Piece(part, BLACK) for part in (*brackets, *braces))
    )


def chair(look: Look) -> Model:
    """Build a wooden chair; its back is towards +y."""
    seat = prism(rounded_rectangle(430, 420, 40), 28, 440)
    legs = [rod([(x * 190, y * 180, 0), (x * 165, y * 160, 440)], [16, 22], 10)
            for x in (-1, 1) for y in (-1, 1)]  # fmt: skip
    posts = [rod([(x * 185, 180, 460), (x * 185, 230, 900)], [20, 15], 10) for x in (-1, 1)]
    slats = [box(360, 16, 60, y=200 + k * 0.11 - 20, bottom=float(k)) for k in (600, 720, 840)]
    cushion = prism(rounded_rectangle(380, 370, 60), 24, 468)
    color = look.style.fabric
    fabric = Surface(color, "fabric", blend(color, (0.0, 0.0, 0.0), 0.25), 0.1)
    wood = [Piece(part, look.style.wood) for part in (seat, *legs, *posts, *slats)]
    return Model(*wood, Piece(cushion, fabric))


def stool(look: Look) -> Model:
    """Build a round bar stool with a foot ring."""
    seat = lathe([(150, 640), (165, 650), (165, 676), (150, 690)], 32)
    legs = [
        rod([(180 * np.cos(k), 180 * np.sin(k), 0), (110 * np.cos(k), 110 * np.sin(k), 645)], 16)
        for k in np.pi / 4 + np.arange(4) * np.pi / 2
    ]
    ring = rod([(158 * np.cos(t), 158 * np.sin(t), 200) for t in np.linspace(0, 6.2832, 25)], 8)
    return Model(
        Piece(seat, look.style.wood), *(Piece(leg, DARK_WOOD) for leg in legs), Piece(ring, STEEL)
    )


def garbage_can(look: Look) -> Model:
    """Build a round pedal bin, open on top, with a black bag's rim."""
    body = round_vessel(
        [(130, 0), (134, 10), (148, 460), (150, 470)], [(140, 470), (125, 60), (118, 55)]
    )
    bag = round_vessel([(151, 440), (153, 450), (153, 474)], [(139, 474), (126, 120), (110, 110)])
    pedal = box(70, 40, 16, y=-145, bottom=8)
    return Model(Piece(body, STEEL), Piece(bag, SHADE), Piece(pedal, SHADE))


def light_switch(look: Look) -> Model:
    """Switch on the wall: its rocker tips, its lamp shines."""
    frame = prism(rounded_rectangle(86, 86, 8), 8).turned("x", 90)
    rocker = box(44, 12, 60, y=-8, bottom=-30)
    lamp, drawn = box(14, 4, 8, y=-15, bottom=14), box(30, 4, 16, y=-15, bottom=9)
    lit = look.lit((0.25, 0.10, 0.08), (1.0, 0.55, 0.10))
    tip = Joint("hinge", "on", (1, 0, 0), -14.0, (0, -8, 0))
    return Model(
        Piece(frame, Surface((0.97, 0.97, 0.95))),
        Piece(rocker, Surface((0.86, 0.87, 0.86)), "rocker"),
        Piece(lamp, lit, "rocker", use="rules"),
        Piece(drawn, lit, "rocker", use="drawn"),
        rocker=tip,
    )


def _frame(width: float, height: float, thick: float, deep: float) -> list[Solid]:
    return [
        box(width, deep, thick, y=-deep / 2, bottom=0),
        box(width, deep, thick, y=-deep / 2, bottom=height - thick),
        *(box(thick, deep, height, x=s * (width - thick) / 2, y=-deep / 2) for s in (-1, 1)),
    ]


def window(look: Look) -> Model:
    """Build a window with a cross bar and a sill; its frame is at its lower edge."""
    view = Surface((0.5, 0.7, 0.9), "view", period_m=1.0, glow=0.0)
    pane = box(1000, 6, 1000, y=-6)
    bars = [
        *_frame(1060, 1060, 50, 50),
        box(40, 40, 1000, y=-20),
        box(1000, 40, 40, y=-20, bottom=500),
    ]
    sill = box(1160, 150, 30, y=-75, bottom=-30)
    white = Surface((0.97, 0.97, 0.96))
    return Model(Piece(pane, view), *(Piece(bar, white) for bar in (*bars, sill)))


def mirror(look: Look) -> Model:
    """Build a mirror in a frame: streaks of light; smears when dirty, droplets when sprayed."""
    glass = look.dirt(Surface((0.66, 0.76, 0.82), "gradient", (0.84, 0.90, 0.94), 0.45))
    pieces = [Piece(part, DARK_WOOD) for part in _frame(740, 940, 40, 36)]
    pane = box(670, 6, 870, y=-16, bottom=35)
    pieces.append(Piece(pane, glass))
    if look.state.sprayed:
        rng = np.random.Generator(np.random.PCG64(7))
        wet = Surface(blend((0.70, 0.78, 0.84), (1.0, 1.0, 1.0), look.strength))
        rim = Surface(blend((0.70, 0.78, 0.84), (0.30, 0.46, 0.60), look.strength))
        drops = np.column_stack([rng.uniform(-300, 300, 90), rng.uniform(70, 870, 90)])
        for (x, z), r in zip(drops.tolist(), rng.uniform(9, 22, 90).tolist(), strict=True):
            trail = rod([(x, -20, z), (x, -20, z - 2.2 * r)], [0.8 * r, 1.1 * r], 8)
            drop = prism(circle(0.85 * r, 10), 4).turned("x", 90)
            drop = drop.moved(x, -20 - 1.1 * r, z - 2.3 * r)
            pieces += [Piece(trail, rim), Piece(drop, wet)]
    return Model(*pieces)


def toilet(look: Look) -> Model:
    """Build a toilet with a cistern; its lid opens."""
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
    return Model(*pieces, lid=Joint("hinge", "open", (-1, 0, 0), 95.0, (0, -105, 404)))


def bathtub(look: Look) -> Model:
    """Build a bathtub along the wall, with a tap."""
    ring, small = rounded_rectangle(1600, 700, 60), rounded_rectangle(1480, 580, 180)
    body = vessel(
        [([(a, b - 350) for a, b in ring], 0.0), ([(a, b - 350) for a, b in ring], 560.0)],
        [
            ([(a, b - 350) for a, b in small], 560.0),
            ([(0.82 * a, 0.72 * b - 350) for a, b in small], 150.0),
        ],
    )
    tap = rod([(-700, -20, 560), (-700, -20, 660), (-690, -60, 690), (-680, -140, 670)], 16, 12)
    return Model(Piece(body, PORCELAIN), Piece(tap, STEEL))


def towel_holder(look: Look) -> Model:
    """Build a bar on the wall."""
    bar = rod([(-260, -70, 0), (260, -70, 0)], 10, 12)
    arms = [rod([(x, 0, 0), (x, -70, 0)], 9, 10) for x in (-250, 250)]
    plates = [lathe([(26, 0), (24, 8)], 20).turned("x", 90).moved(x=x) for x in (-250, 250)]
    return Model(*(Piece(part, STEEL) for part in (bar, *arms, *plates)))


def toilet_paper_hanger(look: Look) -> Model:
    """Build a short bar on the wall for a roll."""
    bar = rod([(-70, 0, 0), (-70, -70, 0), (70, -70, 0)], 7, 10)
    cover, flap = box(150, 130, 4, y=-65, bottom=62), box(150, 36, 4, y=-18, bottom=62)
    plate = box(156, 5, 90, y=-3, bottom=-20)
    return Model(
        Piece(bar, STEEL),
        Piece(cover, STEEL, use="rules"),
        *(Piece(part, STEEL, use="drawn") for part in (flap, plate)),
    )


def tv_stand(look: Look) -> Model:
    """Build a low board with open compartments."""
    shell = case(1800, 420, 480, 40, 24)
    post = [box(24, 400, 432, x=x, y=-205, bottom=64) for x in (-300, 300)]
    feet = [box(60, 60, 40, x=x, y=y) for x in (-820, 820) for y in (-60, -360)]
    return Model(
        *(Piece(part, look.style.wood) for part in (*shell, *post)),
        *(Piece(f, SHADE) for f in feet),
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
    return Model(*pieces, *(Piece(foot, DARK_WOOD) for foot in feet))


def sofa(look: Look) -> Model:
    """Build a sofa for three."""
    return _seat(2000, look, look.style.fabric, 3)


def arm_chair(look: Look) -> Model:
    """Build an arm chair, rust red."""
    return _seat(900, look, (0.68, 0.34, 0.22), 1)


def floor_lamp(look: Look) -> Model:
    """Build a standing lamp; its shade shines when on."""
    foot = lathe([(150, 0), (150, 16), (30, 30)], 32)
    pole = rod([(0, 0, 20), (0, 0, 1420)], 12)
    shade = round_vessel([(210, 1280), (210, 1281), (140, 1580)], [(136, 1580), (206, 1284)], 32)
    lit = look.lit((0.58, 0.52, 0.44), (1.0, 0.90, 0.62))
    bulb = ball(42, 42, 50).moved(z=1330)
    return Model(Piece(foot, BLACK), Piece(pole, BLACK), Piece(shade, lit), Piece(bulb, lit))


def house_plant(look: Look) -> Model:
    """Build a plant with broad leaves in a pot."""
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
    return Model(*pieces, Piece(rod([(0, 0, 260), (0, 0, 760)], 14), WOOD))


BUILDERS: dict[str, Builder] = {
    "Cabinet": base_cabinet,
    "WallCabinet": wall_cabinet,
    "SinkCabinet": sink_cabinet,
    "Drawer": drawer,
    "CounterTop": counter_top,
    "Sink": sink,
    "SinkBasin": sink_basin,
    "Corner": corner,
    "BackSplash": back_splash,
    "Rug": rug,
    "Picture": picture,
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
