"""Boxes, toys and small things of a household."""

import numpy as np

from clevrskills.assets.objects.registry import entry
from clevrskills.assets.outlines import Outline, Points, arc, circle, rectangle, rounded_rectangle
from clevrskills.assets.solids import Solid, Station, box, lathe, loft, prism, tube


@entry("foam brick", density=300)
def foam_brick() -> Solid:
    """Build a soft-edged brick."""
    profile = ((0, 0), (5, 2), (5, 43), (0, 45))
    return loft([(rounded_rectangle(125 + e, 95 + e, 10), z) for e, z in profile])


@entry("cutting board", density=600)
def cutting_board() -> Solid:
    """Build a board with a handle that has a hole."""
    board = rounded_rectangle(130, 110, 12, 3)
    grip = arc(22, -90, 90, 7, 83)
    outer: Points = [*board[-3:], (65, -22), *grip[1:-1], (65, 22), *board[:-3]]
    return prism(Outline(outer, (circle(8, 8, 86),)), 18)


@entry("book", density=500)
def book() -> Solid:
    """Build a closed book: covers stand out over the pages, the spine is flush."""
    pages = box(136, 112, 24, x=-1, bottom=4)
    return box(146, 120, 4) + pages + box(4, 120, 24, x=-71, bottom=4) + box(146, 120, 4, bottom=28)


@entry("stool", density=500)
def stool() -> Solid:
    """Build a low round stool on four legs that stand out."""
    low, high = rounded_rectangle(15, 15, 3), rounded_rectangle(17, 17, 3)
    leg = loft(
        [([(x + 38, y + 38) for x, y in low], 0.0), ([(x + 31, y + 31) for x, y in high], 46.0)]
    )
    legs = [leg.turned("z", 90 * k) for k in range(4)]
    return sum(legs, lathe([(58, 46), (62, 49), (62, 57), (59, 60)]))


@entry("hat", density=300)
def hat() -> Solid:
    """Build a hat with a broad brim and a flat crown."""
    return lathe([(80, 0), (82, 3), (80, 6), (49, 9), (46, 15), (46, 17), (42, 46), (38, 50)])


@entry("cracker box", density=250)
def cracker_box() -> Solid:
    """Build a tall cardboard box."""
    return box(56, 90, 110)


@entry("matchbox", density=400)
def matchbox() -> Solid:
    """Build a sleeve with its drawer pulled out a little."""
    return box(80, 60, 34) + box(14, 54, 28, x=47, bottom=0)


@entry("sponge", density=200)
def sponge() -> Solid:
    """Build a kitchen sponge with a waist to hold it and a scouring layer on top."""
    right: Points = [(18, -26), (47, -31), (49, -26), (49, 26), (47, 31), (18, 26)]
    outline = [*right, *((-x, y) for x, y in reversed(right))]
    return prism(outline, 22) + prism([(1.02 * x, 1.04 * y) for x, y in outline], 9, 22)


def _pips(places: Points) -> Solid:
    """Build raised round pips on the plane z = 0."""
    solids = [prism(circle(4.5, 8, x, y), 1.3) for x, y in places]
    return sum(solids[1:], solids[0])


@entry("dice", density=700)
def dice() -> Solid:
    """Build a die with rounded edges and raised pips."""
    profile = ((44, 0), (50, 3), (50, 47), (44, 50))
    body = loft([(rounded_rectangle(width, width, width / 8), z) for width, z in profile])
    five = [(x, y) for x in (-13.0, 13.0) for y in (-13.0, 13.0)] + [(0.0, 0.0)]
    two, three, four = [five[0], five[3]], [five[0], five[4], five[3]], five[:4]
    faces = [_pips(five).moved(z=50)]
    for k, places in enumerate((two, three, [five[4]], four)):
        faces.append(_pips(places).turned("y", 90).moved(25, 0, 25).turned("z", 90 * k))
    return body.decorated(*faces)


@entry("puzzle cube", density=500)
def puzzle_cube() -> Solid:
    """Build a cube of three by three by three stickers."""
    plates = [box(17, 17, 1.2, 19 * i, 19 * j) for i in (-1, 0, 1) for j in (-1, 0, 1)]
    face = sum(plates[1:], plates[0])
    top = face.moved(z=56)
    sides = [face.turned("y", 90).moved(28, 0, 28).turned("z", 90 * k) for k in range(4)]
    return box(56, 56, 56).decorated(top, *sides)


@entry("domino", density=700)
def domino() -> Solid:
    """Build a domino lying face up, with a groove and raised pips."""
    halves = box(48, 52, 5, x=-26, bottom=20) + box(48, 52, 5, x=26, bottom=20)
    five = [(x, y) for x in (-13.0, 13.0) for y in (-14.0, 14.0)] + [(0.0, 0.0)]
    pips = _pips(five).moved(-26, 0, 25), _pips([five[0], five[4], five[3]]).moved(26, 0, 25)
    return (box(100, 52, 20) + halves).decorated(*pips)


@entry("ball", density=300)
def ball() -> Solid:
    """Build a ball with a flat foot; the top is a little flatter than a sphere."""
    angles = np.radians(np.linspace(-62, 58, 9))
    profile = [(35 * float(np.cos(a)), 35 * float(np.sin(a))) for a in angles]
    return lathe([*profile, (10, profile[-1][1] + 1.3)])


@entry("toy car", density=600)
def toy_car() -> Solid:
    """Build a car with a cabin and four wheels."""
    hood, cabin = [(53, 24), (32, 30), (19, 50)], [(-25, 50), (-38, 30), (-53, 27)]
    body = prism([(-50, 8), (50, 8), *hood, *cabin], 44, -22).turned("x", 90)
    wheel = prism(circle(13, 12, 31, 13, 15), 9, 22).turned("x", 90)
    left = wheel + wheel.moved(-62)
    return body + left + left.turned("z", 180)


@entry("camera", density=500)
def camera() -> Solid:
    """Build a camera with its lens towards the viewer."""
    lens = prism(circle(21, 16), 12, 18) + prism(circle(17, 16), 10, 30)
    body = box(96, 36, 56) + prism(rectangle(26, 30), 9).moved(-33, 0, 56)
    button = prism(circle(7, 12, 36), 2, 56)
    return (body + lens.turned("x", 90).moved(8, 0, 28)).decorated(button)


@entry("fish", density=700)
def fish() -> Solid:
    """Build a flat fish with a forked tail and two fins."""
    back = [(72, 0), (66, 14), (52, 27), (32, 36), (14, 38), (-2, 56), (-16, 52), (-12, 32)]
    tail = [(-32, 14), (-74, 46), (-60, 0)]
    belly = [(14, -36), (0, -50), (-10, -46), (-8, -31)]
    below = [*((x, -y) for x, y in tail[:2][::-1]), *belly[::-1], (32, -35), (52, -27), (66, -14)]
    return prism([*back, *tail, *below], 26)


@entry("bone", density=700)
def bone() -> Solid:
    """Build a bone for a dog: two knobs at either end."""
    knob = arc(20, -40, 203, 9, 53, 24.5)
    right = [*((x, -y) for x, y in reversed(knob)), (63, 0), *knob]
    return prism([*right, *((-x, -y) for x, y in right)], 26)


@entry("airplane", density=500)
def airplane() -> Solid:
    """Build an airplane with swept wings."""
    nose = [(78, 0), (70, 12), (56, 18), (26, 18)]
    wing = [(-16, 80), (-38, 80), (-16, 18)]
    tail = [(-56, 13), (-76, 36), (-88, 36), (-82, 0)]
    half = [*nose, *wing, *tail]
    return prism([*half, *((x, -y) for x, y in reversed(half[1:-1]))], 24)


@entry("padlock", density=900)
def padlock() -> Solid:
    """Build a padlock lying on its back."""
    outer, inner = arc(24, 0, 180, 9, 0, 34), arc(14, 180, 0, 7, 0, 34)
    shackle: Points = [(24, 25), *outer, (-24, 25), (-14, 25), *inner, (14, 25)]
    keyhole = prism(circle(5, 8, 0, -14), 1.2, 26)
    return (prism(rounded_rectangle(66, 50, 6), 26) + prism(shackle, 16, 4)).decorated(keyhole)


@entry("marker", density=700)
def marker() -> Solid:
    """Build a highlighter lying on its flat side, its cap a little wider than its barrel."""
    barrel = [Station(-60, 0, 32, 26), Station(-57, 0, 37, 29), Station(15, 0, 37, 29)]
    cap = [Station(15, 0, 41, 32), Station(48, 0, 41, 32), Station(60, 0, 30, 26)]
    return tube(barrel, bevel=3) + tube(cap, bevel=3)


@entry("key", density=900)
def key() -> Solid:
    """Build a big key: round bow with a hole, a blade with teeth."""
    bow = arc(32, 28, 332, 16, -30)
    tip = [(70, -15), (75, -10), (75, 6), (70, 15)]
    tooth, short_tooth = [(14, -15), (14, -26), (26, -26), (26, -15)], [(40, -24), (52, -24)]
    blade: Points = [(-1.5, -15), *tooth, (40, -15), *short_tooth, (52, -15), *tip, (-1.5, 15)]
    return prism(Outline([*bow[1:-1], *blade], (circle(9, 8, -47),)), 25)


@entry("bell", density=600)
def bell() -> Solid:
    """Build a hand bell standing on its mouth."""
    mouth = [(42, 0), (42, 5), (33, 20), (29, 38), (20, 50)]
    return lathe([*mouth, (11, 54), (11, 64), (19, 69), (19, 82), (17.5, 84)])
