"""Record a video of the oracle solving a task.

python examples/oracle_episode.py [TASK] [SEED]
"""

import sys
from pathlib import Path

import gymnasium as gym

from clevrskills import env_id
from clevrskills.sim.render.video import VideoWriter
from clevrskills.solvers.motion import SkillFailed
from clevrskills.solvers.oracle import Oracle

task = sys.argv[1] if len(sys.argv) > 1 else "simple_manipulation"
seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0

env = gym.make(env_id(task))
observation, info = env.reset(seed=seed)
prompt = info["prompt"]
print(prompt.plain())

video = VideoWriter(Path("oracle_episode.mp4"), width=256, height=256, fps=20)
video.write(observation["sensor_data"]["base_camera"]["rgb"])

oracle = Oracle(env)  # it can take over in any state
steps, instruction = 0, ""
terminated = truncated = False
try:
    while not (terminated or truncated):
        action = oracle.act()
        if oracle.step != instruction:
            instruction = oracle.step
            print(f"{steps:4d}  {prompt.plain(instruction)}")
        observation, reward, terminated, truncated, info = env.step(action)
        video.write(observation["sensor_data"]["base_camera"]["rgb"])
        steps += 1
except SkillFailed as failure:
    print(f"the oracle gave up: {failure}")

video.close()
env.close()
print(f"success {info['success']} after {steps} steps; wrote {video.path}")
