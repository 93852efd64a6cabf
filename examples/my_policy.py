"""Roll out a policy of your own.

A policy is any object with `reset(prompt)` and `act(observation)`.

python examples/my_policy.py
"""

from typing import Any

import gymnasium as gym
import numpy as np

import clevrskills  # noqa: F401  (registers the environments)
from clevrskills.prompt import Prompt


class RandomWalk:
    """Stands in for a model: wanders about with the vacuum on."""

    def reset(self, prompt: Prompt) -> None:
        """Read what is to be done; called once at the start of an episode."""
        images = prompt.images()  # placeholder -> (256, 256, 3) uint8
        # what a multi-modal model takes: words and pictures in the order of the prompt
        self.prompt = [
            name if kind == "text" else images[f"{{{kind}:{name}}}"]
            for kind, name in prompt.parts()
        ]
        self.generator = np.random.default_rng(0)

    def act(self, observation: dict[str, Any]) -> np.ndarray:
        """The next action, (7,), from pictures and proprioception."""
        assert observation["sensor_data"]["hand_camera"]["rgb"].shape == (256, 256, 3)
        action = self.generator.uniform(-0.3, 0.3, 7)
        action[6] = 1.0  # vacuum on
        return action


STEPS = 40  # the task's own limit is env.unwrapped.task.max_steps

env = gym.make("ClevrSkills/SimpleManipulation-v1", split="test")
policy = RandomWalk()
results = []
for seed in range(3):
    observation, info = env.reset(seed=seed)
    policy.reset(info["prompt"])
    for _ in range(STEPS):
        observation, reward, terminated, truncated, info = env.step(policy.act(observation))
        if terminated or truncated:
            break
    results.append(info["success"])
    print(f"seed {seed}: success {info['success']}, progress {info['progress']:.2f}")
print(f"{sum(results)} of {len(results)} solved")
env.close()
