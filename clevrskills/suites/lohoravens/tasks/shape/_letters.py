"""Base of tasks that build a letter, and the letters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from clevrskills.predicates import Predicate
from clevrskills.suites.lohoravens.predicates.shapes import FitsTemplate
from clevrskills.suites.lohoravens.tasks.shape._figures import FigureScene, ShapeTask
from clevrskills.suites.lohoravens.tasks.shape.concentric_circles import middles
from clevrskills.tasks.bank import Fields
from clevrskills.tasks.layout import EpisodeRng, Layout

LETTERS_CM: Mapping[str, tuple[tuple[float, float], ...]] = {
    "M": ((-10, 0), (-10, 5), (-10, 10), (10, 0), (10, 5), (10, 10), (-5, 7.5), (5, 7.5), (0, 4)),
    "L": ((-5, 0), (-5, 5), (-5, 10), (-5, 15), (0, 0), (5, 0)),
    "T": ((-10, 15), (-5, 15), (0, 15), (5, 15), (10, 15), (0, 0), (0, 5), (0, 10)),
    "R": (
        *((-5, 0), (-5, 5), (-5, 10), (-5, 15), (0, 15.5), (5, 12.5)),
        *((0.5, 8.8), (3, 4.3), (6, 0)),
    ),
    "O": ((0, 0), (5, 2.5), (7, 7.5), (5, 12.5), (0, 15), (-5, 12.5), (-7, 7.5), (-5, 2.5)),
}
"""Middles of the blocks of letters: to the right, and up; 5 cm apart at least."""


def letter_points(letter: str) -> np.ndarray:
    """Points of a letter about its middle in the world, its top towards the robot, (n, 2) m."""
    points = np.array(LETTERS_CM[letter]) / 100
    points -= (points.min(0) + points.max(0)) / 2
    return np.column_stack((-points[:, 1], points[:, 0]))


@dataclass(kw_only=True, eq=False)
class BuildLetter(ShapeTask):
    """As many blocks as a letter has points, of one to three colors.

    Attributes:
        letter: The letter, of :data:`LETTERS_CM`.
    """

    capabilities = ("shape", "spatiality", "reference", "commonsense")
    predicates = (FitsTemplate,)
    letter: ClassVar[str]

    def layout(self, rng: EpisodeRng) -> Layout:
        scene, count = FigureScene(rng, self.slots), len(LETTERS_CM[self.letter])
        blocks = [scene.block(color) for color in self.mixed_colors(rng, count)]
        return scene.layout(0, objects=scene.slots_of(blocks, count))

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        objects = roles["objects"]
        points = torch.tensor(letter_points(self.letter), device=objects.device).float()
        template = points.expand(len(objects), *points.shape)
        return FitsTemplate(objects, template, middles(objects), weight=(objects >= 0).sum(-1))

    def fields(self, layout: Layout) -> Fields:
        return {"letter": self.letter}
