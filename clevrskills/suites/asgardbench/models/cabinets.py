"""Parts of cabinets, lengths in millimeters."""

from __future__ import annotations

from clevrskills.assets.solids import Solid, box, lathe
from clevrskills.suites.asgardbench.models.model import rod
from clevrskills.suites.asgardbench.models.style import Handle, Panel


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


def panel(
    kind: Panel, width: float, height: float, x: float, y: float, bottom: float
) -> list[Solid]:
    """Build a door or drawer front of a kind; its back is at y."""
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


def handle(kind: Handle, x: float, y: float, z: float, length: float, upright: bool) -> Solid:
    """Build a handle of a kind whose feet are at y."""
    if kind == "knob":
        return (
            lathe([(7, 0), (7, 14), (15, 20), (16, 28), (11, 32)], 20)
            .turned("x", 90)
            .moved(x, y, z)
        )
    half = length / 2
    ends = [(x, y, z - half), (x, y, z + half)] if upright else [(x - half, y, z), (x + half, y, z)]
    if kind == "rail":
        wide, tall = (14.0, length) if upright else (length, 14.0)
        return box(wide, 16, tall, x=x, y=y - 8, bottom=z - tall / 2)
    return rod([(e[0], e[1] - 26, e[2]) for e in ends], 6, 10)
