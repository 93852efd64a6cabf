"""Task ``novel_adjective_noun``."""

from dataclasses import replace

from clevrskills.tasks.bank import Fields
from clevrskills.tasks.layout import EpisodeRng, Layout
from clevrskills.tasks.novel import ADJECTIVES, NovelAdjectiveTask, fields, named


class NovelAdjectiveNoun(NovelAdjectiveTask):
    """Adjective as in ``novel_adjective`` for objects with nouns as in ``novel_noun`` (paper,
    appendix A.2, task 7).
    """

    key = "novel_adjective_noun"
    sentence = "Put the object of an invented adjective on another, both named by invented nouns"

    def layout(self, rng: EpisodeRng) -> Layout:
        layout, body = self.scene(rng)
        adjective = rng.choose(ADJECTIVES, 1, "roles")[0]
        examples, nouns = named(rng, [body, layout.body("bottom")], adjective)
        return replace(layout, examples=layout.examples + examples, words=(adjective, *nouns))

    def fields(self, layout: Layout) -> Fields:
        _, noun, base = layout.words
        return {**fields(layout), "noun": noun, "base": base}
