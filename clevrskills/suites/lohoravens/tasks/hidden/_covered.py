"""Base of tasks whose blocks are hidden under others, and the scene they are laid out in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import atan2, cos, sin
from typing import ClassVar

import numpy as np
from torch import Tensor

from clevrskills.assets import shape
from clevrskills.predicates import Predicate, Set
from clevrskills.sim.body import Body, Pose
from clevrskills.suites.lohoravens.palette import all_apart, texture_of
from clevrskills.suites.lohoravens.predicates.put_in import InBowl
from clevrskills.suites.lohoravens.scene import (
    DENSITY,
    INNER,
    MIXED_GAP_M,
    SMALL_M,
    Block,
    FieldScene,
)
from clevrskills.suites.lohoravens.setting import FIELD_MIDDLE_M, SETTING
from clevrskills.suites.lohoravens.tasks.base import RavensTask
from clevrskills.suites.lohoravens.tasks.hidden._visibility import visible_share
from clevrskills.tasks.layout import EpisodeRng, Layout, LayoutError

MIDDLE_M = 0.25
"""How far to either side of the field's middle towers stand: from straight above, big blocks hide
what they are on."""
HIDDEN_SHARE = 0.02
"""Greatest share of a hidden block that the camera above the field sees."""
PITCH_M = 0.044
"""Distance of neighbors in a row of a pyramid."""
TOWERS = replace(INNER, y_m=(FIELD_MIDDLE_M[1] - MIDDLE_M, FIELD_MIDDLE_M[1] + MIDDLE_M))


class HiddenScene(FieldScene):
    """A field with blocks on each other."""

    def __init__(self, rng: EpisodeRng, slots: tuple[str, ...]) -> None:
        super().__init__(rng, slots, MIXED_GAP_M)

    def tower(self, colors: Sequence[str], sides_m: Sequence[float]) -> list[Block]:
        """Put blocks on each other, the first one lowest, all turned alike.

        Raises:
            LayoutError: There is no free place.
        """
        wide = max(sides_m)
        x, y, _, w, _, _, z = self._table.place(
            shape("cube", (wide, wide, sum(sides_m)), DENSITY), workspace=TOWERS
        )
        found, height = [], 0.0
        for color, side_m in zip(colors, sides_m, strict=True):
            pose = (x, y, height + side_m / 2, w, 0.0, 0.0, z)
            found.append(self._stacked(color, side_m, pose))
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
                row.append(self._stacked(color, SMALL_M, (*place, w, 0.0, 0.0, z)))
            found.append(row)
        return found

    def _stacked(self, color: str, side_m: float, pose: Pose) -> Block:
        texture, size = texture_of(color), (side_m,) * 3
        slot = self._enter(
            "block",
            lambda key: Body(key, "cube", texture, pose, size, density=DENSITY, noun="block"),
        )
        self.blocks.append(Block(slot, color, side_m, (pose[0], pose[1])))
        return self.blocks[-1]


@dataclass(kw_only=True, eq=False)
class HiddenBlocks(RavensTask):
    """Blocks that something stands on go into the bowls of their colors.

    Attributes:
        most: Greatest number of blocks that are asked for.
        out_of_sight: Whether nothing is seen of them from above.
    """

    family = "hidden"
    capabilities = ("color", "occlusion", "commonsense")
    predicates: ClassVar[tuple[type[Predicate], ...]] = (Set, InBowl)
    most: ClassVar[int]
    out_of_sight: ClassVar[bool] = True

    def colors_of_blocks(self, rng: EpisodeRng, least: int) -> list[str]:
        """As many colors of the split as look apart, in a drawn order.

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
        n_min: int,
        meant: Sequence[Block],
        bowls: Sequence[int],
        **roles: object,
    ) -> Layout:
        """The layout, if what is hidden is so.

        Args:
            scene: What is laid out.
            n_min: How many moves it takes.
            meant: The blocks that are asked for.
            bowls: The bowl of each.
            roles: Further roles.

        Raises:
            LayoutError: A hidden block is seen.
        """
        right = np.full((self.most, 1), -1)
        right[: len(bowls), 0] = bowls
        own = {"objects": scene.slots_of(list(meant), self.most), "bowls": right}
        layout = scene.layout(n_min, **own, active=np.arange(self.most) < len(meant), **roles)
        if self.out_of_sight:
            check_hidden(layout, [block.slot for block in meant])
        return layout

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        objects, bowls = roles["objects"].clamp(min=0), roles["bowls"]
        parts = tuple(InBowl(objects[:, k], bowls[:, k]) for k in range(self.most))
        return Set(parts, roles["active"])


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
