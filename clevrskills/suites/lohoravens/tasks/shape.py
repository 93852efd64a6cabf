"""Tasks that ask for a shape: lines, circles, letters, a rectangle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from clevrskills.predicates import Predicate, Set
from clevrskills.suites.lohoravens.palette import all_apart, choose_colors
from clevrskills.suites.lohoravens.predicates.shapes import (
    Concentric,
    FitsTemplate,
    InMiddle,
    OnCircle,
    OnLine,
    OnRing,
    RectangleIn,
)
from clevrskills.suites.lohoravens.scene import MIXED_GAP_M, SMALL_M, padded
from clevrskills.suites.lohoravens.setting import FIELD_MIDDLE_M
from clevrskills.suites.lohoravens.tasks.base import RavensTask
from clevrskills.suites.lohoravens.tasks.catalog import block_slots
from clevrskills.suites.lohoravens.tasks.figures import LINE_M, RING_M, FigureScene
from clevrskills.tasks.arguments import switch
from clevrskills.tasks.bank import Fields
from clevrskills.tasks.layout import EpisodeRng, Layout, LayoutError

TABLE_COLOR = "brown"
"""A color that is not drawn: the table is of wood."""
BOX_SIDES_M = (0.030, 0.035, 0.040, 0.045, 0.050, 0.055)
"""Sides of boxes that differ in size."""
LETTERS_CM: Mapping[str, tuple[tuple[float, float], ...]] = {
    "M": ((-10, 0), (-10, 5), (-10, 10), (10, 0), (10, 5), (10, 10), (-5, 7.5), (5, 7.5), (0, 4)),
    "L": ((-5, 0), (-5, 5), (-5, 10), (-5, 15), (0, 0), (5, 0)),
    "T": ((-10, 15), (-5, 15), (0, 15), (5, 15), (10, 15), (0, 0), (0, 5), (0, 10)),
    "R": (
        *((-5, 0), (-5, 5), (-5, 10), (-5, 15), (0, 15.5), (5, 12.5)),
        *((0.5, 8.8), (3, 4.3), (6, 0)),
    ),
    "O": ((0, 0), (5, 2.5), (7, 7.5), (5, 12.5), (0, 15), (-5, 12.5), (-7, 7.5), (-5, 2.5)),
}
"""Middles of the blocks of letters: to the right, and up; 5 cm apart at least."""


@dataclass(kw_only=True, eq=False)
class ShapeTask(RavensTask):
    """Blocks form a shape."""

    family = "shape"

    def color_to_draw(self, rng: EpisodeRng, apart_from: Sequence[str]) -> str:
        """Return a color of a line or circle that is seen on the table and looks apart from others.

        Raises:
            LayoutError: There is none.
        """
        pool = [color for color in self.pool(rng) if color != TABLE_COLOR]
        return choose_colors(rng, 1, pool, tuple(dict.fromkeys(apart_from)))[0]

    def mixed_colors(
        self, rng: EpisodeRng, count: int, apart_from: Sequence[str] = ()
    ) -> list[str]:
        """Return colors of some blocks: of one to three that look apart from each other and
        from others.

        Raises:
            LayoutError: There is none.
        """
        found = all_apart(rng, self.pool(rng), apart_from)
        few = found[: int(rng.roles.integers(1, 4))]
        if not few:
            raise LayoutError("no color looks apart")
        return [str(color) for color in rng.textures.choice(few, count)]


@dataclass(kw_only=True, eq=False)
class AlignOnLine(ShapeTask):
    """Boxes in order on a line, from left to right."""

    predicates = (OnLine,)

    def align(self, rng: EpisodeRng, colors: Sequence[str], sides_m: Sequence[float]) -> Layout:
        """Lay out boxes in another order than is asked for.

        Args:
            rng: The choices of the episode.
            colors: Their colors.
            sides_m: Their sides.
        """
        scene = FigureScene(rng, self.slots, MIXED_GAP_M)
        line = self.color_to_draw(rng, colors)
        middle = scene.line(line)
        count, most = len(colors), len(self.slots) - 1
        order = rng.roles.permutation(count).tolist()
        rank = padded(order, most).astype(float)
        boxes = [scene.block(colors[k], sides_m[k], kind="box") for k in order]
        objects = scene.slots_of(boxes, most)
        return scene.layout(objects=objects, rank=rank, middle=middle, line=0)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        objects, middle = roles["objects"], roles["middle"].float()
        length_m = middle.new_full((len(objects),), LINE_M)
        total = (objects >= 0).sum(-1)
        return OnLine(objects, middle, length_m, roles["rank"].float(), weight=total)

    def fields(self, layout: Layout) -> Fields:
        return {"line": layout.body("line").color}


@dataclass(kw_only=True, eq=False)
class LineByColor(AlignOnLine):
    """Five to seven boxes of colors of the rainbow, all of one size."""

    RAINBOW = ("red", "orange", "yellow", "green", "cyan", "blue", "purple")

    all_colors = True
    slots = ("line_0", *(f"box_{k}" for k in range(len(RAINBOW))))

    def layout(self, rng: EpisodeRng) -> Layout:
        found = all_apart(rng, self.RAINBOW)
        if len(found) < self.moves[0]:
            raise LayoutError("too few colors that look apart")
        count = int(rng.roles.integers(self.moves[0], len(found) + 1))
        colors = [color for color in self.RAINBOW if color in found[:count]]
        return self.align(rng, colors, [SMALL_M] * count)


@dataclass(kw_only=True, eq=False)
class LineBySize(AlignOnLine):
    """Six boxes of different sizes."""

    slots = ("line_0", *(f"box_{k}" for k in range(len(BOX_SIDES_M))))

    def layout(self, rng: EpisodeRng) -> Layout:
        return self.align(rng, self.mixed_colors(rng, len(BOX_SIDES_M)), BOX_SIDES_M)


@dataclass(kw_only=True, eq=False)
class CircleBySize(ShapeTask):
    """Six boxes of different sizes on a drawn circle, from any place on, counter-clockwise as seen
    from above.
    """

    predicates = (OnRing,)
    slots = ("circle_0", *(f"box_{k}" for k in range(len(BOX_SIDES_M))))

    def layout(self, rng: EpisodeRng) -> Layout:
        scene = FigureScene(rng, self.slots, MIXED_GAP_M)
        colors = self.mixed_colors(rng, len(BOX_SIDES_M))
        center = scene.circle(self.color_to_draw(rng, colors))
        rank = rng.roles.permutation(len(BOX_SIDES_M))
        boxes = [scene.block(colors[k], BOX_SIDES_M[k], kind="box") for k in rank.tolist()]
        objects = scene.slots_of(boxes, len(BOX_SIDES_M))
        return scene.layout(objects=objects, rank=rank, center=center)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        objects, center = roles["objects"], roles["center"].float()
        radius_m = center.new_full((len(objects),), RING_M)
        total = (objects >= 0).sum(-1)
        return OnRing(objects, center, radius_m, roles["rank"].float(), weight=total)


@dataclass(kw_only=True, eq=False)
class CircleWithMiddle(ShapeTask):
    """Six to eight blocks of one color around one of another color."""

    FEWEST, MOST = 6, 8
    RADII_M = (0.09, 0.16)

    predicates = (Set, OnCircle, InMiddle)
    slots = block_slots(MOST + 1)

    def layout(self, rng: EpisodeRng) -> Layout:
        scene = FigureScene(rng, self.slots)
        around, inside = self.colors(rng, 2)
        middle = scene.block(inside)
        blocks = [
            scene.block(around) for _ in range(int(rng.roles.integers(self.FEWEST, self.MOST + 1)))
        ]
        return scene.layout(middle=middle.slot, objects=scene.slots_of(blocks, self.MOST))

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        objects, middle = roles["objects"], roles["middle"]
        bounds = radii(objects, self.RADII_M)
        circle = OnCircle(objects, *bounds, middles(objects), weight=(objects >= 0).sum(-1))
        return Set((circle, InMiddle(middle, objects, *bounds)))

    def fields(self, layout: Layout) -> Fields:
        around, middle = layout.body("objects", 0), layout.body("middle")
        return {"around": around.color, "middle": middle.color}


@dataclass(kw_only=True, eq=False)
class ConcentricCircles(ShapeTask):
    """Blocks of one color form the inner circle, those of another one the outer circle.

    Attributes:
        fewer: Whether there are 4 and 8 blocks instead of 6 and 10.
    """

    COUNTS, FEWER = (6, 10), (4, 8)
    """Blocks of the inner and outer circle."""
    INNER_RADII_M, OUTER_RADII_M = (0.065, 0.10), (0.13, 0.17)
    WORDS: ClassVar[Mapping[int, str]] = {4: "four", 6: "six", 8: "eight", 10: "ten"}

    predicates = (Set, OnCircle, Concentric)
    slots = block_slots(sum(COUNTS))

    fewer: bool = switch()

    def layout(self, rng: EpisodeRng) -> Layout:
        scene = FigureScene(rng, self.slots)
        counts = self.FEWER if self.fewer else self.COUNTS
        colors = self.colors(rng, 2)
        circles = [[scene.block(c) for _ in range(n)] for c, n in zip(colors, counts, strict=True)]
        roles = {
            name: scene.slots_of(blocks, most)
            for name, blocks, most in zip(("inner", "outer"), circles, self.COUNTS, strict=True)
        }
        return scene.layout(**roles)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        inner, outer = roles["inner"], roles["outer"]
        circles = [
            OnCircle(slots, *radii(slots, radii_m), middles(slots), weight=(slots >= 0).sum(-1))
            for slots, radii_m in ((inner, self.INNER_RADII_M), (outer, self.OUTER_RADII_M))
        ]
        return Set((*circles, Concentric(inner, outer, weight=0.0)))

    def fields(self, layout: Layout) -> Fields:
        found = dict[str, str]()
        for name in ("inner", "outer"):
            number = int((layout.roles[name] >= 0).sum())
            found |= {name: layout.body(name, 0).color, f"{name}_number": self.WORDS[number]}
        return found


@dataclass(kw_only=True, eq=False)
class BuildLetter(ShapeTask):
    """As many blocks as a letter has points, of one to three colors.

    Attributes:
        letter: The letter, of :data:`LETTERS_CM`.
    """

    predicates = (FitsTemplate,)
    letter: ClassVar[str]

    def layout(self, rng: EpisodeRng) -> Layout:
        scene, count = FigureScene(rng, self.slots), len(LETTERS_CM[self.letter])
        blocks = [scene.block(color) for color in self.mixed_colors(rng, count)]
        return scene.layout(objects=scene.slots_of(blocks, count))

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        objects = roles["objects"]
        points = torch.tensor(letter_points(self.letter), device=objects.device).float()
        template = points.expand(len(objects), *points.shape)
        return FitsTemplate(objects, template, middles(objects), weight=(objects >= 0).sum(-1))

    def fields(self, layout: Layout) -> Fields:
        return {"letter": self.letter}


@dataclass(kw_only=True, eq=False)
class RectangleOnZone(ShapeTask):
    """Eight or ten blocks beside a large zone."""

    SIZE_M = (0.24, 0.30)
    """Size of the zone along x and y."""
    COUNTS = (8, 10)

    predicates = (RectangleIn,)
    slots = block_slots(max(COUNTS), zones=1)

    def layout(self, rng: EpisodeRng) -> Layout:
        scene = FigureScene(rng, self.slots)
        (color,) = self.colors(rng, 1)
        zone = scene.mat(color, self.SIZE_M)
        count = int(rng.roles.choice(self.COUNTS))
        blocks = [scene.block(each) for each in self.mixed_colors(rng, count, (color,))]
        return scene.layout(objects=scene.slots_of(blocks, max(self.COUNTS)), zone=zone)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        objects = roles["objects"]
        return RectangleIn(objects, roles["zone"], weight=(objects >= 0).sum(-1))

    def fields(self, layout: Layout) -> Fields:
        return {"zone": layout.body("zone").color}


def letter_points(letter: str) -> np.ndarray:
    """Return the points of a letter about its middle in the world, (n, 2) m, its top towards the
    robot.
    """
    points = np.array(LETTERS_CM[letter]) / 100
    points -= (points.min(0) + points.max(0)) / 2
    return np.column_stack((-points[:, 1], points[:, 0]))


def radii(slots: Tensor, radii_m: tuple[float, float]) -> tuple[Tensor, Tensor]:
    """Return the least and greatest radius of the circle of blocks (B, n), (B,) each."""
    low, high = (torch.full((len(slots),), radius, device=slots.device) for radius in radii_m)
    return low, high


def middles(slots: Tensor) -> Tensor:
    """Return the middle of the field for blocks (B, n), (B, 2)."""
    return torch.tensor(FIELD_MIDDLE_M, device=slots.device).expand(len(slots), 2)
