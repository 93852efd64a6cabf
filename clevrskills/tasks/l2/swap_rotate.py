"""Task ``swap_rotate``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from torch import Tensor

from clevrskills.predicates import AtPosition, Predicate, Rotated, Swapped
from clevrskills.tasks.l1.swap import Swap, targets
from clevrskills.tasks.layout import EpisodeRng, Layout
from clevrskills.tasks.turning import TurningTask, turnable


@dataclass(kw_only=True, eq=False)
class SwapRotate(Swap, TurningTask):
    """Exchange as in ``swap``, with each object rotated by the angle in the direction (paper,
    appendix A.3, task 5). Only objects without rotational symmetry are used; the released code has
    symmetric primitives.
    """

    key = "swap_rotate"
    level = "L2"
    sentence = "Swap the positions of two objects and rotate both"
    predicates = (Swapped, AtPosition, Rotated)
    max_steps = 600

    def layout(self, rng: EpisodeRng) -> Layout:
        layout = super().layout(rng)
        angle_rad = np.radians(float(self.angle_deg(rng)))
        return replace(layout, roles={**layout.roles, "angle_rad": angle_rad})

    def shapes(self, rng: EpisodeRng) -> Sequence[str]:
        return turnable(rng)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        (first, second), poses = roles["objects"].unbind(1), roles["poses"]
        angle_rad, (aside, to_first, to_second) = roles["angle_rad"], targets(roles)
        return Swapped(
            (
                AtPosition(first, aside),
                Rotated.by(second, poses[:, 1], angle_rad, to_first),
                Rotated.by(first, poses[:, 0], angle_rad, to_second),
            )
        )
