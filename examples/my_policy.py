"""Roll out a policy of your own, and evaluate it on frozen episodes.

python examples/my_policy.py
cd examples; clevrskills evaluate --policy my_policy:RandomWalk pick --episodes 5 --out scores
"""

import gymnasium as gym
import numpy as np

import clevrskills  # noqa: F401  (registers the environments)
from clevrskills.core.observer import Observer
from clevrskills.core.policy import Observation, ObservationOptions, PromptInput
from clevrskills.sim.robots.delta_action import ACTION_SPEC


class RandomWalk:
    """Placeholder for a model: a random walk with the vacuum on."""

    action_spec = ACTION_SPEC  # action convention of the model, checked before evaluation
    observation = ObservationOptions(cameras=("base_camera", "hand_camera"))

    def reset(self, prompt: PromptInput) -> None:
        """Read the prompt; called once at the start of an episode."""
        # prompt.text has placeholders, prompt.images an image for each (256, 256, 3) uint8
        self.goal = [image.mean() for image in prompt.images.values()]
        self.generator = np.random.default_rng(prompt.seed)

    def act(self, observation: Observation) -> np.ndarray:
        """Return the next action (7,) or a chunk (H, 7) from images and proprioception."""
        assert observation["images"]["hand_camera"].shape == (256, 256, 3)
        assert observation["proprioception"]["ee_pose"].shape == (7,)
        action = self.generator.uniform(-0.3, 0.3, 7)
        action[6] = 1.0  # vacuum on
        return action


STEPS = 40  # the task's own limit is env.unwrapped.task.max_steps


def main() -> None:
    """Roll out the policy."""
    env = gym.make("ClevrSkills/SimpleManipulation-v1", split="test")
    policy, observer = RandomWalk(), Observer(env.unwrapped.base_env, RandomWalk.observation)
    solved = []
    for seed in range(3):
        env.reset(seed=seed)
        policy.reset(observer.begin(seed))
        for _ in range(STEPS):
            *_, terminated, truncated, info = env.step(policy.act(observer.look()))
            if terminated or truncated:
                break
        solved.append(info["success"])
        print(f"seed {seed}: success {info['success']}, progress {info['progress']:.2f}")
    print(f"{sum(solved)} of {len(solved)} solved")
    env.close()


if __name__ == "__main__":
    main()
