"""Base of LoHoRavens tasks: blocks, bowls and zones on the field, and one sentence."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from clevrskills.core.goal.logical import Keeping, Set
from clevrskills.core.goal.predicate import Predicate
from clevrskills.core.goal.tree import leaves_met
from clevrskills.envs.scene_sampling import scene_of
from clevrskills.sim.setting import Setting
from clevrskills.suites.lohoravens.episode import PLACE_DIGITS, tags_of, upright
from clevrskills.suites.lohoravens.palette import ALL_COLORS, COLORS_OF_SPLIT, all_apart
from clevrskills.suites.lohoravens.scene import GAP_M, MIXED_GAP_M, FieldScene
from clevrskills.suites.lohoravens.setting import SETTING
from clevrskills.suites.lohoravens.solver.rehearsal import MoveOutcome, rehearse
from clevrskills.tasks.base import Task
from clevrskills.tasks.layout import EpisodeRng, Layout, LayoutError

SPLITS = ("train", "val", "test")
STEPS_PER_TURN = 60
"""Number of control steps that count as a turn for policies that act in control steps."""


@dataclass(kw_only=True, eq=False)
class RavensTask(Task):
    """A task of the suite.

    The role ``n_min`` of every drawn layout is the number of moves that the solver needs. At the
    start no part of the goal is met, and all constraints hold.
    """

    suite: ClassVar[str] = "lohoravens"
    robots: ClassVar[tuple[str, ...]] = ("ur5e",)
    setting: ClassVar[Setting] = SETTING
    bank_folder: ClassVar[Path] = Path(__file__).parents[1] / "wordings"
    family: ClassVar[str]  # ``primitive``, ``stack``, ``move``, ``bowls``, ..
    capabilities: ClassVar[tuple[str, ...]]  # capabilities that the sentence requires
    moves: ClassVar[tuple[int, int]]  # least and greatest ``n_min``
    all_colors: ClassVar[bool] = False  # whether each split has all colors
    # whether blocks differ in size: the gripper needs more room beside big blocks
    mixed: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "key" in cls.__dict__:
            cls.max_steps = STEPS_PER_TURN * (2 * cls.moves[1] + 4)

    @classmethod
    def splits(cls) -> tuple[str, ...]:
        return SPLITS

    @property
    def all_robots(self) -> tuple[str, ...]:
        return self.robots

    def colors(self, rng: EpisodeRng, count: int) -> list[str]:
        """Return different colors of the split that look apart.

        Raises:
            LayoutError: There are fewer than ``count``.
        """
        return all_apart(rng, self.pool(rng), least=count)[:count]

    def pool(self, rng: EpisodeRng) -> Sequence[str]:
        """Return the colors of the split."""
        return ALL_COLORS if self.all_colors else COLORS_OF_SPLIT[rng.split_name]

    def layout(self, rng: EpisodeRng) -> Layout:
        return self.lay(rng, FieldScene(rng, self.slots, MIXED_GAP_M if self.mixed else GAP_M))

    @abstractmethod
    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        """Fill an empty scene and return its layout.

        Raises:
            LayoutError: It does not fit.
        """

    def draw(self, seed: int, attempt: int, split: str) -> tuple[Layout, EpisodeRng]:
        """Draw an attempt at a layout.

        The splits take turns at the attempts of a seed, so that no two splits share a scene.

        Raises:
            LayoutError: It does not fit, or :meth:`rehearsed` rejects it.
        """
        rng = self.rng(seed, len(SPLITS) * attempt + SPLITS.index(split), split)
        return self.rehearsed(on_grid(self.layout(rng))), rng

    @torch.inference_mode()
    def rehearsed(self, layout: Layout) -> Layout:
        """Return the layout with the number of moves that the solver needs.

        Raises:
            LayoutError: A part of the goal is met at the start, a constraint is violated, the
                solver needs too few or too many moves, or a place is out of the arm's reach.
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
                raise LayoutError("a constraint is violated at the start")
        plan = rehearse(goal, world, state, self.moves[1])
        if plan is None or len(plan) < self.moves[0]:
            raise LayoutError("the solver needs too many or too few moves")
        if not all(placed.in_reach for placed in plan):
            raise LayoutError("a place is out of reach")
        return self.with_plan(layout, plan)

    def with_plan(self, layout: Layout, plan: Sequence[MoveOutcome]) -> Layout:
        """Return the layout with the roles that follow from the moves of the solver."""
        return replace(layout, roles={**layout.roles, "n_min": np.array(len(plan))})

    def followed(self, roles: Mapping[str, Tensor]) -> Predicate | None:
        """Return the predicate that the steps of the sentence are done in order; ``None``: the
        sentence has no steps.
        """
        return None

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), **tags_of(self.key)}


def set_of(
    leaf: type[Predicate], roles: Mapping[str, Tensor], *names: str, **fields: Any
) -> Predicate:
    """Return the goal that a leaf holds for each active entry of some roles (B, n) with slots."""
    columns = (roles[name].clamp(min=0).unbind(1) for name in names)
    parts = map(partial(leaf, **fields), *columns)
    return Set(tuple(parts), roles["active"])


def on_grid(layout: Layout) -> Layout:
    """Return the layout with positions rounded to 0.1 mm and angles to 0.001 rad."""
    bodies = (body and replace(body, pose=upright(body.pose)) for body in layout.bodies)
    roles = {
        name: np.round(value, PLACE_DIGITS) if np.asarray(value).dtype.kind == "f" else value
        for name, value in layout.roles.items()
    }
    return replace(layout, bodies=tuple(bodies), roles=roles)
