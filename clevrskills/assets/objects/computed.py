"""Objects and fittings with computed points."""

import numpy as np

from clevrskills.assets.objects.registry import FITTINGS, entry
from clevrskills.assets.outlines import (
    Outline,
    Points,
    arc,
    circle,
    ellipse,
    rectangle,
    rounded_rectangle,
)
from clevrskills.assets.solids import Solid, Station, box, lathe, loft, prism, tube


@entry("lemon", density=700)
def lemon() -> Solid:
    """Build a lemon: an oval with a tip at either end."""
    lower = [(0.45, 0.0), (0.75, 8.0), (0.95, 18.0), (1.0, 27.0)]
    upper = [(0.95, 36.0), (0.8, 44.0), (0.62, 48.5), (0.32, 49.5)]
    return loft([(_lemon_outline(34 * r), z) for r, z in lower + upper])


def _lemon_outline(radius: float) -> Points:
    half = 1.2 * radius
    return [(x * (1 + 0.25 * abs(x / half) ** 6), y) for x, y in ellipse(half, radius)]


@entry("banana", density=700)
def banana() -> Solid:
    """Build a banana: bent and tapered, lying on its side."""
    angles = np.linspace(-62, 62, 9)
    widths = (12, 24, 38, 46, 48, 46, 38, 24, 10)
    heights = (16, 24, 32, 36, 37, 36, 32, 24, 16)
    stations = []
    for deg, width, height in zip(angles, widths, heights, strict=True):
        x, y = 75 * float(np.sin(np.radians(deg))), -75 * float(np.cos(np.radians(deg)))
        stations.append(Station(x, y, width, height, heading_deg=float(deg)))
    return tube(stations, bevel=6)


@entry("cutting board", density=600)
def cutting_board() -> Solid:
    """Build a board with a handle that has a hole."""
    board = rounded_rectangle(130, 110, 12, 3)
    grip = arc(22, -90, 90, 7, 83)
    outer: Points = [*board[-3:], (65, -22), *grip[1:-1], (65, 22), *board[:-3]]
    return prism(Outline(outer, (circle(8, 8, 86),)), 18)


@entry("stool", density=500)
def stool() -> Solid:
    """Build a low round stool on four splayed legs."""
    low, high = rounded_rectangle(15, 15, 3), rounded_rectangle(17, 17, 3)
    leg = loft(
        [([(x + 38, y + 38) for x, y in low], 0.0), ([(x + 31, y + 31) for x, y in high], 46.0)]
    )
    legs = [leg.turned("z", 90 * k) for k in range(4)]
    return sum(legs, lathe([(58, 46), (62, 49), (62, 57), (59, 60)]))


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
    """Build a camera with the lens towards the viewer."""
    lens = prism(circle(21, 16), 12, 18) + prism(circle(17, 16), 10, 30)
    body = box(96, 36, 56) + prism(rectangle(26, 30), 9).moved(-33, 0, 56)
    button = prism(circle(7, 12, 36), 2, 56)
    return (body + lens.turned("x", 90).moved(8, 0, 28)).decorated(button)


@entry("bone", density=700)
def bone() -> Solid:
    """Build a bone for a dog: two knobs at either end."""
    knob = arc(20, -40, 203, 9, 53, 24.5)
    right = [*((x, -y) for x, y in reversed(knob)), (63, 0), *knob]
    return prism([*right, *((-x, -y) for x, y in right)], 26)


@entry("padlock", density=900)
def padlock() -> Solid:
    """Build a padlock lying on its back."""
    outer, inner = arc(24, 0, 180, 9, 0, 34), arc(14, 180, 0, 7, 0, 34)
    shackle: Points = [(24, 25), *outer, (-24, 25), (-14, 25), *inner, (14, 25)]
    keyhole = prism(circle(5, 8, 0, -14), 1.2, 26)
    return (prism(rounded_rectangle(66, 50, 6), 26) + prism(shackle, 16, 4)).decorated(keyhole)


@entry("key", density=900)
def key() -> Solid:
    """Build a big key: round bow with a hole, a blade with teeth."""
    bow = arc(32, 28, 332, 16, -30)
    tip = [(70, -15), (75, -10), (75, 6), (70, 15)]
    tooth, short_tooth = [(14, -15), (14, -26), (26, -26), (26, -15)], [(40, -24), (52, -24)]
    blade: Points = [(-1.5, -15), *tooth, (40, -15), *short_tooth, (52, -15), *tip, (-1.5, 15)]
    return prism(Outline([*bow[1:-1], *blade], (circle(9, 8, -47),)), 25)


@entry("wrench", density=900)
def wrench() -> Solid:
    """Build a wrench: an open jaw at one end, a ring at the other."""
    jaw = [(42, -29), (62, -30), (74, -14), (54, -14), (48, -8)]
    right: Points = [(-29, -16.5), (22, -16.5), *jaw]
    ring = arc(28, 36, 324, 12, -52)
    outer = [*right, *((x, -y) for x, y in reversed(right)), *ring[1:-1]]
    return prism(Outline(outer, (circle(12, 6, -54),)), 25)


@entry("scissors", density=700)
def scissors() -> Solid:
    """Build scissors: two finger rings, two open blades."""
    right_ring = arc(25, -155, 105, 9, 29, -52)
    blade: Points = [(17, 6), (20, 18), (26, 78), (17, 76)]
    right = [*right_ring, *blade]
    outer = [(0, -24), *right, (0, 22), *((-x, y) for x, y in reversed(right))]
    return prism(Outline(outer, (circle(13, 6, 30, -53), circle(13, 6, -30, -53))), 22)


@entry("sphere", density=1000, into=FITTINGS)
def _sphere() -> Solid:
    """Build a ball 100 mm wide with flat poles."""
    angle = np.linspace(-0.95, 0.95, 15) * np.pi / 2
    return lathe([(50 * float(np.cos(a)), 50 * float(np.sin(a))) for a in angle])


@entry("flattened ball", density=500, into=FITTINGS)
def _flattened_ball() -> Solid:
    """Build a ball 56 mm wide and 46 mm high that stands, with a flat top for a suction cup."""
    angle = np.linspace(-1.0, 1.0, 11) * np.radians(55.2)
    return lathe([(28 * float(np.cos(a)), 28 * float(np.sin(a))) for a in angle])


@entry("hexagonal prism", density=500, into=FITTINGS)
def _hexagonal_prism() -> Solid:
    """Build a hexagonal prism, 56 mm from corner to corner, 46 mm high."""
    corners = [(28 * float(np.cos(a)), 28 * float(np.sin(a))) for a in np.arange(6) * np.pi / 3]
    return prism(corners, 46)


@entry("zone frame", density=500, into=FITTINGS)
def _zone_frame() -> Solid:
    """Build a visual frame of width 7 mm around a square of 100 mm, flat like a mat."""
    outside, inside = (rectangle(100, 100), rectangle(86, 86))
    return Solid(prism(Outline(outside, (inside,)), 1).patches, prism(outside, 1).parts)
