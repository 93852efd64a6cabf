"""``clevrskills dagger``: demonstrations from states reached by a policy, and training on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from clevrskills.baselines.training.arguments import TrainArgs
from clevrskills.baselines.training.train import require_training, train
from clevrskills.core.checkpoint import find
from clevrskills.core.env_config import Look
from clevrskills.core.episode import DAGGER
from clevrskills.core.policy_loader import policy_arguments
from clevrskills.core.suite import all_splits, load_suite
from clevrskills.dataset_tools.generate.command import GenerateArgs, generate
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.evaluate import EvaluateArgs, evaluate
from clevrskills.evaluation.report.command import CompareArgs, compare
from clevrskills.jobs.arguments import check_least, check_names
from clevrskills.jobs.options import Repeated

if TYPE_CHECKING:
    from clevrskills.baselines.checkpoint import CheckpointDescription
    from clevrskills.core.suite import Suite

SEED = 1_000_000
"""Default first seed, within the seed range of DAgger."""
_OF_TRAINING = ("steps", "set", "seed", "bf16", "cpu", "cache_dir", "balance")
"""Options that are passed to each training run."""


@dataclass(kw_only=True)
class DaggerArgs:
    """Improve a policy with DAgger: roll it out, record oracle demonstrations from the states that
    it visits, and train on them as well.

    A round has two parts, in OUT/round_<k>/demos and OUT/round_<k>/training; the next round starts
    from the latter. Running it again continues.
    """

    from_: Path
    """Checkpoint, or folder of a training run, to start from."""
    data: Repeated[Path]
    """Folder of demonstrations that it was trained on; may be repeated."""
    out: Path
    """Folder of the rounds."""
    task: Repeated[str] = ()
    """Tasks of the rollouts; by default those of the data that the policy was trained on."""
    rounds: int = 1
    """Number of rounds."""
    episodes: int = 20
    """Episodes of each task in a round."""
    steps: int = 2000
    """Optimizer steps in a round."""
    set: Repeated[str] = ()
    """Entry of the configuration, NAME=VALUE with a JSON value, e.g. `learning_rate=1e-4`."""
    seed: int = SEED
    """First seed of the episodes, and seed of the training."""
    bf16: bool = False
    """Use bfloat16 mixed precision."""
    cpu: bool = False
    """Train on the CPU even if there is a GPU."""
    workers: int = 1
    """Worker processes of rollouts."""
    load_workers: int = 2
    """Data loading processes."""
    cache_dir: Path | None = None
    """Folder for decoded and scaled images, shared by all rounds and training runs."""
    balance: bool = False
    """Sample all tasks equally often."""
    evaluate_episodes: int = 0
    """Frozen episodes of each task for evaluations before and after each round, compared in pairs;
    0: none."""
    evaluate_split: str = "val"
    """Their split."""


def dagger(args: DaggerArgs, suite: Callable[[Path], Suite] | None = None) -> int:
    """Run rounds of DAgger.

    Args:
        args: Arguments of the command.
        suite: Function that returns, for the folder of a checkpoint, a suite in which its policy
            and the oracle act in turns; ``None``: ClevrSkills.

    Returns:
        Exit code: 0, or that of the interrupted part.

    Raises:
        ClevrSkillsError: An argument is invalid, or a part failed; finished parts are kept.
    """
    require_training()
    check_least(args, rounds=1, episodes=1, steps=1, workers=1, load_workers=0, evaluate_episodes=0)
    from clevrskills.baselines.checkpoint import describe
    from clevrskills.baselines.registry import policy_type
    from clevrskills.baselines.training.dagger_rollout import DaggerSuite

    check_names(split=((args.evaluate_split,), all_splits(load_suite())))
    about = describe(find(args.from_))
    about.config.changed(policy_arguments(args.set))
    if policy_type(about.policy).prepared_by or "robot" not in about.provenance:
        raise ClevrSkillsError(
            f"DAgger needs a policy trained on demonstrations with images, not {args.from_}"
        )
    start, data = args.from_, list(args.data)
    for number in range(args.rounds):
        folder = args.out / f"round_{number + 1}"
        at = find(start)
        about = describe(at)
        tasks = args.task or _tasks_in(data, about.trained_tasks)
        request = _generate_args(args, about, tasks, number, folder / "demos")
        if code := generate(request, (suite or DaggerSuite)(at.absolute()), DAGGER):
            return code
        data.append(folder / "demos")
        if code := train(_train_args(args, about, start, tuple(data), folder / "training")):
            return code
        if args.evaluate_episodes:
            before = args.out / f"round_{number}/after" if number else folder / "before"
            for policy, out in ((at, before), (find(folder / "training"), folder / "after")):
                code = code or _evaluate(args, tasks, policy, out)
            if code:
                return code
            compare(CompareArgs(a=before, b=folder / "after"))
        start = folder / "training"
    return 0


def _tasks_in(data: Iterable[Path], names: Iterable[str]) -> tuple[str, ...]:
    """Return those of some tasks that have demonstrations."""
    from clevrskills.baselines.data.sources import open_source

    recorded = {each.task for root in data for each in open_source(root, ()).demonstrations}
    return tuple(sorted(recorded.intersection(names)))


def _evaluate(args: DaggerArgs, tasks: tuple[str, ...], policy: Path, out: Path) -> int:
    """Evaluate a checkpoint on frozen episodes; existing results are not repeated."""
    request = EvaluateArgs(
        policy=f"checkpoint:{policy.absolute()}",
        tasks=tasks,
        split=(args.evaluate_split,),
        episodes=args.evaluate_episodes,
        out=out,
        workers=args.workers,
    )
    return evaluate(request)


def _generate_args(
    args: DaggerArgs, about: CheckpointDescription, tasks: tuple[str, ...], number: int, out: Path
) -> GenerateArgs:
    out.parent.mkdir(parents=True, exist_ok=True)
    return GenerateArgs(
        tasks=tasks,
        episodes=args.episodes,
        seed=args.seed + number * args.episodes,
        out=out,
        robot=about.provenance["robot"],
        cameras=about.spec.observation.cameras,
        size=about.spec.observation.size_px,
        look=cast(Look, about.spec.observation.look),
        workers=args.workers,
    )


def _train_args(
    args: DaggerArgs, about: CheckpointDescription, start: Path, data: tuple[Path, ...], out: Path
) -> TrainArgs:
    return TrainArgs(
        from_=start,
        data=data,
        out=out,
        task=_tasks_in(data, (*about.trained_tasks, *args.task)),
        prompt=about.spec.observation.prompt,
        workers=args.load_workers,
        **{name: getattr(args, name) for name in _OF_TRAINING},
    )
