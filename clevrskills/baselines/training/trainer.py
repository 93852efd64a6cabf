"""The loop of training, on one device or several."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from rich.console import Console
from torch import Tensor
from torch.utils.data import DataLoader

from clevrskills.baselines.data.windows import Batches, Collate, Order, Windows
from clevrskills.baselines.training import training_state
from clevrskills.jobs.files import to_json
from clevrskills.jobs.journal import Journal, read_lines
from clevrskills.jobs.progress import LOG_EVERY_S, bars

if TYPE_CHECKING:
    from accelerate import Accelerator

    from clevrskills.baselines.batch import Batch
    from clevrskills.baselines.checkpoint import Description
    from clevrskills.baselines.policy import LearnedPolicy
    from clevrskills.baselines.spec import PolicyConfig

LOG_FILE = "log.jsonl"
_FINAL_RATE = 0.1  # of the highest learning rate, at the end


@dataclass(frozen=True)
class Schedule:
    """How long is trained, and when something else is done.

    Attributes:
        steps: Steps of the optimizer.
        accumulate: Batches to a step.
        seed: What decides all that is random.
        log_every: Steps between two lines of the log.
        save_every: Steps between two checkpoints.
        evaluate_every: Steps between two evaluations; ``None``: there are none.
        keep: How many checkpoints stay.
        workers: Processes that load windows.
    """

    steps: int
    accumulate: int = 1
    seed: int = 0
    log_every: int = 50
    save_every: int = 1000
    evaluate_every: int | None = None
    keep: int = 2
    workers: int = 2


def learning_rate(step: int, steps: int, config: PolicyConfig) -> float:
    """The learning rate at a step: it rises evenly, then falls like a cosine to a tenth."""
    rising = min(1.0, (step + 1) / max(1, config.warm_up_steps))
    part = min(1.0, max(0, step - config.warm_up_steps) / max(1, steps - config.warm_up_steps))
    falling = _FINAL_RATE + (1 - _FINAL_RATE) * 0.5 * (1 + math.cos(math.pi * part))
    return config.learning_rate * rising * falling


def make_optimizer(policy: LearnedPolicy) -> torch.optim.AdamW:
    """AdamW over all that is to be trained; biases and the like do not decay."""
    trained = [p for p in policy.parameters() if p.requires_grad]
    groups: list[dict[str, Any]] = [
        {"params": [p for p in trained if p.ndim >= 2]},
        {"params": [p for p in trained if p.ndim < 2], "weight_decay": 0.0},
    ]
    config = policy.config
    return torch.optim.AdamW(groups, config.learning_rate, weight_decay=config.weight_decay)


class Trainer:
    """Trains a policy in a folder, from where it stopped.

    Args:
        root: The folder.
        policy: The policy, as it is in the latest checkpoint, or at the start.
        about: What its checkpoints say.
        windows: What it is trained on.
        order: In what order.
        schedule: For how long.
        accelerator: Where.
        evaluate: Called with the folder of a checkpoint and the number of steps made; returns
            numbers for the log.
    """

    def __init__(
        self,
        root: Path,
        policy: LearnedPolicy,
        about: Description,
        windows: Windows,
        order: Order,
        schedule: Schedule,
        accelerator: Accelerator,
        evaluate: Callable[[Path, int], Mapping[str, float]] | None = None,
    ) -> None:
        self._root, self._about, self._schedule = root, about, schedule
        self._windows, self._order = windows, order
        self._accelerator, self._evaluate = accelerator, evaluate
        self._policy = policy.to(accelerator.device).train()
        optimizer = make_optimizer(policy)
        self.step, folder = training_state.latest(root)
        if folder is not None and self.step < schedule.steps:
            training_state.fill_optimizer(optimizer, policy, folder)
        self._model, self._optimizer = accelerator.prepare(policy, optimizer)
        self._sums: dict[str, Tensor] = {}
        self._counted = 0

    def run(self) -> None:
        """Train until all steps are made."""
        schedule = self._schedule
        with Log(self._root, self._accelerator.is_main_process, self.step, schedule.steps) as log:
            self._evaluate_latest(log)  # it may have been interrupted
            batches = self._batches() if self.step < schedule.steps else iter(())
            while self.step < schedule.steps:
                self._add(self._make_step(batches))
                self.step += 1
                save = self.step % schedule.save_every == 0 or self.step == schedule.steps
                save = save or self._evaluates
                if save or self.step % schedule.log_every == 0:
                    log.write(self.step, self._means())
                if save:
                    self._save()
                    self._evaluate_latest(log)

    @property
    def _evaluates(self) -> bool:
        """Whether there is an evaluation after this step."""
        every, ended = self._schedule.evaluate_every, self.step == self._schedule.steps
        return every is not None and (ended or self.step % every == 0)

    def _make_step(self, batches: Iterator[Batch]) -> dict[str, Tensor]:
        schedule, accelerator, config = self._schedule, self._accelerator, self._policy.config
        rate = learning_rate(self.step, schedule.steps, config)
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        losses: dict[str, Tensor] = {}
        for part in range(schedule.accumulate):
            entropy = (schedule.seed, self.step, part, accelerator.process_index)
            torch.manual_seed(int(np.random.SeedSequence(entropy).generate_state(1)[0]))
            batch = next(batches).to(accelerator.device)
            with accelerator.accumulate(self._model):
                found = self._model(batch)
                accelerator.backward(found["loss"])
                if accelerator.sync_gradients:
                    norm = accelerator.clip_grad_norm_(
                        self._model.parameters(), config.max_gradient_norm
                    )
                self._optimizer.step()
                self._optimizer.zero_grad()
            for name, value in found.items():
                losses[name] = losses.get(name, 0.0) + value.detach().float() / schedule.accumulate
        return {**losses, "gradient_norm": norm, "learning_rate": torch.tensor(rate)}

    def _batches(self) -> Iterator[Batch]:
        accelerator, schedule = self._accelerator, self._schedule
        share = (accelerator.process_index, accelerator.num_processes)
        size, first = self._policy.config.batch_size, self.step * schedule.accumulate
        loader: DataLoader[Any] = DataLoader(
            self._windows,
            batch_sampler=Batches(self._order, size, first, *share),
            collate_fn=Collate(self._policy.tokenizer.pad),
            num_workers=schedule.workers,
            pin_memory=accelerator.device.type == "cuda",
            prefetch_factor=4 if schedule.workers else None,
        )
        return iter(loader)

    def _add(self, losses: Mapping[str, Tensor]) -> None:
        for name, value in losses.items():
            self._sums[name] = self._sums.get(name, 0.0) + value
        self._counted += 1

    def _means(self) -> dict[str, float]:
        """Means since the last time this was asked, over all processes."""
        names, device = sorted(self._sums), self._accelerator.device
        values = torch.stack([self._sums[n].to(device) for n in names]) / self._counted
        values = self._accelerator.reduce(values, "mean")
        self._sums, self._counted = {}, 0
        return dict(zip(names, values.tolist(), strict=True))

    def _save(self) -> None:
        """Write a checkpoint."""
        if self._accelerator.is_main_process:
            unfinished = self.step < self._schedule.steps
            training_state.save(
                *(self._root, self.step, self._policy, self._about),
                _plain(self._optimizer) if unfinished else None,
                self._schedule.keep,
            )
        self._accelerator.wait_for_everyone()

    def _evaluate_latest(self, log: Log) -> None:
        """Evaluate the checkpoint of this step, if it is time to."""
        steps, folder = training_state.latest(self._root)
        if self._evaluate is None or folder is None or steps != self.step or not self._evaluates:
            return
        if self._accelerator.is_main_process:
            log.write(self.step, self._evaluate(folder, self.step))
        self._accelerator.wait_for_everyone()


class Log:
    """What a training tells: a file of lines, TensorBoard, a progress bar on standard error.

    Args:
        root: Folder of the training.
        active: Whether this is the process that tells it.
        first: Steps made before.
        steps: Steps in all.
    """

    def __init__(self, root: Path, active: bool, first: int, steps: int) -> None:
        self._active, self._first, self._steps = active, first, steps
        if not active:
            return
        from torch.utils.tensorboard import SummaryWriter

        self._journal = Journal(root / LOG_FILE)
        self._board = SummaryWriter(str(root / "tensorboard"), purge_step=first + 1)
        self._console = Console(stderr=True)
        self._progress = bars(self._console)
        self._bar = self._progress.add_task("training", total=steps, completed=first, more="")
        self._spent_s = read_log(root)[first]["seconds"] if first else 0.0
        self._began_s = self._logged_s = time.monotonic()

    def __enter__(self) -> Self:
        if self._active:
            self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._active:
            self._progress.stop()
            self._board.close()

    def write(self, step: int, numbers: Mapping[str, float]) -> None:
        """Tell numbers of the time up to a step."""
        if not self._active:
            return
        seconds = time.monotonic() - self._began_s
        line = {"step": step, **numbers, "seconds": round(self._spent_s + seconds, 1)}
        self._journal.append(to_json(line))
        for name, value in numbers.items():
            self._board.add_scalar(name, value, step)
        said = ", ".join(f"{n} {v:.3g}" for n, v in numbers.items() if _telling(n))
        rate = (step - self._first) / seconds
        more = f"{said}, {rate:.3g} steps/s"
        self._progress.update(self._bar, completed=step, more=more)
        if self._progress.disable and time.monotonic() - self._logged_s >= LOG_EVERY_S:
            self._logged_s = time.monotonic()
            self._console.print(f"step {step} of {self._steps}, {more}", highlight=False)


def _telling(name: str) -> bool:
    """Whether a number is shown beside the progress bar."""
    return name == "loss" or name.startswith("success")


def _plain(optimizer: Any) -> torch.optim.Optimizer:
    """The optimizer within accelerate's."""
    found: torch.optim.Optimizer = getattr(optimizer, "optimizer", optimizer)
    return found


def read_log(root: Path) -> dict[int, dict[str, float]]:
    """What a training told, by step; what it told twice as it was the last time. ``seconds`` is how
    long it took up to there, without what was lost to interruptions.

    Raises:
        DatasetError: A line cannot be read.
    """
    found: dict[int, dict[str, float]] = {}
    for line in read_lines(root / LOG_FILE, json.loads):
        found.setdefault(line.pop("step"), {}).update(line)
    return dict(sorted(found.items()))
