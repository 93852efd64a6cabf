"""Base of tasks with invented words, and pairs of objects that define an adjective."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from torch import Tensor

from clevrskills.assets import shape
from clevrskills.predicates import OnTop, Predicate
from clevrskills.sim.body import Body
from clevrskills.tasks.arguments import Count, choice, count
from clevrskills.tasks.base import Task
from clevrskills.tasks.layout import EpisodeRng, Layout
from clevrskills.tasks.leaf_slots import listed

NOUNS = ("dax", "blicket", "wug", "zup")
ADJECTIVES = ("daxer", "blicker", "modier", "kobar")
STEM = 3
"""Letters of a stem; no prompt has two words with the same stem, such as ``daxer`` and ``dax``."""
SIZES = {
    "larger": ((1.5, 1.5, 1.5), "large", "small"),
    "smaller": ((0.7, 0.7, 0.7), "small", "large"),
    "taller": ((1.0, 1.0, 1.8), "tall", "short"),
    "shorter": ((1.0, 1.0, 0.6), "short", "tall"),
}
"""Meanings of adjectives: scale of the object with the property, its name and that of its twin."""
WIDTH_M, HEIGHT_M = (0.045, 0.14), (0.016, 0.13)
"""Sizes that a cup seals on, and that leave room on the table."""
PLAIN_POSE = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
"""Pose of bodies that only the prompt shows."""

Size = tuple[float, float, float]


def scaled(name: str, scale: Size, power: int = 1) -> Size:
    """Return the size of a shape in meters, scaled by ``scale ** power``."""
    size = 2.0 * np.array(shape(name).half_extents) * np.array(scale) ** power
    x, y, z = np.round(size, 5).tolist()
    return x, y, z


def fits(name: str, scale: Size) -> bool:
    """Return whether a shape can be handled unscaled and scaled up and down."""
    for size in (scaled(name, scale, power) for power in (1, 0, -1)):
        if not (
            WIDTH_M[0] <= min(size[:2])
            and max(size[:2]) <= WIDTH_M[1]
            and HEIGHT_M[0] <= size[2] <= HEIGHT_M[1]
        ):
            return False
    return True


def named(
    rng: EpisodeRng, bodies: list[Body], adjective: str = ""
) -> tuple[tuple[Body, ...], tuple[str, ...]]:
    """Return untextured examples of bodies, ``noun_0`` etc., with different nouns, none of the stem
    of an adjective.
    """
    nouns = [noun for noun in NOUNS if noun[:STEM] != adjective[:STEM]]
    examples = [Body(f"noun_{i}", body.shape, None, PLAIN_POSE) for i, body in enumerate(bodies)]
    return tuple(examples), tuple(rng.choose(nouns, len(bodies), "roles"))


@dataclass(kw_only=True, eq=False)
class NovelAdjectiveTask(Task):
    """Base of tasks with a pair of objects that differ only in size."""

    level: ClassVar = "L1"
    predicates: ClassVar = (OnTop,)
    composition: ClassVar = ("combinations", "roles")
    count_argument: ClassVar = "num_examples"
    slots: ClassVar = ("base_0", "object_0", "object_1")
    parts: ClassVar = ("top", "bottom")
    max_steps: ClassVar = 200

    num_examples: Count = count(1, 3, most=4)  # pairs in the prompt that define the adjective
    meanings: tuple[str, ...] = choice(*SIZES)  # possible meanings of the adjective

    def scene(self, rng: EpisodeRng) -> tuple[Layout, Body]:
        """Sample a base, two objects, one of which has the property, and example pairs.

        In the pairs ``example_0``, ``example_1`` etc. the one with the property comes first. Either
        of a pair has the natural size of its shape, so that only the definition tells which is
        meant.

        Returns:
            The layout, and the object of natural size.
        """
        meaning = self.meanings[int(rng.roles.integers(len(self.meanings)))]
        scale, word, opposite = SIZES[meaning]
        examples = rng.number(self.num_examples)
        pools = rng.pools
        base = rng.choose(pools.base + pools.primitive, 1)[0]
        movable = [n for n in pools.movable if n != base and fits(n, scale)]
        shapes = rng.choose(movable, 1 + examples)
        textures = rng.textures_for(shapes, pools.textures_1)
        base_texture = rng.textures_for([base], pools.textures_2)[0]
        table, base_size = rng.table(), rng.size_m(base)
        base_pose = table.place(shape(base, base_size))
        natural = rng.roles.integers(2, size=1 + examples)  # which of each pair has its own size
        pairs: list[list[Body]] = []
        for i, (name, texture) in enumerate(zip(shapes, textures, strict=True)):
            pair = []
            for k, (power, qualifier) in enumerate(((1, word), (-1, opposite))):
                size = scaled(name, scale, 0 if k == natural[i] else power)
                pose = PLAIN_POSE if i else table.place(shape(name, size))
                key = f"example_{2 * (i - 1) + k}"
                pair.append(Body(key, name, texture, pose, size, qualifier=qualifier))
            pairs.append(pair)
        bodies = [Body("base_0", base, base_texture, base_pose, base_size)]
        bodies += [replace(body, key=f"object_{k}") for k, body in enumerate(pairs[0])]
        roles = {"top": np.array(1), "bottom": np.array(0)}
        shown = tuple(body for pair in pairs[1:] for body in pair)
        most_m = max(body.geometry.visible_radius_m for body in (*bodies, *shown))
        layout = Layout(tuple(bodies), roles, examples=shown, picture_radius_m=most_m)
        return layout, pairs[0][natural[0]]

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        return OnTop(roles["top"], roles["bottom"])


def fields(layout: Layout) -> dict[str, str | Body]:
    """Return slots with the examples and, for example pairs, the definition of the adjective, the
    first invented word: ``examples`` in one sentence per pair, ``comparisons`` in a single one.
    """
    shown: dict[str, str | Body] = {body.key: body for body in layout.examples}
    firsts = [key for key in shown if key.startswith("example_")][::2]
    if not firsts:
        return shown
    pairs = [
        f"{{obj:{key}}} is {layout.words[0]} than {{obj:example_{2 * k + 1}}}"
        for k, key in enumerate(firsts)
    ]
    named = {"adjective": layout.words[0], "examples": ". ".join(pairs)}
    return {**shown, **named, "comparisons": listed(pairs)}
