"""Evaluation modes: source, order and parts of the episodes of a run."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from clevrskills import additions, keys_of
from clevrskills.core.episode import RL_TRAINING, FrozenHeader
from clevrskills.core.interface import BoxInterface
from clevrskills.core.suite import Suite, check_axes, default_options, find_interface
from clevrskills.dataset_tools.dataset import Dataset
from clevrskills.dataset_tools.layout import Header
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.evaluation.arguments import EvaluateArgs
from clevrskills.evaluation.env_pool import EpisodeRef
from clevrskills.evaluation.handover.selection import in_parts
from clevrskills.evaluation.robustness.screened_episodes import kept_episodes
from clevrskills.evaluation.selection import task_splits
from clevrskills.evaluation.sequential.rounds import in_blocks, same_count
from clevrskills.solvers.requirements import require_oracle

REPLAY = "replay:"
REPLAY_OPTION = f"--policy {REPLAY}"
SCREENING_S = 600.0
"""Timeout of the screening of one perturbed episode."""
EXCLUDES = {
    REPLAY_OPTION: ("--seed", "--axis"),
    "--axis": ("--seed", "--until-width"),
    "--seed": ("--frozen",),
    "--handover": ("--seed", "--repeat", "--until-width", REPLAY_OPTION, "--stop"),
    "--until-width": ("--seed", "--repeat", "--shard", REPLAY_OPTION, "--video"),
}
"""Options that each mode cannot be combined with."""


@dataclass(frozen=True)
class Selected:
    """Episodes of a run."""

    episodes: Sequence[EpisodeRef]  # in the order of execution
    robot: str
    criteria: str
    # further fields of :class:`~clevrskills.evaluation.results.Run`
    run: Mapping[str, Any] = field(default_factory=dict)


def select_episodes(
    args: EvaluateArgs, suite: Suite, tasks: Sequence[str], splits: Sequence[str]
) -> Selected:
    """Return the selected episodes.

    Args:
        args: Arguments of the command, with those of the preset.
        suite: Suite of the episodes.
        tasks: Task keys; none: all tasks of the replayed dataset.
        splits: Names of the splits.

    Raises:
        ClevrSkillsError: Options exclude each other, or there are no such episodes.
    """
    given = given_options(args)
    for option, others in EXCLUDES.items():
        for other in others:
            if {option, other} <= given:
                raise ClevrSkillsError(f"{option} and {other} exclude each other: give one")
    if args.handover is not None:
        _check_handover(args, suite)
    count = args.episodes
    if not count and args.until_width is None:
        count = default_options(suite).get("episodes")
    pairs = task_splits(suite, tasks, splits, args.tasks)
    if tasks and not pairs:
        raise ClevrSkillsError(f"none of these tasks has the split {' or '.join(splits)}")
    if REPLAY_OPTION in given:
        return _replayed(args, tasks, splits, count)
    if args.seed is not None:
        if count is None:
            raise ClevrSkillsError("--seed needs the number of episodes: give --episodes")
        refs = [EpisodeRef(*pair, k, args.seed + k) for pair in pairs for k in range(count)]
        robot = args.robot or suite.tasks[tasks[0]].robots[0]
        return Selected(refs, robot, _criteria(args, suite), {"seed": args.seed})
    selected = _frozen(args, suite, pairs, count)
    if args.axis:
        selected = _perturbed(args, suite, selected, count is not None)
    if args.handover is not None:
        parts = in_parts(suite, selected.episodes, args.handover)
        selected = replace(selected, episodes=parts)
    return selected if args.until_width is None else _in_rounds(selected, args.until_width)


def given_options(args: EvaluateArgs) -> set[str]:
    """Return the command-line options that differ from their defaults."""
    differ = (f.name for f in fields(args) if getattr(args, f.name) != f.default)
    given = {f"--{name.replace('_', '-')}" for name in differ}
    given -= {"--stop"} if args.stop == "goal" else set()  # it is the default
    return given | ({REPLAY_OPTION} if args.policy.startswith(REPLAY) else set())


def _criteria(args: EvaluateArgs, suite: Suite) -> str:
    return args.criteria or suite.criteria()[0]


def _frozen(
    args: EvaluateArgs, suite: Suite, pairs: Sequence[tuple[str, str]], count: int | None
) -> Selected:
    """Return frozen episodes, of the package or of a folder."""
    heads = {pair: _header(suite, *pair) for pair in pairs}
    robots = {head.robot for head in heads.values()}
    if len(robots) > 1:
        raise ClevrSkillsError(f"the frozen episodes are for {' and '.join(sorted(robots))}")
    (robot,) = robots
    if args.robot not in (None, robot):
        raise ClevrSkillsError(
            f"the frozen episodes are for {robot}, not {args.robot}; use --seed to sample others, "
            "or freeze some with `clevrskills freeze`"
        )
    for (task, split), head in heads.items():
        if count is not None and count > head.episodes:
            raise ClevrSkillsError(
                f"--episodes {count}: {task}, split {split}, has {head.episodes} frozen episodes; "
                f"use --seed to sample others{_freeze_hint(args, task, count)}"
            )
    refs = [EpisodeRef(*pair, k) for pair, h in heads.items() for k in range(count or h.episodes)]
    return Selected(refs, robot, _criteria(args, suite))


def _header(suite: Suite, task: str, split: str) -> FrozenHeader:
    try:
        return suite.frozen(task, split).header
    except UnknownNameError:
        raise
    except ClevrSkillsError as error:
        sample = f"--seed {RL_TRAINING.stop} --episodes N"
        raise ClevrSkillsError(f"{error}; use {sample} to sample some") from None


def _freeze_hint(args: EvaluateArgs, task: str, count: int) -> str:
    """Return how to freeze more episodes, if the task belongs to another distribution."""
    added = (key for entry in additions("tasks") for key in keys_of(entry))
    if args.frozen or task not in added:
        return ""
    return f", or freeze more: `clevrskills freeze {task} --package DIR --episodes {count}`"


def _perturbed(args: EvaluateArgs, suite: Suite, frozen: Selected, counted: bool) -> Selected:
    """Return the first perturbed episodes that pass screening, as many as frozen ones."""
    axes = check_axes(suite, args.axis)
    counts = Counter((ref.task, ref.split) for ref in frozen.episodes)
    count = max(counts.values()) if counted else None
    kept = kept_episodes(suite, [*counts], axes, count, args.workers, SCREENING_S)
    rejected = {
        f"{one.task}_{one.split}": {str(v.index): v.reason for v in one.rejected}
        for one in kept
        if one.rejected
    }
    refs = [EpisodeRef(one.task, one.split, index) for one in kept for index in one.indices]
    return replace(frozen, episodes=refs, run={"axes": axes, "rejected": rejected})


def _replayed(
    args: EvaluateArgs, tasks: Sequence[str], splits: Sequence[str], count: int | None
) -> Selected:
    """Return the episodes of the dataset whose actions are replayed."""
    dataset = Path(args.policy.removeprefix(REPLAY))
    header = Header.read(dataset)
    for name in ("robot", "criteria"):
        given, made = getattr(args, name), getattr(header, name)
        if given not in (None, made):
            raise ClevrSkillsError(f"{dataset} was made with {name} {made}, not {given}")
    refs = recorded_episodes(dataset, tasks, splits, count)
    return Selected(refs, header.robot, header.criteria)


def _in_rounds(selected: Selected, width: float) -> Selected:
    """Return the episodes in rounds of all tasks, for a run that stops at an interval width."""
    if not 0.0 < width < 1.0:
        raise ClevrSkillsError(f"--until-width {width}; allowed: above 0 and below 1")
    known = {(ref.task, ref.split, ref.index): ref for ref in selected.episodes}
    counts = Counter((ref.task, ref.split) for ref in selected.episodes)
    population = same_count(counts)
    refs = [known[key] for key in in_blocks([*counts], population)]
    sequential = {"width": width, "population": population}
    return replace(selected, episodes=refs, run={**selected.run, "sequential": sequential})


def _check_handover(args: EvaluateArgs, suite: Suite) -> None:
    """Check that the policy can take over episodes from the oracle."""
    interface = find_interface(suite, args.interface)
    if not isinstance(interface, BoxInterface):
        raise ClevrSkillsError(f"--handover needs numeric actions; {interface.name} has others")
    require_oracle(suite)


def recorded_episodes(
    dataset: Path, tasks: Sequence[str], splits: Sequence[str], episodes: int | None
) -> list[EpisodeRef]:
    """Return the first episodes of each task and split of a dataset.

    Args:
        dataset: Folder of the dataset.
        tasks: Task keys; none: all.
        splits: Names of the splits.
        episodes: Maximum number per task and split; ``None``: all.

    Raises:
        ClevrSkillsError: There are none, or they are perturbed: a seed gives the clean episode.
    """
    found: dict[tuple[str, str], list[EpisodeRef]] = defaultdict(list)
    recorded = Dataset(dataset)
    if axes := recorded.header.axes:
        named = ", ".join(f"{name}:{level}" for name, level in axes.items())
        raise ClevrSkillsError(f"{dataset} was perturbed along {named}; allowed: no axes")
    for episode in recorded:
        info = episode.info
        key = info["task"], info["split"]
        number = len(found[key])
        if (not tasks or key[0] in tasks) and key[1] in splits and number != episodes:
            found[key].append(EpisodeRef(*key, number, info["seed"], info["task_args"]))
    if not any(found.values()):
        raise ClevrSkillsError(f"{dataset} has no episodes of these tasks and splits: name others")
    return [ref for refs in found.values() for ref in refs]
