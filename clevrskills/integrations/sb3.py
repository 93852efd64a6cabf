"""Vector environments for Stable-Baselines3 (extra ``rl-adapters``).

Images need ``MultiInputPolicy``.
"""

import time
from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv

from clevrskills.core.interface import as_numbers, in_range
from clevrskills.errors import ClevrSkillsError
from clevrskills.vector.env import require_same_step

__all__ = ["SB3VecEnv"]

try:
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import VecEnv
except ImportError as error:
    raise ClevrSkillsError(
        "Stable-Baselines3 is missing: pip install 'clevrskills[rl-adapters]'"
    ) from error


class SB3VecEnv(VecEnv):
    """Vector environment with the API of Stable-Baselines3.

    The ``info`` of a finished episode has ``terminal_observation``, ``TimeLimit.truncated``,
    ``is_success`` (at the end) and, as from a ``Monitor``, ``episode`` with return ``r``, length
    ``l``, seconds ``t``, ``success_once`` and ``success_at_end``.

    Args:
        envs: The environments, with the autoreset mode ``SAME_STEP``.

    Raises:
        ClevrSkillsError: They have another autoreset mode.
    """

    def __init__(self, envs: VectorEnv) -> None:
        require_same_step(envs)
        self.envs = envs
        self._began_s = time.time()
        super().__init__(envs.num_envs, envs.single_observation_space, envs.single_action_space)

    def reset(self) -> Any:
        observation, _ = self.envs.reset(seed=self._seeds[0])
        self._reset_seeds()
        return observation

    def step_async(self, actions: np.ndarray) -> None:
        self._actions, self._clipped = in_range(as_numbers(actions))

    def step_wait(self) -> tuple[Any, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        observation, reward, terminated, truncated, infos = self.envs.step(self._actions)
        ended = terminated | truncated
        outcomes: list[dict[str, Any]] = [
            {
                "success": bool(success),
                "clipped": bool(clipped),
                "TimeLimit.truncated": bool(cut_off),
            }
            for success, clipped, cut_off in zip(
                infos["success"], self._clipped, truncated & ~terminated, strict=True
            )
        ]
        for env in np.flatnonzero(ended):
            outcomes[env] |= self._last(infos, env)
        return observation, reward.astype(np.float32), ended, outcomes

    def _last(self, infos: dict[str, Any], env: int) -> dict[str, Any]:
        """Return the info of a finished episode."""
        episode = {name: of_all[env] for name, of_all in infos["final_info"]["episode"].items()}
        final = infos["final_obs"]
        once, at_end = bool(episode["success_once"]), bool(episode["success_at_end"])
        return {
            "terminal_observation": (
                {name: of_all[env] for name, of_all in final.items()}
                if isinstance(final, dict)
                else final[env]
            ),
            "is_success": at_end,
            "episode": {
                "r": float(episode["return"]),
                "l": int(episode["length"]),
                "t": round(time.time() - self._began_s, 6),
                "success_once": once,
                "success_at_end": at_end,
            },
        }

    def close(self) -> None:
        self.envs.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [getattr(self.envs, attr_name)] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise ClevrSkillsError(f"{attr_name} cannot be set: the environments are one object")

    def env_method(
        self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any
    ) -> list[Any]:
        raise ClevrSkillsError(f"{method_name} cannot be called: the environments are one object")

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Return whether environments have a wrapper; they act like ``Monitor``."""
        return [issubclass(wrapper_class, Monitor)] * len(list(self._get_indices(indices)))
