"""``clevrskills train``: a policy on demonstrations, continuing where it stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from clevrskills.baselines.training.training_config import (
    TrainArgs,
    TrainingConfig,
    open_training,
    prepare,
)
from clevrskills.errors import ClevrSkillsError

if TYPE_CHECKING:
    from clevrskills.core.suite import Suite


def train(args: TrainArgs, suite: Suite | None = None) -> int:
    """Train a policy.

    Args:
        args: Which, on what, for how long.
        suite: Where early evaluations come from; ``None``: ClevrSkills.

    Returns:
        Exit code: 0 if all steps were made, 130 after Ctrl-C.

    Raises:
        ClevrSkillsError: Bad arguments, demonstrations that are damaged, a full disk; checkpoints
            that were written are kept.
    """
    from clevrskills.jobs.run_folder import INTERRUPTED, write_into

    require_training()
    _check(args)
    training = prepare(args)
    try:
        with _accelerator(args) as accelerator:

            def run(check: Callable[[], None]) -> int:
                accelerator.wait_for_everyone()  # until the folder is there
                return _run(args, training, accelerator, suite)

            if not accelerator.is_main_process:
                return run(lambda: None)
            open_training(args.out.absolute(), training.identity)
            return write_into(args.out, run, kept="the latest checkpoint")
    except KeyboardInterrupt:
        return INTERRUPTED


def require_training() -> None:
    """Check that the packages of the extra ``vla`` are there.

    Raises:
        ClevrSkillsError: They are not.
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
    for name, least in (
        *(("steps", 1), ("accumulate", 1), ("seed", 0), ("workers", 0), ("log_every", 1)),
        *(("save_every", 1), ("keep", 1), ("evaluate_every", 1), ("evaluate_episodes", 1)),
        ("cache_gb", 0),
    ):
        value = getattr(args, name)
        if value is not None and value < least:
            raise ClevrSkillsError(
                f"--{name.replace('_', '-')} must be at least {least}, not {value}"
            )
    if not args.data:
        raise ClevrSkillsError("there is nothing to train on: name a folder with --data")
    if args.policy is None and args.start is None:
        raise ClevrSkillsError("name a policy with --policy, or a checkpoint with --from")


@contextmanager
def _accelerator(args: TrainArgs) -> Iterator[Any]:
    """What trains. Accelerate keeps its settings for the life of the process; they are taken back
    at the end, as the next training may have others.
    """
    from accelerate import Accelerator, DistributedDataParallelKwargs
    from accelerate.state import AcceleratorState, is_initialized

    if is_initialized():
        raise ClevrSkillsError("this process trains something else with accelerate: take another")
    try:
        yield Accelerator(
            mixed_precision="bf16" if args.bf16 else "no",
            gradient_accumulation_steps=args.accumulate,
            cpu=args.cpu,
            # a batch may have no image in any of its prompts
            kwargs_handlers=[DistributedDataParallelKwargs(find_unused_parameters=True)],
        )
    finally:
        AcceleratorState._reset_state(reset_partial_state=True)


def _run(args: TrainArgs, training: TrainingConfig, accelerator: Any, suite: Suite | None) -> int:
    from clevrskills.baselines.training.eval_callback import EvalCallback
    from clevrskills.baselines.training.trainer import Schedule, Trainer
    from clevrskills.core.checkpoint import latest

    root = args.out.absolute()
    policy, windows, order = training.make(latest(root)[1])
    schedule = Schedule(**{f.name: getattr(args, f.name) for f in fields(Schedule)})
    evaluation = None
    if args.evaluate_every is not None:
        tasks = tuple(sorted(set(windows.tasks)))
        evaluation = EvalCallback(
            *(root, tasks, args.evaluate_split, args.evaluate_episodes, args.evaluate_workers),
            suite,
        )
    about = training.describe(policy, windows)
    Trainer(root, policy, about, windows, order, schedule, accelerator, evaluation).run()
    if accelerator.is_main_process:
        print(f"trained for {args.steps} steps; `--policy checkpoint:{args.out}` evaluates it")
    return 0
