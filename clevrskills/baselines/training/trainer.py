"""Trainer: the training loop, on one device or several."""

from __future__ import annotations

import contextlib
import math
import signal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

from clevrskills.baselines.checkpoint import CheckpointDescription, write
from clevrskills.baselines.data.windows import Batches, SampleOrder, Windows
from clevrskills.core import checkpoint
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.jobs.files import PartialDirectory
from clevrskills.jobs.training_log import TrainingLog

if TYPE_CHECKING:
    from accelerate import Accelerator

    from clevrskills.baselines.batch import Batch
    from clevrskills.baselines.policy import LearnedPolicy
    from clevrskills.baselines.spec import PolicyConfig
    from clevrskills.baselines.training.arguments import TrainArgs

LOG_FILE = "log.jsonl"


def learning_rate(step: int, steps: int, config: PolicyConfig, highest: float) -> float:
    """Return the learning rate at a step: linear warm-up to the peak, then cosine decay to
    ``final_rate`` times the peak.
    """
    rising = min(1.0, (step + 1) / max(1, config.warm_up_steps))
    part = min(1.0, max(0, step - config.warm_up_steps) / max(1, steps - config.warm_up_steps))
    final = config.final_rate
    falling = final + (1 - final) * 0.5 * (1 + math.cos(math.pi * part))
    return highest * rising * falling


def make_optimizer(policy: LearnedPolicy) -> torch.optim.AdamW:
    """Return AdamW over the trainable parameters; biases and other vectors have no weight decay.
    The learning rate of a group is multiplied by its ``factor``.

    Raises:
        ClevrSkillsError: A part with its own learning rate does not exist or is not trained.
    """
    config = policy.config
    trained = [(name, p) for name, p in policy.named_parameters() if p.requires_grad]
    rates = dict(config.part_rates)
    for part in rates:
        if not any(_is_of(name, part) for name, _ in trained):
            known = sorted({name.partition(".")[0] for name, _ in trained})
            raise UnknownNameError("part that is trained", part, known)
    groups: dict[tuple[float, bool], list[nn.Parameter]] = {}
    for name, parameter in trained:
        parts = sorted((part for part in rates if _is_of(name, part)), key=len)
        factor = rates[parts[-1]] if parts else 1.0
        groups.setdefault((factor, parameter.ndim >= 2), []).append(parameter)
    made: list[dict[str, Any]] = [
        {"params": group, "factor": factor, **({} if decays else {"weight_decay": 0.0})}
        for (factor, decays), group in sorted(groups.items(), key=lambda one: one[0], reverse=True)
    ]
    return torch.optim.AdamW(made, config.learning_rate, weight_decay=config.weight_decay)


def _is_of(name: str, part: str) -> bool:
    """Return whether a parameter is in a part."""
    return name == part or name.startswith(f"{part}.")


class Trainer:
    """Trainer of a policy, which resumes from the latest checkpoint in the folder of the run.

    Args:
        args: Arguments of the command: folder, number of steps and intervals.
        policy: The policy, with the weights of the latest checkpoint or the initial ones.
        about: Description for its checkpoints.
        windows: Training windows.
        order: Order of the windows.
        accelerator: Device and processes.
        evaluate: Function that returns metrics for the log, given the folder of a checkpoint and
            the number of steps so far.
    """

    def __init__(
        self,
        args: TrainArgs,
        policy: LearnedPolicy,
        about: CheckpointDescription,
        windows: Windows,
        order: SampleOrder,
        accelerator: Accelerator,
        evaluate: Callable[[Path, int], Mapping[str, float]] | None = None,
    ) -> None:
        self._root, self._about, self._args = args.out.absolute(), about, args
        self._windows, self._order = windows, order
        self._accelerator, self._evaluate = accelerator, evaluate
        self._policy = policy.to(accelerator.device).train()
        optimizer = make_optimizer(policy)
        self.step, folder = checkpoint.latest(self._root)
        if folder is not None and self.step < args.steps:
            path = folder / checkpoint.OPTIMIZER_FILE
            checkpoint.load_optimizer(optimizer, policy, checkpoint.read_tensors(path), path)
        self._model, self._optimizer = accelerator.prepare(policy, optimizer)
        self._sums: dict[str, Tensor] = {}
        self._counted = 0

    def run(self) -> None:
        """Train for the remaining steps."""
        args = self._args
        with contextlib.ExitStack() as stack:
            log = None
            if self._accelerator.is_main_process:
                path = self._root / LOG_FILE
                log = TrainingLog(path, "step", "training", self.step, args.steps)
                stack.enter_context(log)
            self._evaluate_latest(log)  # it may have been interrupted
            batches = self._batches() if self.step < args.steps else iter(())
            while self.step < args.steps:
                for name, value in self._make_step(batches).items():
                    self._sums[name] = self._sums.get(name, 0.0) + value
                self._counted += 1
                self.step += 1
                save = self.step % args.save_every == 0 or self.step == args.steps
                save = save or self._evaluates
                if save or self.step % args.log_every == 0:
                    self._report(log, self._checked(self._means()))
                if save:
                    self._save()
                    self._evaluate_latest(log)

    @property
    def _evaluates(self) -> bool:
        """``True`` if there is an evaluation after this step."""
        every, ended = self._args.evaluate_every, self.step == self._args.steps
        return every is not None and (ended or self.step % every == 0)

    def _make_step(self, batches: Iterator[Batch]) -> dict[str, Tensor]:
        args, accelerator, config = self._args, self._accelerator, self._policy.config
        rate = learning_rate(self.step, args.steps, config, self._policy.learning_rate)
        for group in self._optimizer.param_groups:
            group["lr"] = rate * group["factor"]
        losses: dict[str, Tensor] = {}
        for part in range(args.accumulate):
            entropy = (args.seed, self.step, part, accelerator.process_index)
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
                losses[name] = losses.get(name, 0.0) + value.detach().float() / args.accumulate
        return {**losses, "gradient_norm": norm, "learning_rate": torch.tensor(rate)}

    def _batches(self) -> Iterator[Batch]:
        accelerator, args = self._accelerator, self._args
        share = (accelerator.process_index, accelerator.num_processes)
        size, first = self._policy.config.batch_size, self.step * args.accumulate
        loader: DataLoader[Any] = DataLoader(
            self._windows,
            batch_size=None,
            sampler=Batches(self._order, size, first, *share),
            num_workers=args.workers,
            pin_memory=accelerator.device.type == "cuda",
            prefetch_factor=4 if args.workers else None,
            worker_init_fn=_ignore_signals,
        )
        return iter(loader)

    def _means(self) -> dict[str, float]:
        """Return the means since the last call, over all processes."""
        names, device = sorted(self._sums), self._accelerator.device
        values = torch.stack([self._sums[n].to(device) for n in names]) / self._counted
        values = self._accelerator.reduce(values, "mean")
        self._sums, self._counted = {}, 0
        return dict(zip(names, values.tolist(), strict=True))

    def _checked(self, means: dict[str, float]) -> dict[str, float]:
        """Return the means if loss and gradient norm are finite; if not, checkpoints are kept."""
        for name in ("loss", "gradient_norm"):
            if not math.isfinite(value := means[name]):
                raise ClevrSkillsError(
                    f"{name} is {value} at step {self.step}: a lower learning rate may help; the "
                    "latest checkpoint is kept"
                )
        return means

    def _save(self) -> None:
        """Write a checkpoint atomically and remove older ones."""
        if self._accelerator.is_main_process:
            optimizer = self._optimizer.optimizer if self.step < self._args.steps else None
            final = checkpoint.folder_of(self._root, self.step)
            with PartialDirectory(self._root, final) as partial:
                write(partial.path, self._policy, self._about, optimizer)
                partial.commit()
            checkpoint.prune(self._root, self._args.keep)
        self._accelerator.wait_for_everyone()

    def _evaluate_latest(self, log: TrainingLog | None) -> None:
        """Evaluate the checkpoint of this step if an evaluation is due."""
        steps, folder = checkpoint.latest(self._root)
        if self._evaluate is None or folder is None or steps != self.step or not self._evaluates:
            return
        if log is not None:
            self._report(log, self._evaluate(folder, self.step))
        self._accelerator.wait_for_everyone()

    def _report(self, log: TrainingLog | None, numbers: Mapping[str, float]) -> None:
        if log is not None:
            named = [n for n in numbers if n == "loss" or n.startswith("success")]
            log.write(self.step, numbers, *(f"{name} {numbers[name]:.3g}" for name in named))


def _ignore_signals(worker: int) -> None:
    """Ignore signals to a whole process group: the trainer ends its workers."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
