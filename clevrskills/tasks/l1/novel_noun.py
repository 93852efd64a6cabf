"""Task ``novel_noun``."""

from dataclasses import replace

from clevrskills.tasks.bank import Fields
from clevrskills.tasks.l1.simple_manipulation import SimpleManipulation
from clevrskills.tasks.layout import EpisodeRng, Layout
from clevrskills.tasks.novel import fields, named


class NovelNoun(SimpleManipulation):
    """Placement as in ``simple_manipulation`` of objects with invented nouns (paper, appendix A.2,
    task 6). The prompt shows untextured examples with their nouns, so objects must be recognized by
    their shape. No shape is on the table twice.
    """

    key = "novel_noun"
    sentence = "Put one object on another, both named by invented nouns"

    def layout(self, rng: EpisodeRng) -> Layout:
        layout = super().layout(rng)
        examples, words = named(rng, [layout.body("top"), layout.body("bottom")])
        return replace(layout, examples=examples, words=words)

    def fields(self, layout: Layout) -> Fields:
        top, bottom = layout.words
        return {**fields(layout), "top": top, "bottom": bottom}
