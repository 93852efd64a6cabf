"""Results of evaluations, on disk.

::

    DIR/run.json                    the policy, how it was evaluated, versions
    DIR/results/<writer>.jsonl      one line for each episode that ended, well or not
    DIR/starts/<writer>.jsonl       one line for each group of episodes that was started
    DIR/errors/<episode>.txt        the traceback of what broke down, of the first such episodes
    DIR/videos/<task>_<split>_<index>.mp4
    DIR/transcripts/<task>_<split>_<index>.jsonl    what was said, of policies that talk
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from clevrskills.core.episode import episode_name
from clevrskills.core.suite import DEFAULT, SUITES, Suite, TaskInfo, all_splits, load_suite
from clevrskills.errors import ClevrSkillsError, DamagedError, UnknownNameError
from clevrskills.jobs.files import read_json, to_json
from clevrskills.jobs.journal import Record, read_lines

__all__ = ["read_results"]

RESULTS_DIR = "results"
VIDEOS_DIR = "videos"
RUN_FILE = "run.json"
BENCHMARK_FILE = "benchmark.json"
"""Says of a folder of ``clevrskills benchmark`` which runs are in it."""
FORMAT_VERSION = 1
USAGE = {
    "requests": "requests",
    "prompt_tokens": "tokens sent",
    "completion_tokens": "tokens replied",
    "images": "images",
    "cost": "price",
}
"""Counters of requests to a language model, with their labels."""
SETTINGS = (
    *("suite", "robot", "criteria", "interface", "feedback", "stop", "stop_on_success"),
    *("controller", "controller_args"),
    *("observation", "wording", "noise", "axes", "chunk", "clip", "seed"),
    *("renderer", "versions"),
)
"""Attributes of a run on which its numbers depend, besides the policy."""
NO_TRACK = "none"
"""Track of policies that have learned from nothing."""
TRACKS = {
    NO_TRACK: "nothing",
    "standard-100": "the standard dataset of 100 demonstrations of each task, or a part of it",
    "standard-1000": "that of 1000 demonstrations, or a part of it",
    "open": "other data; `open (TEXT)` says which",
}
"""What a policy may have learned from, by track; ``, pretrained`` follows where it started from
published weights, and tracks of policies that act together are joined by `` and ``."""
_TRACK = re.compile(rf"({'|'.join(TRACKS)}|open \([^()|<>`\n]+\))(, pretrained)?")
SECOND_STARTS_PER_CENT, SECOND_STARTS_LEAST = 1, 2
"""Second starts that a run may have: a share of its episodes, but no fewer than that."""
POLICY_ERROR, RESTARTED, ERROR = "policy error", "restarted", "error"
CAUSES = (
    *("success", "step limit", "gave up", POLICY_ERROR, RESTARTED, ERROR, "stopped"),
    *("no stop", "no handover"),
)
"""Why an episode ended: the goal was reached; the task's step limit was; the policy gave up; it
raised an exception, or gave no valid action in time, which is a failure; the episode was started
more than once in a run in which that is a failure; the environment broke down, or the process or
the connection was lost, which does not count; the policy declared that it was done, and was not; it
never did; the oracle did not reach the part that the policy was to do. A suite may have others of
its own.

Where episodes go on after success, ``success`` means that the goal held at the step limit."""

TURN_LIMIT = "turn limit"
"""Name in reports of the limit of episodes in which a turn is not one control step."""


@dataclass(frozen=True, slots=True)
class EpisodeResult(Record):
    """Result of one episode. Those of :mod:`clevrskills.evaluation.report.external_results` have
    ``None`` for numbers that the other program does not state.
    """

    task: str  # key of the task
    level: str  # level of the task
    split: str  # name of the split
    index: int  # which of the frozen episodes of the task and split
    episode: str  # content hash of the episode
    seed: int  # its seed
    cause: str  # one of :data:`CAUSES`
    success_once: bool = False  # whether the goal held after some step
    success_at_end: bool = False  # whether it held after the last one
    # share of the goal tree's leaves that were met after the last step, see
    # :func:`clevrskills.core.goal.tree.leaves_met`; 1 if the goal held
    goal_fraction: float = 0.0
    # steps of an ordered goal reached, at most, see :func:`clevrskills.core.goal.tree.depth`;
    # ``None``: the goal has no order
    depth: int | None = None
    depth_of: int | None = None  # how many there are
    total_reward: float = 0.0  # sum of the rewards on the published scale
    progress: float = 0.0  # greatest progress of any state, 0 to 1
    steps: int = 0  # control steps made
    max_steps: int = 0  # the step limit
    error: str = ""  # what broke down, in one line; empty unless ``cause`` is one of the two errors
    reason: str = ""  # why it gave up; empty otherwise
    starts: int = 1  # how often the episode was started, over all commands and shards of the run
    policy_s: float = 0.0  # wall-clock seconds waiting for the policy
    env_s: float = 0.0  # wall-clock seconds in the environment, images included
    wall_s: float = 0.0  # wall-clock seconds in all
    worker: str = ""  # host and process
    ended: str = ""  # when, ISO 8601, UTC
    suite: str = DEFAULT  # name of the suite
    interface: str = "delta"  # name of what the policy acted by
    turns: int = 0  # turns taken; of a delta action, control steps
    max_turns: int = 0  # limit of turns
    refused: int = 0  # turns that the environment refused
    codes: Mapping[str, int] = field(default_factory=dict)  # how often turns had each code
    # numbers of the suite's own, by name
    measures: Mapping[str, float] = field(default_factory=dict)
    # what the suite says of the episode, for tables
    tags: Mapping[str, Any] = field(default_factory=dict)
    repeat: int = 0  # how often the episode was run before, with other draws of the policy
    # whether the episode was drawn from its seed for this run; else it is frozen
    drawn: bool = False
    # what the policy was told: ``from``, one of :data:`~clevrskills.core.suite.WORDINGS`, and which
    # wording that was; nothing where the episode does not say
    wording: Mapping[str, Any] = field(default_factory=dict)
    # share of the actions of numbers with an entry out of range, which was clipped, see
    # :func:`clevrskills.core.interface.in_range`
    clipped: float = 0.0
    # the greatest absolute value of each entry of these actions, by its label; empty: there were
    # none
    greatest: Mapping[str, float] = field(default_factory=dict)
    # requests, tokens, images and, if prices are known, ``cost`` of a policy that asks a language
    # model, see :data:`USAGE`
    usage: Mapping[str, float] = field(default_factory=dict)
    # failure events in order, as JSON data of :class:`clevrskills.envs.events.kinds.Event`
    events: Sequence[Mapping[str, Any]] = ()
    # measures of the arm's movement: ``path_m``, ``sparc``, ``first_contact_s`` if there was a
    # contact; empty: the episode had no watcher
    trajectory: Mapping[str, float] = field(default_factory=dict)
    # curves of the suite's own, by name: a number at the start and after each turn
    curves: Mapping[str, list[float]] = field(default_factory=dict)
    # level of each axis that perturbed the episode
    axes: Mapping[str, int] = field(default_factory=dict)
    # content hash of the clean episode that it was perturbed from; empty: it is clean
    twin: str = ""
    # of an episode of which the policy did a part: the name of the ``part`` and more, see
    # :class:`clevrskills.evaluation.handover.director.SubgoalSchedule`; empty: none
    handover: Mapping[str, Any] = field(default_factory=dict)
    # policy that carried out the commands of this one; empty: skills did, or there were no commands
    controller: str = ""
    # of a restarted episode that counts as a failure: whether its last start succeeded, or has come
    # to no result; it is never written
    later: bool = False

    @property
    def id(self) -> str:
        """Its name, e.g. ``sort_test_007``, or ``sort_train_00000042`` of a drawn one."""
        seed = self.seed if self.drawn else None
        name = episode_name(self.task, self.split, self.index, self.repeat, seed)
        return part_name(name, self.handover.get("part", ""))

    @property
    def counts(self) -> bool:
        """``True`` if it measures the policy's skill."""
        return self.cause != ERROR

    @property
    def ending(self) -> str:
        """Reason of the end, as reports state it: its limit may be one of turns."""
        turns = self.cause == "step limit" and self.turns not in (0, self.steps)
        return TURN_LIMIT if turns else self.cause

    def to_json(self) -> str:
        """Return the line of the file, without its end."""
        data = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        for name in _IF_ANY:
            if not data[name]:
                del data[name]
        return to_json(data)


_IF_ANY = (
    "repeat",
    "drawn",
    "wording",
    "usage",
    "events",
    "trajectory",
    "curves",
    "axes",
    "twin",
    "handover",
    "controller",
    "later",
)


@dataclass(frozen=True)
class Run:
    """One evaluation of one policy: the content of ``run.json``."""

    policy: str  # as it was named on the command line
    label: str  # what tables call it
    robot: str = ""  # name of the robot
    criteria: str = ""  # name of the success criteria
    stop_on_success: bool = True  # whether episodes ended when the goal was reached
    # the :class:`~clevrskills.core.policy.ObservationOptions` as JSON data
    observation: Mapping[str, object] = field(default_factory=dict)
    chunk: int | None = None  # how many actions of a chunk are executed; ``None``: all
    clip: bool = False  # whether actions out of range were clipped; else they are errors
    policy_args: Mapping[str, object] = field(default_factory=dict)  # arguments of the policy
    # first seed of the episodes if they were drawn; ``None``: they are frozen, or those of the
    # dataset that is replayed
    seed: int | None = None
    action_limit_s: float = 60.0  # seconds that the policy may take for an action, at least 60
    # whether the run goes on with more second starts than are allowed
    accept_restarts: bool = False
    # content hash of each file of frozen episodes, by ``<task>_<split>``
    episodes: Mapping[str, str] = field(default_factory=dict)
    # of Python and of the packages that shape an episode
    versions: Mapping[str, str | None] = field(default_factory=dict)
    # name and driver of what drew the images, and the digest of its shaders; empty: nothing did
    renderer: str = ""
    # vendor and vector instructions of the CPU, on which rounding depends; empty: unknown
    cpu: str = ""
    suite: str = DEFAULT  # name of the suite, or where its class is
    interface: str = "delta"  # name of what the policy acted by
    feedback: str = "simple"  # what turns in words told of themselves
    stop: str = "goal"  # when episodes ended: ``goal``, ``limit`` or ``declared``
    benchmark: int = 0  # version of the frozen episodes; 0: they were drawn
    wording: str = "own"  # what prompts said, one of :data:`~clevrskills.core.suite.WORDINGS`
    preset: str = ""  # the named bundle of options that was given
    track: str = ""  # what the policy has learned from; empty: it is not stated
    # which tasks of the suite it was trained on, one of
    # :attr:`clevrskills.core.report.Protocol.trained_on`; empty: it is not stated
    trained_on: str = ""
    # name of the cell of the suite's protocol that ``clevrskills benchmark`` ran; empty: the run is
    # not part of it
    protocol: str = ""
    # of a run that stops when its interval is narrow enough: the ``width`` of that, the
    # ``population``, how many episodes of each task and split are drawn from, and ``tasks``, how
    # many tasks and splits there are
    sequential: Mapping[str, float] = field(default_factory=dict)
    # level of each axis that perturbed the frozen episodes
    axes: Mapping[str, int] = field(default_factory=dict)
    # by ``<task>_<split>``, the indices of the frozen episodes that were left out, as perturbed
    # they cannot be solved or seen, and why
    rejected: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    noise: str = ""  # noise of images and actions; empty: none
    # the policy that carries out the commands of this one, as it was named on the command line;
    # empty: skills do, or it commands nothing
    controller: str = ""
    controller_args: Mapping[str, object] = field(default_factory=dict)  # arguments of that policy
    # 16 random bytes in hex, drawn when the run was begun. The seeds that policies are given follow
    # from it, so that they do not identify a frozen episode in another run.
    salt: str = ""
    # SHA-256 by absolute path of each file or folder that the policy and the controller are made
    # of; modules that a user's module imports are not among them
    content: Mapping[str, str] = field(default_factory=dict)
    isolated: bool = False  # whether the policy ran in a process of its own
    # whether the policy was given the environment, or the identity of episodes
    privileged: bool = False
    format_version: int = FORMAT_VERSION  # version of the format of the folder

    @property
    def row(self) -> str:
        """Name of its rows: the suite and the version of its frozen episodes, e.g. ``clevrskills
        1.0``, of a re-implementation ``ivispar (clevrskills 1.0)``; without a version where the
        episodes were drawn.
        """
        version = f" {self.benchmark}.0" if self.benchmark else ""
        rebuilt = self.suite in SUITES and self.suite != DEFAULT
        return f"{self.suite} ({DEFAULT}{version})" if rebuilt else f"{self.suite}{version}"


@dataclass(frozen=True)
class ExternalProgram:
    """Another program that runs our episodes."""

    program: str
    unstated: tuple[str, ...]  # what its files don't say


Content = tuple[Run, tuple[EpisodeResult, ...], ExternalProgram | None]
"""Content of the folder of a run; the program if it is another than ``clevrskills evaluate``."""


@dataclass(frozen=True)
class Evaluation:
    """A run and its results."""

    root: Path  # its folder
    run: Run  # what was evaluated, and how
    label: str  # what tables call it; no other run that was opened with it has this one
    results: tuple[EpisodeResult, ...]  # one for each episode that the policy did all of
    # the program that ran it, if it is another than ``clevrskills evaluate``
    source: ExternalProgram | None = None
    # one for each part of an episode, where the policy did a part only
    parts: tuple[EpisodeResult, ...] = ()

    @cached_property
    def suite(self) -> Suite:
        """Suite of the run; one without content if it is not installed here."""
        try:
            return load_suite(self.run.suite)
        except (ClevrSkillsError, ImportError, AttributeError):
            return _Unknown()

    @property
    def all_results(self) -> tuple[EpisodeResult, ...]:
        """Results of whole episodes, then of parts."""
        return (*self.results, *self.parts)

    @property
    def rule(self) -> str:
        """Rule by which its episodes end, in a sentence: by the limits of its tasks."""
        known, done = self.suite.tasks, {r.task for r in self.all_results}
        limits = list(dict.fromkeys(known[task].limit for task in known if task in done))
        split = [limit.partition(" ") for limit in limits]
        counts = sorted(int(number) for number, _, _ in split if number.isdecimal())
        units = {unit for _, _, unit in split}
        if 1 < len(limits) == len(counts) and len(units) == 1:
            limits = [f"{counts[0]} to {counts[-1]} {units.pop()}, by task"]
        limit = " or ".join(limits) or "the limit of the task"
        if self.run.stop == "declared":
            return f"Episodes end when the policy says `done`, or after {limit}."
        if self.run.stop_on_success:
            return f"Episodes end when the goal holds, or after {limit}."
        return f"Episodes go on for {limit}, also after the goal held."

    def rank(self, split: str) -> int:
        """Return the place of a split among those of the suite."""
        splits = [*all_splits(self.suite), split]
        return splits.index(split)

    def video(self, result: EpisodeResult) -> Path | None:
        """Return the video of an episode; ``None``: it was not filmed."""
        path = video_path(self.root, result.id)
        return path if path.is_file() else None


def _not_installed(*_: Any, **__: Any) -> Any:
    raise ClevrSkillsError("the suite of the run is not installed here")


class _Unknown(Suite):
    name = title = "unknown"
    tasks: Mapping[str, TaskInfo] = {}  # noqa: RUF012
    make = oracle = draw = read_episode = frozen = _not_installed


def check_track(track: str) -> None:
    """Check the name of a track.

    Raises:
        UnknownNameError: There is no such track.
    """
    for one in track.split(" and "):
        if not _TRACK.fullmatch(one):
            allowed = (*TRACKS, "open (TEXT)", "any of these, pretrained")
            raise UnknownNameError("track", one, allowed)


def part_name(episode: str, part: str) -> str:
    """Return the name of a part of an episode, e.g. ``sort_test_007_plan``."""
    return f"{episode}_{part}" if part else episode


def video_path(root: Path, episode: str) -> Path:
    """Return the path of the video of an episode."""
    return root / VIDEOS_DIR / f"{episode}.mp4"


def cost_of(root: Path) -> float:
    """Return the cost of a run, its episodes that ended in errors included.

    Raises:
        DatasetError: A line cannot be read.
    """
    return sum(result.usage.get("cost", 0.0) for result in all_results(root))


def read_run(root: Path) -> Run:
    """Read ``run.json``.

    Raises:
        ClevrSkillsError: There is none, or it is damaged.
    """
    path = root / RUN_FILE
    if not path.is_file():
        raise ClevrSkillsError(f"{root} is no run of `clevrskills evaluate`: it has no {RUN_FILE}")
    try:
        data = read_json(path)
        if (version := data.get("format_version")) != FORMAT_VERSION:
            raise ClevrSkillsError(
                f"{path} has format version {version}; this package reads {FORMAT_VERSION}"
            )
        return Run(**{f.name: data[f.name] for f in fields(Run)})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ClevrSkillsError(f"{path} is damaged: {error!r}") from error


def read_results(root: Path) -> Iterator[EpisodeResult]:
    """Return the results of a run, by task, split and index; of several for one episode the one
    that counts, or else the last.

    Raises:
        DamagedError: A line cannot be read, or two that count contradict each other.
    """
    latest: dict[str, EpisodeResult] = {}
    for result in all_results(root):
        known = latest.get(result.id)
        if known is not None and known.counts and result.counts and _how(known) != _how(result):
            first, second = sorted((known, result), key=lambda r: r.ended)
            raise DamagedError(
                f"{root} has two results of {result.id}: {first.cause} after {first.steps} steps "
                f"({first.ended}), and {second.cause} after {second.steps} ({second.ended}); "
                "evaluate into another folder"
            )
        if known is None or _order(result) >= _order(known):
            latest[result.id] = result
    yield from sorted(latest.values(), key=lambda r: (r.level, r.task, r.split, r.index, r.repeat))


def _how(result: EpisodeResult) -> tuple[Any, ...]:
    """Return how an episode went, in which all its results must agree."""
    return result.cause, result.success_once, result.success_at_end, result.steps


def _order(result: EpisodeResult) -> tuple[Any, ...]:
    return result.counts, result.starts, result.ended


def all_results(root: Path) -> Iterator[EpisodeResult]:
    """Yield all lines of a run's results, also those of episodes that were evaluated again.

    Raises:
        DatasetError: A line cannot be read.
    """
    for path in sorted((root / RESULTS_DIR).glob("*.jsonl")):
        yield from read_lines(path, EpisodeResult.from_json)


def allowed(episodes: int) -> int:
    """Return how many second starts a run may have: 1 % of its episodes, at least 2."""
    return max(SECOND_STARTS_LEAST, SECOND_STARTS_PER_CENT * episodes // 100)


def lost(results: Iterable[EpisodeResult]) -> int:
    """Return how many starts came to no result that counts: each asks for a second start."""
    return sum(result.starts - result.counts for result in results)


def judged(results: Iterable[EpisodeResult], accepted: bool) -> tuple[EpisodeResult, ...]:
    """Return results as they count. Where restarts were accepted, or are more than allowed,
    restarted episodes are failures, and so are those that came to no result, unless none did.

    Args:
        results: The last result of each episode of a run.
        accepted: Whether the run went on with ``--accept-restarts``.
    """
    found = tuple(results)
    many = lost(found) > allowed(len(found)) and any(result.counts for result in found)
    if not accepted and not many:
        return found
    return tuple(_failure(r) if r.starts > r.counts else r for r in found)


def _failure(result: EpisodeResult) -> EpisodeResult:
    return replace(
        result,
        cause=RESTARTED,
        success_once=False,
        success_at_end=False,
        goal_fraction=0.0,
        depth=None if result.depth is None else 0,
        progress=0.0,
        later=result.success_once or not result.counts,
    )


def read_content(root: Path) -> Content:
    """Return a run of ``clevrskills evaluate``, its results as they count, see
    :func:`judged`.

    Raises:
        ClevrSkillsError: There is none, or it is damaged.
    """
    run = read_run(root)
    return run, judged(read_results(root), run.accept_restarts), None


def read_benchmark(root: Path) -> dict[str, Any]:
    """Read ``benchmark.json``: what was asked for, and the names of its ``cells``.

    Raises:
        ClevrSkillsError: It is damaged.
    """
    path = root / BENCHMARK_FILE
    try:
        data: dict[str, Any] = read_json(path)
        return {**data, "cells": [*map(str, data["cells"])]}
    except (ValueError, KeyError, TypeError) as error:
        raise ClevrSkillsError(f"{path} is damaged: {error!r}") from error


def run_folders(root: Path) -> list[Path]:
    """Return the folders of the runs of ``clevrskills benchmark`` in a folder; of any other folder
    itself.

    Raises:
        ClevrSkillsError: None has begun, or the file that lists them is damaged.
    """
    if not (root / BENCHMARK_FILE).is_file():
        return [root]
    found = [root / cell for cell in read_benchmark(root)["cells"]]
    if begun := [folder for folder in found if (folder / RUN_FILE).is_file()]:
        return begun
    raise ClevrSkillsError(f"{root}: no run of the benchmark has begun")


def paired_folders(a: Path, b: Path) -> list[tuple[Path, Path]]:
    """Return the folders of the runs that are compared: of two folders of ``clevrskills benchmark``
    those of each cell.

    Raises:
        ClevrSkillsError: They have no cell in common.
    """
    one, other = run_folders(a), run_folders(b)
    if len(one) == len(other) == 1:
        return [(one[0], other[0])]
    named = {folder.name: folder for folder in other}
    if found := [(folder, named[folder.name]) for folder in one if folder.name in named]:
        return found
    raise ClevrSkillsError(f"{a} and {b} have no cell of the protocol in common: name other runs")


def open_evaluations(
    roots: Sequence[Path], read: Callable[[Path], Content] = read_content
) -> list[Evaluation]:
    """Open runs.

    Args:
        roots: Their folders, and folders of ``clevrskills benchmark``, which have several.
        read: Reads one.

    Raises:
        ClevrSkillsError: A folder is named twice, holds no run, or a damaged one; or the runs are
            on frozen episodes of different versions of a benchmark.
    """
    roots = [folder for root in roots for folder in run_folders(root)]
    contents = [read(root) for root in roots]
    runs = [run for run, _, _ in contents]
    if len({root.resolve() for root in roots}) < len(roots):
        raise ClevrSkillsError("the same folder is named twice: name each once")
    on = {
        (run.suite, run.benchmark): root
        for root, run in zip(roots, runs, strict=True)
        if run.episodes
    }
    for (suite, version), root in on.items():
        for (other, another), folder in on.items():
            if suite == other and version < another:
                raise ClevrSkillsError(
                    f"{root} is on version {version} of the benchmark, {folder} on version "
                    f"{another}: their episodes are different ones; evaluate the policy of the "
                    "former anew"
                )
    names = [run.label or run.policy for run in runs]
    presets: dict[str, set[str]] = {}
    for name, run in zip(names, runs, strict=True):
        presets.setdefault(name, set()).add(run.preset)
    labels = [
        f"{name} ({run.preset})" if run.preset and len(presets[name]) > 1 else name
        for name, run in zip(names, runs, strict=True)
    ]
    for more in (lambda root: f" ({root.resolve().name})", lambda root: f" {root}"):
        given = list(zip(labels, roots, strict=True))
        labels = [name + more(root) * (labels.count(name) > 1) for name, root in given]
    opened = []
    for root, label, (run, results, source) in zip(roots, labels, contents, strict=True):
        whole = tuple(result for result in results if not result.handover)
        parts = tuple(result for result in results if result.handover)
        opened.append(Evaluation(root, run, label, whole, source, parts))
    return opened
