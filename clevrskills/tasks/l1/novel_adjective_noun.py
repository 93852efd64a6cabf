"""Put an object told by an invented adjective and noun on one told by another noun."""

from collections.abc import Sequence

from clevrskills.tasks.layout import EpisodeRng, Layout
from clevrskills.tasks.novel import ADJECTIVES, NovelAdjectiveTask, comparisons, named


class NovelAdjectiveNoun(NovelAdjectiveTask):
    """As ``novel_adjective``, with objects told by nouns as in ``novel_noun`` (paper, appendix A.2,
    task 7).
    """

    key = "novel_adjective_noun"
    sentence = "Put the thing that an invented adjective fits on another, both of invented nouns"

    def layout(self, rng: EpisodeRng) -> Layout:
        scene, pairs = self.scene(rng)
        adjective = rng.choose(ADJECTIVES, 1, "roles")[0]
        base, thing = scene[0], scene[2]
        examples, nouns = named(rng, [thing, base])
        return self.lay(scene, pairs, examples, [adjective, *nouns])

    def prompts(self, layout: Layout) -> Sequence[str]:
        adjective, noun, base = layout.words
        pairs = (len(layout.examples) - 2) // 2
        return [
            f"This is a {noun} {{obj:noun_0}}. This is a {base} {{obj:noun_1}}."
            f" {comparisons(adjective, pairs)} Put the {adjective} {noun} on {base}"
        ]
