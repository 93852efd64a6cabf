"""Privileged policy: `bc` that is given, while it acts, where the things of the sub-task are.

A yardstick: what it does better than the same checkpoint without them is what the checkpoint
does not see.
"""

import re
from typing import Any

import numpy as np
import torch

from clevrskills.baselines.policies.bc.policy import BehaviorCloning
from clevrskills.baselines.policies.bc.slots import PLACES
from clevrskills.core.policy import Observation, PromptInput

_OBJECT = re.compile(r"\{obj:(\w+)\}")


class ToldPolicy:
    """Policy that acts from the state of the simulation.

    Args:
        policy: What acts.
    """

    privileged = True

    def __init__(self, policy: BehaviorCloning) -> None:
        self._policy = policy
        self.observation, self.action_spec = policy.observation, policy.action_spec
        self.track = f"open (told the places of things; {policy.track or 'track not known'})"

    def reset(self, prompt: PromptInput, *, env: Any, episode: Any) -> None:
        """Begin an episode."""
        self._env = env
        self._policy.reset({0: prompt})

    def act(self, observation: Observation) -> np.ndarray:
        """Return the next actions, (H, 7)."""
        self._policy.told_places = self.places().to(self._policy.device)
        return self._policy.act({0: observation})[0]

    def places(self) -> torch.Tensor:
        """Return the positions of the first two objects that the present subgoal names, in metres,
        (1, 2, 3); NaN where it names none. Source: the datasets that the policy learned from.
        """
        env, places = self._env, torch.full((1, PLACES, 3), torch.nan)
        for k, key in enumerate(named_objects(env)):
            places[:, k] = env.world.position(env.world.index(key))
        return places


def named_objects(env: Any) -> list[str]:
    """Return the keys of the first two objects that the present subtask names."""
    leaf = env.goal.next_leaf(env.outcome)
    return [] if leaf is None else _OBJECT.findall(leaf.describe(env.world))[:PLACES]
