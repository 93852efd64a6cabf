"""Builders of fixtures with variable or computed shapes. Fronts face −y; the back is at y = 0."""

from __future__ import annotations

import numpy as np

from clevrskills.assets.outlines import circle, rounded_rectangle
from clevrskills.assets.solids import Solid, box, loft, prism
from clevrskills.suites.asgardbench.models.cabinets import case, handle, panel
from clevrskills.suites.asgardbench.models.model import (
    Builder,
    BuildInput,
    FixtureModel,
    ModelJoint,
    Piece,
    blend,
    rod,
)
from clevrskills.suites.asgardbench.models.surfaces import (
    BLACK,
    DARK_WOOD,
    ENAMEL,
    GREY,
    INTERIOR,
    SHADE,
    STEEL,
    Appearance,
)

COUNTER_MM, DEEP_MM, WIDE_MM = 920.0, 600.0, 600.0
"""Height, depth and module width of counters."""


def base_cabinet(look: BuildInput) -> FixtureModel:
    """Build a floor cupboard with a door and a shelf, under a counter."""
    wide, y = look.width_mm or WIDE_MM, -DEEP_MM + 22
    shelf = box(wide - 36, 540, 16, y=-290, bottom=484)
    front = panel(look.style.panel, wide - 6, 774, 0, y, 103)
    grip = handle(look.style.handle, wide / 2 - 45, y - 22, 750, 160, True)
    return FixtureModel(
        *(Piece(part, INTERIOR) for part in (*case(wide, -y, 780, 100), shelf)),
        Piece(box(wide, DEEP_MM - 80, 100, y=-(DEEP_MM - 80) / 2), SHADE),
        *(Piece(part, look.style.front, "door") for part in front),
        Piece(grip, STEEL, "door"),
        door=ModelJoint("hinge", "open", (0, 0, -1.0), 90.0, (-wide / 2, y, 0)),
    )


def counter_top(look: BuildInput) -> FixtureModel:
    """Build a worktop; its frame is at the floor."""
    wide = look.width_mm or WIDE_MM
    slab = box(wide, DEEP_MM + 20, 40, y=-(DEEP_MM + 20) / 2, bottom=COUNTER_MM - 40)
    return FixtureModel(Piece(slab, look.style.top))


def back_splash(look: BuildInput) -> FixtureModel:
    """Build tiles on the wall behind a counter."""
    slab = box(look.width_mm or WIDE_MM, 8, 530, y=-4, bottom=COUNTER_MM)
    return FixtureModel(Piece(slab, look.style.splash))


def _frame(width: float, height: float, thick: float, deep: float) -> list[Solid]:
    return [
        box(width, deep, thick, y=-deep / 2, bottom=0),
        box(width, deep, thick, y=-deep / 2, bottom=height - thick),
        *(box(thick, deep, height, x=s * (width - thick) / 2, y=-deep / 2) for s in (-1, 1)),
    ]


def mirror(look: BuildInput) -> FixtureModel:
    """Build a mirror in a frame: streaks of light; smears when dirty, droplets when sprayed."""
    glass = look.dirt(Appearance((0.66, 0.76, 0.82), "gradient", (0.84, 0.90, 0.94), 0.45))
    pieces = [Piece(part, DARK_WOOD) for part in _frame(740, 940, 40, 36)]
    pane = box(670, 6, 870, y=-16, bottom=35)
    pieces.append(Piece(pane, glass))
    if look.state.sprayed:
        rng = np.random.Generator(np.random.PCG64(7))
        wet = Appearance(blend((0.70, 0.78, 0.84), (1.0, 1.0, 1.0), look.strength))
        rim = Appearance(blend((0.70, 0.78, 0.84), (0.30, 0.46, 0.60), look.strength))
        drops = np.column_stack([rng.uniform(-300, 300, 90), rng.uniform(70, 870, 90)])
        for (x, z), r in zip(drops.tolist(), rng.uniform(9, 22, 90).tolist(), strict=True):
            trail = rod([(x, -20, z), (x, -20, z - 2.2 * r)], [0.8 * r, 1.1 * r], 8)
            drop = prism(circle(0.85 * r, 10), 4).turned("x", 90)
            drop = drop.moved(x, -20 - 1.1 * r, z - 2.3 * r)
            pieces += [Piece(trail, rim), Piece(drop, wet)]
    return FixtureModel(*pieces)


def stove(look: BuildInput) -> FixtureModel:
    """Build a stove module: oven door and plate; burners and knobs are separate entities."""
    wide, steel = look.width_mm or WIDE_MM, look.style.steel
    slab = box(wide, DEEP_MM + 20, 40, y=-(DEEP_MM + 20) / 2, bottom=COUNTER_MM - 40)
    body = box(wide - 4, DEEP_MM - 22, 880, y=-(DEEP_MM - 22) / 2)
    strip = box(wide - 4, 30, 110, y=-DEEP_MM + 10, bottom=765)
    door = box(wide - 20, 30, 560, y=-DEEP_MM + 8, bottom=150)
    pane = box(wide - 160, 6, 320, y=-DEEP_MM - 9, bottom=230)
    reach = wide / 2 - 80
    grip = rod([(-reach, -DEEP_MM - 50, 660), (reach, -DEEP_MM - 50, 660)], 11, 12)
    arms = [rod([(x, -DEEP_MM, 660), (x, -DEEP_MM - 50, 660)], 8) for x in (20 - reach, reach - 20)]
    plate = Appearance((0.07, 0.07, 0.08))
    back = box(wide, 20, 60, y=-10, bottom=COUNTER_MM)
    return FixtureModel(
        Piece(slab, plate),
        Piece(body, steel),
        Piece(strip, GREY),
        Piece(door, steel),
        Piece(pane, SHADE),
        *(Piece(part, STEEL) for part in (grip, *arms)),
        Piece(back, GREY),
    )


def hood(look: BuildInput) -> FixtureModel:
    """Build a cooker hood with its flue; its frame is at its lower edge."""
    wide = look.width_mm or WIDE_MM

    def ring(w: float, d: float) -> list[tuple[float, float]]:
        return [(-w / 2, -d), (w / 2, -d), (w / 2, 0), (-w / 2, 0)]

    cone = loft([(ring(wide, 460), 0), (ring(wide, 460), 60), (ring(260, 260), 260)])
    flue = box(240, 240, 740, y=-120, bottom=260)
    lamps = [Piece(box(70, 70, 4, x=x, y=-230, bottom=-4), ENAMEL) for x in (-150, 150)]
    return FixtureModel(Piece(cone, look.style.steel), Piece(flue, look.style.steel), *lamps)


def television(look: BuildInput) -> FixtureModel:
    """Build a television on its foot, 1.0 x 0.6 m: dark, or a picture when on."""
    body = box(1000, 50, 600, y=-25, bottom=70)
    pane = box(960, 4, 550, y=-52, bottom=95)
    lamp = box(14, 4, 6, x=450, y=-52, bottom=80)
    foot = prism(rounded_rectangle(420, 220, 30), 16)
    neck = box(120, 40, 70, y=-20)
    screen = Appearance((0.05, 0.06, 0.08))
    pieces = [Piece(part, BLACK) for part in (body, foot, neck)]
    if look.state.on:
        share = look.strength
        color = (0.05 + 0.4 * share, 0.06 + 0.4 * share, 0.08 + 0.5 * share)
        screen = (
            Appearance(color, "view", period_m=0.56)
            if look.contrast == "high"
            else Appearance(color, glow=0.3, strength=share)
        )
    return FixtureModel(
        *pieces, Piece(pane, screen), Piece(lamp, look.lit((0.5, 0.05, 0.05), (0.2, 1.0, 0.3)))
    )


BUILDERS: dict[str, Builder] = {
    "Cabinet": base_cabinet,
    "CounterTop": counter_top,
    "BackSplash": back_splash,
    "Mirror": mirror,
    "Stove": stove,
    "Hood": hood,
    "Television": television,
}
