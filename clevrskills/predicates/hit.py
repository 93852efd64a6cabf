"""Predicate: a thrown object has hit another one."""

from dataclasses import dataclass

import torch
from torch import Tensor

from clevrskills.core import geometry
from clevrskills.core.goal.context import any_true
from clevrskills.core.goal.predicate import GoalState, Outcome
from clevrskills.predicates.physical import PhysicalPredicate
from clevrskills.predicates.shaping import approach, closeness, reach
from clevrskills.sim.placement import put
from clevrskills.sim.world import GRAVITY, World

ARC_POINTS = 21
"""Number of points at which a trajectory is evaluated."""
HELD_REWARD, AIMED_REWARD = 4.0, 4.0
REACHED_PROGRESS = 0.1
HELD_PROGRESS, AIMED_PROGRESS, FLYING_PROGRESS = 0.15, 0.5, 0.8
"""Progress of an object that is reached; held or flying far from the target; held so that it would
hit the target when released; and flying towards it.

Holding is worth little and releasing something. Otherwise a miss costs more than a hit gains, and
PPO never released the object."""


@dataclass(frozen=True, eq=False)
class Hit(PhysicalPredicate):
    """A thrown body has hit another one, once.

    It touched the other body at the end of a flight. Since its release it had touched nothing else
    and moved at least ``criteria.fly_distance_m`` horizontally, more than the gripper moves in a
    control step. So dropping, pushing, sliding, carrying or bouncing is not a hit.

    Reward: reach 0 to 2; held or flying 4 + 4 exp(-10 x), where x is the distance in meters by
    which the flight, if released now, misses the other body; done 12.
    """

    name = "hit"
    goal_words = ("at", "to", "into", "in")
    max_reward = 12.0
    handles = ("object",)
    unsettles = ("object", "target")
    object: Tensor  # index of the thrown body, (B,)
    target: Tensor  # index of the other body, (B,)

    def initial_state(self, world: World) -> GoalState:
        world.expect_touches()
        no = torch.zeros(world.num_envs, dtype=torch.bool, device=world.device)
        return {"hit": no, "flies": ~no, "from": world.position(self.object).clone()}

    def evaluate(self, world: World, state: GoalState) -> Outcome:
        state = self.remember(world, state)
        if not world.rewards:
            return Outcome.without_rewards(state["hit"], state)
        return self.outcome(state["hit"], *self.aiming(world, state), state)

    def remember(self, world: World, state: GoalState) -> GoalState:
        """Return the next state: whether it has hit, may fly, and where the flight began."""
        position, held = world.position(self.object), world.is_held(self.object)
        ready, flies = held | world.is_static(self.object), state["flies"]
        way = geometry.length((position - state["from"])[:, :2])
        far = way >= self.criteria.fly_distance_m
        # contacts are costly, and matter only for bodies that may hit or fly
        about = self.object, self.target
        strikes = world.and_where(flies & (far | ~ready), lambda w, *two: w.touches(*two), *about)
        strikes = strikes & ~held
        matters = strikes | ~ready
        if not any_true(matters):
            return {**state, "flies": ready, "from": position.clone()}
        strays = world.and_where(flies & matters, lambda w, *two: w.touches_before(*two), *about)
        robot = world.and_where(matters, lambda w, body: w.robot_touches(body), self.object)
        flown = torch.where(flies & ~strays & ~robot, way, 0.0)
        return {
            **state,
            "hit": state["hit"] | (strikes & (flown >= self.criteria.fly_distance_m)),
            "flies": ready | (flies & ~strikes & ~strays),
            "from": torch.where((ready | robot)[:, None], position, state["from"]),
        }

    def aiming(self, world: World, state: GoalState) -> tuple[Tensor, Tensor]:
        """Return reward, in [0, 8], and progress, in [0, 0.8], before the hit, (B,).

        They first depend on reaching the object, then on the distance by which its flight, now or
        if released, misses the target. Progress also requires the least length of a flight, which
        the published reward does not.
        """
        held = world.is_held(self.object)
        flying = state["flies"] & ~held & ~world.is_static(self.object)
        aimed = held | flying
        far_m = torch.full((world.num_envs, 2), torch.inf, device=world.device)
        about = self.object, self.target, state["from"]
        miss_m, left_m = world.evaluate_where(aimed, far_m, self._misses, *about).unbind(-1)
        flight = HELD_REWARD + AIMED_REWARD * torch.exp(-10.0 * miss_m)
        shaping = torch.where(aimed, flight, reach(world, self.object, ~aimed))
        most = torch.where(flying, FLYING_PROGRESS, AIMED_PROGRESS)
        way = HELD_PROGRESS + (most - HELD_PROGRESS) * closeness(left_m)
        reaching = REACHED_PROGRESS * approach(world, self.object)
        return shaping, torch.where(aimed, way, reaching)

    def _misses(self, world: World, body: Tensor, target: Tensor, begun: Tensor) -> Tensor:
        """Return by how many meters a flight down to the table misses the target, (B, 2): the least
        distance, and the least sum of distance and missing length of the flight begun at a position
        (B, 3).
        """
        position, velocity = world.position(body), world.velocity(body)[:, :3]
        up, height = velocity[:, 2], position[:, 2].clamp(min=0.0)
        landing_s = (up + (up.square() + 2 * GRAVITY * height).sqrt()) / GRAVITY
        shares = torch.linspace(0, 1, ARC_POINTS, device=world.device)
        t = landing_s[:, None, None] * shares[:, None]
        fall = torch.tensor([0.0, 0.0, -GRAVITY / 2], device=world.device)
        arc = position[:, None] + t * velocity[:, None] + t.square() * fall  # (B, N, 3)
        local = geometry.to_local(world.pose(target), arc)
        miss_m = geometry.signed_distance(world.planes(target), local).clamp(min=0.0)
        flown_m = geometry.length((arc - begun[:, None])[..., :2])
        short_m = (self.criteria.fly_distance_m - flown_m).clamp(min=0.0)
        return torch.stack((miss_m.amin(-1), (miss_m + short_m).amin(-1)), -1)

    def describe(self, world: World, env: int = 0) -> str:
        thrown, target = world.mention(env, self.object, self.target)
        return f"Throw {thrown} to {target}"

    def realize(self, world: World, where: Tensor | None = None) -> None:
        put(world, self.object, self.target, False, where)
