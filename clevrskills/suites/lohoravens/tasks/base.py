"""Base of tasks of LoHoRavens: blocks, bowls and zones on the field, and one sentence."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from clevrskills.core.goal.logical import Keeping
from clevrskills.core.goal.predicate import Predicate
from clevrskills.core.goal.tree import leaves_met
from clevrskills.envs.scene_sampling import scene_of
from clevrskills.sim.setting import Setting
from clevrskills.suites.lohoravens.packed import PLACE_DIGITS, upright
from clevrskills.suites.lohoravens.palette import ALL_COLORS, COLORS_OF_SPLIT, all_apart
from clevrskills.suites.lohoravens.scene import GAP_M, MIXED_GAP_M, FieldScene
from clevrskills.suites.lohoravens.setting import SETTING
from clevrskills.suites.lohoravens.solver.rehearsal import MoveOutcome, rehearse
from clevrskills.tasks.base import Task
from clevrskills.tasks.layout import EpisodeRng, Layout, LayoutError

SPLITS = ("train", "val", "test")
SPREAD_STEPS = 60
"""Control steps that stand for a turn."""


@dataclass(kw_only=True, eq=False)
class RavensTask(Task):
    """A task of the suite.

    Every drawn layout has the role ``n_min``, the number of moves that the solver needs. At the
    start the goal does not hold, no part of it is met, and what is to be kept is.
    """

    suite: ClassVar[str] = "lohoravens"
    robots: ClassVar[tuple[str, ...]] = ("ur5e",)
    setting: ClassVar[Setting] = SETTING
    bank_folder: ClassVar[Path] = Path(__file__).parents[1] / "wordings"
    family: ClassVar[str]  # ``primitive``, ``stack``, ``move``, ``bowls``, ..
    capabilities: ClassVar[tuple[str, ...]]  # capabilities that its sentence asks for
    moves: ClassVar[tuple[int, int]]  # least and greatest ``n_min``
    all_colors: ClassVar[bool] = False  # whether each split has all colors
    # whether blocks have several sizes: beside big ones the gripper needs more room
    mixed: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "key" in cls.__dict__:
            cls.max_steps = SPREAD_STEPS * (2 * cls.moves[1] + 4)

    @classmethod
    def splits(cls) -> tuple[str, ...]:
        return SPLITS

    @property
    def all_robots(self) -> tuple[str, ...]:
        return self.robots

    def colors(self, rng: EpisodeRng, count: int, apart_from: Sequence[str] = ()) -> list[str]:
        """Return different colors of the split that look apart.

        Raises:
            LayoutError: There are not so many.
        """
        return all_apart(rng, self.pool(rng), apart_from, count)[:count]

    def pool(self, rng: EpisodeRng) -> Sequence[str]:
        """Return the colors of the split."""
        return ALL_COLORS if self.all_colors else COLORS_OF_SPLIT[rng.split_name]

    def layout(self, rng: EpisodeRng) -> Layout:
        gap_m = MIXED_GAP_M if self.mixed else GAP_M
        return self.lay(rng, FieldScene(rng, self.slots, gap_m))

    @abstractmethod
    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        """Lay everything out on an empty field.

        Raises:
            LayoutError: It does not fit.
        """

    def draw(self, seed: int, attempt: int, split: str) -> tuple[Layout, EpisodeRng]:
        """Draw an attempt at a layout; splits take turns at the attempts of a seed, so that none
        has the scenes of another one.

        Raises:
            LayoutError: It does not fit, or is not fair.
        """
        rng = self.rng(seed, len(SPLITS) * attempt + SPLITS.index(split), split)
        return self.rehearsed(on_grid(self.layout(rng))), rng

    @torch.inference_mode()
    def rehearsed(self, layout: Layout) -> Layout:
        """Return the layout with the number of moves that the solver needs.

        Raises:
            LayoutError: A part of the goal is met at the start, or what is to be kept is not so;
                or the solver needs too few or too many moves, or a place out of the arm's reach.
        """
        scene = scene_of(self, layout, self.robots[0])
        goal, world = scene.goal, scene.start
        world.rewards = False
        state = goal.initial_state(world)
        outcome = goal.evaluate(world, state)
        if bool(outcome.holds[0]) or leaves_met(goal, outcome)[0] > 0.0:
            raise LayoutError("a part of the goal is met at the start")
        if isinstance(goal, Keeping):
            kept = goal.kept.evaluate(world, goal.kept.initial_state(world))
            if not bool(kept.holds[0]):
                raise LayoutError("what is to be kept is not so at the start")
        plan = rehearse(goal, world, state, self.moves[1])
        if plan is None or len(plan) < self.moves[0]:
            raise LayoutError("the solver needs too many or too few moves")
        if not all(placed.in_reach for placed in plan):
            raise LayoutError("a place is out of reach")
        return self.with_plan(layout, plan)

    def with_plan(self, layout: Layout, plan: Sequence[MoveOutcome]) -> Layout:
        """Return the layout with what the task says of the solver's moves."""
        return replace(layout, roles={**layout.roles, "n_min": np.array(len(plan))})

    def followed(self, roles: Mapping[str, Tensor]) -> Predicate | None:
        """Return whether the steps of its sentence were taken in turn; ``None``: it has none."""
        del roles
        return None

    def tags(self) -> dict[str, Any]:
        """Return what tables sort it by, as JSON data."""
        return {
            "capabilities": list(self.capabilities),
            "capability_count": len(self.capabilities),
            "family": self.family,
        }

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), **self.tags()}


def on_grid(layout: Layout) -> Layout:
    """Return the layout with places to a tenth of a millimeter and turns to a thousandth."""
    bodies = (body and replace(body, pose=upright(body.pose)) for body in layout.bodies)
    roles = {
        name: np.round(value, PLACE_DIGITS) if np.asarray(value).dtype.kind == "f" else value
        for name, value in layout.roles.items()
    }
    return replace(layout, bodies=tuple(bodies), roles=roles)
