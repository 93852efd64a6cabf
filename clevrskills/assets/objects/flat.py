"""Prisms: primitives, letters and flat shapes with thickness."""

from functools import partial

from clevrskills.assets import outlines
from clevrskills.assets.objects.registry import CATALOGUE, Item
from clevrskills.assets.outlines import Outline, Points, circle, rectangle
from clevrskills.assets.solids import prism

# name -> outline, height, density
FLAT: dict[str, tuple[Outline | Points, float, float]] = {
    # Primitives: tasks stretch them to any size.
    "cube": (rectangle(50, 50), 50, 1000),
    "cylinder": (circle(28), 50, 1000),
    "triangle": (circle(40, 3, start_deg=90), 40, 1000),
    "hexagon": (circle(35, 6), 40, 1000),
    "star": (outlines.star(60, 0.55), 40, 1000),
    "clover": (outlines.clover(65, 17.3), 40, 1000),
    "trapezoid": ([(-32.5, -32.5), (32.5, -32.5), (16, 32.5), (-16, 32.5)], 40, 1000),
    "raindrop": (outlines.raindrop(65, 28.5), 40, 1000),
    "crown": (outlines.crown(65, 5, 15), 40, 1000),
    "leaf": (outlines.leaf(91, 48), 40, 1000),
    "candy": (outlines.candy(70, 21.5), 40, 1000),
    # Flat shapes.
    "block": (rectangle(100, 100), 35, 600),
    "disc": (circle(50), 30, 700),
    "pentagon": (circle(56, 5, start_deg=90), 30, 700),
    "octagon": (circle(54, 8, start_deg=22.5), 30, 700),
    "plus": (outlines.plus(105, 42), 30, 800),
    "flower": (outlines.flower(54, 6), 30, 700),
    "heart": (outlines.heart(130), 30, 600),
    "diamond": ([(65, 0), (0, 65), (-65, 0), (0, -65)], 30, 600),
    "arrow": ([(-50, -19), (5, -19), (5, -45), (55, 0), (5, 45), (5, 19), (-50, 19)], 30, 700),
    "moon": (outlines.crescent(50, 42, 34), 30, 800),
    "ring": (Outline(circle(50), (circle(15, 16),)), 28, 800),
}
FLAT.update((f"letter {c}", (outlines.letter(c), 28, 800)) for c in outlines.LETTERS)

CATALOGUE.update(
    (name, Item(partial(prism, outline, height), density))
    for name, (outline, height, density) in FLAT.items()
)
