"""Put the lowest row of a pyramid into the bowls of their colors."""

from __future__ import annotations

from dataclasses import dataclass

from clevrskills.suites.lohoravens.tasks.base import block_slots
from clevrskills.suites.lohoravens.tasks.hidden._covered import HiddenBlocks, HiddenScene
from clevrskills.tasks.layout import EpisodeRng, Layout

ROW = 3
FEWEST_BOWLS, MOST_BOWLS = 3, 5


@dataclass(kw_only=True, eq=False)
class HiddenInPyramid(HiddenBlocks):
    """A wall of three, two and one small blocks; the lowest three have different colors, of each of
    which there is a bowl. About half of the tops of the outer ones is seen.
    """

    key = "hidden_in_pyramid"
    level = "unseen"
    moves = (6, 6)
    sentence = "Put the blocks in the lowest row of the pyramid into the bowls of the same colors"
    slots = block_slots(6, bowls=MOST_BOWLS)
    most, out_of_sight = ROW, False

    def layout(self, rng: EpisodeRng) -> Layout:
        scene = HiddenScene(rng, self.slots)
        colors = self.colors_of_blocks(rng, FEWEST_BOWLS)
        count = int(rng.roles.integers(FEWEST_BOWLS, min(MOST_BOWLS, len(colors)) + 1))
        upper = [str(color) for color in rng.textures.choice(colors, ROW)]
        lowest, *_ = scene.pyramid((colors[:ROW], upper[:2], upper[2:]))
        bowls = [scene.bowl(color) for color in colors[:count]]
        return self.hide(scene, 2 * ROW, lowest, bowls[:ROW])
