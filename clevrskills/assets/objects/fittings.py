"""Fittings: what tasks put into a scene besides objects."""

import numpy as np

from clevrskills.assets.objects.registry import FITTINGS, Item
from clevrskills.assets.outlines import Outline, Points, circle, rectangle, rounded_rectangle
from clevrskills.assets.solids import Solid, lathe, loft, prism, vessel


def _sphere() -> Solid:
    """Build a ball 100 mm wide with flat poles."""
    angle = np.linspace(-0.95, 0.95, 15) * np.pi / 2
    return lathe([(50 * float(np.cos(a)), 50 * float(np.sin(a))) for a in angle])


def _scale_foot() -> Solid:
    """Build the post of a scale on its foot; the beam lies on it."""
    foot = prism(rounded_rectangle(150, 110, 20), 12)
    post = [(rounded_rectangle(44, 44, 6), 12.0), (rounded_rectangle(22, 26, 4), 61.0)]
    return foot + loft(post)


def _scale_beam() -> Solid:
    """Build a bar that tapers to both ends, with a pin through its middle."""
    side: Points = [(-190, -8), (0, -15), (190, -8), (190, 8), (0, 15), (-190, 8)]
    pin = prism(circle(7), 33, -16.5).turned("x", 90).moved(z=9)
    return prism(side, 18).decorated(pin)


def _scale_plate() -> Solid:
    """Build a round plate on a stem."""
    return lathe([(7, 0), (7, 17), (22, 22), (66, 28), (70, 30), (70, 36)])


def _shallow_bowl() -> Solid:
    """Build a bowl 116 mm wide, the rim 36 mm high, the flat floor 80 mm wide and 8 mm high: a 40
    mm cube lies flat in it.
    """
    outside = [(circle(44, 32), 0.0), (circle(58, 32), 36.0)]
    return vessel(outside, [(circle(55, 32), 36.0), (circle(40, 32), 8.0)])


def _flattened_ball() -> Solid:
    """Build a ball 56 mm wide and 46 mm high that stands, with a flat top for a suction cup."""
    angle = np.linspace(-1.0, 1.0, 11) * np.radians(55.2)
    return lathe([(28 * float(np.cos(a)), 28 * float(np.sin(a))) for a in angle])


def _frustum() -> Solid:
    """Build a square pyramid without its tip, 56 mm wide at the foot and 33 mm at the top."""
    return loft([(rounded_rectangle(56, 56, 2), 0.0), (rounded_rectangle(33, 33, 2), 46.0)])


def _cone_frustum() -> Solid:
    """Build a cone without its tip, 56 mm wide at the foot and 33 mm at the top."""
    return lathe([(28, 0), (16.5, 46)])


def _hexagonal_prism() -> Solid:
    """Build a hexagonal prism, 56 mm from corner to corner, 46 mm high."""
    corners = [(28 * float(np.cos(a)), 28 * float(np.sin(a))) for a in np.arange(6) * np.pi / 3]
    return prism(corners, 46)


def _drawn_circle() -> Solid:
    """Build a flat ring, 10 mm broad, about a circle of 260 mm."""
    return prism(Outline(circle(135, 72), (circle(125, 72),)), 1)


def _zone_frame() -> Solid:
    """Build a frame, 7 mm broad, around a square of 100 mm; things lie on it as on a mat."""
    outside, inside = (rectangle(100, 100), rectangle(86, 86))
    return Solid(prism(Outline(outside, (inside,)), 1).patches, prism(outside, 1).parts)


FITTINGS["scale foot"] = Item(_scale_foot, density=1000)
FITTINGS["scale beam"] = Item(_scale_beam, density=500)
FITTINGS["scale plate"] = Item(_scale_plate, density=500)
FITTINGS["sphere"] = Item(_sphere, density=1000)
FITTINGS["shallow bowl"] = Item(_shallow_bowl, density=800)
FITTINGS["flattened ball"] = Item(_flattened_ball, density=500)
FITTINGS["frustum"] = Item(_frustum, density=500)
FITTINGS["cone frustum"] = Item(_cone_frustum, density=500)
FITTINGS["hexagonal prism"] = Item(_hexagonal_prism, density=500)
FITTINGS["zone frame"] = Item(_zone_frame, density=500)
FITTINGS["drawn circle"] = Item(_drawn_circle, density=500)
