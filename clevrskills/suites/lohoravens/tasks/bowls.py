"""Tasks that sort blocks into bowls by their colors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import Tensor

from clevrskills.predicates import Predicate, Set
from clevrskills.suites.lohoravens.palette import all_apart
from clevrskills.suites.lohoravens.predicates.put_in import InBowl
from clevrskills.suites.lohoravens.scene import FieldScene
from clevrskills.suites.lohoravens.tasks.base import RavensTask
from clevrskills.tasks.layout import EpisodeRng, Layout

FEWEST, MOST = 5, 6
"""Bowls."""


@dataclass(kw_only=True, eq=False)
class SortIntoBowls(RavensTask):
    """Five or six bowls of different colors, and as many blocks or one fewer, each of the color of
    another bowl; a bowl has room for one block.
    """

    predicates = (Set, InBowl)
    # whether a block goes into the bowl of its color, or into any of the others
    matching: ClassVar[bool] = True

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        colors = all_apart(rng, self.pool(rng), least=FEWEST)
        count = int(rng.roles.integers(FEWEST, min(MOST, len(colors)) + 1))
        number = int(rng.roles.integers(FEWEST, count + 1))
        bowls = [scene.bowl(color) for color in colors[:count]]
        blocks = [scene.block(color) for color in colors[:number]]
        right = np.full((MOST, MOST), -1)
        for k in range(number):
            fitting = [b for i, b in enumerate(bowls) if (i == k) == self.matching]
            right[k, : len(fitting)] = fitting
        roles = {"objects": scene.slots_of(blocks, MOST), "bowls": right}
        return scene.layout(**roles, active=np.arange(MOST) < number)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        return into_bowls(roles)


def into_bowls(roles: Mapping[str, Tensor]) -> Set:
    """Return the goal that each active object is in one of its bowls.

    Args:
        roles: ``objects`` and ``active`` (B, n), ``bowls`` (B, n, m); -1: none.
    """
    objects = roles["objects"].clamp(min=0)
    parts = map(InBowl, objects.unbind(1), roles["bowls"].unbind(1))
    return Set(tuple(parts), roles["active"])
