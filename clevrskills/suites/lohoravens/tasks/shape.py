"""Tasks that arrange blocks in a shape: lines, circles, a letter, a rectangle."""

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
"""Color that is not used for drawn lines and circles: the table is of wood."""
BOX_SIDES_M = (0.030, 0.035, 0.040, 0.045, 0.050, 0.055)
"""Sides of boxes that differ in size."""
RAINBOW = ("red", "orange", "yellow", "green", "cyan", "blue", "purple")


@dataclass(kw_only=True, eq=False)
class ShapeTask(RavensTask):
    """Arrange blocks in a figure of :mod:`~clevrskills.suites.lohoravens.predicates.figures`."""

    predicates = (Forms,)
    figure: ClassVar[str]  # name of the figure
    # roles with its blocks, one for each group of interchangeable blocks
    parts: ClassVar[tuple[str, ...]] = ("objects",)
    anchor: ClassVar[str] = ""  # role with the middle of a drawn figure, empty for none

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
        """Return the colors of some blocks: one to three that look apart from each other and from
        others.

        Raises:
            LayoutError: There is none.
        """
        found = all_apart(rng, self.pool(rng), apart_from, least=1)[: rng.number((1, 3))]
        return [str(color) for color in rng.textures.choice(found, count)]


@dataclass(kw_only=True, eq=False)
class OrderBoxes(ShapeTask):
    """Boxes in order on a drawn line or circle, by size or by the colors of the rainbow."""

    by_color: ClassVar[bool] = False  # whether colors or sizes give the order

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        colors, sides_m = self.boxes(rng)
        pool = [color for color in self.pool(rng) if color != TABLE_COLOR]
        drawn, *_ = all_apart(rng, pool, tuple(dict.fromkeys(colors)), least=1)
        place = scene.line(drawn) if self.figure == "line" else scene.circle(drawn)
        most, order = len(self.slots) - 1, rng.roles.permutation(len(colors)).tolist()
        boxes = [scene.block(colors[k], sides_m[k], kind="box") for k in order]
        objects, rank = scene.slots_of(boxes, most), padded(order, most)
        return scene.layout(**{"objects": objects, "rank": rank, self.anchor: place})

    def boxes(self, rng: EpisodeRng) -> tuple[Sequence[str], Sequence[float]]:
        """Return the colors and sides of the boxes, in order.

        Raises:
            LayoutError: Too few colors look apart.
        """
        if not self.by_color:
            return self.mixed_colors(rng, len(BOX_SIDES_M)), BOX_SIDES_M
        found = all_apart(rng, RAINBOW, least=self.moves[0])
        count = rng.number((self.moves[0], len(found)))
        return [color for color in RAINBOW if color in found[:count]], [SMALL_M] * count

    def fields(self, layout: Layout) -> Fields:
        return {"line": layout.slot(0).color}


@dataclass(kw_only=True, eq=False)
class CircleWithMiddle(ShapeTask):
    """Six to eight blocks of one color around a block of another color."""

    COUNT = (6, 8)
    figure = "circle"
    parts = ("middle", "objects")

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        around, inside = self.colors(rng, 2)
        middle, blocks = scene.block(inside), scene.row([around] * rng.number(self.COUNT))
        return scene.layout(middle=middle.slot, objects=scene.slots_of(blocks, self.COUNT[1]))


@dataclass(kw_only=True, eq=False)
class ConcentricCircles(ShapeTask):
    """Blocks of one color in an inner circle, blocks of another color in an outer circle.

    Attributes:
        fewer: Whether there are 4 and 8 blocks instead of 6 and 10.
    """

    COUNTS, FEWER = (6, 10), (4, 8)
    """Number of blocks in the inner and outer circle."""

    figure = "circles"
    parts = ("inner", "outer")

    fewer: bool = switch()

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        counts = self.FEWER if self.fewer else self.COUNTS
        circles = map(scene.slots_of, scene.deal(self.colors(rng, 2), counts), self.COUNTS)
        return scene.layout(**dict(zip(self.parts, circles, strict=True)))


@dataclass(kw_only=True, eq=False)
class BuildOutline(ShapeTask):
    """A letter, or a rectangle on a large zone, of blocks of one to three colors."""

    counts: ClassVar[tuple[int, ...]]  # possible numbers of blocks
    # size of the zone along x and y; ``None`` for no zone
    zone_m: ClassVar[tuple[float, float] | None] = None

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        roles, colors = dict[str, object](), list[str]()
        if self.zone_m:
            colors = self.colors(rng, 1)
            roles["zone"] = scene.mat(colors[0], self.zone_m)
        blocks = scene.row(self.mixed_colors(rng, int(rng.roles.choice(self.counts)), colors))
        return scene.layout(objects=scene.slots_of(blocks, max(self.counts)), **roles)
