"""Tools with flat backs."""

from clevrskills.assets.objects.registry import entry
from clevrskills.assets.outlines import Outline, Points, arc, circle, rectangle
from clevrskills.assets.solids import Solid, Station, box, prism, tube


@entry("wrench", density=900)
def wrench() -> Solid:
    """Build a wrench: an open jaw at one end, a ring at the other."""
    jaw = [(42, -29), (62, -30), (74, -14), (54, -14), (48, -8)]
    right: Points = [(-29, -16.5), (22, -16.5), *jaw]
    ring = arc(28, 36, 324, 12, -52)
    outer = [*right, *((x, -y) for x, y in reversed(right)), *ring[1:-1]]
    return prism(Outline(outer, (circle(12, 6, -54),)), 25)


@entry("hammer", density=600)
def hammer() -> Solid:
    """Handle and a heavy head lying across it."""
    handle = [Station(-72, 0, 34, 28), Station(-20, 0, 30, 24), Station(34, 0, 32, 24)]
    claw = prism([(34, 16), (66, 16), (62, 40), (54, 56), (44, 60), (38, 44)], 28)
    head = box(32, 32, 36, x=50) + box(40, 34, 36, x=50, y=-33)
    return tube(handle, bevel=2) + head + claw


@entry("screwdriver", density=700)
def screwdriver() -> Solid:
    """Build a screwdriver: thick handle, thin shaft with a flat tip."""
    grip = [Station(-58, 0, 41, 32), Station(-6, 0, 41, 32)]
    handle = [Station(-66, 0, 28, 26), *grip, Station(8, 0, 24, 24)]
    shaft = [Station(8, 0, 12, 12, bottom=8), Station(56, 0, 12, 12, bottom=8)]
    tip = [Station(60, 0, 18, 8, bottom=10), Station(72, 0, 14, 3, bottom=12)]
    return tube(handle, bevel=4) + tube([*shaft, *tip], bevel=2)


@entry("clamp", density=700)
def clamp() -> Solid:
    """Build a C-shaped clamp with its screw."""
    lower, upper = [(-45, -48), (45, -48), (45, -26), (-11, -26)], [(-11, 34), (45, 34), (45, 56)]
    screw = box(12, 28, 12, x=30, y=-12, bottom=8) + box(28, 8, 20, x=30, y=6, bottom=4)
    grip = box(12, 12, 12, x=30, y=-54, bottom=8) + box(50, 12, 20, x=30, y=-66)
    return prism([*lower, *upper, (-45, 56)], 28) + screw + grip


@entry("scissors", density=700)
def scissors() -> Solid:
    """Build scissors: two finger rings, two open blades."""
    right_ring = arc(25, -155, 105, 9, 29, -52)
    blade: Points = [(17, 6), (20, 18), (26, 78), (17, 76)]
    right = [*right_ring, *blade]
    outer = [(0, -24), *right, (0, 22), *((-x, y) for x, y in reversed(right))]
    return prism(Outline(outer, (circle(13, 6, 30, -53), circle(13, 6, -30, -53))), 22)


@entry("spatula", density=600)
def spatula() -> Solid:
    """Build a spatula: a broad blade on a narrow handle."""
    blade: Points = [(10, -22), (24, -36), (80, -38), (80, 38), (24, 36), (10, 22)]
    slots = (rectangle(26, 7, 57, -24), rectangle(26, 7, 57, 24))
    handle = [Station(-80, 0, 22, 22), Station(-70, 0, 26, 26), Station(10, 0, 20, 22)]
    return prism(Outline(blade, slots), 18) + tube(handle, bevel=4)


@entry("anvil", density=1000)
def anvil() -> Solid:
    """Build an anvil with a horn."""
    right: Points = [(34, 0), (34, 10), (17, 16), (17, 30), (34, 38)]
    side = [(-34, 0), *right, (34, 56), (-34, 56), (-58, 50), (-34, 38), (-17, 30), (-17, 16)]
    return prism([*side, (-34, 10)], 40, -20).turned("x", 90)
