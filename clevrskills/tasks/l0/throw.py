"""Throw an object at something out of reach."""

from dataclasses import dataclass

from clevrskills.predicates import Hit
from clevrskills.tasks.arguments import choice
from clevrskills.tasks.layout import EpisodeRng, Layout
from clevrskills.tasks.throwing import Throwing


@dataclass(kw_only=True, eq=False)
class Throw(Throwing):
    """The object, in the gripper at the start, is thrown at something out of reach and hits it
    (paper, appendix A.1, task 7). It flies there: what touches the table before it, and slides or
    bounces on, hits nothing.
    """

    key = "throw"
    sentence = "Throw the object to the other one"
    predicates = (Hit,)
    target_m = (0.05, 0.05, 0.15)

    # what it is thrown at: a flat ``area`` of the table, or a standing ``object``
    targets: tuple[str, ...] = choice("area", "object")

    def layout(self, rng: EpisodeRng) -> Layout:
        return self.scene(rng, self.targets[rng.roles.integers(len(self.targets))])
