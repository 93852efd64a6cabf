"""Predicate: a scale carries some objects and is level."""

from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product

import torch
from torch import Tensor

from clevrskills.core import geometry
from clevrskills.core.goal.predicate import GoalState, Outcome
from clevrskills.predicates.physical import PhysicalPredicate
from clevrskills.predicates.shaping import NEAR_M
from clevrskills.sim.placement import put
from clevrskills.sim.world import World

REWARD_PER_BODY = 6.0
HELD_REWARD = 3.0
MASS_SHARE = 1e-3
"""Greatest difference of two equal loads, relative to their sum (released code)."""
LIFTED_M = 1.0


@dataclass(frozen=True)
class Loads:
    """Loads of the two plates, compared with the nearest balanced splits."""

    used: Tensor  # objects that exist, (B, n) bool
    on: Tensor  # objects that rest on a plate, directly or on others, (B, n, 2) bool
    # plates of an object in the balanced splits that move the fewest objects, (B, n, 2) bool
    open: Tensor
    wrong: Tensor  # objects that must leave their plate, (B, n) bool
    correct: Tensor  # number of objects that may stay on their plate, (B,)


@cache
def _splits(count: int) -> Tensor:
    """Return all assignments of objects to two plates, (2 ** count, count)."""
    return torch.tensor(list(product((0, 1), repeat=count)))


@dataclass(frozen=True, eq=False)
class Balanced(PhysicalPredicate):
    """Released objects rest on the two plates of a scale with equal masses on both, and its beam is
    level and at rest.

    Objects that rest on other objects count for the plate below them.

    Reward: 6 for each object that may stay on its plate, less 6 for each that must leave it. The
    next object adds 0 to 3 for the distance of the gripper or, if held, 3 to 6 for the distance to
    its plate. Done 6 for each object.
    """

    name = "balanced"
    goal_words = ("on", "onto", "both", "two", "plate", "plates")
    handles = ("objects",)
    beam: Tensor  # index of the beam, (B,)
    plates: Tensor  # indices of the two plates, (B, 2)
    objects: Tensor  # indices of the objects, -1 for none, (B, n)
    level: Tensor  # world poses of the beam and the two plates of the level scale, (B, 3, 7)

    @property
    def max_reward(self) -> Tensor:
        return REWARD_PER_BODY * (self.objects >= 0).sum(-1)

    def evaluate(self, world: World, state: GoalState) -> Outcome:
        loads = self.loads(world)
        on_one_plate = ((loads.on.sum(-1) == 1) | ~loads.used).all(-1)
        equal = self._difference(world, loads.on[..., 1].long(), loads.used) <= MASS_SHARE
        tilt = geometry.rotation_angle(self.level[:, 0, 3:], world.orientation(self.beam))
        scale = torch.cat((self.beam[:, None], self.plates), dim=-1)
        holds = world.and_where(
            on_one_plate & equal & (tilt <= self.criteria.tilt_rad),
            lambda w, objects, used, scale: (
                (w.gripper_clear(objects, self.criteria.release_distance_m) | ~used).all(-1)
                & w.is_static(objects).all(-1)
                & w.is_static(scale).all(-1)
            ),
            *(self._objects, loads.used, scale),
        )
        if not world.rewards:
            return Outcome.without_rewards(holds)
        return self.outcome(holds, self._shaping(world, loads).clamp(min=0.0))

    def loads(self, world: World) -> Loads:
        """Return the loads of the plates."""
        used = self.objects >= 0
        on = self._lying(world, used)
        splits = _splits(self.objects.shape[1]).to(self.objects.device)
        difference = self._difference(world, splits[:, None], used)  # (S, B)
        sides = torch.nn.functional.one_hot(splits, 2).bool()  # (S, n, 2)
        alone = (on.sum(-1) == 1) & used
        right = (on & sides[:, None]).any(-1) & alone  # (S, B, n)
        score = torch.where(difference <= MASS_SHARE, right.sum(-1), -1)  # (S, B)
        best = score == score.amax(0)
        chosen = best.int().argmax(0)  # (B,)
        rows = torch.arange(world.num_envs, device=world.device)
        keeps = right[chosen, rows]
        stays = (right == keeps).all(-1) & best  # splits that keep the same objects in place
        return Loads(
            used,
            on,
            (stays[..., None, None] & sides[:, None]).any(0),
            on.any(-1) & used & ~keeps,
            keeps.sum(-1),
        )

    def _lying(self, world: World, used: Tensor) -> Tensor:
        """Return which objects rest on a plate, directly or on others, (B, n, 2) bool."""
        objects = self._objects
        count = objects.shape[1]
        fit = ~world.is_held(objects) & ~world.on_table(objects) & used
        below = torch.cat((self.plates, objects), dim=-1)
        share = world.supports(below[:, None], objects[:, :, None])  # (B, upper, lower)
        carried = (share >= self.criteria.support_share) & fit[..., None]
        on = carried[..., :2]  # (B, n, 2)
        stacked = carried[..., 2:] & ~torch.eye(count, dtype=torch.bool, device=on.device)
        for _ in range(count - 1):
            on = on | (stacked[..., None] & on[:, None]).any(2)
        return on

    def highest(self, world: World, loads: Loads, plate: int) -> tuple[Tensor, Tensor]:
        """Return index and height of the highest body on a plate, or of the plate, (B,) each."""
        bodies = torch.cat((self.plates[:, plate, None], self._objects), dim=-1)
        lying = torch.nn.functional.pad(loads.on[..., plate], (1, 0), value=True)
        height, which = torch.where(lying, world.top(bodies), -geometry.PAD).max(-1)
        return bodies.gather(1, which[:, None])[:, 0], height

    @cached_property
    def _objects(self) -> Tensor:
        """Indices of the objects, (B, n); the beam in place of missing ones."""
        return torch.where(self.objects < 0, self.beam[:, None], self.objects)

    def _difference(self, world: World, side: Tensor, used: Tensor) -> Tensor:
        """Return the relative difference of the loads (...) for sides 0 or 1 (..., n)."""
        mass = world.at(world.solids.mass, self._objects) * used
        return ((2 * side - 1) * mass).sum(-1).abs() / mass.sum(-1)

    def _shaping(self, world: World, loads: Loads) -> Tensor:
        """Return the published reward before success, (B,)."""
        objects = self._objects
        position = world.at(world.body_pose, objects)[..., :3]
        plates = world.at(world.body_pose, self.plates)[..., :2]
        aside = geometry.length(position[:, :, None, :2] - plates[:, None])  # (B, n, 2)
        aside, side = torch.where(loads.open, aside, geometry.PAD).min(-1)
        tops = torch.stack([self.highest(world, loads, plate)[1] for plate in (0, 1)], dim=-1)
        carry = HELD_REWARD + _approach(aside, world.bottom(objects) - tops.gather(1, side), NEAR_M)
        tip = world.end_effector_pose[:, None, :3]
        away = geometry.length((position - tip)[..., :2])
        reach = _approach(away, tip[..., 2] - world.top(objects), 0.0)
        held = world.is_held(objects) & loads.used
        # held objects come first, then those on the wrong plate, then the nearest
        rank = away - geometry.PAD * (2.0 * held + 1.0 * loads.wrong)
        done = ~loads.wrong & loads.on.any(-1) | ~loads.used
        first = torch.where(done, 10 * geometry.PAD, rank).argmin(-1, keepdim=True)
        term = torch.where(held, carry, reach).gather(1, first)[:, 0]
        lying = REWARD_PER_BODY * (loads.correct - loads.wrong.sum(-1))
        return lying + torch.where(done.all(-1), 0.0, term)

    def describe(self, world: World, env: int = 0) -> str:
        names = world.mention(env, self.objects)
        several = ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else names[0]
        return f"Balance the scale with {several}"

    def realize(self, world: World, where: Tensor | None = None) -> None:
        chosen = torch.ones_like(self.beam, dtype=torch.bool) if where is None else where
        used = self.objects >= 0
        upright = world.end_effector_pose.new_tensor([1.0, 0.0, 0.0, 0.0])
        for i, body in enumerate(self._objects.unbind(-1)):
            pose = world.pose(body).clone()
            pose[:, 2] += LIFTED_M * (i + 1)
            pose[:, 3:] = upright
            world.set_body_pose(body, pose, chosen & used[:, i])
        scale = (self.beam, *self.plates.unbind(-1))
        for body, pose in zip(scale, self.level.unbind(1), strict=True):
            world.set_body_pose(body, pose.clone(), chosen)
        splits = _splits(self.objects.shape[1]).to(self.objects.device)
        equal = self._difference(world, splits[:, None], used) <= MASS_SHARE  # (S, B)
        if not (equal.any(0) | ~chosen).all():
            raise ValueError("the objects cannot be split into two of equal mass")
        split = splits[equal.int().argmax(0)]  # (B, n)
        below = self.plates.clone()
        for i, body in enumerate(self._objects.unbind(-1)):
            lower = below.gather(1, split[:, i : i + 1])[:, 0]
            put(world, body, lower, False, chosen & used[:, i])
            stacked = below.scatter(1, split[:, i : i + 1], body[:, None])
            below = torch.where(used[:, i : i + 1], stacked, below)


def _approach(aside: Tensor, height: Tensor, gap_m: float) -> Tensor:
    """Return the proximity to a place below, in [0, 3]: beside, above, down to a gap (released
    code).
    """
    above = 2.0 + torch.exp(-5.0 * (height - gap_m).clamp(min=0.0))
    low = torch.exp(-5.0 * (NEAR_M - height).clamp(min=0.0))
    beside = 1.0 + torch.exp(-5.0 * (aside - NEAR_M).clamp(min=0.0))
    return torch.where(aside < NEAR_M, above, torch.where(height < NEAR_M, low, beside))
