"""Containers to put other objects on or into, cans and bottles."""

from clevrskills.assets.objects.registry import entry
from clevrskills.assets.outlines import (
    Points,
    circle,
    ellipse,
    rectangle,
)
from clevrskills.assets.solids import Solid, box, lathe, loft, prism, vessel

_AROUND = 30  # corners of a round rim


def _round(*profile: tuple[float, float]) -> list[tuple[Points, float]]:
    return [(circle(radius, _AROUND), z) for radius, z in profile]


@entry("bowl", density=800)
def bowl() -> Solid:
    """Build a bowl so wide and shallow that a gripper head clears its rim."""
    return vessel(_round((54, 0), (70, 12), (80, 28)), _round((76, 28), (65, 12)))


@entry("plate", density=800)
def plate() -> Solid:
    """Build a dinner plate with a broad sloping rim."""
    return vessel(_round((62, 0), (68, 7), (84, 19)), _round((80, 19), (66, 7)))


@entry("tray", density=800)
def tray() -> Solid:
    """Build a square tray with slanted walls."""
    outer = [(rectangle(146, 146), 0.0), (rectangle(156, 156), 24.0)]
    return vessel(outer, [(rectangle(142, 142), 24.0), (rectangle(132, 132), 8.0)])


@entry("casserole", density=800)
def casserole() -> Solid:
    """Build a round pan with a handle on either side."""
    outer = [(circle(66, 26), 0.0), (circle(69, 26), 24.0)]
    inner = [(circle(65, 26), 24.0), (circle(62, 26), 8.0)]
    ear = prism([(67, -30), (79, -30), (86, -20), (86, 20), (79, 30), (67, 30)], 9, 13)
    return vessel(outer, inner) + ear + ear.turned("z", 180)


@entry("oval dish", density=800)
def oval_dish() -> Solid:
    """Build a shallow oval dish."""
    outer = [(ellipse(72, 58, _AROUND), 0.0), (ellipse(86, 73, _AROUND), 24.0)]
    return vessel(outer, [(ellipse(82, 69, _AROUND), 24.0), (ellipse(74, 61, _AROUND), 8.0)])


@entry("cake stand", density=500)
def cake_stand() -> Solid:
    """Build a round plate on a foot."""
    return lathe([(46, 0), (46, 4), (18, 12), (15, 32), (30, 38), (65, 40), (65, 48)])


@entry("frying pan", density=800)
def frying_pan() -> Solid:
    """Build a round pan with a broad handle."""
    outer = [(circle(60, 24), 0.0), (circle(66, 24), 22.0)]
    inner = [(circle(62, 24), 22.0), (circle(56, 24), 7.0)]
    grip: Points = [(64.5, -11), (104, -13), (110, -7), (110, 7), (104, 13), (64.5, 11)]
    return vessel(outer, inner) + prism(grip, 10, 11)


@entry("soup can", density=600)
def soup_can() -> Solid:
    """Build a tin can with a seam at both ends."""
    return lathe([(33, 0), (33, 4), (31.5, 6), (31.5, 84), (33, 86), (33, 90)])


@entry("tuna can", density=800)
def tuna_can() -> Solid:
    """Build a low tin can."""
    return lathe([(40, 0), (42, 3), (42, 7), (40.5, 9), (40.5, 26), (42, 28), (42, 33)])


@entry("mustard bottle", density=600)
def mustard_bottle() -> Solid:
    """Build a flat bottle with sloping shoulders and a wide cap."""
    body = [(38, 27, 0), (40, 29, 5), (40, 29, 60), (33, 25, 80), (19, 19, 92), (19, 19, 98)]
    cap = [(22, 22, 98), (22, 22, 110), (19, 19, 113)]
    return loft([(ellipse(a, b), z) for a, b, z in body + cap])


@entry("mug", density=500)
def mug() -> Solid:
    """Build a mug with a handle and a closed lid."""
    body = lathe([(34, 0), (37, 4), (37, 66), (39, 66), (39, 72), (30, 74)])
    outside: Points = [(36.7, 14), (50, 14), (60, 24), (60, 46), (50, 56), (36.7, 56)]
    inside: Points = [(36.7, 47), (46, 47), (51, 42), (51, 28), (46, 23), (36.7, 23)]
    return body + prism([*outside, *inside], 12, -6).turned("x", 90)


@entry("kettle", density=600)
def kettle() -> Solid:
    """Build a round kettle with a spout, a handle and a flat lid."""
    body = lathe([(31, 0), (34, 4), (34, 28), (27, 46), (22, 48), (22, 53), (19, 55)])
    spout = prism([(33.5, 10), (42, 10), (56, 48), (45, 50), (33.5, 28)], 15, -7.5)
    outside: Points = [(-33.5, 10), (-44, 10), (-53, 18), (-53, 40), (-45, 48), (-26.5, 48)]
    inside: Points = [(-30, 39), (-42, 39), (-45, 35), (-45, 22), (-41, 18), (-33.5, 18)]
    handle = prism([*outside, *inside], 12, -6)
    return body + (spout + handle).turned("x", 90)


@entry("gift box", density=400)
def gift_box() -> Solid:
    """Build a box with an overhanging lid and a raised ribbon."""
    lid = box(76, 76, 14, bottom=46)
    ribbon = box(78, 16, 1, bottom=60) + box(16, 78, 1, bottom=60)
    ends = [box(1, 16, 15, x=38.5, bottom=46).turned("z", 90 * k) for k in range(4)]
    return (box(70, 70, 46) + lid).decorated(ribbon, *ends)
