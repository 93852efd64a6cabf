"""Put the one of two like objects that an invented adjective fits on another object."""

from dataclasses import replace

from clevrskills.tasks.bank import Fields
from clevrskills.tasks.layout import EpisodeRng, Layout
from clevrskills.tasks.novel import ADJECTIVES, PLAIN_POSE, NovelAdjectiveTask, fields


class NovelAdjective(NovelAdjectiveTask):
    """Pairs of objects in the prompt, alike but for their size, show what the adjective means:
    larger, smaller, taller or shorter. The object that it fits lies on the table beside its twin
    (paper, appendix A.2, task 5). All objects of the prompt are shown at the same scale, what is to
    be put at the natural size of its shape, which either of the two may have.
    """

    key = "novel_adjective"
    sentence = "Put the object that an invented adjective fits on another one"

    def layout(self, rng: EpisodeRng) -> Layout:
        layout, natural = self.scene(rng)
        adjective = rng.choose(ADJECTIVES, 1, "roles")[0]
        thing = replace(natural, key="thing", pose=PLAIN_POSE, qualifier="")
        return replace(layout, examples=(*layout.examples, thing), words=(adjective,))

    def fields(self, layout: Layout) -> Fields:
        return fields(layout)
