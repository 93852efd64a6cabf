"""Styles: colors, materials and fronts of the fixtures of a room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal
from zlib import crc32

import numpy as np

from clevrskills.suites.asgardbench.models.surfaces import Appearance, Color, blend

Panel = Literal["shaker", "flat", "slats"]
Handle = Literal["bar", "knob", "rail"]


@dataclass(frozen=True)
class Style:
    """Style of the fixtures of a room."""

    wall: Appearance
    floor: Appearance
    front: Appearance  # doors and drawer fronts
    top: Appearance  # worktops
    splash: Appearance  # wall behind worktops
    wood: Appearance  # tables, shelves and chairs
    steel: Appearance  # fridge, oven and other large appliances
    fabric: Color  # sofas and cushions, sRGB
    panel: Panel = "shaker"  # construction of doors
    handle: Handle = "bar"

    def surfaces(self) -> Mapping[str, Appearance]:
        """Return the surfaces by name, with the fabrics of rugs, chairs and sofas."""
        fabric, shade = self.fabric, (0.0, 0.0, 0.0)
        pale, soft = blend(fabric, (1.0, 1.0, 0.96), 0.55), blend(fabric, (1.0, 1.0, 1.0), 0.12)
        woven = {
            "rug": (fabric, blend(fabric, shade, 0.2), 0.12),
            "rug_pale": (pale, blend(pale, shade, 0.2), 0.12),
            "cushion": (fabric, blend(fabric, shade, 0.25), 0.1),
            "sofa": (fabric, _darker(fabric, 0.75), 0.12),
            "sofa_soft": (soft, fabric, 0.12),
        }
        fabrics = {
            name: Appearance(c, "fabric", second, size) for name, (c, second, size) in woven.items()
        }
        return {name: v for name, v in vars(self).items() if isinstance(v, Appearance)} | fabrics


def _darker(color: Color, share: float = 0.6) -> Color:
    return share * color[0], share * color[1], share * color[2]


def _stone(color: Color, vein: Color) -> Appearance:
    return Appearance(color, "stone", vein, 0.6)


def _wood(color: Color) -> Appearance:
    return Appearance(color, "wood", _darker(color, 0.66), 0.7)


_WALLS: Sequence[Color] = (
    *((0.93, 0.90, 0.84), (0.83, 0.89, 0.90), (0.94, 0.88, 0.79), (0.87, 0.90, 0.82)),
    *((0.92, 0.92, 0.91), (0.93, 0.85, 0.80), (0.90, 0.86, 0.93), (0.95, 0.93, 0.80)),
)
_FRONTS: Sequence[Appearance] = (
    Appearance((0.94, 0.94, 0.92)),
    Appearance((0.58, 0.67, 0.55)),
    Appearance((0.27, 0.38, 0.50)),
    Appearance((0.86, 0.80, 0.68)),
    Appearance((0.40, 0.56, 0.58)),
    Appearance((0.34, 0.36, 0.38)),
    Appearance((0.78, 0.44, 0.36)),
    _wood((0.78, 0.60, 0.40)),
    _wood((0.46, 0.30, 0.19)),
)
_TOPS: Sequence[Appearance] = (
    _stone((0.40, 0.40, 0.42), (0.62, 0.62, 0.63)),
    _stone((0.88, 0.87, 0.84), (0.60, 0.58, 0.56)),
    _stone((0.62, 0.57, 0.51), (0.38, 0.34, 0.31)),
    _wood((0.76, 0.56, 0.35)),
    _stone((0.22, 0.24, 0.25), (0.50, 0.52, 0.52)),
)
_FLOORS: Sequence[Appearance] = (
    Appearance((0.74, 0.56, 0.37), "planks", (0.46, 0.33, 0.21), 0.9),
    Appearance((0.55, 0.39, 0.26), "planks", (0.34, 0.23, 0.15), 0.9),
    Appearance((0.78, 0.72, 0.62), "planks", (0.58, 0.52, 0.43), 0.9),
    Appearance((0.80, 0.78, 0.73), "tiles", (0.62, 0.60, 0.56), 0.8),
    Appearance((0.58, 0.60, 0.61), "tiles", (0.44, 0.45, 0.46), 0.8),
    Appearance((0.72, 0.46, 0.34), "tiles", (0.55, 0.40, 0.32), 0.5),
)
_SPLASHES: Sequence[Appearance] = (
    Appearance((0.95, 0.95, 0.94), "tiles", (0.78, 0.78, 0.77), 0.20),
    Appearance((0.74, 0.84, 0.86), "tiles", (0.92, 0.93, 0.92), 0.16),
    Appearance((0.66, 0.76, 0.66), "tiles", (0.88, 0.90, 0.86), 0.16),
    Appearance((0.90, 0.84, 0.74), "tiles", (0.74, 0.68, 0.60), 0.20),
    _stone((0.88, 0.87, 0.84), (0.60, 0.58, 0.56)),
)
_WOODS: Sequence[Appearance] = (
    _wood((0.76, 0.56, 0.34)),
    _wood((0.44, 0.28, 0.17)),
    _wood((0.83, 0.69, 0.50)),
    _wood((0.62, 0.40, 0.24)),
)
_STEELS: Sequence[Appearance] = (
    Appearance((0.70, 0.72, 0.74)),
    Appearance((0.95, 0.95, 0.94)),
    Appearance((0.24, 0.25, 0.27)),
    Appearance((0.62, 0.80, 0.78)),
    Appearance((0.80, 0.24, 0.20)),
)
_FABRICS: Sequence[Color] = (
    *((0.32, 0.42, 0.52), (0.55, 0.58, 0.46), (0.70, 0.66, 0.58), (0.62, 0.34, 0.30)),
    *((0.30, 0.46, 0.46), (0.45, 0.38, 0.50)),
)


@cache
def style(label: int, kind: str) -> Style:
    """Return the style of a room, determined by its label."""
    seed = np.random.SeedSequence((label, crc32(b"style"), crc32(kind.encode())))
    rng = np.random.Generator(np.random.PCG64(seed))

    def pick(of: Sequence[object]) -> int:
        return int(rng.integers(len(of)))

    wall, front, top = _WALLS[pick(_WALLS)], _FRONTS[pick(_FRONTS)], _TOPS[pick(_TOPS)]
    if max(abs(a - b) for a, b in zip(front.color, top.color, strict=True)) < 0.2:
        top = next(t for t in _TOPS if abs(t.color[1] - front.color[1]) > 0.25)
    steel = _STEELS[min(pick(range(7)), 4) if rng.random() < 0.5 else 0]
    panels: Sequence[Panel] = ("shaker", "flat", "slats")
    handles: Sequence[Handle] = ("bar", "knob", "rail")
    panel, handle = panels[pick(panels)], handles[pick(handles)]
    walls = Appearance(wall)
    floor = _FLOORS[pick(_FLOORS)]
    if kind == "bathroom":
        tile: Color = (0.4 + 0.6 * wall[0], 0.4 + 0.6 * wall[1], 0.4 + 0.6 * wall[2])
        walls = Appearance(tile, "tiles", _darker(wall, 0.85), 0.3)
        floor = _FLOORS[3 + pick(range(2))]
    splash, wood, fabric = pick(_SPLASHES), pick(_WOODS), pick(_FABRICS)
    return Style(walls, floor, front, top, _SPLASHES[splash], _WOODS[wood], steel,
                 _FABRICS[fabric], panel, handle)  # fmt: skip


PLAIN = Style(
    wall=Appearance(_WALLS[0]),
    floor=_FLOORS[0],
    front=Appearance((0.87, 0.89, 0.85)),
    top=_stone((0.58, 0.55, 0.52), (0.32, 0.30, 0.29)),
    splash=_SPLASHES[0],
    wood=_WOODS[0],
    steel=_STEELS[0],
    fabric=_FABRICS[0],
)
"""Style of single fixtures."""
