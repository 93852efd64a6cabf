"""Tasks that ask for a shape: lines, circles, a letter, a rectangle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from clevrskills.predicates import Predicate
from clevrskills.suites.lohoravens.palette import all_apart
from clevrskills.suites.lohoravens.predicates.shapes import Forms
from clevrskills.suites.lohoravens.scene import SMALL_M, FieldScene, padded
from clevrskills.suites.lohoravens.tasks.base import RavensTask
from clevrskills.tasks.arguments import switch
from clevrskills.tasks.bank import Fields
from clevrskills.tasks.layout import EpisodeRng, Layout

TABLE_COLOR = "brown"
"""A color that is not drawn: the table is of wood."""
BOX_SIDES_M = (0.030, 0.035, 0.040, 0.045, 0.050, 0.055)
"""Sides of boxes that differ in size."""
RAINBOW = ("red", "orange", "yellow", "green", "cyan", "blue", "purple")


@dataclass(kw_only=True, eq=False)
class ShapeTask(RavensTask):
    """Blocks form a shape."""

    predicates = (Forms,)
    # name of the figure, see :mod:`~clevrskills.suites.lohoravens.predicates.figures`
    figure: ClassVar[str]
    # roles of its blocks, one for each group of interchangeable ones
    parts: ClassVar[tuple[str, ...]] = ("objects",)
    anchor: ClassVar[str] = ""  # role of the middle of what is drawn, if anything is

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        parts = [roles[name].reshape(len(roles[name]), -1) for name in self.parts]
        objects = torch.cat(parts, dim=-1)
        groups = [torch.full_like(slots, group) for group, slots in enumerate(parts)]
        rank = roles["rank"] if "rank" in roles else torch.cat(groups, dim=-1)
        anchor = roles.get(self.anchor, torch.zeros((len(objects), 2), device=objects.device))
        zone = roles.get("zone", torch.full_like(objects[:, 0], -1))
        return Forms(objects, rank.to(objects.dtype), anchor.float(), zone, self.figure)

    def mixed_colors(
        self, rng: EpisodeRng, count: int, apart_from: Sequence[str] = ()
    ) -> list[str]:
        """Return colors of some blocks: of one to three that look apart from each other and
        from others.

        Raises:
            LayoutError: There is none.
        """
        found = all_apart(rng, self.pool(rng), apart_from, least=1)
        few = found[: int(rng.roles.integers(1, 4))]
        return [str(color) for color in rng.textures.choice(few, count)]


@dataclass(kw_only=True, eq=False)
class OrderBoxes(ShapeTask):
    """Boxes in order on a drawn line or circle: six of different sizes, or five to seven of colors
    of the rainbow.
    """

    by_color: ClassVar[bool] = False  # whether colors give the order

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        colors, sides_m = self.boxes(rng)
        pool = [color for color in self.pool(rng) if color != TABLE_COLOR]
        drawn, *_ = all_apart(rng, pool, tuple(dict.fromkeys(colors)), least=1)
        place = scene.line(drawn) if self.figure == "line" else scene.circle(drawn)
        count, most = len(colors), len(self.slots) - 1
        order = rng.roles.permutation(count).tolist()
        boxes = [scene.block(colors[k], sides_m[k], kind="box") for k in order]
        objects, rank = scene.slots_of(boxes, most), padded(order, most)
        return scene.layout(**{"objects": objects, "rank": rank, self.anchor: place})

    def boxes(self, rng: EpisodeRng) -> tuple[Sequence[str], Sequence[float]]:
        """Return colors and sides of the boxes, in order.

        Raises:
            LayoutError: Too few colors look apart.
        """
        if not self.by_color:
            return self.mixed_colors(rng, len(BOX_SIDES_M)), BOX_SIDES_M
        found = all_apart(rng, RAINBOW, least=self.moves[0])
        count = int(rng.roles.integers(self.moves[0], len(found) + 1))
        colors = [color for color in RAINBOW if color in found[:count]]
        return colors, [SMALL_M] * count

    def fields(self, layout: Layout) -> Fields:
        drawn = layout.bodies[0]
        assert drawn is not None
        return {"line": drawn.color}


@dataclass(kw_only=True, eq=False)
class CircleWithMiddle(ShapeTask):
    """Six to eight blocks of one color around one of another color."""

    MOST = 8
    figure = "circle"
    parts = ("middle", "objects")

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        around, inside = self.colors(rng, 2)
        middle = scene.block(inside)
        blocks = [scene.block(around) for _ in range(int(rng.roles.integers(6, self.MOST + 1)))]
        return scene.layout(middle=middle.slot, objects=scene.slots_of(blocks, self.MOST))


@dataclass(kw_only=True, eq=False)
class ConcentricCircles(ShapeTask):
    """Blocks of one color form the inner circle, those of another one the outer circle.

    Attributes:
        fewer: Whether there are 4 and 8 blocks instead of 6 and 10.
    """

    COUNTS, FEWER = (6, 10), (4, 8)
    """Blocks of the inner and outer circle."""

    figure = "circles"
    parts = ("inner", "outer")

    fewer: bool = switch()

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        counts = self.FEWER if self.fewer else self.COUNTS
        circles = map(scene.slots_of, scene.deal(self.colors(rng, 2), counts), self.COUNTS)
        return scene.layout(**dict(zip(self.parts, circles, strict=True)))


@dataclass(kw_only=True, eq=False)
class BuildOutline(ShapeTask):
    """Blocks of one to three colors for a letter, or beside a large zone for a rectangle."""

    counts: ClassVar[tuple[int, ...]]  # how many there may be
    # size of the zone along x and y, if there is one
    zone_m: ClassVar[tuple[float, float] | None] = None

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        roles, colors = dict[str, object](), list[str]()
        if self.zone_m:
            colors = self.colors(rng, 1)
            roles["zone"] = scene.mat(colors[0], self.zone_m)
        count = int(rng.roles.choice(self.counts))
        blocks = [scene.block(each) for each in self.mixed_colors(rng, count, colors)]
        return scene.layout(objects=scene.slots_of(blocks, max(self.counts)), **roles)
