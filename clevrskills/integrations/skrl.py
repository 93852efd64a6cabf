"""The environments for skrl (extra ``rl-adapters``).

For instance::

    from skrl.agents.torch.ppo import PPO
    from clevrskills.integrations.skrl import FinalObservations, SkrlEnv
    from clevrskills.vector import make_vec

    class Learner(FinalObservations, PPO): ...

    envs = SkrlEnv(make_vec("trace", num_envs=16))

Images are flattened together with the state, as skrl's models have them.
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
    """Vector environments as skrl has them.

    ``infos["clipped"]`` says of which an entry of the action lay outside [-1, 1] and was clipped.
    Where episodes ended, ``infos["episode"]`` has the means of their return, length,
    ``success_once`` and ``success_at_end``, which skrl's trainers log, and ``infos["final_obs"]``
    their last observations, for :class:`FinalObservations`.

    Args:
        envs: The environments, with the autoreset mode ``SAME_STEP``.

    Raises:
        ClevrSkillsError: They have another one.
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
        """Draw nothing; trainers that are not ``headless`` ask for it."""


class FinalObservations:
    """Mixin for a class of agents, which then learn what an episode that ended led to from its last
    observation, not from the first one of the next episode.
    """

    def record_transition(self, *, next_observations: Tensor, infos: Any, **others: Any) -> None:
        """Take note of a step."""
        if "final_obs" in infos:
            ended = torch.as_tensor(infos["_final_obs"], device=next_observations.device)
            next_observations = torch.where(ended[:, None], infos["final_obs"], next_observations)
        super().record_transition(  # type: ignore[misc]
            next_observations=next_observations, infos=infos, **others
        )
