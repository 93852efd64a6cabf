"""Task ``throw_topple``."""

from dataclasses import dataclass

from clevrskills.predicates import HitToppled
from clevrskills.tasks.layout import EpisodeRng, Layout
from clevrskills.tasks.throwing import Throwing


@dataclass(kw_only=True, eq=False)
class ThrowTopple(Throwing):
    """The object, in the gripper at the start, is thrown at another one, which falls over (paper,
    appendix A.1, task 8). It must fly there, as in ``throw``.
    """

    key = "throw_topple"
    sentence = "Throw the object to the other one such that it falls over"
    predicates = (HitToppled,)
    predicate = HitToppled
    target_m = (0.05, 0.05, 0.25)

    def layout(self, rng: EpisodeRng) -> Layout:
        return self.scene(rng, "object")
