"""Tasks that put blocks into bowls: all of them, or those hidden under other blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import Tensor

from clevrskills.predicates import Keeping, Predicate, Set
from clevrskills.suites.lohoravens.palette import all_apart
from clevrskills.suites.lohoravens.predicates.constraints import NoneInBowl
from clevrskills.suites.lohoravens.predicates.put_in import InBowl
from clevrskills.suites.lohoravens.scene import BIG_M, SMALL_M, Block, FieldScene, padded
from clevrskills.suites.lohoravens.tasks.base import RavensTask
from clevrskills.tasks.bank import Fields
from clevrskills.tasks.layout import EpisodeRng, Layout

FEWEST, MOST = 5, 6
"""Number of bowls of :class:`SortIntoBowls`."""


@dataclass(kw_only=True, eq=False)
class SortIntoBowls(RavensTask):
    """Put each block into a bowl of its color, or of any other color.

    There are five or six bowls of different colors, and as many blocks or fewer. A bowl has room
    for one block.
    """

    predicates: ClassVar[tuple[type[Predicate], ...]] = (Set, InBowl)
    matching: ClassVar[bool] = True  # whether the colors of block and bowl must match or differ

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        colors = all_apart(rng, self.pool(rng), least=FEWEST)
        count = rng.number((FEWEST, min(MOST, len(colors))))
        number = rng.number((FEWEST, count))
        bowls = [scene.bowl(color) for color in colors[:count]]
        blocks = [scene.block(color) for color in colors[:number]]
        right = np.full((MOST, MOST), -1)
        for k in range(number):
            fitting = [b for i, b in enumerate(bowls) if (i == k) == self.matching]
            right[k, : len(fitting)] = fitting
        roles = {"objects": scene.slots_of(blocks, MOST), "bowls": right}
        return scene.layout(**roles, active=np.arange(MOST) < number)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        objects = roles["objects"].clamp(min=0)
        parts = map(InBowl, objects.unbind(1), roles["bowls"].unbind(1))
        return Set(tuple(parts), roles["active"])


@dataclass(kw_only=True, eq=False)
class HiddenBlocks(SortIntoBowls):
    """Put the blocks that support others into the bowls of their colors, and no other block."""

    predicates = (Keeping, Set, InBowl, NoneInBowl)
    most: ClassVar[int]  # greatest number of hidden blocks

    def hide(
        self, scene: FieldScene, hidden: Sequence[Block], bowls: Sequence[int], **roles: object
    ) -> Layout:
        """Return the layout; the first bowls are those of the hidden blocks, in their order."""
        own = {
            "objects": scene.slots_of(hidden, self.most),
            "bowls": padded(bowls[: len(hidden)], self.most)[:, None],
            "others": scene.other_slots(hidden, len(self.slots)),
            "all_bowls": padded(bowls, len(self.slots)),
        }
        return scene.layout(**own, active=np.arange(self.most) < len(hidden), **roles)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        return Keeping(super().goal(roles), NoneInBowl(roles["others"], roles["all_bowls"]))


@dataclass(kw_only=True, eq=False)
class HiddenInTowers(HiddenBlocks):
    """Towers of big blocks of one color, each on a small block of another color.

    Small blocks of the hidden colors are in sight, and there is a bowl for the big blocks' color.
    """

    towers: ClassVar[tuple[int, int]]  # least and greatest number of towers
    high: ClassVar[int]  # number of big blocks in each
    visible: ClassVar[tuple[int, int]]  # least and greatest number of small blocks in sight

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        count, visible = rng.number(self.towers), rng.number(self.visible)
        colors = all_apart(rng, self.pool(rng), least=count + 1)
        above, sides_m = [colors[count]] * self.high, (SMALL_M, *[BIG_M] * self.high)
        hidden = [scene.tower((color, *above), sides_m)[0] for color in colors[:count]]
        bowls = [scene.bowl(color) for color in colors[: count + 1]]
        for k in range(visible):
            scene.block(colors[k % count])
        return self.hide(scene, hidden, bowls)


@dataclass(kw_only=True, eq=False)
class HiddenInPyramid(HiddenBlocks):
    """A wall with rows of three, two and one small blocks.

    The lowest three differ in color, and each color has a bowl. The camera above sees about half
    of the tops of the outer two.
    """

    ROW, BOWLS = 3, (3, 5)

    most = ROW

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        colors = all_apart(rng, self.pool(rng), least=self.BOWLS[0])
        count = rng.number((self.BOWLS[0], min(self.BOWLS[1], len(colors))))
        upper = [str(color) for color in rng.textures.choice(colors, self.ROW)]
        lowest = scene.pyramid((colors[: self.ROW], upper[:2], upper[2:]))[: self.ROW]
        return self.hide(scene, lowest, [scene.bowl(color) for color in colors[:count]])


@dataclass(kw_only=True, eq=False)
class HiddenUnderBlock(HiddenBlocks):
    """A big block on a small one, whose color the sentence does not name.

    Another small block of that color is in sight.
    """

    BOWLS = (4, 5)

    most = 1

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        count = rng.number(self.BOWLS)
        colors = all_apart(rng, self.pool(rng), least=self.BOWLS[0])[:count]
        hidden, top = scene.tower(colors[:2], (SMALL_M, BIG_M))
        bowls = [scene.bowl(color) for color in colors]
        for color in (colors[0], *colors[2:]):
            scene.block(color)
        return self.hide(scene, [hidden], bowls, top=top.slot)

    def fields(self, layout: Layout) -> Fields:
        return {"top": layout.body("top").color}
