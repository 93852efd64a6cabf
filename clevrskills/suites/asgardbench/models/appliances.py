"""Appliances: fridge, microwave, coffee machine, toaster, stove, television."""

from __future__ import annotations

from clevrskills.assets.outlines import circle, rounded_rectangle
from clevrskills.assets.solids import box, lathe, loft, prism
from clevrskills.suites.asgardbench.models.fixtures import (
    COUNTER_MM,
    DEEP_MM,
    SHADE,
    WIDE_MM,
    case,
)
from clevrskills.suites.asgardbench.models.kitchenware import BLACK, STEEL
from clevrskills.suites.asgardbench.models.model import (
    Builder,
    Joint,
    Look,
    Model,
    Piece,
    revolved,
    rod,
)
from clevrskills.suites.asgardbench.models.surfaces import Surface

WHITE = Surface((0.93, 0.94, 0.94), gloss=0.0)
LINING = Surface((0.90, 0.94, 0.96))
GREY = Surface((0.62, 0.64, 0.66))
OFF = (0.20, 0.21, 0.22)


def fridge(look: Look) -> Model:
    """Build a tall fridge, 0.7 x 0.7 x 1.7 m: three shelves behind a door."""
    steel = look.style.steel
    outer = [Piece(part, steel) for part in case(700, 640, 1700, 0, 40)]
    liner = [Piece(box(620, 8, 1620, y=-46, bottom=40), LINING)]
    liner += [Piece(box(6, 590, 1620, x=s * 307, y=-340, bottom=40), LINING) for s in (-1, 1)]
    shelves = [Piece(box(614, 560, 12, y=-330, bottom=z), LINING) for z in (120.0, 540.0, 960.0)]
    shelves.append(Piece(box(614, 560, 12, y=-330, bottom=1340), LINING))
    door = [box(700, 60, 1690, y=-672, bottom=5), box(640, 6, 4, y=-703, bottom=1180)]
    pieces = [*outer, *liner, *shelves, *(Piece(part, steel, "door") for part in door)]
    pieces.append(Piece(box(620, 4, 1600, y=-640, bottom=50), LINING, "door"))
    pieces.append(Piece(rod([(290, -738, 700), (290, -738, 1130)], 13, 12), STEEL, "door"))
    pieces += [Piece(rod([(290, -700, z), (290, -738, z)], 10), STEEL, "door") for z in (720, 1110)]
    joint = Joint("hinge", "open", (0, 0, -1), 90.0, (-350, -640, 0))
    return Model(*pieces, door=joint)


def microwave(look: Look) -> Model:
    """Build a microwave oven, 0.50 x 0.35 x 0.30 m: one sees through the bars of its door."""
    body = [Piece(part, WHITE) for part in case(500, 340, 300, 0, 14)]
    panel = box(120, 40, 272, x=176, y=-325, bottom=14)
    side = box(8, 330, 272, x=118, y=-170, bottom=14)
    lit = look.lit((0.55, 0.53, 0.48), (1.0, 0.86, 0.42))
    back = box(350, 6, 268, x=-60, y=-18, bottom=16)
    floor = lathe([(140, 16), (138, 24)], 32).moved(x=-60, y=-170)
    frame = [
        box(368, 18, 46, x=-64, y=-349, bottom=2),
        box(368, 18, 46, x=-64, y=-349, bottom=252),
        box(46, 18, 204, x=-225, y=-349, bottom=48),
        box(60, 18, 204, x=90, y=-349, bottom=48),
    ]
    bars = [box(3, 4, 204, x=-200 + 20.0 * k, y=-349, bottom=48) for k in range(1, 13)]
    display = box(92, 6, 38, x=180, y=-347, bottom=236)
    lamp = look.lit((0.06, 0.10, 0.08), (0.25, 1.0, 0.45))
    keys = [
        Piece(box(22, 6, 16, x=150 + 30 * (k % 3), y=-347, bottom=190 - 28.0 * (k // 3)), GREY)
        for k in range(12)
    ]
    shut = Joint("hinge", "open", (0, 0, -1), 90.0, (-248, -340, 0))
    knob = prism(circle(20, 24), 14).turned("x", 90).moved(180, -345, 40)
    return Model(
        *body,
        Piece(panel, BLACK),
        Piece(side, lit),
        Piece(back, lit),
        Piece(floor, lit),
        *(Piece(part, BLACK, "door") for part in (*frame, *bars)),
        Piece(rod([(96, -376, 70), (96, -376, 230)], 9, 10), STEEL, "door"),
        Piece(display, lamp),
        *keys,
        Piece(knob, STEEL),
        door=shut,
    )


def coffee_machine(look: Look) -> Model:
    """Build a filter machine with a place for one mug; a red lamp ring and a stream when on."""
    body = Surface((0.15, 0.15, 0.17), gloss=0.2)
    foot = prism(rounded_rectangle(220, 280, 24), 36).moved(y=-140)
    back = box(220, 110, 250, y=-55, bottom=36)
    head = prism(rounded_rectangle(220, 280, 24), 96, 286).moved(y=-140)
    grate = [Piece(box(120, 6, 3, y=-130.0 - 16 * k, bottom=36), STEEL) for k in range(8)]
    spout = lathe([(14, 262), (22, 272), (26, 286)], 20).moved(y=-190)
    ring = prism(circle(34, 28), 8).turned("x", 90).moved(0, -278, 336)
    button = prism(circle(20, 24), 12).turned("x", 90).moved(0, -278, 336)
    pieces = [Piece(part, body) for part in (foot, back, head)]
    pieces += [*grate, Piece(spout, STEEL), Piece(ring, look.lit(OFF, (1.0, 0.22, 0.08)))]
    pieces.append(Piece(button, STEEL))
    pieces.append(Piece(box(60, 4, 130, x=70, y=-112, bottom=110), Surface((0.45, 0.62, 0.75))))
    if look.state.on:
        stream = rod([(0, -190, 262), (0, -190, 120)], 5, 10)
        pieces.append(Piece(stream, Surface((0.20, 0.09, 0.03))))
    return Model(*pieces)


def toaster(look: Look) -> Model:
    """Build a toaster with two slits; the lever goes down and the slits glow when on."""
    body = Surface((0.74, 0.76, 0.78), gloss=0.7)
    shell = prism(rounded_rectangle(180, 280, 30), 178, 10)
    lid = prism(rounded_rectangle(170, 270, 28), 6, 186)
    glow = look.lit((0.05, 0.05, 0.05), (1.0, 0.32, 0.06))
    slits = [Piece(box(26, 200, 1.5, x=x, bottom=191.5), glow) for x in (-34, 34)]
    foot = prism(rounded_rectangle(170, 270, 28), 12)
    groove = box(12, 2, 120, y=-140, bottom=50)
    lamp = prism(circle(10, 16), 6).turned("x", 90).moved(50, -138, 60)
    lever = box(46, 30, 16, y=-154, bottom=140)
    press = Joint("slide", "on", (0, 0, -1), 80.0)
    return Model(
        Piece(shell, body),
        Piece(lid, BLACK),
        Piece(foot, BLACK),
        *slits,
        Piece(groove, SHADE),
        Piece(lamp, glow),
        Piece(lever, BLACK, "lever"),
        lever=press,
    )


def stove(look: Look) -> Model:
    """Build a stove module: oven door and plate; burners and knobs are entities of their own."""
    wide, steel = look.width_mm or WIDE_MM, look.style.steel
    slab = box(wide, DEEP_MM + 20, 40, y=-(DEEP_MM + 20) / 2, bottom=COUNTER_MM - 40)
    body = box(wide - 4, DEEP_MM - 22, 880, y=-(DEEP_MM - 22) / 2)
    strip = box(wide - 4, 30, 110, y=-DEEP_MM + 10, bottom=765)
    door = box(wide - 20, 30, 560, y=-DEEP_MM + 8, bottom=150)
    pane = box(wide - 160, 6, 320, y=-DEEP_MM - 9, bottom=230)
    reach = wide / 2 - 80
    grip = rod([(-reach, -DEEP_MM - 50, 660), (reach, -DEEP_MM - 50, 660)], 11, 12)
    arms = [rod([(x, -DEEP_MM, 660), (x, -DEEP_MM - 50, 660)], 8) for x in (20 - reach, reach - 20)]
    plate = Surface((0.07, 0.07, 0.08))
    back = box(wide, 20, 60, y=-10, bottom=COUNTER_MM)
    return Model(
        Piece(slab, plate),
        Piece(body, steel),
        Piece(strip, GREY),
        Piece(door, steel),
        Piece(pane, SHADE),
        *(Piece(part, STEEL) for part in (grip, *arms)),
        Piece(back, GREY),
    )


def hood(look: Look) -> Model:
    """Build a cooker hood with its flue; its frame is at its lower edge."""
    wide = look.width_mm or WIDE_MM

    def ring(w: float, d: float) -> list[tuple[float, float]]:
        return [(-w / 2, -d), (w / 2, -d), (w / 2, 0), (-w / 2, 0)]

    cone = loft([(ring(wide, 460), 0), (ring(wide, 460), 60), (ring(260, 260), 260)])
    flue = box(240, 240, 740, y=-120, bottom=260)
    lamps = [Piece(box(70, 70, 4, x=x, y=-230, bottom=-4), WHITE) for x in (-150, 150)]
    return Model(Piece(cone, look.style.steel), Piece(flue, look.style.steel), *lamps)


def stove_burner(look: Look) -> Model:
    """Build a hot plate whose rings glow when on, one of them around what stands on it."""
    base = lathe([(92, 0), (90, 6)], 36)
    glow = look.lit((0.26, 0.26, 0.27), (1.0, 0.22, 0.05))
    rings = [
        Piece(revolved([(r + 10, 0), (r + 10, 10), (r, 10), (r, 0)]), glow)
        for r in (22, 46, 70, 98)
    ]
    return Model(Piece(base, Surface((0.13, 0.13, 0.14))), *rings)


def stove_knob(look: Look) -> Model:
    """Build a knob of a burner on the stove's front: its mark is white and points up when off; when
    on, it points sideways and glows like the lamp above.
    """
    knob = lathe([(24, 0), (24, 14), (18, 26)], 28).turned("x", 90)
    mark = box(6, 5, 22, y=-28, bottom=-2)
    glow = (1.0, 0.25, 0.08)
    lamp = prism(circle(6, 14), 3).turned("x", 90).moved(0, 0, 34)
    turn = Joint("hinge", "on", (0, 1, 0), 90.0)
    return Model(
        Piece(knob, BLACK, "knob"),
        Piece(mark, look.lit((0.92, 0.92, 0.90), glow), "knob"),
        Piece(lamp, look.lit(OFF, glow)),
        knob=turn,
    )


def television(look: Look) -> Model:
    """Build a television on its foot, 1.0 x 0.6 m: dark, or a picture when on."""
    body = box(1000, 50, 600, y=-25, bottom=70)
    pane = box(960, 4, 550, y=-52, bottom=95)
    lamp = box(14, 4, 6, x=450, y=-52, bottom=80)
    foot = prism(rounded_rectangle(420, 220, 30), 16)
    neck = box(120, 40, 70, y=-20)
    screen = Surface((0.05, 0.06, 0.08))
    pieces = [Piece(part, BLACK) for part in (body, foot, neck)]
    if look.state.on:
        share = look.strength
        color = (0.05 + 0.4 * share, 0.06 + 0.4 * share, 0.08 + 0.5 * share)
        screen = (
            Surface(color, "view", period_m=0.56)
            if look.contrast == "high"
            else Surface(color, glow=0.3, strength=share)
        )
    return Model(
        *pieces, Piece(pane, screen), Piece(lamp, look.lit((0.5, 0.05, 0.05), (0.2, 1.0, 0.3)))
    )


BUILDERS: dict[str, Builder] = {
    "Fridge": fridge,
    "Microwave": microwave,
    "CoffeeMachine": coffee_machine,
    "Toaster": toaster,
    "Stove": stove,
    "Hood": hood,
    "StoveBurner": stove_burner,
    "StoveKnob": stove_knob,
    "Television": television,
}
