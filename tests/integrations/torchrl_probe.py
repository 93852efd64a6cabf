"""Rollouts in TorchRL, with torchrl on PYTHONPATH; prints how many steps they have, as JSON."""

import json
from functools import partial

import gymnasium as gym
from torchrl.envs import GymEnv, GymWrapper, ParallelEnv
from torchrl.envs.utils import check_env_specs

import clevrskills

PICK = clevrskills.env_id("pick")
STATE = {"obs_mode": "state", "render_backend": "none"}


def main() -> None:
    wrapped = GymWrapper(gym.make(PICK, **STATE))
    named = GymEnv(PICK, max_episode_steps=85, **STATE)
    for env in (wrapped, named):
        check_env_specs(env)
    parallel = ParallelEnv(2, partial(GymEnv, PICK, **STATE), mp_start_method="spawn")
    shapes = [list(env.rollout(100).shape) for env in (wrapped, named, parallel)]
    for env in (wrapped, named, parallel):
        env.close()
    print(json.dumps(shapes))


if __name__ == "__main__":
    main()
