"""Train SAC of Stable-Baselines3 on skills, three seeds each, and evaluate on frozen episodes.

pip install 'clevrskills[rl,rl-adapters]'
python examples/sac.py trace match_pose --seeds 0 --episodes 50 --out runs/sac
"""

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch
from stable_baselines3 import SAC
from stable_baselines3.common.vec_env import VecNormalize

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
        self.env = env

    def act(self, observation: Observation) -> Any:
        state = torch.cat(tuple(self.env.observer(self.env.outcome).values()), -1)[0].numpy()
        return self.learner.predict(self.learner.scale.normalize_obs(state), deterministic=True)[0]


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("tasks", nargs="+")
parser.add_argument("--total-steps", type=int, default=100_000)
parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
parser.add_argument("--episodes", default="50")
parser.add_argument("--out", default="runs/sac")
if __name__ == "__main__":
    args = parser.parse_args()
    for task, seed in [(task, seed) for task in args.tasks for seed in args.seeds]:
        out = Path(args.out, f"{task}-{seed}").absolute()
        envs = make_vec(task, 16, terminate_on_success=True, seed=seed)
        # a least standard deviation of 0.05: sizes of unseen objects vary more than in training
        envs = VecNormalize(SB3VecEnv(envs), epsilon=0.05**2)
        learner = SAC("MlpPolicy", envs, 1e-3, gradient_steps=4, ent_coef="auto_0.02", seed=seed)
        learner.gamma, learner.scale = 0.95, envs  # attributes are saved with the learner
        learner.learn(args.total_steps).save(out / "sac.zip")
        policy = ["--policy", "sac:StatePolicy", "--policy-arg", f"weights={out}/sac.zip"]
        command = ["evaluate", task, *policy, "--episodes", args.episodes, "--out", f"{out}/scores"]
        here = Path(__file__).parent
        subprocess.run([sys.executable, "-m", "clevrskills", *command], cwd=here, check=True)
