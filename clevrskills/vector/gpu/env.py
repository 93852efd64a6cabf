"""The vector environment whose scenes are simulated together on a GPU."""

import gc
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor

from clevrskills.core.episode import TRAINING
from clevrskills.core.goal.tree import nodes, outcomes, reasons, used
from clevrskills.envs.state_observation import Observer, flat
from clevrskills.errors import ClevrSkillsError
from clevrskills.predicates import GoalState, Outcome, Predicate
from clevrskills.predicates.criteria import PAPER
from clevrskills.tasks import Layout, task
from clevrskills.vector.gpu.physics import CudaPhysics, Physics, enable_gpu
from clevrskills.vector.gpu.reset_states import ResetScenes, draw_same
from clevrskills.vector.gpu.world import GpuWorld, ResetState
from clevrskills.vector.spec import TaskVectorEnv, VectorSpec


class GpuVectorEnv(TaskVectorEnv):
    """Environments of one task; torch tensors on the GPU, (B, ...).

    Observations, rewards and infos are those of :class:`~clevrskills.vector.VectorEnv` with states.
    Bodies can't be exchanged while a simulation on a GPU runs: each environment keeps its bodies,
    and an episode begins with one of several scenes that were drawn with them.

    Args:
        spec: What the environments are.
        num_envs: How many there are.
        seed: Of the scenes.
        sets: How many different sets of bodies are drawn and shared out to the environments.
        starts: How many scenes are drawn with each.
        rebuild_every: After how many episodes new scenes are drawn and built, if all environments
            end theirs in the same step; 0: never.
        device: The GPU.

    Raises:
        ClevrSkillsError: A value is not allowed, or PhysX does not run on a GPU here.
    """

    _goal: Predicate
    _state: GoalState
    _outcome: Outcome

    def __init__(
        self,
        spec: VectorSpec,
        num_envs: int,
        *,
        seed: int = 0,
        sets: int = 64,
        starts: int = 4,
        rebuild_every: int = 0,
        device: str = "cuda",
    ) -> None:
        for name, value in (("num_envs", num_envs), ("sets", sets), ("starts", starts)):
            if value < 1:
                raise ClevrSkillsError(f"{name}={value}; allowed: 1 and more")
        if spec.obs_mode != "state" or spec.head_starts:
            raise ClevrSkillsError("on a GPU: obs_mode 'state' and head_starts 0 only")
        self._spec, self.num_envs, self.device = spec, num_envs, torch.device(device)
        if self.device.type == "cuda":
            enable_gpu()
        self._sets, self._starts, self._rebuild_every = min(sets, num_envs), starts, rebuild_every
        self._task = task(spec.task, **spec.task_args).in_split(spec.split)
        self.max_episode_steps = spec.step_limit
        self._rows = torch.arange(num_envs, device=device)
        self._number, self._steps = torch.zeros_like(self._rows), torch.zeros_like(self._rows)
        self._returns = torch.zeros(num_envs, device=device)
        self._once = torch.zeros(num_envs, dtype=torch.bool, device=device)
        self._build(seed)
        self._begin(self._rows >= 0)
        self.terms = [node.path for node in nodes(self._goal)]
        size = self._look().shape[1]
        self._set_spaces(gym.spaces.Box(-np.inf, np.inf, (size,), np.float32))

    def reset(
        self, *, seed: int | None = None, options: Any = None
    ) -> tuple[Tensor, dict[str, Any]]:
        """Begin an episode in each environment; another seed than before builds all anew."""
        if seed is not None and seed != self._seed:
            self._build(seed)
        elif seed is not None:
            self._generator.manual_seed(seed)
        self._begin(self._rows >= 0)
        return self._look(), self._infos()

    def step(self, actions: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, dict[str, Any]]:
        """Run one control step with actions (B, 7).

        Raises:
            ClevrSkillsError: The actions have another shape or are not numbers.
        """
        actions = torch.as_tensor(actions, dtype=torch.float32, device=self.device)
        actions, clipped = self._in_range(actions)
        self._world.step(actions)
        before = self._outcome.progress
        self._outcome = self._goal.evaluate(self._world, self._state)
        self._state = self._outcome.state
        success = self._outcome.holds
        reward = self._spec.reward(self._outcome, before)
        self._steps += 1
        self._returns += reward
        self._once |= success
        terminated = success & self._spec.terminate_on_success
        truncated = self._steps >= self.max_episode_steps
        ended, infos = terminated | truncated, {**self._infos(), "clipped": clipped}
        if ended.any():
            episode = {
                "return": self._returns.clone(),
                "length": self._steps.clone(),
                "success_once": self._once.clone(),
                "success_at_end": success,
            }
            infos = self._with_final(infos, ended, self._look(), episode)
            self._begin(ended)
        return self._look(), reward, terminated, truncated, infos

    def close_extras(self, **kwargs: Any) -> None:
        """Give up the scenes."""
        for name in ("_world", "_observer"):
            self.__dict__.pop(name, None)
        gc.collect()

    def _make_physics(self, layouts: Sequence[Layout]) -> Physics:
        return CudaPhysics(layouts, self._spec.robot_name, str(self.device))

    def _build(self, seed: int) -> None:
        """Draw scenes, build them, and let each come to rest."""
        spec = self._spec
        self._seed, self._rounds = seed, 0
        self.close_extras()  # two simulations may not fit on a GPU
        self._generator = torch.Generator(self.device).manual_seed(seed)
        seeds = np.random.default_rng(seed).integers(TRAINING.stop, size=(self._sets, self._starts))
        scenes = [
            draw_same(self._task, row, spec.split, spec.robot_name, PAPER) for row in seeds.tolist()
        ]
        self._drawn = drawn = ResetScenes.of(scenes, self.num_envs, self.device)
        physics = self._make_physics(drawn.layouts)
        self._world = GpuWorld(self._task.slots, drawn.solids, physics, spec.robot_name)
        resets, states = [], []
        for k in range(self._starts):
            resets.append(self._world.begin(drawn.pose[:, k], drawn.held[:, k]))
            goal = self._goal_of(torch.full_like(self._rows, k))
            state = goal.initial_state(self._world)
            states.append(goal.evaluate(self._world, state).state)
        self._resets = ResetState.stack(resets)
        self._states = {key: torch.stack([s[key] for s in states], dim=1) for key in states[0]}
        self._state = {key: values[:, 0] for key, values in self._states.items()}

    def _goal_of(self, number: Tensor) -> Predicate:
        """The goal, where each environment has the scene of a number, (B,)."""
        roles = {name: values[self._rows, number] for name, values in self._drawn.roles.items()}
        return self._task.goal(roles).with_criteria(PAPER)

    def _begin(self, where: Tensor) -> None:
        """Begin episodes, where ``where`` (B,) is true; the others go on."""
        if bool(where.all()):
            if self._rebuild_every and self._rounds == self._rebuild_every:
                self._build(self._seed + 1)
            self._rounds += 1
        size, device = (self.num_envs,), self.device
        number = torch.randint(self._starts, size, generator=self._generator, device=device)
        self._number = torch.where(where, number, self._number)
        self._world.restore(self._resets.choose(self._number), where)
        rows = self._rows[where]
        self._state = {
            key: self._state[key].index_copy(0, rows, values[rows, self._number[rows]])
            for key, values in self._states.items()
        }
        for kept in (self._steps, self._returns, self._once):
            kept[where] = 0
        self._goal = self._goal_of(self._number)
        self._observer = Observer(self._goal, self._world)
        self._used = used(self._goal, self.num_envs)
        self._outcome = self._goal.evaluate(self._world, self._state)

    def _look(self) -> Tensor:
        """The observations, (B, D)."""
        return flat(self._observer(self._outcome))

    def _infos(self) -> dict[str, Any]:
        """What the goals say."""
        found = outcomes(self._goal, self._outcome)
        rewards = torch.stack([one.reward for one in found], dim=-1) * self._used
        told = reasons(self._goal, self._goal.failure_flags, self._outcome.state)
        return {
            "success": self._outcome.holds,
            "progress": self._outcome.progress,
            "reward_terms": dict(zip(self.terms, rewards.unbind(-1), strict=True)),
            "unsolvable": np.array(told or [""] * self.num_envs, object),
        }
