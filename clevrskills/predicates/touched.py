"""Predicate: the gripper has gently touched an object; base of similar ones."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from clevrskills.core import geometry
from clevrskills.core.goal.context import any_true
from clevrskills.core.goal.predicate import GoalState, Outcome
from clevrskills.predicates.physical import PhysicalPredicate
from clevrskills.predicates.shaping import closeness
from clevrskills.sim.world import World

SHAPING_SHARE = 0.99
"""Bound of the reward before success, relative to the greatest reward."""
DROP_M, OVERLAP_M = 8e-4, 4e-4
"""Distances by which a realized touch lifts the object into the cups, from which it drops back;
clamped between cups and table it would never come to rest."""
LEVEL_M = 3e-4
"""Range of heights that count as the top of an object."""
SPOILED = "an object that is not to be held or struck was"
MOVING_SHARE = 0.95
"""Greatest progress of a moving object."""
TIE = 0.1


@dataclass(frozen=True, eq=False)
class Handled(PhysicalPredicate):
    """Base of predicates about touched and pushed objects.

    The goal state holds the initial pose, and whether the gripper has touched, held or struck the
    object. A strike is a touch at ``criteria.touch_speed_m_per_s`` or more, in this or the previous
    control step or at any time of the contact.
    """

    unsettles = ("object",)
    object: Tensor  # index of the body, (B,)

    own_way: ClassVar[bool] = False
    """True if only motion caused by the gripper counts. Motion caused by other bodies or by the
    rest of the arm moves the start along. The last contact decides, unless the gripper pushes with
    an object that it holds."""

    def initial_state(self, world: World) -> GoalState:
        never = torch.zeros(world.num_envs, dtype=torch.bool, device=world.device)
        state = {
            "start": world.pose(self.object).clone(),
            "touching": never,
            "touched": never,
            "spoiled": world.is_held(self.object),
        }
        if self.own_way:
            state |= {"_place": state["start"][:, :2], "_passive": never}
        return state

    def remember(self, world: World, state: GoalState) -> GoalState:
        """Return the next goal state."""
        touching = world.gripper_touches(self.object)
        if self.own_way:
            state = self._remember_way(world, state, touching)
        touched, spoiled = state["touched"], state["spoiled"] | world.is_held(self.object)
        if any_true(touching):
            speed = world.strike_speed(self.object)
            spoiled = spoiled | (speed >= self.criteria.touch_speed_m_per_s)
            touched = touched | touching
        return {**state, "touching": touching, "touched": touched, "spoiled": spoiled}

    def _remember_way(self, world: World, state: GoalState, touching: Tensor) -> GoalState:
        """Return the state, with the start moved along where another body moves this one."""
        place = world.position(self.object)[:, :2]
        swept = world.robot_touches(self.object) & ~touching
        passive = state["_passive"] | world.touches_body(self.object) | swept
        if not any_true(passive):
            return {**state, "_place": place}
        by_held = world.held >= 0
        by_held = by_held & world.touches(self.object, world.held.clamp(min=0))
        passive = by_held | (passive & ~touching)
        moved = (place - state["_place"]) * passive[:, None]
        start = state["start"] + torch.nn.functional.pad(moved, (0, 5))
        return {**state, "start": start, "_place": place, "_passive": passive}

    @property
    def failure_flags(self) -> tuple[str, ...]:
        return ("spoiled",)

    def unsolvable(self, state: GoalState) -> dict[str, Tensor]:
        return {SPOILED: state["spoiled"]}

    def handled(
        self,
        world: World,
        holds: Tensor,
        shaping: Tensor,
        state: GoalState,
        progress: Tensor | None = None,
    ) -> Outcome:
        """Return the outcome, with reward and progress 0 for an object that was held or struck, and
        less progress for a moving one.
        """
        most = float(self.max_reward)
        shaping = shaping.clamp(max=SHAPING_SHARE * most).masked_fill(state["spoiled"], 0.0)
        if progress is None:
            still = world.is_static(self.object)
            progress = torch.where(still, shaping / most, (shaping / most).clamp(max=MOVING_SHARE))
        progress = progress.masked_fill(state["spoiled"], 0.0)
        return self.outcome(holds, shaping, progress, state)

    def distance(self, world: World) -> Tensor:
        """Return the distance in meters from the suction cups to the object, (B,)."""
        return world.gripper_distance(self.object).clamp(min=0.0)

    def near(self, world: World) -> Tensor:
        """Return the proximity of the suction cups to the object, in (0, 1], (B,)."""
        return torch.exp(-5.0 * self.distance(world))


@dataclass(frozen=True, eq=False)
class Touched(Handled):
    """The gripper has touched a body, which was never held or struck and is at rest. It lies within
    ``criteria.touch_displacement_m`` and ``criteria.touch_turn_rad`` of its initial pose.

    Reward: exp(-5 distance of the cups in m), 0.5 for its position and 0.5 for its orientation;
    done 3. It stays 0 once the body was held or struck.
    """

    name = "touched"
    max_reward = 3.0

    def evaluate(self, world: World, state: GoalState) -> Outcome:
        state = self.remember(world, state)
        moved = geometry.length(world.position(self.object) - state["start"][:, :3])
        turned = geometry.rotation_angle(world.orientation(self.object), state["start"][:, 3:])
        in_place = moved < self.criteria.touch_displacement_m
        as_turned = turned < self.criteria.touch_turn_rad
        still = world.is_static(self.object)
        holds = state["touched"] & ~state["spoiled"] & still & in_place & as_turned
        if not world.rewards:
            return Outcome.without_rewards(holds, state)
        distance = self.distance(world)
        shaping = torch.exp(-5.0 * distance) + 0.5 * in_place + 0.5 * as_turned
        progress = 0.5 * closeness(distance) * (in_place & as_turned)
        return self.handled(world, holds, shaping, state, progress)

    def describe(self, world: World, env: int = 0) -> str:
        return f"Touch {world.mention(env, self.object)[0]}"

    def realize(self, world: World, where: Tensor | None = None) -> None:
        touch_top(world, self.object, where)


def tilt(start: Tensor, orientation: Tensor) -> Tensor:
    """Return the tilt in rad from an initial to a current orientation, (..., 4) -> (...)."""
    turn = geometry.quaternion_multiply(orientation, geometry.quaternion_conjugate(start))
    up = geometry.rotate(turn, turn.new_tensor([0.0, 0.0, 1.0]).expand(*turn.shape[:-1], 3))
    return torch.atan2(geometry.length(up[..., :2]), up[..., 2])


def touch_top(
    world: World, body: Tensor, where: Tensor | None = None, drop_m: float = DROP_M
) -> None:
    """Move the arm so that the suction cups touch a body (B,) from above, which then drops back.

    Raises:
        ValueError: The body is out of reach.
    """
    center = geometry.to_world(world.pose(body), world.at(world.solids.center, body)[:, None])
    over = world.surface(body).height(center[..., :2])
    over = torch.cat((center[:, 0, :2], over), dim=-1)
    # if the center is not the highest point, touch the highest point nearest to it, and of two
    # equal ones that near the gripper
    points, top = world.world_points(body), world.top(body)
    tip = world.end_effector_pose[:, None, :3]
    aside = geometry.length((points - center)[..., :2])
    aside = aside + TIE * geometry.length((points - tip)[..., :2])
    aside = torch.where(points[..., 2] > top[:, None] - LEVEL_M, aside, geometry.PAD)
    rows = torch.arange(world.num_envs, device=world.device)
    level = over[:, 2:] > top[:, None] - LEVEL_M
    spot = torch.where(level, over, points[rows, aside.argmin(-1)])
    gap = world.cup_tips[0, 2] + drop_m
    down = spot.new_tensor([0.0, 1.0, 0.0, 0.0]).expand(len(spot), 4)
    pose = torch.cat((spot[:, :2], spot[:, 2:] + gap, down), dim=-1)
    world.set_end_effector_pose(pose, where)
    lifted = world.pose(body).clone()
    lifted[:, 2] += drop_m + OVERLAP_M
    world.set_body_pose(body, lifted, where)


def put_free(world: World, body: Tensor, poses: Tensor, where: Tensor | None = None) -> None:
    """Put bodies (B,) on the table at the free candidate pose (B, M, 7) nearest to the gripper;
    heights are ignored.

    Raises:
        ValueError: No candidate is free.
    """
    points = geometry.to_world(poses, world.at(world.solids.points, body)[:, None])  # (B, M, P, 3)
    poses = poses.clone()
    poses[..., 2] -= points[..., 2].amin(-1)
    radius = geometry.length((points - poses[..., None, :3])[..., :2]).amax(-1)  # (B, M)
    around = geometry.to_world(world.body_pose, world.solids.points)  # (B, K, P, 3)
    others = geometry.length((around - world.body_pose[:, :, None, :3])[..., :2]).amax(-1)
    away = geometry.length(poses[:, :, None, :2] - world.body_pose[:, None, :, :2])  # (B, M, K)
    gap = away - radius[..., None] - others[:, None]
    gap = torch.where(world.solids.present[:, None], gap, geometry.PAD)
    rows = torch.arange(world.num_envs, device=world.device)
    gap[rows, :, body] = geometry.PAD
    free = gap.amin(-1) > 0.0
    impossible = ~free.any(-1) if where is None else ~free.any(-1) & where
    if impossible.any():
        raise ValueError("no free place to put the body")
    reach = geometry.length(poses[..., :2] - world.end_effector_pose[:, None, :2])
    best = torch.where(free, reach, geometry.PAD).argmin(-1)
    world.set_body_pose(body, poses[rows, best], where)
