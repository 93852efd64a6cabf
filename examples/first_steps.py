"""Create an environment, read its prompt, act at random, save a camera image.

python examples/first_steps.py
"""

import gymnasium as gym
from PIL import Image

import clevrskills  # noqa: F401  (registers the environments)

env = gym.make("ClevrSkills/Sort-v1", split="train", prompt_index=1)
env.action_space.seed(0)
observation, info = env.reset(seed=51)

prompt = info["prompt"]
print("prompt, with placeholders for images:", prompt.text)
print("prompt, in words only:", prompt.plain())
for placeholder, image in prompt.images().items():
    print(f"  {placeholder}: image {image.shape}")

for name, value in observation["agent"].items():
    print(f"{name}: {value.round(3)}")

for _ in range(20):
    action = env.action_space.sample()  # 7 numbers in [-1, 1]
    observation, reward, terminated, truncated, info = env.step(action)
    if terminated or truncated:
        break
print(f"reward {reward:.3f}, progress {info['progress']:.3f}, success {info['success']}")

Image.fromarray(observation["sensor_data"]["base_camera"]["rgb"]).save("first_steps.png")
print("wrote first_steps.png")
env.close()
