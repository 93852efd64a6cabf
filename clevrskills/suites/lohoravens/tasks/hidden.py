"""Tasks whose blocks are hidden under others, and the scene they are laid out in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import atan2, cos, sin
from typing import ClassVar

import numpy as np
from torch import Tensor

from clevrskills.assets import shape
from clevrskills.predicates import Keeping, Predicate, Set
from clevrskills.suites.lohoravens.palette import all_apart
from clevrskills.suites.lohoravens.predicates.bowls import NoneInBowl
from clevrskills.suites.lohoravens.predicates.put_in import InBowl
from clevrskills.suites.lohoravens.scene import (
    BIG_M,
    DENSITY,
    INNER,
    MIXED_GAP_M,
    SMALL_M,
    Block,
    FieldScene,
    padded,
)
from clevrskills.suites.lohoravens.setting import FIELD_MIDDLE_M, SETTING
from clevrskills.suites.lohoravens.tasks.base import RavensTask
from clevrskills.suites.lohoravens.tasks.bowls import into_bowls
from clevrskills.suites.lohoravens.tasks.catalog import block_slots
from clevrskills.suites.lohoravens.tasks.visibility import visible_share
from clevrskills.tasks.bank import Fields
from clevrskills.tasks.layout import EpisodeRng, Layout, LayoutError

MIDDLE_M = 0.25
"""How far to either side of the field's middle towers stand: from straight above, big blocks hide
what they are on."""
HIDDEN_SHARE = 0.02
"""Greatest share of a hidden block that the camera above the field sees."""
PITCH_M = 0.044
"""Distance of neighbors in a row of a pyramid."""
TURN_RAD = 0.1
"""Turn of every other block of a tower: where edges of equal blocks coincide, contacts push them
aside by up to 3 mm.
"""
TOWERS = replace(INNER, y_m=(FIELD_MIDDLE_M[1] - MIDDLE_M, FIELD_MIDDLE_M[1] + MIDDLE_M))


class HiddenScene(FieldScene):
    """A field with blocks on each other."""

    def tower(self, colors: Sequence[str], sides_m: Sequence[float]) -> list[Block]:
        """Put blocks on each other, the first one lowest, see :data:`TURN_RAD`.

        Raises:
            LayoutError: There is no free place.
        """
        wide = max(sides_m)
        x, y, _, w, _, _, z = self._table.place(
            shape("cube", (wide, wide, sum(sides_m)), DENSITY), workspace=TOWERS
        )
        found, height = list[Block](), 0.0
        for color, side_m in zip(colors, sides_m, strict=True):
            half = atan2(z, w) + TURN_RAD / 2 * (len(found) % 2)
            pose = (x, y, height + side_m / 2, cos(half), 0.0, 0.0, sin(half))
            found.append(self._add_block(color, side_m, pose))
            height += side_m
        return found

    def pyramid(self, rows: Sequence[Sequence[str]]) -> list[list[Block]]:
        """Put up a wall of small blocks, each row one shorter than the one below.

        Args:
            rows: Colors of each row, the lowest first.

        Raises:
            LayoutError: There is no free place.
        """
        length = PITCH_M * (len(rows[0]) - 1) + SMALL_M
        x, y, _, w, _, _, z = self._table.place(
            shape("cube", (length, SMALL_M, SMALL_M * len(rows)), DENSITY), workspace=TOWERS
        )
        yaw, found = 2 * atan2(z, w), []
        for level, colors in enumerate(rows):
            row = []
            for k, color in enumerate(colors):
                along = PITCH_M * (k - (len(colors) - 1) / 2)
                place = (x + along * cos(yaw), y + along * sin(yaw), SMALL_M * (level + 0.5))
                row.append(self._add_block(color, SMALL_M, (*place, w, 0.0, 0.0, z)))
            found.append(row)
        return found


@dataclass(kw_only=True, eq=False)
class HiddenBlocks(RavensTask):
    """Blocks that something stands on go into the bowls of their colors, the others into none.

    Attributes:
        most: Greatest number of blocks that are asked for.
        out_of_sight: Whether nothing is seen of them from above.
    """

    family = "hidden"
    predicates = (Keeping, Set, InBowl, NoneInBowl)
    most: ClassVar[int]
    out_of_sight: ClassVar[bool] = True

    def colors_of_blocks(self, rng: EpisodeRng, least: int) -> list[str]:
        """Return as many colors of the split as look apart, in a drawn order.

        Raises:
            LayoutError: There are too few.
        """
        colors = all_apart(rng, self.pool(rng))
        if len(colors) < least:
            raise LayoutError("too few colors that look apart")
        return colors

    def hide(
        self,
        scene: FieldScene,
        meant: Sequence[Block],
        bowls: Sequence[int],
        **roles: object,
    ) -> Layout:
        """Return the layout, if what is hidden is so.

        Args:
            scene: What is laid out.
            meant: The blocks that are asked for.
            bowls: All bowls, first those of the blocks that are asked for, in turn.
            roles: Further roles.

        Raises:
            LayoutError: A hidden block is seen.
        """
        own = {
            "objects": scene.slots_of(meant, self.most),
            "bowls": padded(bowls[: len(meant)], self.most)[:, None],
            "others": scene.others(meant, len(self.slots)),
            "all_bowls": padded(bowls, len(self.slots)),
        }
        layout = scene.layout(**own, active=np.arange(self.most) < len(meant), **roles)
        if self.out_of_sight:
            check_hidden(layout, [block.slot for block in meant])
        return layout

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        return Keeping(into_bowls(roles), NoneInBowl(roles["others"], roles["all_bowls"]))


def check_hidden(layout: Layout, slots: Sequence[int]) -> None:
    """Check that blocks are seen by no camera above the field.

    Raises:
        LayoutError: One is.
    """
    blocks = {k: body for k, body in enumerate(layout.bodies) if body and body.movable}
    for slot in slots:
        others = [body for k, body in blocks.items() if k != slot]
        for camera, most in (("map", 0.0), ("top", HIDDEN_SHARE)):
            if visible_share(blocks[slot], others, SETTING.cameras[camera]) > most:
                raise LayoutError(f"a hidden block is seen by {camera}")


@dataclass(kw_only=True, eq=False)
class HiddenInTowers(HiddenBlocks):
    """Towers of big blocks, each on a small one, the colors of which differ; small blocks of those
    colors lie in sight. Each of the lowest blocks goes into the bowl of its color; big blocks share
    a color, of which there is a bowl, too.

    Attributes:
        towers: Number of towers, at least and at most.
        high: Number of big blocks of each.
        visible: Number of small blocks in sight, at least and at most.
    """

    towers: ClassVar[tuple[int, int]]
    high: ClassVar[int]
    visible: ClassVar[tuple[int, int]]

    def layout(self, rng: EpisodeRng) -> Layout:
        scene = HiddenScene(rng, self.slots, MIXED_GAP_M)
        count = int(rng.roles.integers(self.towers[0], self.towers[1] + 1))
        visible = int(rng.roles.integers(self.visible[0], self.visible[1] + 1))
        colors = self.colors_of_blocks(rng, count + 1)
        top = colors[count]
        sides_m = (SMALL_M, *[BIG_M] * self.high)
        hidden = [scene.tower((color, *[top] * self.high), sides_m)[0] for color in colors[:count]]
        bowls = [scene.bowl(color) for color in colors[: count + 1]]
        for k in range(visible):
            scene.block(colors[k % count])
        return self.hide(scene, hidden, bowls)


@dataclass(kw_only=True, eq=False)
class HiddenInPyramid(HiddenBlocks):
    """A wall of three, two and one small blocks; the lowest three have different colors, of each of
    which there is a bowl. About half of the tops of the outer ones is seen.
    """

    ROW, FEWEST_BOWLS, MOST_BOWLS = 3, 3, 5

    slots = block_slots(6, bowls=MOST_BOWLS)
    most, out_of_sight = ROW, False

    def layout(self, rng: EpisodeRng) -> Layout:
        scene = HiddenScene(rng, self.slots, MIXED_GAP_M)
        colors = self.colors_of_blocks(rng, self.FEWEST_BOWLS)
        count = int(rng.roles.integers(self.FEWEST_BOWLS, min(self.MOST_BOWLS, len(colors)) + 1))
        upper = [str(color) for color in rng.textures.choice(colors, self.ROW)]
        lowest, *_ = scene.pyramid((colors[: self.ROW], upper[:2], upper[2:]))
        bowls = [scene.bowl(color) for color in colors[:count]]
        return self.hide(scene, lowest, bowls)


@dataclass(kw_only=True, eq=False)
class HiddenUnderBlock(HiddenBlocks):
    """A big block stands on a small one, whose color is not said; another small block of that color
    lies in sight.
    """

    FEWEST_BOWLS, MOST_BOWLS = 4, 5

    slots = block_slots(6, bowls=MOST_BOWLS)
    most = 1

    def layout(self, rng: EpisodeRng) -> Layout:
        scene = HiddenScene(rng, self.slots, MIXED_GAP_M)
        count = int(rng.roles.integers(self.FEWEST_BOWLS, self.MOST_BOWLS + 1))
        colors = self.colors_of_blocks(rng, self.FEWEST_BOWLS)[:count]
        hidden, top = scene.tower(colors[:2], (SMALL_M, BIG_M))
        bowls = [scene.bowl(color) for color in colors]
        for color in (colors[0], *colors[2:]):
            scene.block(color)
        return self.hide(scene, [hidden], bowls, top=top.slot)

    def fields(self, layout: Layout) -> Fields:
        return {"top": layout.body("top").color}
