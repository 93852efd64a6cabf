"""Modes of an evaluation: where its episodes come from, in which order or parts they are run."""

from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar

from clevrskills import additions, keys_of
from clevrskills.core.episode import FrozenHeader
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
SCREENING_S = 600.0
"""How long the screening of a perturbed episode may take."""


@dataclass(frozen=True)
class Selected:
    """Episodes of a run."""

    episodes: Sequence[EpisodeRef]  # the episodes, in the order in which they are run
    robot: str  # their robot
    criteria: str  # when they count as solved
    # what the run records of how they were selected, by field of
    # :class:`~clevrskills.evaluation.results.Run`
    run: Mapping[str, Any] = field(default_factory=dict)


class Mode(ABC):
    """A choice that options make.

    Args:
        args: The arguments of the command, those of the preset among them.
        suite: What is evaluated on.

    Attributes:
        option: The option that chooses it.
        excludes: Options that it cannot be combined with.

    Raises:
        ClevrSkillsError: One of those is given.
    """

    option: ClassVar[str]
    excludes: ClassVar[tuple[str, ...]] = ()

    def __init__(self, args: EvaluateArgs, suite: Suite) -> None:
        self.args, self.suite = args, suite
        given = given_options(args)
        for other in self.excludes:
            if other in given:
                raise ClevrSkillsError(f"{self.option} and {other} exclude each other: give one")


class Source(Mode):
    """Source of episodes."""

    @abstractmethod
    def select(self, tasks: Sequence[str], splits: Sequence[str]) -> Selected:
        """Return the episodes of tasks and splits.

        Raises:
            ClevrSkillsError: There are no such episodes.
        """

    def pairs(self, tasks: Sequence[str], splits: Sequence[str]) -> list[tuple[str, str]]:
        """Return the pairs of a task and a split that it has."""
        pairs = task_splits(self.suite, tasks, splits, self.args.tasks)
        if tasks and not pairs:
            raise ClevrSkillsError(f"none of these tasks has the split {' or '.join(splits)}")
        return pairs

    @property
    def count(self) -> int | None:
        """Episodes of each task and split; ``None``: all."""
        if self.args.episodes or self.args.until_width is not None:
            return self.args.episodes
        return default_options(self.suite).get("episodes")

    @property
    def criteria(self) -> str:
        """Criteria of success."""
        return self.args.criteria or self.suite.criteria()[0]


class Frozen(Source):
    """Frozen episodes, of the package or of a folder."""

    option = "--frozen"

    def select(self, tasks: Sequence[str], splits: Sequence[str]) -> Selected:
        args, count = self.args, self.count
        heads = {pair: self._header(*pair) for pair in self.pairs(tasks, splits)}
        robots = {head.robot for head in heads.values()}
        if len(robots) > 1:
            raise ClevrSkillsError(f"the frozen episodes are for {' and '.join(sorted(robots))}")
        (robot,) = robots
        if args.robot not in (None, robot):
            raise ClevrSkillsError(
                f"the frozen episodes are for {robot}, not {args.robot}; with --seed others are "
                "drawn, or freeze some with `clevrskills freeze`"
            )
        for (task, split), head in heads.items():
            if count is not None and count > head.episodes:
                raise ClevrSkillsError(
                    f"--episodes {count}: {head.episodes} episodes of {task}, split {split}, are "
                    f"frozen; with --seed others are drawn{self._more(task, count)}"
                )
        refs = [
            EpisodeRef(*pair, k) for pair, h in heads.items() for k in range(count or h.episodes)
        ]
        return Selected(refs, robot, self.criteria)

    def _header(self, task: str, split: str) -> FrozenHeader:
        try:
            return self.suite.frozen(task, split).header
        except UnknownNameError:
            raise
        except ClevrSkillsError as error:
            raise ClevrSkillsError(f"{error}; with --seed 0 --episodes N some are drawn") from None

    def _more(self, task: str, count: int) -> str:
        """Return how more episodes are frozen, if the task is of another distribution."""
        added = (key for entry in additions("tasks") for key in keys_of(entry))
        if self.args.frozen or task not in added:
            return ""
        return f", or freeze more: `clevrskills freeze {task} --package DIR --episodes {count}`"


class Perturbed(Frozen):
    """Frozen episodes perturbed along axes: the first ones that passed screening."""

    option = "--axis"
    excludes = ("--seed", "--until-width")

    def select(self, tasks: Sequence[str], splits: Sequence[str]) -> Selected:
        args, axes = self.args, check_axes(self.suite, self.args.axis)
        frozen = super().select(tasks, splits)
        counts = Counter((ref.task, ref.split) for ref in frozen.episodes)
        count = max(counts.values()) if self.count else None
        kept = kept_episodes(self.suite, [*counts], axes, count, args.workers, SCREENING_S)
        rejected = {
            f"{one.task}_{one.split}": {str(v.index): v.reason for v in one.rejected}
            for one in kept
            if one.rejected
        }
        refs = [EpisodeRef(one.task, one.split, index) for one in kept for index in one.indices]
        return replace(frozen, episodes=refs, run={"axes": axes, "rejected": rejected})


class DrawnEpisodes(Source):
    """Episodes drawn from seeds that follow each other."""

    option = "--seed"
    excludes = ("--frozen",)

    def select(self, tasks: Sequence[str], splits: Sequence[str]) -> Selected:
        seed, count = self.args.seed, self.count
        assert seed is not None, "it chooses this mode"
        if count is None:
            raise ClevrSkillsError("--seed draws episodes: say how many with --episodes")
        pairs = self.pairs(tasks, splits)
        able = self.suite.tasks[tasks[0]].robots
        refs = [EpisodeRef(*pair, k, seed + k) for pair in pairs for k in range(count)]
        return Selected(refs, self.args.robot or able[0], self.criteria, {"seed": seed})


class Replayed(Source):
    """Episodes of a dataset, whose actions are replayed."""

    option = f"--policy {REPLAY}"
    excludes = ("--seed", "--axis")

    def select(self, tasks: Sequence[str], splits: Sequence[str]) -> Selected:
        self.pairs(tasks, splits)
        dataset = Path(self.args.policy.removeprefix(REPLAY))
        header = Header.read(dataset)
        for name in ("robot", "criteria"):
            given, made = getattr(self.args, name), getattr(header, name)
            if given not in (None, made):
                raise ClevrSkillsError(f"{dataset} was made with {name} {made}, not {given}")
        refs = recorded_episodes(dataset, tasks, splits, self.count)
        return Selected(refs, header.robot, header.criteria)


class Sequential(Mode):
    """A run that stops when its interval is narrow enough: episodes in rounds of all tasks."""

    option = "--until-width"
    excludes = ("--seed", "--repeat", "--shard", Replayed.option, "--video")

    def arrange(self, selected: Selected) -> Selected:
        """Return the episodes in the order of their rounds.

        Raises:
            ClevrSkillsError: The width is not allowed, or tasks differ in their number of episodes.
        """
        width = self.args.until_width or 0.0
        if not 0.0 < width < 1.0:
            raise ClevrSkillsError(f"--until-width {width}; allowed: above 0 and below 1")
        known = {(ref.task, ref.split, ref.index): ref for ref in selected.episodes}
        counts = Counter((ref.task, ref.split) for ref in selected.episodes)
        population = same_count(counts)
        refs = [known[key] for key in in_blocks([*counts], population)]
        sequential = {"width": width, "population": population}
        return replace(selected, episodes=refs, run={**selected.run, "sequential": sequential})


class Handover(Mode):
    """A run in which the oracle does a part of each episode."""

    option = "--handover"
    excludes = ("--seed", "--repeat", "--until-width", Replayed.option)

    def arrange(self, selected: Selected) -> Selected:
        """Return the parts of the episodes.

        Raises:
            ClevrSkillsError: The policy cannot do parts of episodes.
        """
        assert self.args.handover is not None, "it chooses this mode"
        if self.args.stop not in (None, "goal"):
            raise ClevrSkillsError("--handover and --stop exclude each other: give one")
        interface = find_interface(self.suite, self.args.interface)
        if not isinstance(interface, BoxInterface):
            raise ClevrSkillsError(f"--handover is for actions of numbers, not of {interface.name}")
        require_oracle(self.suite)
        refs = in_parts(self.suite, selected.episodes, self.args.handover)
        return replace(selected, episodes=refs)


SOURCES: tuple[type[Source], ...] = (Replayed, Perturbed, DrawnEpisodes)
"""Sources that an option chooses, the first that is given; without any, episodes are frozen."""
ARRANGEMENTS: tuple[type[Sequential | Handover], ...] = (Handover, Sequential)


def select_episodes(
    args: EvaluateArgs, suite: Suite, tasks: Sequence[str], splits: Sequence[str]
) -> Selected:
    """Return the episodes that the options ask for.

    Args:
        args: The arguments of the command, those of the preset among them.
        suite: What is evaluated on.
        tasks: Keys of the tasks; none: all of the dataset that is replayed.
        splits: The splits.

    Raises:
        ClevrSkillsError: Options exclude each other, or there are no such episodes.
    """
    given = given_options(args)
    source = next((mode for mode in SOURCES if mode.option in given), Frozen)(args, suite)
    arrangements = [mode(args, suite) for mode in ARRANGEMENTS if mode.option in given]
    selected = source.select(tasks, splits)
    for arrangement in arrangements:
        selected = arrangement.arrange(selected)
    return selected


def given_options(args: EvaluateArgs) -> set[str]:
    """Return the options that differ from their defaults, as they are written."""
    differ = (f.name for f in fields(args) if getattr(args, f.name) != f.default)
    given = {f"--{name.replace('_', '-')}" for name in differ}
    return given | ({Replayed.option} if args.policy.startswith(REPLAY) else set())


def recorded_episodes(
    dataset: Path, tasks: Sequence[str], splits: Sequence[str], episodes: int | None
) -> list[EpisodeRef]:
    """Return the first episodes of each task and split of a dataset.

    Args:
        dataset: Its folder.
        tasks: Keys of tasks; none: all.
        splits: The splits.
        episodes: How many of each, at most; ``None``: all.

    Raises:
        ClevrSkillsError: It has none, or they were perturbed: a seed gives the clean episode.
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
