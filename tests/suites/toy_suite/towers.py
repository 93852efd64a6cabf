"""Towers: a suite in which an arm builds towers of blocks in the order of the prompt."""

import numpy as np

from clevrskills.core.suite import register_envs
from clevrskills.predicates import OnTop
from clevrskills.predicates import Sequence as InSequence
from clevrskills.suites.tabletop import TabletopSuite
from clevrskills.tasks import FAR_WORKSPACE, Layout, Task

SIZE_M = (0.10, 0.10, 0.05)


class Tower(Task):
    suite = "towers"
    predicates = (InSequence, OnTop)

    def layout(self, rng):
        blocks = len(self.slots)
        shapes = rng.choose(rng.pools.primitive, blocks)
        textures = rng.textures_for(shapes, rng.pools.textures_1, in_turn=True)
        table = rng.table(FAR_WORKSPACE)
        bodies = table.place_all(self.slots, shapes, textures, [SIZE_M] * blocks)
        return Layout(bodies, {"order": np.arange(blocks)})

    def goal(self, roles):
        blocks = roles["order"].unbind(-1)
        pairs = zip(blocks, blocks[1:], strict=False)
        return InSequence(tuple(OnTop(top, bottom) for bottom, top in pairs))

    def prompts(self, layout):
        first, *others = (f"{{obj:{slot}}}" for slot in self.slots)
        return [f"Build a tower on {first}: put on it " + ", then ".join(others)]


class TowerOfTwo(Tower):
    key, level, max_steps = "tower_of_two", "T1", 150
    sentence = "Put one block on the other"
    slots = ("block_0", "block_1")


class TowerOfThree(Tower):
    key, level, max_steps = "tower_of_three", "T2", 300
    sentence = "Put two blocks on another one, in the order that is asked for"
    slots = ("block_0", "block_1", "block_2")


class Towers(TabletopSuite):
    name, title = "towers", "Towers"

    def task_types(self):
        return {task.key: task for task in (TowerOfTwo, TowerOfThree)}


register_envs(Towers())
