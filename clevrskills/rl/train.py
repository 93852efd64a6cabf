"""Learning from the last checkpoint on, until all steps are made."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from clevrskills.core.episode import RL_TRAINING
from clevrskills.rl.checkpoint import restore, save, steps_made
from clevrskills.rl.log import Log, TrainingDisplay
from clevrskills.rl.ppo import PPO
from clevrskills.rl.run import Run

if TYPE_CHECKING:
    from gymnasium.vector import VectorEnv

    from clevrskills.rl.command import RLArgs


def train(
    run: Run,
    args: RLArgs,
    root: Path,
    make_envs: Callable[[Run, int], VectorEnv],
    check: Callable[[], None],
) -> None:
    """Learn until all steps are made.

    Args:
        run: What is learnt.
        args: How the machine is used.
        root: Folder of the training.
        make_envs: Makes the environments in a number of processes.
        check: Called after each update; raises what ends the training.

    Raises:
        ClevrSkillsError: The checkpoint is damaged, the disk refused, no environments.
    """
    if steps_made(root) >= run.total_steps:
        return
    torch.set_num_threads(args.threads)
    with contextlib.closing(make_envs(run, args.workers)) as envs:
        ppo = PPO(envs, run.ppo, run.total_steps, run.seed, args.device)
        seconds = restore(ppo, root)
        ppo.start(first_seed(run.seed, ppo.steps))
        log, saved = Log(root, ppo.steps), ppo.steps
        began_s = time.monotonic() - seconds
        display = TrainingDisplay(run.task, ppo.steps, run.total_steps)
        with contextlib.closing(log), display:
            while not ppo.done:
                told = ppo.iterate()
                seconds = time.monotonic() - began_s
                log.add(ppo.steps, seconds, told)
                display.add(ppo.steps, told)
                if ppo.done or ppo.steps - saved >= args.save_every:
                    save(ppo, root, seconds)
                    saved = ppo.steps
                check()


def first_seed(seed: int, steps: int) -> int:
    """Seed of the first episode of a training that starts, or goes on, after some steps: what goes
    on does not repeat the episodes that it began with.
    """
    drawn = np.random.SeedSequence((seed, steps)).generate_state(1, np.uint64)[0]
    return int(drawn % RL_TRAINING.stop)
