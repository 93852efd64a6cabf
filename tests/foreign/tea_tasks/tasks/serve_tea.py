"""Task: put the tea caddy on the saucer."""

from collections.abc import Mapping, Sequence

import numpy as np
from torch import Tensor

from clevrskills.assets import shape
from clevrskills.predicates import Predicate
from clevrskills.sim.body import Body
from clevrskills.tasks import DEFAULT_WORKSPACE, EpisodeRng, Layout, TableLayout, Task
from tea_tasks.predicates.served import Served


class ServeTea(Task):
    """The tea caddy stands on the saucer; something else lies about."""

    key = "serve_tea"
    level = "L1"
    sentence = "Put the tea caddy on the saucer"
    predicates = (Served,)
    slots = ("caddy", "saucer", "other")
    max_steps = 150

    def layout(self, rng: EpisodeRng) -> Layout:
        table = TableLayout(rng.places, DEFAULT_WORKSPACE)
        shapes = ["tea caddy", "saucer", *rng.choose(rng.pools.top, 1)]
        textures = ["linen", *rng.choose(rng.pools.texture_1, 2, "textures")]
        bodies = tuple(
            Body(slot, name, texture, table.place(shape(name)))
            for slot, name, texture in zip(self.slots, shapes, textures, strict=True)
        )
        return Layout(bodies, {"caddy": np.array(0), "saucer": np.array(1)})

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        return Served(roles["caddy"], roles["saucer"])

    def prompts(self, layout: Layout) -> Sequence[str]:
        return ["Serve {obj:caddy} on {obj:saucer}", "Put the tea caddy on the saucer"]
