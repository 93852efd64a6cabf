"""How often a policy of `clevrskills rl` ends a task of which some parts are done already.

    python benchmarks/head_starts.py stack_topple runs/ppo_topple

Each of the episodes begins once for each number of parts that are left to do; the policy then has
as many steps as an episode of its training.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Annotated

import gymnasium as gym
import tyro
from common import print_table

from clevrskills.rl.policy import load_actor


def main(
    task: Annotated[str, tyro.conf.Positional],
    folder: Annotated[str, tyro.conf.Positional],
    episodes: int = 50,
    steps: int = 120,
    first_seed: int = 500_000_000,
) -> None:
    """Measure.

    Args:
        task: Key of the task.
        folder: Folder of the training, from states.
        episodes: How many scenes.
        steps: Control steps that the policy has.
        first_seed: Seed of the first scene; the others follow.
    """
    name = "".join(word.capitalize() for word in task.split("_"))
    env = gym.make(f"ClevrSkills/{name}-v1", obs_mode="state", split="train")
    act, solved = load_actor(folder), defaultdict[int, list[bool]](list)
    for seed in range(first_seed, first_seed + episodes):
        env.reset(seed=seed)
        parts = len(list(env.unwrapped.goal.steps()))
        for done in range(parts):
            observation, info = env.reset(seed=seed, options={"head_start": (done + 0.5) / parts})
            left = steps
            while left and not info["success"]:
                observation, _, _, _, info = env.step(act(observation))
                left -= 1
            solved[parts - done].append(bool(info["success"]))
    rows: list[list[object]] = [
        [left, len(found), sum(found)] for left, found in sorted(solved.items())
    ]
    print_table(task, ["parts left to do", "episodes", "solved"], rows)


if __name__ == "__main__":
    tyro.cli(main, description=__doc__)
