"""Base of tasks with blocks hidden at the bottom of towers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clevrskills.suites.lohoravens.scene import BIG_M, SMALL_M
from clevrskills.suites.lohoravens.tasks.hidden._covered import HiddenBlocks, HiddenScene
from clevrskills.tasks.layout import EpisodeRng, Layout


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
        scene = HiddenScene(rng, self.slots)
        count = int(rng.roles.integers(self.towers[0], self.towers[1] + 1))
        visible = int(rng.roles.integers(self.visible[0], self.visible[1] + 1))
        colors = self.colors_of_blocks(rng, count + 1)
        top = colors[count]
        sides_m = (SMALL_M, *[BIG_M] * self.high)
        hidden = [scene.tower((color, *[top] * self.high), sides_m)[0] for color in colors[:count]]
        bowls = [scene.bowl(color) for color in colors[: count + 1]]
        for k in range(visible):
            scene.block(colors[k % count])
        return self.hide(scene, count * (self.high + 1), hidden, bowls[:count])
