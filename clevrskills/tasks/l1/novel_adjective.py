"""Task ``novel_adjective``."""

from dataclasses import replace

from clevrskills.tasks.bank import Fields
from clevrskills.tasks.layout import EpisodeRng, Layout
from clevrskills.tasks.novel import ADJECTIVES, PLAIN_POSE, NovelAdjectiveTask, fields


class NovelAdjective(NovelAdjectiveTask):
    """The object that an invented adjective describes rests on another one, not its twin (paper,
    appendix A.2, task 5).

    Pairs in the prompt, which differ only in size, define the adjective: larger, smaller, taller or
    shorter. Images of the prompt have the same scale. They show the object at the natural size of
    its shape, which either of the two may have.
    """

    key = "novel_adjective"
    sentence = "Put the object of an invented adjective on another one"

    def layout(self, rng: EpisodeRng) -> Layout:
        layout, natural = self.scene(rng)
        adjective = rng.choose(ADJECTIVES, 1, "roles")[0]
        example = replace(natural, key="thing", pose=PLAIN_POSE, qualifier="")
        return replace(layout, examples=(*layout.examples, example), words=(adjective,))

    def fields(self, layout: Layout) -> Fields:
        return fields(layout)
