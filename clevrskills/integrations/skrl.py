"""Vector environments for skrl (extra ``rl-adapters``).

Images and state are flattened together, as skrl's models expect.
"""

from typing import Any

import torch
from gymnasium.vector import VectorEnv
from torch import Tensor

from clevrskills.core.interface import in_range
from clevrskills.errors import ClevrSkillsError
from clevrskills.vector.env import require_same_step

try:
    from skrl.envs.wrappers.torch.gymnasium_envs import GymnasiumWrapper
    from skrl.utils.spaces.torch import flatten_tensorized_space, tensorize_space
except ImportError as error:
    raise ClevrSkillsError("skrl is missing: pip install 'clevrskills[rl-adapters]'") from error


class SkrlEnv(GymnasiumWrapper):
    """Vector environment with the API of skrl.

    ``infos["clipped"]`` marks actions that were clipped to [-1, 1]. For finished episodes,
    ``infos["episode"]`` has the means of return, length, ``success_once`` and ``success_at_end``,
    which skrl's trainers log, and ``infos["final_obs"]`` the last observations for
    :class:`FinalObservations`.

    Args:
        envs: The environments, with the autoreset mode ``SAME_STEP``.

    Raises:
        ClevrSkillsError: They have another autoreset mode.
    """

    def __init__(self, envs: VectorEnv) -> None:
        require_same_step(envs)
        super().__init__(envs)

    def step(self, actions: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Any]:
        actions, clipped = in_range(actions)
        observation, reward, terminated, truncated, infos = super().step(actions)
        infos["clipped"] = clipped
        if "final_info" in infos:
            ended = infos["_final_info"]
            episode = infos["final_info"]["episode"]
            infos["episode"] = {
                name: torch.tensor(float(values[ended].mean())) for name, values in episode.items()
            }
            space = self.observation_space
            final = tensorize_space(space, infos["final_obs"], device=self.device)
            infos["final_obs"] = flatten_tensorized_space(final)
        return observation, reward, terminated, truncated, infos

    def render(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing; trainers that are not ``headless`` call it."""


class FinalObservations:
    """Mixin for agents, which makes them bootstrap from the last observation of a finished episode
    instead of the first one of the next episode.
    """

    def record_transition(self, *, next_observations: Tensor, infos: Any, **others: Any) -> None:
        """Record a transition."""
        if "final_obs" in infos:
            ended = torch.as_tensor(infos["_final_obs"], device=next_observations.device)
            next_observations = torch.where(ended[:, None], infos["final_obs"], next_observations)
        super().record_transition(  # type: ignore[misc]
            next_observations=next_observations, infos=infos, **others
        )
