"""Tasks whose blocks are hidden under others, and the scene they are laid out in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import Tensor

from clevrskills.predicates import Keeping, Predicate, Set
from clevrskills.suites.lohoravens.palette import all_apart
from clevrskills.suites.lohoravens.predicates.bowls import NoneInBowl
from clevrskills.suites.lohoravens.predicates.put_in import InBowl
from clevrskills.suites.lohoravens.scene import BIG_M, SMALL_M, Block, FieldScene, padded
from clevrskills.suites.lohoravens.tasks.base import RavensTask
from clevrskills.suites.lohoravens.tasks.bowls import into_bowls
from clevrskills.tasks.bank import Fields
from clevrskills.tasks.layout import EpisodeRng, Layout


@dataclass(kw_only=True, eq=False)
class HiddenBlocks(RavensTask):
    """Blocks that something stands on go into the bowls of their colors, the others into none."""

    predicates = (Keeping, Set, InBowl, NoneInBowl)
    most: ClassVar[int]  # greatest number of blocks that are asked for

    def hide(
        self, scene: FieldScene, meant: Sequence[Block], bowls: Sequence[int], **roles: object
    ) -> Layout:
        """Return the layout.

        Args:
            scene: What is laid out.
            meant: The blocks that are asked for.
            bowls: All bowls, first those of the blocks that are asked for, in turn.
            roles: Further roles.
        """
        own = {
            "objects": scene.slots_of(meant, self.most),
            "bowls": padded(bowls[: len(meant)], self.most)[:, None],
            "others": scene.others(meant, len(self.slots)),
            "all_bowls": padded(bowls, len(self.slots)),
        }
        return scene.layout(**own, active=np.arange(self.most) < len(meant), **roles)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        return Keeping(into_bowls(roles), NoneInBowl(roles["others"], roles["all_bowls"]))


@dataclass(kw_only=True, eq=False)
class HiddenInTowers(HiddenBlocks):
    """Towers of big blocks, each on a small one, the colors of which differ; small blocks of those
    colors lie in sight. Each of the lowest blocks goes into the bowl of its color; big blocks share
    a color, of which there is a bowl, too.
    """

    towers: ClassVar[tuple[int, int]]  # number of towers, at least and at most
    high: ClassVar[int]  # number of big blocks of each
    visible: ClassVar[tuple[int, int]]  # number of small blocks in sight, at least and at most

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        count = int(rng.roles.integers(self.towers[0], self.towers[1] + 1))
        visible = int(rng.roles.integers(self.visible[0], self.visible[1] + 1))
        colors = all_apart(rng, self.pool(rng), least=count + 1)
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

    most = ROW

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        colors = all_apart(rng, self.pool(rng), least=self.FEWEST_BOWLS)
        count = int(rng.roles.integers(self.FEWEST_BOWLS, min(self.MOST_BOWLS, len(colors)) + 1))
        upper = [str(color) for color in rng.textures.choice(colors, self.ROW)]
        lowest = scene.pyramid((colors[: self.ROW], upper[:2], upper[2:]))[: self.ROW]
        bowls = [scene.bowl(color) for color in colors[:count]]
        return self.hide(scene, lowest, bowls)


@dataclass(kw_only=True, eq=False)
class HiddenUnderBlock(HiddenBlocks):
    """A big block stands on a small one, whose color is not said; another small block of that color
    lies in sight.
    """

    FEWEST_BOWLS, MOST_BOWLS = 4, 5

    most = 1

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        count = int(rng.roles.integers(self.FEWEST_BOWLS, self.MOST_BOWLS + 1))
        colors = all_apart(rng, self.pool(rng), least=self.FEWEST_BOWLS)[:count]
        hidden, top = scene.tower(colors[:2], (SMALL_M, BIG_M))
        bowls = [scene.bowl(color) for color in colors]
        for color in (colors[0], *colors[2:]):
            scene.block(color)
        return self.hide(scene, [hidden], bowls, top=top.slot)

    def fields(self, layout: Layout) -> Fields:
        return {"top": layout.body("top").color}
