"""Builders of fixtures with variable or computed shapes. Fronts face −y; the back is at y = 0."""

from __future__ import annotations

import numpy as np

from clevrskills.assets.outlines import Outline, circle, rounded_rectangle
from clevrskills.assets.solids import Solid, box, lathe, loft, prism
from clevrskills.suites.asgardbench.models.model import (
    Builder,
    BuildInput,
    FixtureModel,
    ModelJoint,
    Piece,
    blend,
    rod,
    round_vessel,
)
from clevrskills.suites.asgardbench.models.surfaces import (
    BLACK,
    DARK_WOOD,
    ENAMEL,
    GREY,
    SHADE,
    STEEL,
    WOOD,
    Appearance,
    Color,
)

CARCASS = Appearance((0.80, 0.80, 0.77))
INSIDE = Appearance((0.74, 0.66, 0.53), "wood", (0.62, 0.52, 0.38), 0.6)
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
    look: BuildInput, width: float, height: float, x: float, y: float, bottom: float
) -> list[Solid]:
    """Build a door or drawer front in the style of the room; its back is at y."""
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


def _grip(look: BuildInput, x: float, y: float, z: float, length: float, upright: bool) -> Solid:
    """Build a handle whose feet are at y."""
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
    look: BuildInput, name: str, width: float, height: float, y: float, bottom: float, high: bool
) -> tuple[list[Piece], dict[str, ModelJoint]]:
    """Build a door over the whole width, hinged on the left, with a high or low grip."""
    parts = [
        Piece(part, look.style.front, name)
        for part in _panel(look, width - 6, height - 6, 0, y, bottom + 3)
    ]
    z = bottom + (height - 130 if high else 130)
    parts.append(Piece(_grip(look, width / 2 - 45, y - 22, z, 160, True), STEEL, name))
    joint = ModelJoint("hinge", "open", (0, 0, -1.0), 90.0, (-width / 2, y, 0))
    return parts, {name: joint}


def base_cabinet(look: BuildInput) -> FixtureModel:
    """Build a floor cupboard with a door and a shelf, under a counter."""
    wide = look.width_mm or WIDE_MM
    return _floor_cabinet(look, wide, 780, box(wide - 36, 540, 16, y=-290, bottom=484))


def sink_cabinet(look: BuildInput) -> FixtureModel:
    """Build a low floor cupboard under a sink."""
    return _floor_cabinet(look, SINK_MM, 620)


def _floor_cabinet(look: BuildInput, wide: float, high: float, *shelves: Solid) -> FixtureModel:
    inside = [*case(wide, DEEP_MM - 22, high, 100), *shelves]
    plinth = Piece(box(wide, DEEP_MM - 80, 100, y=-(DEEP_MM - 80) / 2), SHADE)
    door, joints = _door(look, "door", wide, high, -DEEP_MM + 22, 100, True)
    return FixtureModel(*(Piece(part, INSIDE) for part in inside), plinth, *door, **joints)


def wall_cabinet(look: BuildInput) -> FixtureModel:
    """Build a wall cupboard with a door and a shelf; its frame is at its lower edge."""
    pieces = [Piece(part, INSIDE) for part in case(WIDE_MM, 330, 700)]
    pieces.append(Piece(box(WIDE_MM - 36, 300, 16, y=-160, bottom=340), INSIDE))
    door, joints = _door(look, "door", WIDE_MM, 700, -330, 0, False)
    return FixtureModel(*pieces, *door, **joints)


def drawer(look: BuildInput) -> FixtureModel:
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
    return FixtureModel(*pieces, tray=ModelJoint("slide", "open", (0, -1, 0), 450.0))


def counter_top(look: BuildInput) -> FixtureModel:
    """Build a worktop; its frame is at the floor."""
    wide = look.width_mm or WIDE_MM
    slab = box(wide, DEEP_MM + 20, 40, y=-(DEEP_MM + 20) / 2, bottom=COUNTER_MM - 40)
    return FixtureModel(Piece(slab, look.style.top))


def corner(look: BuildInput) -> FixtureModel:
    """Build a counter in a corner, closed, of one block."""
    deep = DEEP_MM + 20
    slab = box(deep, deep, 40, y=-deep / 2, bottom=COUNTER_MM - 40)
    body = box(deep - 2, DEEP_MM - 2, 780, y=-DEEP_MM / 2, bottom=100)
    foot = box(deep - 80, DEEP_MM - 80, 100, y=-(DEEP_MM - 80) / 2)
    return FixtureModel(
        Piece(slab, look.style.top), Piece(body, look.style.front), Piece(foot, SHADE)
    )


def back_splash(look: BuildInput) -> FixtureModel:
    """Build tiles on the wall behind a counter."""
    slab = box(look.width_mm or WIDE_MM, 8, 530, y=-4, bottom=COUNTER_MM)
    return FixtureModel(Piece(slab, look.style.splash))


def rug(look: BuildInput) -> FixtureModel:
    """Build a rug on the floor; its frame is in the middle."""
    color = look.style.fabric
    pale = blend(color, (1.0, 1.0, 0.96), 0.55)
    layers = (
        (1800.0, 1300.0, color, 4.0),
        (1700.0, 1200.0, pale, 5.5),
        (1560.0, 1060.0, color, 7.0),
    )
    return FixtureModel(
        *(
            Piece(box(w, d, h), Appearance(c, "fabric", blend(c, (0, 0, 0), 0.2), 0.12))
            for w, d, c, h in layers
        )
    )


def sink(look: BuildInput) -> FixtureModel:
    """Build a counter module with a hole for basin and faucet, which are separate entities."""
    half, deep = SINK_MM / 2, DEEP_MM + 20
    hole = tuple((a, b - 305) for a, b in rounded_rectangle(720, 430, 40))
    top = Outline([(-half, -deep), (half, -deep), (half, 0), (-half, 0)], (hole,))
    pieces = [Piece(prism(top, 40, COUNTER_MM - 40), look.style.top)]
    for side in (-1, 1):
        fronts = _panel(look, half - 6, 150, side * half / 2, -DEEP_MM + 22, 727)
        pieces += [Piece(part, look.style.front) for part in fronts]
    return FixtureModel(*pieces)


def faucet(look: BuildInput) -> FixtureModel:
    """Build a swan-neck faucet with a lever; a stream when on. It stands behind the basin."""
    neck = [(0, 0, 0), (0, 0, 200), (0, -20, 250), (0, -70, 280), (0, -120, 262), (0, -138, 210)]
    base = lathe([(28, 0), (28, 14), (20, 20)], 24)
    lever = rod([(26, 0, 60), (60, 0, 72), (120, 0, 86)], [13, 8, 7])
    pieces = [
        Piece(rod(neck, 14, 14), STEEL),
        Piece(base, STEEL),
        Piece(lever, Appearance((0.82, 0.14, 0.12)), "lever"),
    ]
    if look.state.on:
        stream = rod([(0, -139, 206), (0, -141, 60), (0, -141, -150)], [10, 8, 12], 12)
        splash = lathe([(62, -150), (54, -146), (24, -142)], 24).moved(y=-141)
        steel: Color = (0.55, 0.57, 0.60)
        water = Appearance(blend(steel, WATER, look.strength), glow=0.25, strength=look.strength)
        pieces += [Piece(stream, water), Piece(splash, water)]
    joint = ModelJoint("hinge", "on", (0, 0, 1), -70.0, (0, 0, 60))
    return FixtureModel(*pieces, lever=joint)


def chair(look: BuildInput) -> FixtureModel:
    """Build a wooden chair; its back is towards +y."""
    seat = prism(rounded_rectangle(430, 420, 40), 28, 440)
    legs = [rod([(x * 190, y * 180, 0), (x * 165, y * 160, 440)], [16, 22], 10)
            for x in (-1, 1) for y in (-1, 1)]  # fmt: skip
    posts = [rod([(x * 185, 180, 460), (x * 185, 230, 900)], [20, 15], 10) for x in (-1, 1)]
    slats = [box(360, 16, 60, y=200 + k * 0.11 - 20, bottom=float(k)) for k in (600, 720, 840)]
    cushion = prism(rounded_rectangle(380, 370, 60), 24, 468)
    color = look.style.fabric
    fabric = Appearance(color, "fabric", blend(color, (0.0, 0.0, 0.0), 0.25), 0.1)
    wood = [Piece(part, look.style.wood) for part in (seat, *legs, *posts, *slats)]
    return FixtureModel(*wood, Piece(cushion, fabric))


def stool(look: BuildInput) -> FixtureModel:
    """Build a round bar stool with a foot ring."""
    seat = lathe([(150, 640), (165, 650), (165, 676), (150, 690)], 32)
    legs = [
        rod([(180 * np.cos(k), 180 * np.sin(k), 0), (110 * np.cos(k), 110 * np.sin(k), 645)], 16)
        for k in np.pi / 4 + np.arange(4) * np.pi / 2
    ]
    ring = rod([(158 * np.cos(t), 158 * np.sin(t), 200) for t in np.linspace(0, 6.2832, 25)], 8)
    return FixtureModel(
        Piece(seat, look.style.wood), *(Piece(leg, DARK_WOOD) for leg in legs), Piece(ring, STEEL)
    )


def _frame(width: float, height: float, thick: float, deep: float) -> list[Solid]:
    return [
        box(width, deep, thick, y=-deep / 2, bottom=0),
        box(width, deep, thick, y=-deep / 2, bottom=height - thick),
        *(box(thick, deep, height, x=s * (width - thick) / 2, y=-deep / 2) for s in (-1, 1)),
    ]


def mirror(look: BuildInput) -> FixtureModel:
    """Build a mirror in a frame: streaks of light; smears when dirty, droplets when sprayed."""
    glass = look.dirt(Appearance((0.66, 0.76, 0.82), "gradient", (0.84, 0.90, 0.94), 0.45))
    pieces = [Piece(part, DARK_WOOD) for part in _frame(740, 940, 40, 36)]
    pane = box(670, 6, 870, y=-16, bottom=35)
    pieces.append(Piece(pane, glass))
    if look.state.sprayed:
        rng = np.random.Generator(np.random.PCG64(7))
        wet = Appearance(blend((0.70, 0.78, 0.84), (1.0, 1.0, 1.0), look.strength))
        rim = Appearance(blend((0.70, 0.78, 0.84), (0.30, 0.46, 0.60), look.strength))
        drops = np.column_stack([rng.uniform(-300, 300, 90), rng.uniform(70, 870, 90)])
        for (x, z), r in zip(drops.tolist(), rng.uniform(9, 22, 90).tolist(), strict=True):
            trail = rod([(x, -20, z), (x, -20, z - 2.2 * r)], [0.8 * r, 1.1 * r], 8)
            drop = prism(circle(0.85 * r, 10), 4).turned("x", 90)
            drop = drop.moved(x, -20 - 1.1 * r, z - 2.3 * r)
            pieces += [Piece(trail, rim), Piece(drop, wet)]
    return FixtureModel(*pieces)


def _seat(width: float, look: BuildInput, color: Color, seats: int) -> FixtureModel:
    fabric = Appearance(color, "fabric", tuple(0.75 * c for c in color), 0.12)  # type: ignore[arg-type]
    soft = Appearance(blend(color, (1, 1, 1), 0.12), "fabric", color, 0.12)

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
    return FixtureModel(*pieces, *(Piece(foot, DARK_WOOD) for foot in feet))


def sofa(look: BuildInput) -> FixtureModel:
    """Build a sofa for three."""
    return _seat(2000, look, look.style.fabric, 3)


def arm_chair(look: BuildInput) -> FixtureModel:
    """Build an arm chair, rust red."""
    return _seat(900, look, (0.68, 0.34, 0.22), 1)


def house_plant(look: BuildInput) -> FixtureModel:
    """Build a plant with broad leaves in a pot."""
    pot = round_vessel([(110, 0), (150, 260), (158, 264), (158, 300)], [(146, 300), (140, 270)], 32)
    soil = lathe([(142, 268), (140, 276)], 24)
    green = (Appearance((0.16, 0.44, 0.18)), Appearance((0.26, 0.56, 0.22)))
    pieces = [
        Piece(pot, Appearance((0.72, 0.40, 0.26))),
        Piece(soil, Appearance((0.22, 0.15, 0.10))),
    ]
    for k in range(16):
        turn, rise = 137.5 * k, 300 + 34 * k
        leaf = loft([([(a, b * 0.16) for a, b in circle(s, 16)], z)
                     for s, z in ((8, 0), (52, 80), (74, 180), (56, 280), (4, 400))])  # fmt: skip
        tilt = leaf.turned("x", 62 - 3.2 * k).moved(z=float(rise) * 0.8)
        pieces.append(Piece(tilt.turned("z", turn), green[k % 2]))
    return FixtureModel(*pieces, Piece(rod([(0, 0, 260), (0, 0, 760)], 14), WOOD))


def stove(look: BuildInput) -> FixtureModel:
    """Build a stove module: oven door and plate; burners and knobs are separate entities."""
    wide, steel = look.width_mm or WIDE_MM, look.style.steel
    slab = box(wide, DEEP_MM + 20, 40, y=-(DEEP_MM + 20) / 2, bottom=COUNTER_MM - 40)
    body = box(wide - 4, DEEP_MM - 22, 880, y=-(DEEP_MM - 22) / 2)
    strip = box(wide - 4, 30, 110, y=-DEEP_MM + 10, bottom=765)
    door = box(wide - 20, 30, 560, y=-DEEP_MM + 8, bottom=150)
    pane = box(wide - 160, 6, 320, y=-DEEP_MM - 9, bottom=230)
    reach = wide / 2 - 80
    grip = rod([(-reach, -DEEP_MM - 50, 660), (reach, -DEEP_MM - 50, 660)], 11, 12)
    arms = [rod([(x, -DEEP_MM, 660), (x, -DEEP_MM - 50, 660)], 8) for x in (20 - reach, reach - 20)]
    plate = Appearance((0.07, 0.07, 0.08))
    back = box(wide, 20, 60, y=-10, bottom=COUNTER_MM)
    return FixtureModel(
        Piece(slab, plate),
        Piece(body, steel),
        Piece(strip, GREY),
        Piece(door, steel),
        Piece(pane, SHADE),
        *(Piece(part, STEEL) for part in (grip, *arms)),
        Piece(back, GREY),
    )


def hood(look: BuildInput) -> FixtureModel:
    """Build a cooker hood with its flue; its frame is at its lower edge."""
    wide = look.width_mm or WIDE_MM

    def ring(w: float, d: float) -> list[tuple[float, float]]:
        return [(-w / 2, -d), (w / 2, -d), (w / 2, 0), (-w / 2, 0)]

    cone = loft([(ring(wide, 460), 0), (ring(wide, 460), 60), (ring(260, 260), 260)])
    flue = box(240, 240, 740, y=-120, bottom=260)
    lamps = [Piece(box(70, 70, 4, x=x, y=-230, bottom=-4), ENAMEL) for x in (-150, 150)]
    return FixtureModel(Piece(cone, look.style.steel), Piece(flue, look.style.steel), *lamps)


def television(look: BuildInput) -> FixtureModel:
    """Build a television on its foot, 1.0 x 0.6 m: dark, or a picture when on."""
    body = box(1000, 50, 600, y=-25, bottom=70)
    pane = box(960, 4, 550, y=-52, bottom=95)
    lamp = box(14, 4, 6, x=450, y=-52, bottom=80)
    foot = prism(rounded_rectangle(420, 220, 30), 16)
    neck = box(120, 40, 70, y=-20)
    screen = Appearance((0.05, 0.06, 0.08))
    pieces = [Piece(part, BLACK) for part in (body, foot, neck)]
    if look.state.on:
        share = look.strength
        color = (0.05 + 0.4 * share, 0.06 + 0.4 * share, 0.08 + 0.5 * share)
        screen = (
            Appearance(color, "view", period_m=0.56)
            if look.contrast == "high"
            else Appearance(color, glow=0.3, strength=share)
        )
    return FixtureModel(
        *pieces, Piece(pane, screen), Piece(lamp, look.lit((0.5, 0.05, 0.05), (0.2, 1.0, 0.3)))
    )


BUILDERS: dict[str, Builder] = {
    "Cabinet": base_cabinet,
    "WallCabinet": wall_cabinet,
    "SinkCabinet": sink_cabinet,
    "Drawer": drawer,
    "CounterTop": counter_top,
    "Sink": sink,
    "Corner": corner,
    "BackSplash": back_splash,
    "Rug": rug,
    "Faucet": faucet,
    "Chair": chair,
    "Stool": stool,
    "Mirror": mirror,
    "Sofa": sofa,
    "ArmChair": arm_chair,
    "HousePlant": house_plant,
    "Stove": stove,
    "Hood": hood,
    "Television": television,
}
