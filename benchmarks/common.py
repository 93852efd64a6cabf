"""Helpers of the benchmark scripts."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import torch
import tyro
from rich.console import Console
from rich.table import Table

from clevrskills import task_keys
from clevrskills.envs.environment import ClevrSkillsEnv


@dataclass
class Args:
    """Episodes to run."""

    tasks: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Keys of tasks; default: all."""
    splits: tuple[str, ...] = ("train", "test")
    robot: str = "xarm6"
    episodes: int = 100
    seed: int = 50_000
    """First seed; the others follow."""

    def runs(self) -> Iterator[tuple[str, str]]:
        """Yield every task with every split."""
        for task in self.tasks or tuple(task_keys()):
            for split in self.splits:
                yield task, split

    def seeds(self) -> range:
        """Return the seeds of the episodes."""
        return range(self.seed, self.seed + self.episodes)

    def env(self, task: str, split: str) -> ClevrSkillsEnv:
        """Return an environment without images."""
        torch.set_num_threads(1)
        return ClevrSkillsEnv(task, split=split, robot_name=self.robot, obs_mode="none")


def zero_action(env: ClevrSkillsEnv) -> np.ndarray:
    """Return an action of zeros, (7,)."""
    return np.zeros(env.single_action_space.shape, np.float32)


def pick_cube_step_s(steps: int = 100, **options: Any) -> float:
    """Return the CPU-seconds per step of ManiSkill's stock PickCube-v1, as a baseline."""
    import gymnasium as gym
    import mani_skill.envs  # noqa: F401

    env = gym.make("PickCube-v1", **options)
    env.reset(seed=0)
    action = env.action_space.sample()
    for _ in range(3):  # warm up
        env.step(action)
    begin = time.process_time()
    for _ in range(steps):
        env.step(action)
    spent = time.process_time() - begin
    env.close()
    return spent / steps


def without_salt() -> None:
    """Remove the random salt of runs, so that results of several runs can be compared."""
    secrets.token_hex = lambda nbytes=None: ""


def print_table(title: str, columns: list[str], rows: list[list[object]]) -> None:
    """Print a table."""
    table = Table(title=title)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(
            *(f"{value:.3f}" if isinstance(value, float) else str(value) for value in row)
        )
    Console(width=140).print(table)
