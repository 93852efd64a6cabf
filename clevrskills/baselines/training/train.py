"""``clevrskills train``: a policy on demonstrations, continuing where it stopped."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from clevrskills.errors import ClevrSkillsError

if TYPE_CHECKING:
    from clevrskills.baselines.training.training_config import Job
    from clevrskills.suites.clevrskills.suite import Suite

INTERRUPTED = 130  # what shells report after Ctrl-C


@dataclass(kw_only=True)
class TrainArgs:
    """Train a policy on demonstrations; running it again continues.

    On several GPUs: `accelerate launch -m clevrskills train ...`; each of them has batches of its
    own.
    """

    policy: str | None = None
    """The policy: bc, act, stream_robolm, jat, robo_flamingo, octo, or `module:Class`; with --from,
    that of the checkpoint."""
    data: Annotated[tuple[Path, ...], tyro.conf.UseAppendAction]
    """Folder of demonstrations, made by `clevrskills generate` or `clevrskills export --to
    lerobot`; may be given several times."""
    out: Path
    """Folder of the training."""
    configuration: str | None = None
    """Configuration of the policy: default, tiny or others that it has; with --from, by default
    that of the checkpoint, whose weights have to fit."""
    set: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """Entry of the configuration, NAME=VALUE, the value as JSON, e.g. `batch_size=32` or
    `learning_rate=1e-4`; may be given several times."""
    start: Annotated[Path | None, tyro.conf.arg(name="from")] = None
    """Checkpoint, or folder of a training, to go on from."""
    task: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """Only demonstrations of this task; may be given several times."""
    level: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """Only demonstrations of this level, L0, L1 or L2; may be given several times."""
    split: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """Only demonstrations of this split, train or test; by default train."""
    weight: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """How often windows of a task are drawn, TASK=WEIGHT; may be given several times. All other
    tasks have weight 1 then; without it, all windows are drawn equally often."""
    balance: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Draw windows of all tasks equally often."""
    prompt: Literal["multimodal", "language"] = "multimodal"
    """Prompts with pictures, or in words alone; the latter leaves out the tasks that evaluations
    leave out there."""
    steps: int = 20_000
    """Steps of the optimizer."""
    accumulate: int = 1
    """Batches to a step."""
    bf16: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Compute in bfloat16 where that is safe."""
    cpu: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Train on the CPU even if there is a GPU."""
    seed: int = 0
    """Decides the first weights, the order of the windows and all else that is random."""
    workers: int = 2
    """Processes that load windows, for each process that trains."""
    cache_gb: float = 0.0
    """Memory in which each process that loads keeps the pictures that it has read, in GB: much
    quicker where all demonstrations fit into it."""
    log_every: int = 50
    """Steps between two lines of the log."""
    save_every: int = 1000
    """Steps between two checkpoints."""
    keep: int = 2
    """Checkpoints that stay, the latest ones."""
    evaluate_every: int | None = None
    """Steps between two evaluations on frozen episodes; the last one is at the end."""
    evaluate_episodes: int = 5
    """Frozen episodes of each task in these evaluations."""
    evaluate_split: Literal["train", "test"] = "train"
    """Their split."""
    evaluate_workers: int = 1
    """Processes that evaluate."""


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
    from clevrskills.baselines.training.training_config import prepare
    from clevrskills.baselines.training.training_state import open_training
    from clevrskills.dataset_tools.layout import locked
    from clevrskills.jobs.files import remove_partial
    from clevrskills.jobs.signals import stop_signals

    require_training()
    _check(args)
    job = prepare(args)
    root = args.out.absolute()
    try:
        with _accelerator(args) as accelerator:
            if not accelerator.is_main_process:
                accelerator.wait_for_everyone()  # until the folder is there
                return _run(args, job, accelerator, suite)
            open_training(root, job.identity)
            with locked(root), stop_signals():
                remove_partial(root)
                accelerator.wait_for_everyone()
                return _run(args, job, accelerator, suite)
    except KeyboardInterrupt:
        print(
            f"interrupted; the latest checkpoint is in {args.out}, the same command continues",
            file=sys.stderr,
        )
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
            # a batch may have no picture in any of its prompts
            kwargs_handlers=[DistributedDataParallelKwargs(find_unused_parameters=True)],
        )
    finally:
        AcceleratorState._reset_state(reset_partial_state=True)


def _run(args: TrainArgs, job: Job, accelerator: Any, suite: Suite | None) -> int:
    from clevrskills.baselines.training.eval_callback import EarlyEvaluation
    from clevrskills.baselines.training.trainer import Schedule, Trainer
    from clevrskills.baselines.training.training_state import latest

    root = args.out.absolute()
    policy, windows, order = job.make(latest(root)[1])
    schedule = Schedule(**{f.name: getattr(args, f.name) for f in fields(Schedule)})
    evaluation = None
    if args.evaluate_every is not None:
        tasks = tuple(sorted(set(windows.tasks)))
        evaluation = EarlyEvaluation(
            *(root, tasks, args.evaluate_split, args.evaluate_episodes, args.evaluate_workers),
            suite,
        )
    about = job.describe(policy, windows)
    Trainer(root, policy, about, windows, order, schedule, accelerator, evaluation).run()
    if accelerator.is_main_process:
        print(f"trained for {args.steps} steps; `--policy checkpoint:{args.out}` evaluates it")
    return 0
