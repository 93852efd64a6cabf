"""Task ``throw``."""

from dataclasses import dataclass

from clevrskills.predicates import Hit
from clevrskills.tasks.arguments import choice
from clevrskills.tasks.layout import EpisodeRng, Layout
from clevrskills.tasks.throwing import Throwing


@dataclass(kw_only=True, eq=False)
class Throw(Throwing):
    """The object, in the gripper at the start, is thrown at a target out of reach and hits it
    (paper, appendix A.1, task 7). It must fly there; sliding or bouncing does not count.
    """

    key = "throw"
    sentence = "Throw the object to the other one"
    predicates = (Hit,)
    target_m = (0.05, 0.05, 0.15)

    # kinds of targets: a flat ``area`` on the table or a standing ``object``
    targets: tuple[str, ...] = choice("area", "object")

    def layout(self, rng: EpisodeRng) -> Layout:
        return self.scene(rng, self.targets[rng.roles.integers(len(self.targets))])
