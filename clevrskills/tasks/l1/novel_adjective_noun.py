"""Put an object told by an invented adjective and noun on one told by another noun."""

from collections.abc import Mapping, Sequence

import numpy as np
from torch import Tensor

from clevrskills.predicates import OnTop, Predicate
from clevrskills.tasks.layout import EpisodeRng, Layout
from clevrskills.tasks.novel import (
    ADJECTIVES,
    NovelAdjectiveTask,
    comparisons,
    named,
    picture_radius_m,
)


class NovelAdjectiveNoun(NovelAdjectiveTask):
    """As ``novel_adjective``, with objects told by nouns as in ``novel_noun`` (paper, appendix A.2,
    task 7).
    """

    key = "novel_adjective_noun"
    level = "L1"
    sentence = "Put the thing that an invented adjective fits on another, both of invented nouns"
    predicates = (OnTop,)

    def layout(self, rng: EpisodeRng) -> Layout:
        scene, pairs = self.scene(rng)
        adjective = rng.choose(ADJECTIVES, 1, "roles")[0]
        base, thing = scene[0], scene[2]
        examples, nouns = named(rng, [thing, base])
        return Layout(
            tuple(scene),
            {"top": np.array(1), "bottom": np.array(0)},
            examples=(*pairs, *examples),
            picture_radius_m=picture_radius_m([*scene, *pairs]),
            words=(adjective, *nouns),
        )

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        return OnTop(roles["top"], roles["bottom"])

    def prompts(self, layout: Layout) -> Sequence[str]:
        adjective, noun, base = layout.words
        pairs = (len(layout.examples) - 2) // 2
        return [
            f"This is a {noun} {{obj:noun_0}}. This is a {base} {{obj:noun_1}}."
            f" {comparisons(adjective, pairs)} Put the {adjective} {noun} on {base}"
        ]
