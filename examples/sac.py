"""Train SAC of Stable-Baselines3 on skills, three seeds each, and evaluate on frozen episodes.

pip install 'clevrskills[rl,rl-adapters]'
python examples/sac.py touch trace match_pose --total-steps 100000 --out runs/sac
"""

import argparse
import itertools
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch
from stable_baselines3 import SAC

from clevrskills import make_vec
from clevrskills.core.policy import Observation, ObservationOptions, PromptInput
from clevrskills.integrations.sb3 import SB3VecEnv
from clevrskills.sim.robots.delta_action import ACTION_SPEC


class StatePolicy:
    """Policy with the mean actions of a learner that observes the simulator state."""

    privileged, action_spec = True, ACTION_SPEC
    observation = ObservationOptions((), proprioception=False)
    track = "open (reinforcement learning, SAC)"

    def __init__(self, weights: str) -> None:
        self.learner = SAC.load(weights, device="cpu")  # unpickles: load only trusted files

    def reset(self, prompt: PromptInput, *, env: Any, episode: Any) -> None:
        """Store the environment, whose state is observed."""
        self.env = env

    def act(self, observation: Observation) -> Any:
        """Return the action, (7,) float32."""
        state = torch.cat(tuple(self.env.observer(self.env.outcome).values()), -1)[0].numpy()
        return self.learner.predict(state, deterministic=True)[0]


options = argparse.ArgumentParser(description=__doc__)
options.add_argument("tasks", nargs="+")
options.add_argument("--total-steps", type=int, default=100_000)
options.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
options.add_argument("--episodes", default="50")
options.add_argument("--out", default="runs/sac")
if __name__ == "__main__":
    args = options.parse_args()
    for task, seed in itertools.product(args.tasks, args.seeds):
        out = Path(args.out, f"{task}-{seed}").absolute()
        envs = SB3VecEnv(make_vec(task, 16, terminate_on_success=True, seed=seed))
        learner = SAC("MlpPolicy", envs, seed=seed, gamma=0.97, gradient_steps=4)
        learner.learn(args.total_steps).save(out / "sac.zip")
        policy = ["--policy", "sac:StatePolicy", "--policy-arg", f"weights={out}/sac.zip"]
        command = ["evaluate", task, *policy, "--episodes", args.episodes, "--out", f"{out}/scores"]
        here = Path(__file__).parent
        subprocess.run([sys.executable, "-m", "clevrskills", *command], cwd=here, check=True)
