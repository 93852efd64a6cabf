"""Blocks that form a figure on the table: a line, a circle, a letter, a rectangle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from clevrskills.core.goal.context import any_true
from clevrskills.core.goal.predicate import GoalState, Outcome
from clevrskills.predicates.physical import PhysicalPredicate
from clevrskills.predicates.shaping import carry, reach
from clevrskills.sim.world import World
from clevrskills.suites.lohoravens.predicates.figures import Figure, Fit, field, figures, fit
from clevrskills.suites.lohoravens.predicates.resting import (
    LOW_M,
    REWARD_PER_BLOCK,
    flat_share,
    left_alone,
    one_by_one,
)
from clevrskills.tasks.leaf_slots import NUMBERS, listed

MOVED_M = 0.01
"""Least distance from its start for a block to count as moved."""
ZONE_SHARE, ZONE_INSET = 0.9, 0.4
"""Least share of a block's footprint over the zone of its figure; distance of its middle from the
border of the zone, as a share of its side."""
WORDS: Mapping[str, Mapping[str, str]] = {
    "line": {"evenly": "evenly spaced", "start": "left", "end": "right"},
    "ring": {"evenly": "evenly spaced", "way": "counter-clockwise"},
    "circle": {"evenly": "evenly spaced"},
    "circles": {"evenly": "the blocks of each evenly spaced"},
    "letter_m": {
        "letter": "M",
        "upright": "its top towards the robot",
        "evenly": "with a block at each end of a stroke and one halfway along it",
    },
    "rectangle": {
        "evenly": "with a block at each corner and the others evenly spaced along its sides, "
        "as many on opposite ones"
    },
}
"""Words for the properties of each figure in sentences."""
SENTENCES: Mapping[str, str] = {
    "line": "Align {names} on the line, {evenly}, in this order from {start} to {end}",
    "ring": "Place {names} on the circle, {evenly}, in this order {way}",
    "circle": "Place {around} in a circle, {evenly}, around {inside}",
    "circles": "Build concentric circles, {inside} inside, {around} outside, {evenly}",
    "letter_m": "Build the letter {letter} with {names}, {upright}, {evenly}",
    "rectangle": "Build a rectangle with {names} on {zone}, {evenly}",
}


@dataclass(frozen=True, eq=False)
class Forms(PhysicalPredicate):
    """Blocks form a figure on the table or a zone, at rest and released.

    The figure may have any size, position and orientation that its kind allows, see
    :mod:`~clevrskills.suites.lohoravens.predicates.figures`. The error of each position relative to
    the nearest correct figure is at most a quarter of a block's side and a tenth of the figure's
    radius. The same holds for the difference between the errors of neighbors.

    Credit: the share of blocks that were moved and are in place in one figure. Both numbers are
    reduced by the number of blocks that any such figure can pass through: two for a circle, three
    for two circles and the letter.

    Reward: 6 for each block in the credit, and for the next block reach 0 to 2, carry 2 to 5.
    """

    name = "forms"
    handles = ("objects",)
    objects: Tensor  # slots of the blocks, -1 for none, (B, n)
    # groups of interchangeable blocks, numbered from 0 in the order of the figure, (B, n): along a
    # line, counter-clockwise, or from inside out
    groups: Tensor
    anchor: Tensor  # middle of a drawn line or circle, (B, 2) m; zeros if there is none
    zone: Tensor  # slot of the zone for all blocks, -1 for none, (B,)
    figure: str  # name of the figure

    def bodies(self) -> tuple[str, ...]:
        return ("objects", "zone")

    @property
    def total(self) -> Tensor:
        """Number of blocks, (B,)."""
        return (self.objects >= 0).sum(-1)

    @property
    def max_reward(self) -> Tensor:
        return REWARD_PER_BLOCK * self.total

    def slots(self, env: int) -> tuple[list[int], np.ndarray]:
        """Return the blocks of one environment and their groups, (k,)."""
        known = self.objects[env] >= 0
        return self.objects[env][known].tolist(), self.groups[env][known].cpu().numpy()

    def figures(self, world: World, env: int) -> Sequence[Figure]:
        """Return the figures that the blocks of one environment may form."""
        slots, groups = self.slots(env)
        order = groups.argsort(kind="stable")
        sides = world.solids.size[env, slots, 0].double().cpu().numpy()[order].round(5)
        return figures(self.figure, tuple(groups[order].tolist()), tuple(sides.tolist()))

    def frame(self, world: World, env: int) -> tuple[complex, tuple[complex, complex] | None]:
        """Return the place that the figure is about, and where in its zone its points may be."""
        zone = int(self.zone[env])
        if zone < 0:
            return complex(*self.anchor[env].tolist()), None
        side_m = world.solids.size[env, self.objects[env].amax(), 0]
        corner = complex(*(world.solids.size[env, zone, :2] / 2 - ZONE_INSET * side_m).tolist())
        return complex(*world.body_pose[env, zone, :2].tolist()), (-corner, corner)

    def layouts(self, world: World, env: int) -> tuple[Figure, np.ndarray]:
        """Return figures of one environment that can be laid out, as places of points, (L, n)."""
        (figure, *_), (origin, room) = self.figures(world, env), self.frame(world, env)
        room = room or figure.room or field()
        return figure, figure.correct(figure.layouts, room) + origin

    def fit(self, world: World, env: int, used: Tensor) -> Fit:
        """Return the figure nearest to the blocks of one environment of which ``used`` (n,) is
        true.
        """
        (slots, groups), (origin, room) = self.slots(env), self.frame(world, env)
        counted = used[self.objects[env] >= 0].cpu().numpy()
        x, y = world.body_pose[env, slots, :2].double().cpu().numpy().T
        found = fit(self.figures(world, env), x + 1j * y - origin, groups, counted, room)
        return replace(found, points=found.points + origin)

    def lying(self, world: World) -> Tensor:
        """Return which blocks lie where they may count, at rest and let go, (B, n) bool."""
        slots = self.objects.clamp(min=0)
        low = (world.bottom(slots) <= LOW_M) & (self.objects >= 0)
        if bool((self.zone >= 0).any()):
            low &= flat_share(world, slots, self.zone[:, None]) >= ZONE_SHARE
        return low & left_alone(world, slots, self.criteria)

    def initial_state(self, world: World) -> GoalState:
        return {"start": world.position(self.objects.clamp(min=0))[..., :2].clone()}

    def evaluate(self, world: World, state: GoalState) -> Outcome:
        lying, total = self.lying(world), self.total
        gone_m = (world.position(self.objects.clamp(min=0))[..., :2] - state["start"]).norm(dim=-1)
        moved = lying & (gone_m > MOVED_M)
        members, loose = torch.zeros_like(moved), torch.zeros_like(total)
        holds = (lying.sum(-1) == total).clone()
        for env in range(world.num_envs):
            holds[env] &= bool(holds[env]) and self.fit(world, env, lying[env]).whole
            figure = self.figures(world, env)[0]
            loose[env] = figure.seeds[0][2].shape[1] if figure.room is None else 0
            if moved[env].sum() > loose[env]:
                found = self.fit(world, env, moved[env]).members
                members[env, self.objects[env] >= 0] = torch.from_numpy(found).to(members.device)
        gained = (members.sum(-1) - loose).clamp(min=0) / (total - loose)
        credit = torch.where(holds, 1.0, torch.minimum(gained, 1.0 - 0.5 / total))
        shaping = REWARD_PER_BLOCK * total * gained + self._approach(world, moved, members)
        return replace(self.outcome(holds, shaping, state=dict(state)), credit=credit)

    def _approach(self, world: World, moved: Tensor, members: Tensor) -> Tensor:
        """Return how near the next block is to its place, in [0, 5], (B,)."""
        slots, left = self.objects.clamp(min=0), (self.objects >= 0) & ~members
        nearest = torch.where(left, reach(world, slots, left), 0.0).amax(-1)
        held = world.is_held(slots) & left
        if not world.rewards or not any_true(held.any(-1)):
            return nearest
        targets = torch.zeros_like(world.position(slots[:, 0]))
        for env in held.any(-1).nonzero()[:, 0].tolist():
            found = self.fit(world, env, moved[env])
            number = self.slots(env)[0].index(int(slots[env, held[env]][0]))
            place = found.points[found.where[number]]
            targets[env, :2] = torch.tensor([place.real, place.imag])
        return world.evaluate_where(
            held.any(-1), nearest, lambda w, t: carry(w, w.held, t), targets
        )

    def phrases(self, env: int = 0) -> Mapping[str, str]:
        counts = np.bincount(self.slots(env)[1], minlength=2).clip(max=len(NUMBERS) - 1)
        inside, around = (NUMBERS[count] for count in counts[:2])
        return {**WORDS[self.figure], "inside": inside, "around": around}

    def describe(self, world: World, env: int = 0) -> str:
        groups, names = self.slots(env)[1], world.mention(env, self.objects)
        slots = {**self.phrases(env), "zone": "".join(world.mention(env, self.zone[:, None]))}
        slots["names"] = listed([names[k] for k in groups.argsort(kind="stable")])
        for group, part in enumerate(("inside", "around")):
            own = [names[k] for k in np.flatnonzero(groups == group)]
            slots[part] = listed(own or names)
        return SENTENCES[self.figure].format(**slots)

    def realize(self, world: World, where: Tensor | None = None) -> None:
        """Lay out the first figure, the blocks turned as they are."""
        for env, only in one_by_one(world, where):
            slots, groups = self.slots(env)
            places = self.layouts(world, env)[1][0][groups.argsort(kind="stable").argsort()]
            zone = self.zone[env, None].expand(world.num_envs)
            ground_m = world.top(zone.clamp(min=0))[env] if int(zone[0]) >= 0 else 0.0
            for slot, place in zip(slots, places, strict=True):
                body = torch.full_like(self.objects[:, 0], slot)
                pose = world.pose(body).clone()
                pose[:, 0], pose[:, 1] = place.real, place.imag
                pose[:, 2] += ground_m - world.bottom(body)
                world.set_body_pose(body, pose, only)
