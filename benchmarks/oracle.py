"""Success, length and cost of oracle episodes without pictures.

The yardstick is in the same run: an empty ManiSkill environment step (stock PickCube-v1, joint
control) on this machine, so that "cost" can be read as a multiple of it.

    python benchmarks/oracle.py --episodes 100 --seed 50000
    python benchmarks/oracle.py pick place --robot panda
    python benchmarks/oracle.py --random-steps 20 --episodes 50    # taken over after random actions
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import tyro
from common import Args, pick_cube_step_s, print_table
from scipy.stats import binomtest

from clevrskills.dataset_tools.rollout import make_step
from clevrskills.env import ClevrSkillsEnv
from clevrskills.solvers.motion import SkillFailed
from clevrskills.solvers.oracle import Oracle
from clevrskills.solvers.planner import motion_planner


@dataclass
class OracleArgs(Args):
    """Oracle episodes."""

    random_steps: int = 0
    """Random actions before the oracle takes over."""
    random_scale: float = 1.0
    """Their size: uniform in plus or minus this, in translation and rotation; the vacuum is on in
    half of them."""


OUT_OF_REACH = "out of reach"
REACH_M = (0.20, 0.70)
"""Distance from the base of the xArm 6 at which the gripper, pointing down, reaches the table."""


def out_of_reach(env: ClevrSkillsEnv) -> bool:
    """Whether a movable body was thrown to where the arm cannot go."""
    movable = env.world.solids.movable[0]
    base = env.world.body_pose.new_tensor(env.agent.description.base_position[:2])
    distance = (env.world.body_pose[0, movable, :2] - base).norm(dim=-1)
    return bool(((distance < REACH_M[0]) | (distance > REACH_M[1])).any())


def episode(
    env: ClevrSkillsEnv, seed: int, random_steps: int = 0, random_scale: float = 1.0
) -> tuple[bool, int, str]:
    """Run one; returns success, steps and the reason of a failure."""
    env.reset(seed=seed)
    generator = np.random.default_rng((seed, 1))
    for _ in range(random_steps):
        action = generator.uniform(-1, 1, 7).astype(np.float32)
        action[:6] *= random_scale
        if make_step(env, action).success:
            return True, 0, ""
    oracle = Oracle(env)
    try:
        for steps in range(1, env.task.max_steps + 1 - random_steps):
            if make_step(env, oracle.act()).success:
                return True, steps, ""
        reason = "step limit"
    except SkillFailed as failure:
        reason = str(failure)
    return False, steps, OUT_OF_REACH if out_of_reach(env) else reason


def main(args: OracleArgs) -> None:
    """Run all and print a table."""
    motion_planner(args.robot)
    unit_s = pick_cube_step_s(
        obs_mode="none", reward_mode="none", control_mode="pd_joint_pos", render_backend="none"
    )
    rows: list[list[object]] = []
    for task, split in args.runs():
        env = args.env(task, split)
        episode(env, 0)  # what is made once
        begin = time.process_time()
        results = [
            episode(env, seed, args.random_steps, args.random_scale) for seed in args.seeds()
        ]
        spent_s = (time.process_time() - begin) / len(results)
        wins = sum(success for success, _, _ in results)
        low, high = binomtest(wins, len(results)).proportion_ci(method="wilson")
        for seed, (success, steps, reason) in zip(args.seeds(), results, strict=True):
            if not success:
                print(f"{task} {split} seed {seed}, {steps} steps: {reason}")
        mean_steps = float(np.mean([s for _, s, _ in results]))
        lost = sum(reason == OUT_OF_REACH for _, _, reason in results)
        interval = f"{100 * low:.0f}-{100 * high:.0f} %"
        rows.append(
            [
                task,
                split,
                f"{wins}/{len(results)}",
                interval,
                lost,
                mean_steps,
                spent_s,
                spent_s / unit_s,
            ]
        )
    columns = [
        "task",
        "split",
        "success",
        "95 %",
        "out of reach",
        "steps",
        "CPU s / episode",
        "x PickCube steps",
    ]
    print_table(
        f"oracle, {args.robot}, one PickCube step = {1e3 * unit_s:.2f} CPU-ms", columns, rows
    )


if __name__ == "__main__":
    main(tyro.cli(OracleArgs, description=__doc__))
