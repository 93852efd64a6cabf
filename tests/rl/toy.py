"""A quick environment with the interface of ``clevrskills.make_vec``: points visit two goals."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

GOALS, STEP_M, NEAR_M, IMAGE_PX = 2, 0.2, 0.15, 48


class ToyVec(VectorEnv):
    """Points in a cube visit goals one after the other, each seen only when its turn comes.

    Args:
        num_envs: Number of points.
        seed: Of the first point's first episode.
        max_steps: Length of an episode.
        terminate: Whether episodes end when all goals were visited.
        images: Whether the goal is seen in two images only: one shows x, y, the other z.
        scale: Factor of the numbers in states.
    """

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(
        self,
        num_envs: int = 8,
        seed: int = 0,
        max_steps: int = 25,
        terminate: bool = False,
        images: bool = False,
        scale: float = 1.0,
    ) -> None:
        self.num_envs, self.max_steps = num_envs, max_steps
        self.terminate, self.images, self.scale = terminate, images, scale
        self.single_action_space = Box(-1.0, 1.0, (7,), np.float32)
        state = Box(-np.inf, np.inf, (4 if images else 7,), np.float32)
        image = Box(0, 255, (IMAGE_PX, IMAGE_PX, 3), np.uint8)
        both = {"base_camera": image, "hand_camera": image, "state": state}
        self.single_observation_space = Dict(both) if images else state
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.first_seed = seed
        self.seeds_used: list[int] = []

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict]:
        self.next_seed = self.first_seed if seed is None else seed
        everyone = np.arange(self.num_envs)
        self.place = np.zeros((self.num_envs, 3))
        self.goals = np.zeros((self.num_envs, GOALS + 1, 3))
        self.stage, self.age = (np.zeros(self.num_envs, int) for _ in range(2))
        self.total, self.once = np.zeros(self.num_envs), np.zeros(self.num_envs, bool)
        self._begin(everyone)
        return self._look(), {}

    def step(self, actions: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict]:
        assert np.abs(actions).max() <= 1.0 and actions.shape == (self.num_envs, 7)
        self.place = np.clip(self.place + STEP_M * actions[:, :3], -1.0, 1.0)
        self.stage += (self.stage < GOALS) & (self._distance() < NEAR_M)
        self.age += 1
        success = self.stage == GOALS
        self.once |= success
        close = np.where(success, 0.0, 0.5 * (1.0 - self._distance() / 4.0))
        reward = (self.stage + close) / GOALS
        self.total += reward
        terminated = success & self.terminate
        truncated = self.age >= self.max_steps
        infos: dict[str, Any] = {
            "success": success,
            "progress": reward.copy(),
            "reward_terms": {"order": reward.copy(), "order/0": (self.stage > 0).astype(float)},
        }
        ended = terminated | truncated
        if ended.any():
            episode = {
                "return": self.total.copy(),
                "length": self.age.copy(),
                "success_once": self.once.copy(),
                "success_at_end": success.copy(),
            }
            infos |= {"final_obs": self._look(), "_final_obs": ended}
            infos |= {"final_info": {"episode": episode}, "_final_info": ended}
            self._begin(np.flatnonzero(ended))
        return self._look(), reward, terminated, truncated, infos

    def _begin(self, who: np.ndarray) -> None:
        for i in who:
            draw = np.random.default_rng(self.next_seed)
            self.seeds_used.append(self.next_seed)
            self.next_seed += 1
            self.place[i] = draw.uniform(-0.2, 0.2, 3)
            self.goals[i, :GOALS] = draw.uniform(-0.9, 0.9, (GOALS, 3))
        self.stage[who] = self.age[who] = self.total[who] = self.once[who] = 0

    def _goal(self) -> np.ndarray:
        return self.goals[np.arange(self.num_envs), np.minimum(self.stage, GOALS - 1)]

    def _distance(self) -> np.ndarray:
        return np.linalg.norm(self.place - self._goal(), axis=-1)

    def _look(self) -> Any:
        stage = self.stage[:, None] / GOALS
        if not self.images:
            numbers = np.concatenate((self.place, self._goal(), stage), axis=-1)
            return (self.scale * numbers).astype(np.float32)
        goal = np.round((self._goal() + 1.0) / 2.0 * (IMAGE_PX - 9)).astype(int)
        base, hand = np.zeros((2, self.num_envs, IMAGE_PX, IMAGE_PX, 3), np.uint8)
        for i, (x, y, z) in enumerate(goal):
            base[i, y : y + 8, x : x + 8, 1] = 255
            hand[i, z : z + 8, :, 0] = 255
        state = np.concatenate((self.place, stage), axis=-1).astype(np.float32)
        return {"base_camera": base, "hand_camera": hand, "state": state}
