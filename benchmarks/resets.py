"""What episodes start from: is the goal open, the scene free of overlap, settled and in view, and
do policies without skill fail?

python benchmarks/resets.py --episodes 500 --seed 60000
python benchmarks/resets.py --episodes 100 --policy zero      # to the end, or until all is still
python benchmarks/resets.py --episodes 100 --policy random    # the same with random actions
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Literal

import numpy as np
import torch
import tyro
from common import Args, print_table, zero_action

from clevrskills.cameras import BASE_CAMERA
from clevrskills.env import ClevrSkillsEnv
from clevrskills.robots.controller import CONTROL_HZ

OVERLAP_M = 1e-3
DRIFT_M = 5e-4
STILL_STEPS = 2 * CONTROL_HZ
"""Equal states, bit for bit, after which nothing will ever change under the same action."""


@dataclass
class ResetArgs(Args):
    """Starts of episodes."""

    episodes: int = 500
    seed: int = 60_000
    policy: Literal["none", "zero", "random"] = "none"
    """What acts after each reset, to the step limit: nothing, zeros, or numbers drawn evenly from
    -1 to 1."""
    workers: int = 1
    """Processes; each runs one task in one split."""


def look(env: ClevrSkillsEnv, seed: int, policy: str) -> dict[str, bool]:
    """Reset and report what is wrong."""
    _, info = env.reset(seed=seed)
    gaps = [gap for _, _, gap in env.world.contacts()]
    bodies = env.layouts[0].bodies
    present = [k for k, body in enumerate(bodies) if body]
    points = torch.cat([env.world.world_points(torch.tensor([k]))[0] for k in present])
    laid = torch.tensor([bodies[k].pose[:3] for k in present])  # type: ignore[union-attr]
    drift = (env.world.body_pose[0, present, :3] - laid).norm(dim=-1)
    free = torch.tensor([k != env.layouts[0].in_gripper for k in present])
    wrong = {
        "goal holds": bool(info["success"][0]),
        "overlap": bool(gaps) and min(gaps) < -OVERLAP_M,
        "out of view": not BASE_CAMERA.sees(points.numpy(), margin=0.0),
        "moved while settling": bool((drift[free] > DRIFT_M).any()),
        "success without skill": False,
    }
    generator = np.random.default_rng((seed, 2))
    state, still = b"", 0
    for _ in range(env.task.max_steps if policy != "none" else 0):
        action = zero_action(env)
        if policy == "random":
            action = generator.uniform(-1.0, 1.0, action.shape).astype(np.float32)
        _, _, terminated, _, _ = env.step(action)
        if bool(terminated[0]):
            wrong["success without skill"] = True
            break
        if policy == "zero":
            before, state = state, env.get_state().numpy().tobytes()
            still = still + 1 if state == before else 0
            if still == STILL_STEPS:
                break
    return wrong


def run(args: ResetArgs, task: str, split: str) -> list[dict[str, bool]]:
    """Look at all episodes of a task in a split."""
    env = args.env(task, split)
    return [look(env, seed, args.policy) for seed in args.seeds()]


def main(args: ResetArgs) -> None:
    """Run all and print a table."""
    rows: list[list[object]] = []
    columns: list[str] = []
    runs = list(args.runs())
    with ProcessPoolExecutor(args.workers, mp_context=get_context("spawn")) as pool:
        jobs = [pool.submit(run, args, task, split) for task, split in runs]
        for (task, split), job in zip(runs, jobs, strict=True):
            found = job.result()
            columns = list(found[0])
            rows.append(
                [task, split, len(found), *(int(np.sum([f[c] for f in found])) for c in columns)]
            )
            for seed, wrong in zip(args.seeds(), found, strict=True):
                if any(wrong.values()):
                    faults = [name for name, is_wrong in wrong.items() if is_wrong]
                    print(task, split, seed, faults, flush=True)
    print_table("starts of episodes with a fault", ["task", "split", "episodes", *columns], rows)


if __name__ == "__main__":
    main(tyro.cli(ResetArgs, description=__doc__))
