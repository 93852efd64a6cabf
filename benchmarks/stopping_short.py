"""Returns of solving a task and of stopping just short of it, under each reward.

    python benchmarks/stopping_short.py place sort stack rotate trace match_pose

The oracle solves episodes. Then its actions are repeated up to the last release of an object, or,
without one, up to two steps before the end, and the arm stands still until the task's limit.
"""

from __future__ import annotations

import argparse

import numpy as np

from clevrskills.core.env_config import EnvConfig
from clevrskills.envs.environment import ClevrSkillsEnv, make_env
from clevrskills.solvers.oracle import Oracle

MODES = ("potential", "normalized_dense", "dense", "sparse")
EARLY_STEPS = 2


def solve(env: ClevrSkillsEnv, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The oracle's actions (T, 7), and the returns of its episode, (modes,)."""
    env.reset(seed=seed)
    oracle, total = Oracle(env), np.zeros(len(MODES))
    actions: list[np.ndarray] = []
    while not actions or not bool(env.outcome.holds[0]):
        actions.append(np.asarray(oracle.act()))
        total += rewards(env, actions[-1])
    return np.array(actions), total


def stop_short(env: ClevrSkillsEnv, seed: int, actions: np.ndarray) -> np.ndarray:
    """The returns, (modes,), of the same actions but the last release, until the limit."""
    env.reset(seed=seed)
    on = actions[:, 6] > 0
    released = np.flatnonzero(on[:-1] & ~on[1:])
    last = released[-1] + 1 if len(released) else len(actions) - EARLY_STEPS
    still = np.zeros(7)
    still[6] = actions[last - 1, 6]
    total = np.zeros(len(MODES))
    for step in range(env.limit):
        total += rewards(env, actions[step] if step < last else still)
        if bool(env.outcome.holds[0]):
            raise SystemExit(f"{env.task.key}, seed {seed}: it is solved nevertheless")
    return total


def rewards(env: ClevrSkillsEnv, action: np.ndarray) -> np.ndarray:
    """The rewards of a step, (modes,)."""
    before = env.outcome.progress
    env.step(action)
    now = env.outcome
    gain = now.progress - before
    return np.array([float(v[0]) for v in (gain, now.progress, now.reward, now.holds)])


def main() -> None:
    """Measure the tasks that are named, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tasks", nargs="+", help="keys of tasks")
    parser.add_argument("--episodes", type=int, default=5)
    parser.add_argument("--seed", type=int, default=7500, help="the first seed")
    args = parser.parse_args()
    print("| task | " + " | ".join(f"`{mode}`" for mode in MODES) + " |")
    print("|---" * (1 + len(MODES)) + "|")
    for key in args.tasks:
        env = make_env(EnvConfig(key, cameras=()), reward_mode="none")
        found = []
        for seed in range(args.seed, args.seed + args.episodes):
            actions, solved = solve(env, seed)
            found.append((solved, stop_short(env, seed, actions)))
        env.close()
        solved, short = np.mean(found, axis=0)
        cells = [f"{a:.3g} / {b:.3g}" for a, b in zip(solved, short, strict=True)]
        print(f"| `{key}` | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
