"""State codec of an environment: saves and restores the complete state."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from mani_skill.envs.sapien_env import BaseEnv
from mani_skill.utils import common
from torch import Tensor

from clevrskills.envs.state_observation import layout
from clevrskills.errors import ClevrSkillsError
from clevrskills.predicates import GoalState
from clevrskills.sim.robots.agent import VacuumAgent
from clevrskills.sim.robots.vacuum import Vacuum
from clevrskills.sim.simulation import Simulation, SimWorld


class StateCodec(BaseEnv):
    """Environment whose state can be saved and restored, nested or flat.

    Attributes:
        world: The world.
        simulation: The simulation.
        vacuum: The gripper.
        goal_state: State of the goal.
    """

    agent: VacuumAgent
    world: SimWorld
    simulation: Simulation
    vacuum: Vacuum
    goal_state: GoalState

    def get_state_dict(self) -> dict[str, Any]:
        """Return the complete state with contacts of the last step, nested tensors (B, n)."""
        state = super().get_state_dict()
        state["vacuum"] = self.vacuum.state()
        if self.goal_state:
            state["goal"] = _grouped(
                {k: v.reshape(self.num_envs, -1).double() for k, v in self.goal_state.items()}
            )
        state["last_step"] = {
            name: torch.as_tensor(value, dtype=torch.float64).reshape(1, -1)
            for name, value in self.simulation.step_state().items()
        }
        return state

    def get_state(self) -> Tensor:
        """Return the state as a flat tensor (B, S) float64. ManiSkill's version would round nested
        entries to single precision and take twice as long.
        """
        robot = self.agent.robot._objs[0]
        root = robot.links[0]
        pose = root.entity_pose
        parts: list[Any] = [self.simulation.read_states(), pose.p, pose.q]
        parts += [root.linear_velocity, root.angular_velocity]
        parts += [robot.qpos, robot.qvel]
        parts += self.agent.controller.get_state().values()
        parts.append(self.vacuum.state())
        parts += self.goal_state.values()
        parts += self.simulation.step_state().values()
        flat = [np.asarray(part, dtype=np.float64).reshape(-1) for part in parts]
        return torch.as_tensor(np.concatenate(flat))[None]

    def set_state_dict(self, state: dict[str, Any], env_idx: Tensor | None = None) -> None:
        """Restore the result of :meth:`get_state_dict` in the same episode, also from arrays (n,)
        of one environment as in ManiSkill's trajectory files.
        """
        state = _batched(state)
        self.vacuum.release()
        # the root of the robot never moves; setting its pose would round it
        robot, articulations = self.agent.robot, dict(state["articulations"])
        values = articulations.pop(robot.name)[0].float().numpy()
        super().set_state_dict({**state, "articulations": articulations}, env_idx)
        built = robot._objs[0]
        built.qpos, built.qvel = np.split(values[13 : 13 + 2 * built.dof], 2)
        self.agent.controller.set_state(state["controller"])
        self.vacuum.restore(state["vacuum"])
        goal = common.flatten_dict_keys(state.get("goal", {}))
        for key, value in self.goal_state.items():
            self.goal_state[key] = goal[key].reshape(value.shape).to(value.dtype)
        self.simulation.restore_step({k: v[0].numpy() for k, v in state["last_step"].items()})
        self.world.invalidate()

    @property
    def state_layout(self) -> list[dict[str, Any]]:
        """Name, start and stop of the entries of :meth:`get_state`."""
        return layout(common.flatten_dict_keys(self.get_state_dict()))

    def set_state(self, state: Tensor, env_idx: Tensor | None = None) -> None:
        """Restore a flat state (B, S) of :meth:`get_state` in the same episode.

        Raises:
            ClevrSkillsError: The size is wrong.
        """
        entries = self.state_layout
        if state.shape[-1] != entries[-1]["stop"]:
            raise ClevrSkillsError(
                f"the state has {state.shape[-1]} entries; this episode needs {entries[-1]['stop']}"
            )
        flat = {entry["name"]: state[:, entry["start"] : entry["stop"]] for entry in entries}
        self.set_state_dict(_grouped(flat), env_idx)


def _grouped(entries: Mapping[str, Any]) -> dict[str, Any]:
    """Return entries as nested dicts, split at slashes in names, as in HDF5 files."""
    nested: dict[str, Any] = {}
    for name, value in entries.items():
        *groups, last = name.split("/")
        inner = nested
        for group in groups:
            inner = inner.setdefault(group, {})
        inner[last] = value
    return nested


def _batched(state: Any) -> Any:
    """Return a nested state with every entry as a tensor (B, n)."""
    if isinstance(state, Mapping):
        return {key: _batched(value) for key, value in state.items()}
    values = torch.as_tensor(state)
    return values if values.ndim > 1 else values[None]
