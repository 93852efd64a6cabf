"""What episodes start from: is the goal open, the scene free of overlap, settled and in view, and
does doing nothing fail?

python benchmarks/resets.py --episodes 500 --seed 60000
python benchmarks/resets.py --episodes 100 --idle-steps 1000   # zero-action policy to the end of
every episode
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import tyro
from common import Args, print_table, zero_action

from clevrskills.cameras import BASE_CAMERA
from clevrskills.env import ClevrSkillsEnv

OVERLAP_M = 1e-3
DRIFT_M = 5e-4


@dataclass
class ResetArgs(Args):
    """Starts of episodes."""

    episodes: int = 500
    seed: int = 60_000
    idle_steps: int = 0
    """Zero actions after each reset, at most the task's step limit."""


def look(env: ClevrSkillsEnv, seed: int, idle_steps: int) -> dict[str, bool]:
    """Reset and report what is wrong."""
    _, info = env.reset(seed=seed)
    gaps = [gap for _, _, gap in env.world.contacts()]
    present = [k for k, body in enumerate(env.layouts[0].bodies) if body]
    points = torch.cat([env.world.world_points(torch.tensor([k]))[0] for k in present])
    laid = torch.tensor([env.layouts[0].bodies[k].pose[:3] for k in present])  # type: ignore[union-attr]
    drift = (env.world.body_pose[0, present, :3] - laid).norm(dim=-1)
    free = torch.tensor([k != env.layouts[0].in_gripper for k in present])
    wrong = {
        "goal holds": bool(info["success"][0]),
        "overlap": bool(gaps) and min(gaps) < -OVERLAP_M,
        "out of view": not BASE_CAMERA.sees(points.numpy(), margin=0.0),
        "moved while settling": bool((drift[free] > DRIFT_M).any()),
        "idle success": False,
    }
    for _ in range(min(idle_steps, env.task.max_steps)):
        info = env.step(zero_action(env))[-1]
        wrong["idle success"] |= bool(info["success"][0])
    return wrong


def main(args: ResetArgs) -> None:
    """Run all and print a table."""
    rows: list[list[object]] = []
    columns: list[str] = []
    for task, split in args.runs():
        env = args.env(task, split)
        found = [look(env, seed, args.idle_steps) for seed in args.seeds()]
        columns = list(found[0])
        rows.append(
            [task, split, len(found), *(int(np.sum([f[c] for f in found])) for c in columns)]
        )
        for seed, wrong in zip(args.seeds(), found, strict=True):
            if any(wrong.values()):
                print(task, split, seed, [name for name, is_wrong in wrong.items() if is_wrong])
    print_table("starts of episodes with a fault", ["task", "split", "episodes", *columns], rows)


if __name__ == "__main__":
    main(tyro.cli(ResetArgs, description=__doc__))
