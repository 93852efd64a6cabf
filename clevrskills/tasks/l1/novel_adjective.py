"""Put the one of two like objects that an invented adjective fits on another object."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from torch import Tensor

from clevrskills.predicates import OnTop, Predicate
from clevrskills.tasks.layout import EpisodeRng, Layout
from clevrskills.tasks.novel import (
    ADJECTIVES,
    NovelAdjectiveTask,
    comparisons,
    picture_radius_m,
)


class NovelAdjective(NovelAdjectiveTask):
    """Pairs of objects in the prompt, alike but for their size, show what the adjective means:
    larger, smaller, taller or shorter. The object that it fits lies on the table beside its twin
    (paper, appendix A.2, task 5). All objects of the prompt are shown at the same scale.
    """

    key = "novel_adjective"
    level = "L1"
    sentence = "Put the object that an invented adjective fits on another one"
    predicates = (OnTop,)

    def layout(self, rng: EpisodeRng) -> Layout:
        scene, pairs = self.scene(rng)
        adjective = rng.choose(ADJECTIVES, 1, "roles")[0]
        thing = replace(scene[2], key="thing", qualifier="")
        return Layout(
            tuple(scene),
            {"top": np.array(1), "bottom": np.array(0)},
            examples=(*pairs, thing),
            picture_radius_m=picture_radius_m([*scene, *pairs]),
            words=(adjective,),
        )

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        return OnTop(roles["top"], roles["bottom"])

    def prompts(self, layout: Layout) -> Sequence[str]:
        (adjective,) = layout.words
        pairs = (len(layout.examples) - 1) // 2
        return [
            f"{comparisons(adjective, pairs)} Put the {adjective} {{obj:thing}} on {{obj:base_0}}"
        ]
