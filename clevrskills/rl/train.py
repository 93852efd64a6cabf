"""Training loop of PPO, from the last checkpoint."""

import contextlib
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import torch
from gymnasium.vector import VectorEnv

from clevrskills.core.checkpoint import latest
from clevrskills.core.episode import RL_TRAINING
from clevrskills.jobs.training_log import TrainingLog, read_reports
from clevrskills.rl.checkpoint import load_initial_weights, restore, save
from clevrskills.rl.ppo import PPO
from clevrskills.rl.run import PROGRESS_FILE, RLRun

RECENT = 100
"""Number of episodes of the success rate in the progress display."""


def train(
    run: RLRun,
    root: Path,
    make_envs: Callable[[RLRun, int], VectorEnv],
    check: Callable[[], None],
    *,
    workers: int,
    device: str,
    threads: int,
    save_every: int,
) -> None:
    """Train until all steps are done.

    Args:
        run: Settings of the training run.
        root: Folder of the training run.
        make_envs: Makes the environments in a number of processes.
        check: Called after each update; may raise to stop the training run.
        workers: Number of processes of the environments.
        device: Device of the networks: ``cpu`` or ``cuda``.
        threads: CPU threads of the learner.
        save_every: Control steps between two checkpoints.

    Raises:
        ClevrSkillsError: The checkpoint is damaged or cannot be written, or there are no
            environments.
    """
    made = latest(root)[0]
    if made >= run.total_steps:
        return
    torch.set_num_threads(threads)
    with contextlib.closing(make_envs(run, workers)) as envs:
        ppo = PPO(envs, run.ppo, run.total_steps, run.seed, device)
        if run.begin_with and not made:
            load_initial_weights(ppo, run)
        restore(ppo, root)
        ppo.start(first_seed(run.seed, ppo.steps))
        saved, success = ppo.steps, RecentSuccess()
        path = root / PROGRESS_FILE
        with TrainingLog(path, "steps", run.task, ppo.steps, run.total_steps) as log:
            while not ppo.done:
                metrics = ppo.iterate()
                success.add(metrics)
                log.write(ppo.steps, metrics, str(success))
                if ppo.done or ppo.steps - saved >= save_every:
                    save(ppo, root, {"task": run.task, "robot": run.robot, "seed": run.seed})
                    saved = ppo.steps
                check()


class RecentSuccess:
    """Success rate of recent episodes."""

    def __init__(self) -> None:
        self._recent: deque[tuple[float, float]] = deque()

    def add(self, metrics: Mapping[str, float]) -> None:
        """Add the metrics of an update."""
        if metrics["episode/count"]:
            self._recent.append((metrics["episode/count"], metrics["episode/success_at_end"]))
            while sum(count for count, _ in self._recent) - self._recent[0][0] >= RECENT:
                self._recent.popleft()

    def __str__(self) -> str:
        count = sum(count for count, _ in self._recent)
        if not count:
            return ""
        rate = sum(count * success for count, success in self._recent) / count
        return f"success {rate:.0%} of the last {count:.0f} episodes"


def read_progress(root: Path) -> list[dict[str, float]]:
    """Return the metrics of all updates of a training run, with ``steps`` and ``seconds``.

    Raises:
        DamagedError: A line cannot be read.
    """
    return read_reports(root / PROGRESS_FILE)


def first_seed(seed: int, steps: int) -> int:
    """Return the seed of the first episode after some steps, so a continued training run does not
    repeat its first episodes.
    """
    drawn = np.random.SeedSequence((seed, steps)).generate_state(1, np.uint64)[0]
    return int(drawn % RL_TRAINING.stop)
