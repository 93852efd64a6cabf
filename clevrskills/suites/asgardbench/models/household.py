"""Small things of kitchens, bathrooms and living rooms."""

from __future__ import annotations

import numpy as np

from clevrskills.assets.outlines import circle, rounded_rectangle
from clevrskills.assets.solids import box, lathe, loft, prism
from clevrskills.suites.asgardbench.models.kitchenware import BLACK, STEEL, WOOD
from clevrskills.suites.asgardbench.models.model import (
    Builder,
    Joint,
    Look,
    Model,
    Piece,
    arc3,
    ball,
    blend,
    rod,
    round_vessel,
)
from clevrskills.suites.asgardbench.models.surfaces import Color, Surface

WHITE = Surface((0.95, 0.95, 0.94))
LABEL = Surface((0.96, 0.93, 0.84), "print", (0.30, 0.26, 0.22), 0.09)


def soap_bottle(look: Look) -> Model:
    """Build a squat bottle with a pump."""
    body = lathe([(34, 0), (36, 4), (36, 100), (28, 118), (14, 124)], 32)
    pump = rod([(0, 0, 122), (0, 0, 158)], 5)
    head = rod([(-8, 0, 160), (40, 0, 160), (46, 0, 154)], [9, 6, 5])
    label = lathe([(36.6, 30), (36.6, 80)], 32)
    green = Surface((0.35, 0.72, 0.55), gloss=0.45)
    return Model(Piece(body, green), Piece(label, WHITE), Piece(pump, WHITE), Piece(head, WHITE))


def spray_bottle(look: Look) -> Model:
    """Build a blue bottle with a trigger head."""
    blue = Surface((0.13, 0.45, 0.85), gloss=0.4)
    red = Surface((0.88, 0.18, 0.14), gloss=0.2)
    body = lathe([(36, 0), (38, 5), (38, 90), (30, 130), (14, 168), (14, 182)], 32)
    head = box(78, 24, 26, x=8, bottom=182)
    nozzle = rod([(46, 0, 196), (60, 0, 196)], 8)
    trigger = rod([(34, 0, 184), (32, 0, 160), (42, 0, 140)], 5)
    label = lathe([(38.6, 25), (38.6, 75)], 32)
    pieces = ((body, blue), (head, WHITE), (nozzle, red), (trigger, red), (label, WHITE))
    return Model(*(Piece(*pair) for pair in pieces))


def paper_towel_roll(look: Look) -> Model:
    """Build a thick white roll, upright on its core."""
    paper = Surface((0.95, 0.95, 0.93), "fabric", (0.82, 0.84, 0.86), 0.05)
    roll = round_vessel([(58, 0), (58, 0.5), (58, 230)], [(20, 230), (20, 180)], 40)
    core = round_vessel([(21, 178), (21, 180), (21, 231)], [(17, 231), (17, 182)], 24)
    flap = box(2, 60, 226, x=58, y=-28, bottom=2)
    return Model(Piece(roll, paper), Piece(core, Surface((0.66, 0.50, 0.33))), Piece(flap, paper))


def toilet_paper(look: Look) -> Model:
    """Build a small roll, upright."""
    paper = Surface((0.97, 0.97, 0.96), "fabric", (0.85, 0.86, 0.88), 0.04)
    roll = round_vessel([(54, 0), (54, 1), (54, 98)], [(22, 98), (22, 50)], 40)
    core = round_vessel([(23, 48), (23, 50), (23, 99)], [(19, 99), (19, 52)], 24)
    return Model(Piece(roll, paper), Piece(core, Surface((0.66, 0.50, 0.33))))


def _bottle(look: Look, glass: Color, label: Surface, tall: float) -> Model:
    body = Surface(glass, gloss=0.6)
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
    return Model(*pieces)


def wine_bottle(look: Look) -> Model:
    """Build a tall dark green bottle."""
    return _bottle(look, (0.10, 0.24, 0.12), LABEL, 310)


def bottle(look: Look) -> Model:
    """Build a clear-blue water bottle."""
    return _bottle(look, (0.66, 0.83, 0.90), Surface((0.95, 0.55, 0.15)), 230)


def vase(look: Look) -> Model:
    """Build a vase with a narrow neck and a flared rim, and a band."""
    purple = Surface((0.46, 0.26, 0.56), gloss=0.45)
    body = round_vessel(
        [(38, 0), (44, 4), (66, 70), (60, 120), (30, 170), (28, 190), (44, 222)],
        [(41, 222), (24, 190), (22, 160)],
    )
    band = lathe([(67, 66), (68, 72), (68, 88), (66.5, 94)], 40)
    return Model(Piece(body, purple), Piece(band, Surface((0.92, 0.76, 0.32), gloss=0.4)))


def statue(look: Look) -> Model:
    """Build a bust on a plinth."""
    marble = Surface((0.88, 0.86, 0.82), "stone", (0.62, 0.60, 0.58), 0.3)
    plinth = box(90, 90, 40)
    rings = ((26, 0.6, 40), (62, 0.6, 96), (58, 0.6, 118), (20, 0.9, 136), (18, 1.0, 160))
    chest = loft([([(x, flat * y) for x, y in circle(r, 24)], z) for r, flat, z in rings])
    head = ball(32, 36, 44, 14).moved(z=150)
    nose = ball(6, 9, 11, 8).moved(y=-36, z=182)
    hair = ball(35, 34, 32, 12, 0.06, 8).moved(y=5, z=182)
    pieces = [Piece(part, marble) for part in (chest, head, nose, hair)]
    return Model(Piece(plinth, BLACK), *pieces)


def book(look: Look) -> Model:
    """Build a book: closed, or open with print on its pages."""
    cover = Surface((0.62, 0.12, 0.20))
    paper = Surface((0.96, 0.93, 0.85))
    text = Surface((0.96, 0.93, 0.85), "print", (0.22, 0.20, 0.20), 0.1)
    if look.state.open:
        halves = []
        for side in (-1, 1):
            halves.append(Piece(box(116, 160, 4, x=side * 59), cover))
            halves.append(Piece(box(108, 152, 12, x=side * 55, bottom=4), text))
        return Model(*halves)
    pages = box(108, 152, 26, x=2, bottom=4)
    gold = Surface((0.90, 0.74, 0.30))
    title = box(70, 14, 0.8, y=30, bottom=34)
    line = box(50, 6, 0.8, y=8, bottom=34)
    return Model(
        Piece(box(116, 160, 4), cover),
        Piece(box(4, 160, 26, x=-56, bottom=4), cover),
        Piece(pages, paper),
        Piece(box(116, 160, 4, bottom=30), cover),
        Piece(title, gold),
        Piece(line, gold),
    )


def pen(look: Look) -> Model:
    """Build a blue ballpoint pen with a cap and clip."""
    blue = Surface((0.08, 0.18, 0.66), gloss=0.3)
    body = rod([(-70, 0, 5.5), (52, 0, 5.5)], 5.5, 14)
    tip = rod([(52, 0, 5.5), (70, 0, 5.5)], [5, 1], 14)
    cap = rod([(-72, 0, 5.5), (-20, 0, 5.5)], 6.2, 14)
    clip = box(36, 3, 2, x=-46, bottom=12)
    return Model(Piece(body, WHITE), Piece(tip, STEEL), Piece(cap, blue), Piece(clip, blue))


def pencil(look: Look) -> Model:
    """Build a yellow hexagonal pencil with a pink rubber."""
    body = rod([(-70, 0, 5), (64, 0, 5)], 5, 6)
    point = rod([(64, 0, 5), (80, 0, 5)], [5, 1.6], 6)
    lead = rod([(79, 0, 5), (85, 0, 5)], [1.7, 0.5], 6)
    ring = rod([(-82, 0, 5), (-70, 0, 5)], 5.2, 12)
    rubber = rod([(-94, 0, 5), (-82, 0, 5)], 5, 12)
    return Model(
        Piece(body, Surface((0.96, 0.72, 0.08))),
        Piece(point, Surface((0.88, 0.70, 0.45))),
        Piece(lead, Surface((0.10, 0.10, 0.10))),
        Piece(ring, STEEL),
        Piece(rubber, Surface((0.92, 0.52, 0.55))),
    )


def cell_phone(look: Look) -> Model:
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
            pieces.append(Piece(icon, Surface(color, glow=0.6, strength=look.strength)))
    return Model(*pieces)


def credit_card(look: Look) -> Model:
    """Build a plastic card with a chip and a stripe of digits."""
    card = prism(rounded_rectangle(86, 54, 4), 1.6)
    chip = box(12, 10, 0.5, x=-26, y=4, bottom=1.6)
    digits = [box(14, 4, 0.5, x=-27 + 18 * k, y=-10, bottom=1.6) for k in range(4)]
    return Model(
        Piece(card, Surface((0.10, 0.30, 0.55))),
        Piece(chip, Surface((0.93, 0.77, 0.33))),
        *(Piece(d, WHITE) for d in digits),
        Piece(box(20, 12, 0.5, x=28, y=16, bottom=1.6), Surface((0.92, 0.35, 0.15))),
    )


def _textile(
    look: Look, color: Color, second: Color, width: float, depth: float, layers: int
) -> Model:
    surface = look.dirt(Surface(color, "fabric", second, 0.04))
    band = look.dirt(Surface(second, "fabric", color, 0.04))
    folds = [
        Piece(prism(rounded_rectangle(width - 3 * k, depth - 3 * k, 9), 9, 9.5 * k), surface)
        for k in range(layers)
    ]
    stripe = box(22, depth - 3 * layers, 1.2, x=width / 2 - 45, bottom=9.5 * layers - 0.5)
    return Model(*folds, Piece(stripe, band))


def cloth(look: Look) -> Model:
    """Build a cleaning cloth, folded once."""
    return _textile(look, (0.95, 0.80, 0.25), (0.80, 0.35, 0.20), 180, 150, 2)


def hand_towel(look: Look) -> Model:
    """Build a small folded towel."""
    return _textile(look, (0.36, 0.62, 0.78), (0.92, 0.95, 0.98), 210, 150, 4)


def towel(look: Look) -> Model:
    """Build a large folded bath towel."""
    plain = Look(type(look.state)(), look.contrast)
    return _textile(plain, (0.87, 0.50, 0.45), (0.98, 0.90, 0.86), 275, 200, 6)


def soap_bar(look: Look) -> Model:
    """Build a pink oval bar with its name pressed in."""
    ring = rounded_rectangle(92, 60, 26)
    body = loft([([(0.9 * x, 0.9 * y) for x, y in ring], 0), (ring, 8), (ring, 20),
                 ([(0.86 * x, 0.86 * y) for x, y in ring], 28)])  # fmt: skip
    mark = prism([(0.5 * x, 0.35 * y) for x, y in ring], 0.8, 28)
    return Model(
        Piece(body, Surface((0.95, 0.66, 0.70), gloss=0.2)), Piece(mark, Surface((0.85, 0.5, 0.56)))
    )


def scrub_brush(look: Look) -> Model:
    """Build a wooden brush with bristles and a handle."""
    back = prism(rounded_rectangle(130, 62, 24), 22, 34)
    bristles = [box(9, 9, 36, x=x, y=y) for x in range(-50, 51, 20) for y in range(-20, 21, 20)]
    grip = rod([(60, 0, 46), (110, 0, 54), (190, 0, 60)], [13, 10, 13])
    white = Surface((0.93, 0.92, 0.85))
    return Model(Piece(back, WOOD), Piece(grip, WOOD), *(Piece(b, white) for b in bristles))


def plunger(look: Look) -> Model:
    """Build a rubber cup on a wooden stick."""
    rubber = Surface((0.72, 0.14, 0.10), gloss=0.2)
    cup = lathe([(70, 0), (74, 6), (66, 40), (44, 72), (20, 84), (16, 100)], 36)
    stick = rod([(0, 0, 96), (0, 0, 470)], 11)
    return Model(Piece(cup, rubber), Piece(stick, WOOD))


def candle(look: Look) -> Model:
    """Build a candle in a glass; with a flame when on."""
    wax = Surface((0.96, 0.90, 0.72))
    glass = round_vessel([(38, 0), (40, 3), (40, 72)], [(37, 72), (37, 10)], 36)
    body = lathe([(36.5, 4), (36.5, 56)], 32)
    wick = rod([(0, 0, 56), (0, 0, 84)], 1.6, 6)
    pieces = [
        Piece(glass, Surface((0.52, 0.20, 0.28), gloss=0.4)),
        Piece(body, wax),
        Piece(wick, Surface((0.1, 0.1, 0.1))),
    ]
    if look.state.on:
        flame = lathe([(1, 78), (8, 86), (10, 96), (7, 110), (3, 124), (0.3, 132)], 16)
        pieces.append(Piece(flame, look.lit(wax.color, (1.0, 0.74, 0.18))))
    return Model(*pieces)


def tissue_box(look: Look) -> Model:
    """Build a box with a tissue that stands out."""
    carton = Surface((0.45, 0.68, 0.74), "speckle", (0.95, 0.95, 0.92), 0.12)
    tissue = [
        Piece(
            prism([(-34, 0), (30, 0), (38, 40), (14, 30), (2, 62), (-16, 34), (-42, 46)], 3)
            .turned("x", 90)
            .turned("z", turn)
            .moved(z=84),
            WHITE,
        )
        for turn in (0.0, 60.0, 120.0)
    ]
    slot = prism([(1.4 * x, 0.5 * y) for x, y in circle(46, 24)], 0.8, 86)
    return Model(Piece(box(230, 118, 86), carton), Piece(slot, WHITE), *tissue)


def remote_control(look: Look) -> Model:
    """Build a black remote control with rows of buttons."""
    body = prism(rounded_rectangle(50, 180, 12), 18)
    grey = Surface((0.72, 0.74, 0.76))
    buttons = [
        Piece(prism(circle(5.5, 12, -14 + 14 * (k % 3), 40 - 17 * (k // 3)), 2.5, 18), grey)
        for k in range(15)
    ]
    power = Piece(prism(circle(7, 14, 14, 72), 2.8, 18), Surface((0.92, 0.12, 0.10)))
    return Model(Piece(body, BLACK), power, *buttons)


def laptop(look: Look) -> Model:
    """Build a laptop: closed, or open with keys and a picture."""
    silver = Surface((0.74, 0.75, 0.77), gloss=0.4)
    base = prism(rounded_rectangle(280, 196, 12), 14)
    keys = [
        Piece(box(16, 13, 1.5, x=-110 + 20 * (k % 12), y=60 - 18 * (k // 12), bottom=14), BLACK)
        for k in range(48)
    ]
    pad = Piece(box(76, 46, 0.8, y=-60, bottom=14), Surface((0.6, 0.61, 0.63)))
    lid = prism(rounded_rectangle(280, 196, 12), 8, 15)
    panel = box(262, 174, 0.8, bottom=14.2)
    hinge = Joint("hinge", "open", (-1, 0, 0), 105.0, (0, 98, 16))
    mark = prism(circle(16, 20), 0.8, 23)
    pieces = [Piece(base, silver), *keys, pad]
    screen = Surface((0.3, 0.5, 0.8), "view", period_m=0.262)
    pieces += [Piece(lid, silver, "lid"), Piece(panel, screen, "lid"), Piece(mark, WHITE, "lid")]
    return Model(*pieces, lid=hinge)


def key_chain(look: Look) -> Model:
    """Build a ring with two keys and a tag."""
    brass = Surface((0.85, 0.68, 0.28), gloss=0.6)
    ring = rod(arc3((0, 0, 3), 18, 0, 360, "xy", 21), 2.2, 8)
    pieces = [Piece(ring, STEEL)]
    for turn, metal in ((-20.0, brass), (25.0, STEEL)):
        bow = prism(circle(13, 20, 32), 3)
        blade = box(42, 7, 3, x=62)
        teeth = [box(4, 5, 3, x=x, y=-5) for x in (58, 66, 76)]
        pieces += [Piece(part.turned("z", turn), metal) for part in (bow, blade, *teeth)]
    tag = prism(rounded_rectangle(26, 50, 8), 4).moved(x=-36).turned("z", 20)
    pieces.append(Piece(tag, Surface((0.85, 0.2, 0.15))))
    return Model(*pieces)


def newspaper(look: Look) -> Model:
    """Build a folded newspaper with a headline and columns."""
    paper = Surface((0.93, 0.92, 0.88), "print", (0.16, 0.16, 0.17), 0.26)
    plain = Surface((0.90, 0.89, 0.85))
    leaves = [box(256, 260, 4, bottom=4.0 * k) for k in (0, 1)]
    top = box(252, 256, 4, bottom=8)
    return Model(*(Piece(leaf, plain) for leaf in leaves), Piece(top, paper))


def pillow(look: Look) -> Model:
    """Build a soft square pillow with piping."""
    body = Surface((0.86, 0.60, 0.22), "fabric", (0.72, 0.44, 0.12), 0.08)
    rings = []
    for angle in np.linspace(-np.pi / 2, np.pi / 2, 13):
        r, z = max(float(np.cos(angle)) ** 0.55, 0.02), float(np.sin(angle))
        pinch = [
            (x * r * (1 + 0.10 * (abs(x * y) / 125**2)), y * r * (1 + 0.10 * (abs(x * y) / 125**2)))
            for x, y in rounded_rectangle(250, 250, 30)
        ]
        rings.append((pinch, 48 + 48 * z))
    return Model(Piece(loft(rings), body))


def watch(look: Look) -> Model:
    """Build a wrist watch, strap laid flat."""
    strap = Surface((0.36, 0.20, 0.10))
    case = lathe([(20, 0), (22, 2), (22, 9), (20, 11)], 32)
    face = lathe([(18, 10), (18, 11.6)], 32)
    hands = [box(2, 13, 0.6, y=5, bottom=11.6), box(2, 9, 0.6, y=3, bottom=11.6).turned("z", -70)]
    belts = [box(20, 84, 3, y=side * 60, bottom=2) for side in (-1, 1)]
    return Model(
        Piece(case, Surface((0.85, 0.68, 0.28), gloss=0.6)),
        Piece(face, WHITE),
        *(Piece(hand, BLACK) for hand in hands),
        *(Piece(belt, strap) for belt in belts),
    )


def carton(look: Look) -> Model:
    """Build a cardboard box with flaps: shut and taped, or open."""
    card = Surface((0.72, 0.55, 0.36), "fabric", (0.64, 0.47, 0.29), 0.2)
    walls = [Piece(box(270, 6, 180, y=side * 97), card) for side in (-1, 1)] + [
        Piece(box(6, 200, 180, x=side * 132), card) for side in (-1, 1)
    ]
    floor = Piece(box(270, 200, 6), Surface((0.55, 0.40, 0.25)))
    flaps, joints = [], {}
    for name, side in (("front", -1), ("back", 1)):
        flap = box(266, 98, 5, y=side * 50, bottom=180)
        flaps.append(Piece(flap, card, name))
        joints[name] = Joint("hinge", "open", (side * -1.0, 0, 0), 130.0, (0, side * 100.0, 182))
        tape = box(40, 98, 0.8, y=side * 50, bottom=185)
        flaps.append(Piece(tape, Surface((0.90, 0.82, 0.62)), name))
    return Model(*walls, floor, *flaps, **joints)


def boots(look: Look) -> Model:
    """Build a pair of brown ankle boots."""
    leather = Surface((0.40, 0.22, 0.10), gloss=0.2)
    sole = Surface((0.10, 0.08, 0.07))
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
            pieces.append(Piece(lace.moved(y=-30 + 12 * k, z=20), Surface((0.9, 0.8, 0.5))))
    return Model(*pieces)


BUILDERS: dict[str, Builder] = {
    "SoapBottle": soap_bottle,
    "SprayBottle": spray_bottle,
    "PaperTowelRoll": paper_towel_roll,
    "ToiletPaper": toilet_paper,
    "WineBottle": wine_bottle,
    "Bottle": bottle,
    "Vase": vase,
    "Statue": statue,
    "Book": book,
    "Pen": pen,
    "Pencil": pencil,
    "CellPhone": cell_phone,
    "CreditCard": credit_card,
    "Cloth": cloth,
    "HandTowel": hand_towel,
    "Towel": towel,
    "SoapBar": soap_bar,
    "ScrubBrush": scrub_brush,
    "Plunger": plunger,
    "Candle": candle,
    "TissueBox": tissue_box,
    "RemoteControl": remote_control,
    "Laptop": laptop,
    "KeyChain": key_chain,
    "Newspaper": newspaper,
    "Pillow": pillow,
    "Watch": watch,
    "Box": carton,
    "Boots": boots,
}
