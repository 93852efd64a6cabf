"""States of oracle episodes with what was said of them, to be evaluated together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from clevrskills.core.goal.context import broadcast_slots
from clevrskills.envs.environment import ClevrSkillsEnv
from clevrskills.predicates import Predicate
from clevrskills.sim.body_geometry import Solids
from clevrskills.sim.simulation import CONTACT_IMPULSE_NS
from clevrskills.sim.tensor_world import TensorWorld
from clevrskills.sim.world import GRAVITY
from clevrskills.solvers.motion import SkillFailed
from clevrskills.solvers.oracle import Oracle
from clevrskills.tasks import Layout, stack_roles


class RecordedWorld(TensorWorld):
    """Where everything was, and what contacts told then.

    Args:
        keys: Names of the body slots.
        solids: Geometry of the bodies.
        states: What was recorded, see :func:`snapshot`; all of them joined.
        cup_tips: See :class:`~clevrskills.sim.world.World`.
        timestep_s: Of the physics.
    """

    def __init__(
        self,
        keys: Sequence[str],
        solids: Solids,
        states: dict[str, Tensor],
        cup_tips: Tensor,
        timestep_s: float,
    ) -> None:
        super().__init__(keys, solids, states["pose"], states["end_effector_pose"], cup_tips)
        self._body_velocity, self._held = states["velocity"], states["held"]
        lift = states["lift"]
        self._share = (lift[..., :-1] / (solids.mass * GRAVITY * timestep_s)[..., None]).float()
        self._grounded = lift[..., -1] > CONTACT_IMPULSE_NS

    @broadcast_slots
    def supports(self, lower: Tensor, upper: Tensor) -> Tensor:
        return self._share[self._rows, upper, lower]

    @broadcast_slots
    def on_table(self, body: Tensor) -> Tensor:
        return self._grounded[self._rows, body]


@dataclass(frozen=True)
class Recording:
    """States, and the goal that they are about.

    Attributes:
        world: The states as environments.
        goal: The goal of all of them; it remembers nothing.
        holds: What the single environment said of each, (B,).
        reward: The same, (B,).
        progress: The same, (B,).
    """

    world: RecordedWorld
    goal: Predicate
    holds: Tensor
    reward: Tensor
    progress: Tensor


def snapshot(env: ClevrSkillsEnv) -> dict[str, Tensor]:
    """The present state and what the goal says of it, each (1, ...)."""
    world, outcome = env.world, env.outcome
    return {
        "pose": world.body_pose,
        "velocity": world.body_velocity,
        "end_effector_pose": world.end_effector_pose,
        "held": world.held,
        "lift": torch.as_tensor(env.simulation.step_state()["lift"])[None],
        "holds": outcome.holds,
        "reward": outcome.reward,
        "progress": outcome.progress,
    }


def record(env: ClevrSkillsEnv, count: int, seed: int) -> Recording:
    """Record every state of oracle episodes, from a seed on."""
    states: list[dict[str, Tensor]] = []
    solids: list[Solids] = []
    layouts: list[Layout] = []
    episodes: list[int] = []
    while len(states) < count:
        env.reset(seed=seed + len(layouts))
        solids.append(env.world.solids)
        layouts.append(env.layouts[0])
        oracle = Oracle(env)
        for _ in range(min(env.task.max_steps, count - len(states))):
            states.append(snapshot(env))
            episodes.append(len(layouts) - 1)
            try:
                done = env.step(oracle.act())[2]
            except SkillFailed:
                break
            if done:
                break
    every, of = Solids.stack(solids), torch.tensor(episodes)
    fields = {name: getattr(every, name)[of] for name in Solids.__dataclass_fields__}
    joined = {name: torch.cat([state[name] for state in states]) for name in states[0]}
    tips, timestep_s = env.world.cup_tips, env.simulation.timestep_s
    world = RecordedWorld(env.task.slots, Solids(**fields), joined, tips, timestep_s)
    roles = {name: values[of] for name, values in stack_roles(layouts).items()}
    goal = env.task.goal(roles).with_criteria(env.criteria)
    return Recording(world, goal, joined["holds"], joined["reward"], joined["progress"])
