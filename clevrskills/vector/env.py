"""Vector environment."""

from collections.abc import Sequence
from dataclasses import fields
from itertools import pairwise
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from clevrskills.core.env import LifeCycle
from clevrskills.core.episode import as_seed
from clevrskills.core.interface import as_numbers, in_range
from clevrskills.core.policy import ActionError
from clevrskills.core.suite import DEFAULT, suite_of
from clevrskills.envs.gymnasium_env import RENDER_MODES
from clevrskills.errors import ClevrSkillsError, UnknownNameError, check_arguments, whole_number
from clevrskills.sim.robots.delta_action import CONTROL_HZ
from clevrskills.vector.scene_batch import SceneBatch
from clevrskills.vector.spec import VectorSpec
from clevrskills.vector.workers import LocalShard, RemoteShard, SharedArrays, rows_of

_OTHER_NAMES = {"max_episode_steps": "episode_steps", "robot": "robot_name"}


def make_vec(
    task: str, num_envs: int, *, workers: int = 1, seed: int = 0, **spec: Any
) -> "VectorEnv":
    """Make a vector environment of a task like ``gym.make_vec("ClevrSkills/…-v1")``, but with the
    autoreset mode ``SAME_STEP`` by default.

    Args:
        task: Key of the task, of any suite with an arm.
        num_envs: Number of environments.
        workers: Number of processes, this one included.
        seed: Seed of the first episode of the first environment; the others count up.
        spec: Attributes of :class:`~clevrskills.vector.spec.VectorSpec`; ``max_episode_steps`` is
            an alias of ``episode_steps``, and ``robot`` of ``robot_name``.

    Raises:
        ClevrSkillsError: A name is unknown or a value is not allowed.
    """
    check_arguments(spec, {f.name for f in fields(VectorSpec)} | _OTHER_NAMES.keys())
    # gym.make_vec adds the task's limit to what it is given
    others = {_OTHER_NAMES[name]: spec.pop(name) for name in _OTHER_NAMES.keys() & spec.keys()}
    suite = spec.get("suite") or suite_of([task])
    if suite != DEFAULT:
        others["suite"] = suite
    what = VectorSpec(task=task, **{**others, **spec})
    return VectorEnv(what, num_envs, workers=workers, seed=seed)


def make_gymnasium_vec(**arguments: Any) -> "VectorEnv":
    """Make a vector environment for ``gym.make_vec`` with ``NEXT_STEP`` by default, as required by
    Gymnasium's wrappers; see :func:`make_vec`.
    """
    return make_vec(**{"autoreset_mode": AutoresetMode.NEXT_STEP, **arguments})


def require_same_step(envs: gym.vector.VectorEnv) -> None:
    """Check that the autoreset mode is ``SAME_STEP``.

    Raises:
        ClevrSkillsError: It is another one.
    """
    mode = envs.metadata.get("autoreset_mode")
    if mode is not AutoresetMode.SAME_STEP:
        raise ClevrSkillsError(
            f"the environments have the autoreset mode {getattr(mode, 'value', mode)}; allowed: "
            "SameStep, as of clevrskills.make_vec or gym.make_vec(..., autoreset_mode='SameStep')"
        )


class VectorEnv(gym.vector.VectorEnv):
    """Gymnasium vector environment of one task, with numpy arrays.

    Observations are (B, D) float32, see :mod:`clevrskills.envs.state_observation`. With
    ``obs_mode="rgb"`` they are a dict of images (B, H, W, 3) uint8 by camera and ``state`` (B, P),
    the entries of the robot. With the autoreset mode ``SAME_STEP``, the next episode starts in the
    step that ends the previous one: the step returns the first observation of the new episode, and
    the last one of the old episode in the infos. With ``NEXT_STEP``, it starts in the next step,
    with reward 0.

    Infos of a step:

    =============================== ================================================================
    ``success``, ``progress``       (B,), of the state after the step
    ``reward_terms``                by path of each node of the goal tree, (B,), on the scale of the
                                    published numbers
    ``unsolvable``                  why the goal is unsolvable, empty if it is solvable, (B,) texts
    ``clipped``                     whether the action was outside [-1, 1], (B,)
    ``final_obs``, ``_final_obs``   last observations, and mask of ended episodes, (B,) bool; with
                                    ``SAME_STEP``, in steps that end an episode
    ``final_info``, ``_final_info`` infos above of the last states, and ``episode``: return, length,
                                    success_once, success_at_end, each (B,)
    =============================== ================================================================

    ``final_observation`` is an alias of ``final_obs``, as in ManiSkill.

    Args:
        spec: Specification of the environments.
        num_envs: Number of environments.
        workers: Number of processes, this one included.
        seed: Seed of the first episode of the first environment; the others count up.

    Attributes:
        layout: Name, start and stop of the entries of the state.

    Raises:
        ClevrSkillsError: A name is unknown or a value is not allowed.
    """

    def __init__(self, spec: VectorSpec, num_envs: int, *, workers: int = 1, seed: int = 0) -> None:
        if whole_number("num_envs", num_envs) < 1:
            raise ClevrSkillsError(f"num_envs={num_envs}; allowed: 1 and more")
        if not 1 <= whole_number("workers", workers) <= num_envs:
            raise ClevrSkillsError(f"workers={workers}; allowed: 1 to num_envs, {num_envs}")
        self.spec_of_all, self.num_envs, self._seed = spec, num_envs, as_seed(seed)
        self.max_episode_steps = spec.step_limit
        *_, start, end = self._ends = np.linspace(0, num_envs, workers + 1).astype(int).tolist()
        own = SceneBatch(spec, end - start)
        self.layout = list(own.layout)
        self.terms, self._reasons = own.terms, np.array(own.reasons, object)
        kinds = [(name, (num_envs, *a.shape[1:]), a.dtype.str) for name, a in own.arrays().items()]
        kinds.append(("actions", (num_envs, 7), "<f4"))
        self._shards: list[LocalShard | RemoteShard] = []
        self._block: SharedArrays | None = None
        if workers == 1:
            self._arrays = {name: np.zeros(shape, kind) for name, shape, kind in kinds}
        else:
            self._block = SharedArrays(kinds)
            self._arrays = self._block.arrays
            for rows in pairwise(self._ends[:-1]):
                self._shards.append(RemoteShard(spec, rows, self._block))
            self._wait()  # until all processes have started
        # last: its `send` runs the call, while the other processes work
        self._shards.append(LocalShard(own, rows_of(self._arrays, start, end)))
        self._life, self._began = LifeCycle(), False
        spaces = {name: _space(array[0]) for name, array in self._group("obs").items()}
        self.render_mode = spec.render_mode
        self.metadata = {
            "autoreset_mode": spec.autoreset_mode,
            "render_fps": CONTROL_HZ,
            "render_modes": RENDER_MODES,
        }
        self.single_action_space = gym.spaces.Box(-1.0, 1.0, (7,), np.float32)
        self.action_space = batch_space(self.single_action_space, num_envs)
        observations = gym.spaces.Dict(spaces) if spec.images else spaces["state"]
        self.single_observation_space = observations
        self.observation_space = batch_space(observations, num_envs)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: Any = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode in each environment.

        Args:
            seed: Seeds of the episodes, or the first of consecutive seeds; they also determine
                later episodes. ``None``: the next episodes.
            options: Not supported.

        Raises:
            ClevrSkillsError: The number of seeds is wrong, a seed is invalid, or there is an
                option.
            ClosedError: The environment is closed.
        """
        with self._life.reset():
            for name in options or ():
                raise UnknownNameError("reset option", name, ("(none)",))
            if seed is None and not self._began:
                seed = self._seed
            given: Any = seed
            if given is None or np.ndim(given) == 0:
                first = None if given is None else as_seed(given)
                seeds = [None if first is None else first + row for row in range(self.num_envs)]
            else:
                seeds = [None if one is None else as_seed(one) for one in given]
            if len(seeds) != self.num_envs:
                raise ClevrSkillsError(
                    f"{len(seeds)} seeds; allowed: {self.num_envs}, or one number"
                )
            self._began = True
            for shard, (start, end) in zip(self._shards, pairwise(self._ends), strict=True):
                shard.send("reset", seeds[start:end])
            self._wait()
        return self._observations("obs"), self._infos()

    def step(
        self, actions: np.ndarray
    ) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Run one control step with actions (B, 7).

        Raises:
            ActionError: The actions have another shape, or entries that are not finite.
            ResetNeededError: No episode has started.
            ClosedError: The environment is closed.
        """
        self._life.check_step()
        actions = as_numbers(actions)
        if actions.shape != (self.num_envs, 7):
            raise ActionError(f"actions of shape {actions.shape}; allowed: ({self.num_envs}, 7)")
        self._arrays["actions"][:], clipped = in_range(actions)
        for shard in self._shards:
            shard.send("step")
        self._wait()
        names = ("reward", "terminated", "truncated")
        reward, terminated, truncated = (self._arrays[name].copy() for name in names)
        infos, ended = {**self._infos(), "clipped": clipped}, terminated | truncated
        if ended.any():
            last = {"final_info": {**infos, "episode": self._group("episode")}}
            infos = {**infos, **last, "_final_info": ended}
            if self.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP:
                final = self._observations("final_obs")
                infos |= {"final_obs": final, "_final_obs": ended, "final_observation": final}
        return self._observations("obs"), reward, terminated, truncated, infos

    def render(self) -> tuple[np.ndarray, ...] | None:
        """Return an image of the render camera of each environment, (512, 512, 3) uint8."""
        if self.render_mode is None:
            return None
        for shard in self._shards:
            shard.send("render")
        self._wait()
        return tuple(self._arrays["frames"].copy())

    def close_extras(self, **kwargs: Any) -> None:
        """Stop the processes."""
        self._life.close()
        for shard in self._shards:
            shard.close()
        self._shards, self._arrays = [], {}
        if self._block:
            self._block.close()

    def _wait(self) -> None:
        for shard in self._shards:
            shard.wait()

    def _group(self, group: str) -> dict[str, np.ndarray]:
        """Return the arrays of a group, (B, ...)."""
        return {
            name.removeprefix(f"{group}/"): array.copy()
            for name, array in self._arrays.items()
            if name.startswith(f"{group}/")
        }

    def _observations(self, group: str) -> Any:
        found = self._group(group)
        return found if self.spec_of_all.images else found["state"]

    def _infos(self) -> dict[str, Any]:
        terms = self._arrays["reward_terms"].copy()
        return {
            "success": self._arrays["success"].copy(),
            "progress": self._arrays["progress"].copy(),
            "reward_terms": {name: terms[:, k] for k, name in enumerate(self.terms)},
            "unsolvable": self._reasons[self._arrays["unsolvable"]],
        }


def _space(values: np.ndarray) -> gym.spaces.Box:
    """Return the space of values of one environment."""
    if values.dtype == np.uint8:
        return gym.spaces.Box(0, 255, values.shape, np.uint8)
    return gym.spaces.Box(-np.inf, np.inf, values.shape, values.dtype)
