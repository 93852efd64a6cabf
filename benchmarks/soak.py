"""A long run of a vector environment: memory, numbers that are none, jumps, drift.

python benchmarks/soak.py sort --steps 200000
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro
from common import print_table
from generation import workers_of

from clevrskills.envs.environment import ClevrSkillsEnv
from clevrskills.envs.state_observation import layout
from clevrskills.vector import VectorEnv, make_vec

FAST_M_PER_S = 5.0
"""Faster than the arm moves anything: who is that fast was pushed out of another body."""
REPLAYED_STEPS = 100


def wander(generator: np.random.Generator, num_envs: int) -> np.ndarray:
    """Random actions (B, 7) of moderate size, with the vacuum now on, now off."""
    actions = generator.uniform(-0.5, 0.5, (num_envs, 7)).astype(np.float32)
    actions[:, 6] = np.where(generator.random(num_envs) < 0.7, 1.0, -1.0)
    return actions


def main(
    task: Annotated[str, tyro.conf.Positional] = "sort",
    steps: int = 200_000,
    num_envs: int = 16,
    workers: int = 2,
) -> None:
    """Run random actions in several processes, then an episode beside one in fresh processes.

    Args:
        task: Key of the task.
        steps: Steps of all environments together.
        num_envs: Environments.
        workers: Processes.
    """
    speeds = _speeds_of(task)
    envs = make_vec(task, num_envs, workers=workers)
    pids = [os.getpid(), *workers_of(os.getpid())]
    generator, rounds = np.random.default_rng(0), -(-steps // num_envs)
    envs.reset(seed=0)
    rows: list[list[object]] = []
    odd = jumps = episodes = 0
    for step in range(1, rounds + 1):
        seen, _, _, truncated, _ = envs.step(wander(generator, num_envs))
        odd += int((~np.isfinite(seen).all(axis=1)).sum())
        jumps += int((np.linalg.norm(seen[:, speeds], axis=-1) > FAST_M_PER_S).any(axis=1).sum())
        episodes += int(truncated.sum())
        if step % max(1, rounds // 10) == 0:
            memory = [_memory_mb(pid) for pid in pids]
            rows.append([step * num_envs, episodes, max(memory), odd, jumps])
    ours = list(_replay(envs))
    envs.close()
    fresh = make_vec(task, num_envs, workers=workers)
    drifted = sum(not np.array_equal(a, b) for a, b in zip(ours, _replay(fresh), strict=True))
    fresh.close()
    columns = ["steps", "episodes", "MB of the largest process", "not finite", "jumps"]
    print_table(f"{task}, {num_envs} environments in {workers} processes", columns, rows)
    sys.stdout.write(f"steps that differ from those of fresh processes: {drifted}\n")


def _replay(envs: VectorEnv) -> Iterator[np.ndarray]:
    """Observations of the same episodes whatever was before."""
    generator = np.random.default_rng(1)
    yield envs.reset(seed=1_000)[0]
    for _ in range(REPLAYED_STEPS):
        yield envs.step(wander(generator, envs.num_envs))[0]


def _speeds_of(task: str) -> np.ndarray:
    """Where linear velocities of bodies stand in an observation, (K, 3)."""
    env = ClevrSkillsEnv(task, obs_mode="state_dict", render_backend="none")
    env.reset(seed=0)
    entries = layout(env.observer(env.outcome))
    env.close()
    starts = [entry["start"] for entry in entries if entry["name"].startswith("bodies/")]
    return np.array(starts)[:, None] + np.arange(17, 20)


def _memory_mb(pid: int) -> float:
    """What a process has in memory."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


if __name__ == "__main__":
    tyro.cli(main, description=__doc__)
