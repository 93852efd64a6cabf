"""``clevrskills train``: training of a policy on demonstrations, resumed if interrupted."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from clevrskills.baselines.training.arguments import TrainArgs
from clevrskills.core.checkpoint import latest
from clevrskills.core.suite import all_splits, load_suite
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.evaluate import EvaluateArgs, evaluate
from clevrskills.jobs.arguments import check_least, check_names
from clevrskills.jobs.run_folder import INTERRUPTED, write_into

if TYPE_CHECKING:
    from clevrskills.baselines.training.training_config import TrainingConfig
    from clevrskills.core.suite import Suite

EVALUATIONS_DIR = "evaluations"
EVALUATION_LIMIT = timedelta(days=1)
"""Time for which other processes wait for the one that evaluates."""


def train(args: TrainArgs, suite: Suite | None = None) -> int:
    """Train a policy.

    Args:
        args: Arguments of the command.
        suite: Suite of evaluations during training; ``None``: ClevrSkills.

    Returns:
        Exit code: 0 after all steps, 130 after Ctrl-C.

    Raises:
        ClevrSkillsError: An argument is invalid, demonstrations are damaged, or the disk is full.
            Checkpoints are kept.
    """
    require_training()
    if args.recipe is not None:
        from clevrskills.baselines.training.recipe import run_recipe

        return run_recipe(args, train)
    _check(args)
    from clevrskills.baselines.training.training_config import open_training, prepare

    try:
        with _without_small_numbers(), _accelerator(args) as accelerator:
            training = prepare(args)
            processes = {"processes": accelerator.num_processes}
            training = replace(training, identity={**training.identity, **processes})

            def run(check: Callable[[], None]) -> int:
                accelerator.wait_for_everyone()  # until the folder exists
                return _run(training, accelerator, suite)

            if not accelerator.is_main_process:
                return run(lambda: None)
            open_training(args.out.absolute(), training.identity)
            return write_into(args.out, run, kept="the latest checkpoint")
    except KeyboardInterrupt:
        return INTERRUPTED


def require_training() -> None:
    """Check that the packages of the extra ``vla`` are installed.

    Raises:
        ClevrSkillsError: A package is missing.
    """
    try:
        import accelerate  # noqa: F401
        import safetensors  # noqa: F401
        import tensorboard  # noqa: F401
    except ModuleNotFoundError as error:
        raise ClevrSkillsError(
            f"training needs the package {error.name}: pip install 'clevrskills[vla]'"
        ) from error


def _check(args: TrainArgs) -> None:
    check_least(args, steps=1, accumulate=1, seed=0, workers=0, log_every=1, save_every=1, keep=1)
    check_least(args, evaluate_every=1, evaluate_episodes=1, evaluate_workers=1)
    if not args.data:
        raise ClevrSkillsError("there is nothing to train on: name a folder with --data")
    if args.policy is None and args.from_ is None:
        raise ClevrSkillsError("name a policy with --policy, or a checkpoint with --from")


@contextlib.contextmanager
def _without_small_numbers() -> Iterator[None]:
    """Flush denormal numbers to 0: a CPU multiplies them many times more slowly, and a network in
    training has many of them. Threads of torch keep the setting at its first operation.
    """
    import torch

    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


@contextlib.contextmanager
def _accelerator(args: TrainArgs) -> Iterator[Any]:
    """Yield an accelerator: device and processes. Accelerate keeps settings for the life of the
    process; they are reset at the end, as the next training run may have others.
    """
    from accelerate import Accelerator, DistributedDataParallelKwargs, InitProcessGroupKwargs
    from accelerate.state import AcceleratorState, is_initialized

    if is_initialized():
        raise ClevrSkillsError("this process already trains with accelerate: start another one")
    try:
        yield Accelerator(
            mixed_precision="bf16" if args.bf16 else "no",
            gradient_accumulation_steps=args.accumulate,
            cpu=args.cpu,
            kwargs_handlers=[
                # a batch may have no image in any of its prompts
                DistributedDataParallelKwargs(find_unused_parameters=True),
                # while one process evaluates, the others wait
                InitProcessGroupKwargs(timeout=EVALUATION_LIMIT),
            ],
        )
    finally:
        AcceleratorState._reset_state(reset_partial_state=True)


def _run(training: TrainingConfig, accelerator: Any, suite: Suite | None) -> int:
    from clevrskills.baselines.training.trainer import Trainer

    args = training.args
    policy, windows, order = training.make(latest(args.out.absolute())[1])
    evaluation = None
    if args.evaluate_every is not None:
        suite, tasks = suite or load_suite(), tuple(sorted(set(windows.tasks)))
        check_names(task=(tasks, suite.tasks), split=((args.evaluate_split,), all_splits(suite)))
        evaluation = partial(evaluate_checkpoint, args, suite, tasks)
    about = training.describe(policy, windows)
    Trainer(args, policy, about, windows, order, accelerator, evaluation).run()
    if accelerator.is_main_process:
        name = quote(f"checkpoint:{args.out}")
        print(f"trained for {args.steps} steps; `--policy {name}` evaluates it")
    return 0


def evaluate_checkpoint(
    args: TrainArgs, suite: Suite, tasks: Sequence[str], folder: Path, step: int
) -> dict[str, float]:
    """Return the success rates of a checkpoint on a few frozen episodes; the results are kept in
    the folder of the run.

    Args:
        args: Arguments of the command, with the number of episodes and their split.
        suite: Suite of the episodes.
        tasks: Keys of the tasks.
        folder: Folder of the checkpoint.
        step: Number of optimizer steps so far.

    Returns:
        The success rate, overall and by task.

    Raises:
        ClevrSkillsError: Episodes ended in errors.
        KeyboardInterrupt: The evaluation was interrupted; another call continues it.
    """
    from clevrskills.evaluation.results import read_results

    out = args.out.absolute() / EVALUATIONS_DIR / f"{step:08d}"
    out.parent.mkdir(exist_ok=True)
    request = EvaluateArgs(
        policy=f"checkpoint:{folder}",
        tasks=tuple(tasks),
        split=(args.evaluate_split,),
        episodes=args.evaluate_episodes,
        out=out,
        workers=args.evaluate_workers,
    )
    with contextlib.redirect_stdout(io.StringIO()):
        if evaluate(request, suite):
            raise KeyboardInterrupt
    results = list(read_results(out))
    found = {"success": [r.success_once for r in results]}
    for task in tasks:
        found[f"success/{task}"] = [r.success_once for r in results if r.task == task]
    return {name: sum(values) / len(values) for name, values in found.items()}
