"""Results of evaluations, on disk.

::

    DIR/run.json                    policy, settings, versions
    DIR/results/<writer>.jsonl      one line per finished episode
    DIR/starts/<writer>.jsonl       one line per group of started episodes
    DIR/errors/<episode>.txt        tracebacks of the first failed episodes
    DIR/videos/<task>_<split>_<index>.mp4
    DIR/transcripts/<task>_<split>_<index>.jsonl    dialogue of language models
"""

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from clevrskills.core.episode import RL_TRAINING, episode_name
from clevrskills.core.suite import (
    DEFAULT,
    SUITES,
    Suite,
    TaskInfo,
    all_splits,
    all_views,
    load_suite,
)
from clevrskills.errors import ClevrSkillsError, DamagedError, UnknownNameError
from clevrskills.jobs.files import read_json, to_json
from clevrskills.jobs.journal import Record, read_lines

__all__ = ["read_results"]

RESULTS_DIR = "results"
VIDEOS_DIR = "videos"
RUN_FILE = "run.json"
BENCHMARK_FILE = "benchmark.json"
"""File of ``clevrskills benchmark`` that lists the runs of a folder."""
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
"""Attributes of a run, besides the policy, that its numbers depend on."""
NO_TRACK = "none"
"""Track of policies without training data."""
TRACKS = {
    NO_TRACK: "nothing",
    "standard-100": "the standard dataset of 100 demonstrations of each task, or a part of it",
    "standard-1000": "that of 1000 demonstrations, or a part of it",
    "open": "other data; `open (TEXT)` says which",
}
"""Training data by track; ``, pretrained`` marks published initial weights, and `` and `` joins the
tracks of a policy and its controller."""
_TRACK = re.compile(rf"({'|'.join(TRACKS)}|open \([^()|<>`\n]+\))(, pretrained)?")
SECOND_STARTS_PER_CENT, SECOND_STARTS_LEAST = 1, 2
"""Allowed second starts of a run, in percent of its episodes, and their minimum."""
POLICY_ERROR, RESTARTED, ERROR = "policy error", "restarted", "error"
CAUSES = (
    *("success", "step limit", "gave up", POLICY_ERROR, RESTARTED, ERROR, "stopped"),
    *("no stop", "no handover"),
)
"""Causes of the end of an episode, besides those of suites: the goal was reached; the step limit
was reached; the policy gave up; it raised an exception or gave no valid action in time, a failure;
the episode was restarted in a run in which that is a failure; the environment failed, or the
process or connection was lost, which does not count; the policy declared itself done without
success; it never did; the oracle did not reach the policy's part.

If episodes continue after success, ``success`` means that the goal held at the step limit."""

TURN_LIMIT = "turn limit"
"""Cause in reports of a step limit in turns that are not control steps."""


@dataclass(frozen=True, slots=True)
class EpisodeResult(Record):
    """Result of one episode. Results of other programs have ``None`` for unknown numbers, see
    :mod:`clevrskills.evaluation.report.external_results`.
    """

    task: str
    level: str
    split: str
    index: int  # index within the task and split
    episode: str  # content hash of the episode
    seed: int
    cause: str  # one of :data:`CAUSES`
    success_once: bool = False  # whether the goal held after any step
    success_at_end: bool = False  # whether the goal held after the last step
    # fraction of goal leaves met after the last step, see
    # :func:`clevrskills.core.goal.tree.leaves_met`; 1 if the goal held
    goal_fraction: float = 0.0
    # most steps of an ordered goal reached, see :func:`clevrskills.core.goal.tree.depth`;
    # ``None``: the goal has no order
    depth: int | None = None
    depth_of: int | None = None  # number of steps of the goal
    total_reward: float = 0.0  # sum of rewards on the published scale
    progress: float = 0.0  # maximum progress, 0 to 1
    steps: int = 0  # control steps
    max_steps: int = 0
    error: str = ""  # error message in one line, if ``cause`` is an error
    reason: str = ""  # reason for giving up
    starts: int = 1  # number of starts over all commands and shards of the run
    policy_s: float = 0.0  # wall-clock seconds waiting for the policy
    env_s: float = 0.0  # wall-clock seconds in the environment, rendering included
    wall_s: float = 0.0  # total wall-clock seconds
    worker: str = ""  # host and process
    ended: str = ""  # end time, ISO 8601, UTC
    suite: str = DEFAULT
    interface: str = "delta"
    turns: int = 0  # turns taken; with delta actions, control steps
    max_turns: int = 0
    refused: int = 0  # turns refused by the environment
    codes: Mapping[str, int] = field(default_factory=dict)  # number of turns by code
    measures: Mapping[str, float] = field(default_factory=dict)  # measures of the suite
    tags: Mapping[str, Any] = field(default_factory=dict)  # tags of the suite, for tables
    repeat: int = 0  # index of the repetition
    drawn: bool = False  # whether the episode was sampled for this run; else it is frozen
    # ``from``, one of :data:`~clevrskills.core.suite.WORDINGS`, and the wording of the prompt
    wording: Mapping[str, Any] = field(default_factory=dict)
    # fraction of numeric actions that were clipped, see
    # :func:`clevrskills.core.interface.in_range`
    clipped: float = 0.0
    # largest absolute value of each entry of numeric actions, by label
    greatest: Mapping[str, float] = field(default_factory=dict)
    # requests, tokens, images and cost of language models, see :data:`USAGE`
    usage: Mapping[str, float] = field(default_factory=dict)
    # failure events in order, as JSON data of :class:`clevrskills.envs.events.kinds.Event`
    events: Sequence[Mapping[str, Any]] = ()
    # ``path_m``, ``sparc`` and, after a contact, ``first_contact_s``; empty without a watcher
    trajectory: Mapping[str, float] = field(default_factory=dict)
    # curves of the suite by name: a number at the start and after each turn
    curves: Mapping[str, list[float]] = field(default_factory=dict)
    axes: Mapping[str, int] = field(default_factory=dict)  # level of each perturbation axis
    twin: str = ""  # content hash of the clean episode, if this one is perturbed
    # ``part`` and other data of a partial episode, see
    # :class:`clevrskills.evaluation.handover.director.SubgoalSchedule`
    handover: Mapping[str, Any] = field(default_factory=dict)
    controller: str = ""  # policy that executed the commands, if any
    # whether the last start of a restarted episode that counts as a failure succeeded or had no
    # result; never written
    later: bool = False

    @property
    def id(self) -> str:
        """Name, e.g. ``sort_test_007``, or ``sort_train_00000042`` of a sampled episode."""
        seed = self.seed if self.drawn else None
        name = episode_name(self.task, self.split, self.index, self.repeat, seed)
        return part_name(name, self.handover.get("part", ""))

    @property
    def counts(self) -> bool:
        """``True`` unless the result is an infrastructure error."""
        return self.cause != ERROR

    @property
    def ending(self) -> str:
        """Cause as shown in reports; the limit may be one of turns."""
        turns = self.cause == "step limit" and self.turns not in (0, self.steps)
        return TURN_LIMIT if turns else self.cause

    def to_json(self) -> str:
        """Return the line of the file, without newline."""
        data = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        for name in _IF_ANY:
            if not data[name]:
                del data[name]
        return to_json(data)


_IF_ANY = (
    *("repeat", "drawn", "wording", "usage", "events", "trajectory", "curves"),
    *("axes", "twin", "handover", "controller", "later"),
)


@dataclass(frozen=True)
class Run:
    """Evaluation of one policy: the content of ``run.json``."""

    policy: str  # name on the command line
    label: str  # name in tables
    robot: str = ""
    criteria: str = ""  # success criteria
    stop_on_success: bool = True  # whether episodes ended when the goal was reached
    # the :class:`~clevrskills.core.policy.ObservationOptions` as JSON data
    observation: Mapping[str, object] = field(default_factory=dict)
    chunk: int | None = None  # actions executed per chunk; ``None``: all
    clip: bool = False  # whether actions out of range were clipped; else they are errors
    policy_args: Mapping[str, object] = field(default_factory=dict)
    seed: int | None = None  # first seed of sampled episodes; ``None``: frozen or replayed ones
    action_limit_s: float = 60.0  # time limit of an action in seconds
    accept_restarts: bool = False  # whether more restarts than allowed were accepted
    # content hash of each file of frozen episodes, by ``<task>_<split>``
    episodes: Mapping[str, str] = field(default_factory=dict)
    # versions of Python and of the packages that affect episodes
    versions: Mapping[str, str | None] = field(default_factory=dict)
    renderer: str = ""  # name and driver of the renderer, and digest of its shaders
    cpu: str = ""  # vendor and vector instructions of the CPU, which affect rounding
    suite: str = DEFAULT  # name or class path of the suite
    interface: str = "delta"
    feedback: str = "simple"  # level of feedback on text actions
    stop: str = "goal"  # end of episodes: ``goal``, ``limit`` or ``declared``
    benchmark: int = 0  # version of the frozen episodes; 0: they were sampled
    wording: str = "own"  # wording of prompts, one of :data:`~clevrskills.core.suite.WORDINGS`
    preset: str = ""
    track: str = ""  # training data of the policy; empty: not stated
    # tasks of the suite that the policy was trained on, one of
    # :attr:`clevrskills.core.report.Protocol.trained_on`; empty: not stated
    trained_on: str = ""
    trained_tasks: Sequence[str] = ()  # tasks that it was trained on; empty: not declared
    protocol: str = ""  # cell of the protocol run by ``clevrskills benchmark``, if any
    # of a sequential run: interval ``width`` to stop at, ``population`` of episodes per task and
    # split, and number of ``tasks`` and splits
    sequential: Mapping[str, float] = field(default_factory=dict)
    axes: Mapping[str, int] = field(default_factory=dict)  # level of each perturbation axis
    # by ``<task>_<split>``: indices of rejected perturbed episodes, with reasons
    rejected: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    noise: str = ""  # image and action noise
    controller: str = ""  # policy that executes the commands, as named on the command line
    controller_args: Mapping[str, object] = field(default_factory=dict)
    # 16 random bytes in hex, drawn for each run; policy seeds depend on it, so that they do not
    # identify frozen episodes
    salt: str = ""
    # SHA-256 by absolute path of the files and folders of the policy and the controller, without
    # modules that they import
    content: Mapping[str, str] = field(default_factory=dict)
    isolated: bool = False  # whether the policy ran in a separate process
    privileged: bool = False  # whether the policy had access to the environment or episode ids
    format_version: int = FORMAT_VERSION

    @property
    def row(self) -> str:
        """Name of its rows: suite and version of the frozen episodes, e.g. ``clevrskills 1.0``, or
        ``ivispar (clevrskills 1.0)`` for a re-implementation; without version if sampled.
        """
        version = f" {self.benchmark}.0" if self.benchmark else ""
        rebuilt = self.suite in SUITES and self.suite != DEFAULT
        return f"{self.suite} ({DEFAULT}{version})" if rebuilt else f"{self.suite}{version}"


@dataclass(frozen=True)
class ExternalProgram:
    """External program that runs episodes of this package."""

    program: str
    unstated: tuple[str, ...]  # information missing in its files


Content = tuple[Run, tuple[EpisodeResult, ...], ExternalProgram | None]
"""Content of a run folder, and the external program that wrote it, if any."""


@dataclass(frozen=True)
class Evaluation:
    """Run with its results."""

    root: Path  # run folder
    run: Run
    label: str  # name in tables, unique among the opened runs
    results: tuple[EpisodeResult, ...]  # results of full episodes
    source: ExternalProgram | None = None  # external program that ran it, if any
    parts: tuple[EpisodeResult, ...] = ()  # results of partial episodes

    @cached_property
    def suite(self) -> Suite:
        """Suite of the run; an empty suite if it is not installed."""
        try:
            return load_suite(self.run.suite)
        except (ClevrSkillsError, ImportError, AttributeError):
            return _Unknown()

    @property
    def all_results(self) -> tuple[EpisodeResult, ...]:
        """Results of full and then of partial episodes."""
        return (*self.results, *self.parts)

    @property
    def rule(self) -> str:
        """Sentence on the end of episodes, with the limits of the tasks."""
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
        return f"Episodes continue for {limit}, also after the goal held."

    def rank(self, split: str) -> int:
        """Return the position of a split in the suite."""
        return [*all_splits(self.suite), split].index(split)

    def video(self, result: EpisodeResult) -> Path | None:
        """Return the path of an episode's video, if it was recorded."""
        path = video_path(self.root, result.id)
        return path if path.is_file() else None


def _not_installed(*_: Any, **__: Any) -> Any:
    raise ClevrSkillsError("the suite of the run is not installed here")


class _Unknown(Suite):
    name = title = "unknown"
    tasks: Mapping[str, TaskInfo] = {}  # noqa: RUF012
    make = oracle = draw = read_episode = frozen = _not_installed


def check_track(track: str) -> None:
    """Raise :class:`UnknownNameError` if a track is unknown."""
    for one in track.split(" and "):
        if not _TRACK.fullmatch(one):
            allowed = (*TRACKS, "open (TEXT)", "any of these, pretrained")
            raise UnknownNameError("track", one, allowed)


def state_access(run: Run, suite: Suite) -> tuple[str, ...]:
    """Return how the policy of a run knows the simulator state: ``privileged``, and ``sees V`` for
    each view V that describes it in words.
    """
    kinds, shown = all_views(suite), cast(Sequence[str], run.observation.get("views") or ())
    views = (f"sees {name}" for name in shown if kinds.get(name) == "text" and "@" not in name)
    return (*["privileged"] * bool(run.privileged), *views)


def seed_warnings(run: Run, suite: Suite, splits: Container[str]) -> Iterator[str]:
    """Yield a warning if episodes were sampled that the policy may have been trained on."""
    first, stop = next(iter(all_splits(suite)), ""), RL_TRAINING.stop
    if first in splits and run.track != NO_TRACK and run.seed is not None and run.seed < stop:
        yield (
            f"Warning: {run.label} may have been trained on the sampled {first} episodes; no "
            f"dataset has seeds from {stop} on: use --seed {stop}."
        )


def part_name(episode: str, part: str) -> str:
    """Return the name of a partial episode, e.g. ``sort_test_007_plan``."""
    return f"{episode}_{part}" if part else episode


def video_path(root: Path, episode: str) -> Path:
    """Return the path of an episode's video."""
    return root / VIDEOS_DIR / f"{episode}.mp4"


def cost_of(root: Path) -> float:
    """Return the cost of a run, including episodes that ended in errors.

    Raises:
        DatasetError: A line cannot be read.
    """
    return sum(result.usage.get("cost", 0.0) for result in all_results(root))


def read_run(root: Path) -> Run:
    """Read ``run.json``.

    Raises:
        ClevrSkillsError: The file is missing or damaged.
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
        data = {"trained_tasks": [], **data}  # missing in earlier files
        return Run(**{f.name: data[f.name] for f in fields(Run)})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ClevrSkillsError(f"{path} is damaged: {error!r}") from error


def read_results(root: Path) -> Iterator[EpisodeResult]:
    """Yield the results of a run by task, split and index: for each episode the one that counts, or
    else the last.

    Raises:
        DamagedError: A line cannot be read, or two results that count contradict each other.
    """
    latest: dict[str, EpisodeResult] = {}
    for result in all_results(root):
        known = latest.get(result.id)
        if known and known.counts and result.counts and _ending(known) != _ending(result):
            first, second = sorted((known, result), key=lambda r: r.ended)
            raise DamagedError(
                f"{root} has two results of {result.id}: {first.cause} after {first.steps} steps "
                f"({first.ended}), and {second.cause} after {second.steps} ({second.ended}); "
                "evaluate into another folder"
            )
        if known is None or _order(result) >= _order(known):
            latest[result.id] = result
    yield from sorted(latest.values(), key=lambda r: (r.level, r.task, r.split, r.index, r.repeat))


def _ending(result: EpisodeResult) -> tuple[Any, ...]:
    """Return the fields in which all results of an episode must agree."""
    return result.cause, result.success_once, result.success_at_end, result.steps


def _order(result: EpisodeResult) -> tuple[Any, ...]:
    return result.counts, result.starts, result.ended


def all_results(root: Path) -> Iterator[EpisodeResult]:
    """Yield all results of a run, including those of earlier starts.

    Raises:
        DatasetError: A line cannot be read.
    """
    for path in sorted((root / RESULTS_DIR).glob("*.jsonl")):
        yield from read_lines(path, EpisodeResult.from_json)


def allowed(episodes: int) -> int:
    """Return the allowed number of second starts of a run: 1 % of its episodes, at least 2."""
    return max(SECOND_STARTS_LEAST, SECOND_STARTS_PER_CENT * episodes // 100)


def lost(results: Iterable[EpisodeResult]) -> int:
    """Return the number of starts without a result that counts."""
    return sum(result.starts - result.counts for result in results)


def judged(results: Iterable[EpisodeResult], accepted: bool) -> tuple[EpisodeResult, ...]:
    """Return results as they count: after accepted or too many restarts, episodes that were
    restarted or have no result are failures, unless no episode has a result.

    Args:
        results: Last result of each episode of a run.
        accepted: Whether the run used ``--accept-restarts``.
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
    """Return a run of ``clevrskills evaluate`` with its results, see :func:`judged`.

    Raises:
        ClevrSkillsError: The run is missing or damaged.
    """
    run = read_run(root)
    return run, judged(read_results(root), run.accept_restarts), None


def read_benchmark(root: Path) -> dict[str, Any]:
    """Read ``benchmark.json``: the arguments and the names of the ``cells``.

    Raises:
        ClevrSkillsError: The file is damaged.
    """
    path = root / BENCHMARK_FILE
    try:
        data: dict[str, Any] = read_json(path)
        return {**data, "cells": [*map(str, data["cells"])]}
    except (ValueError, KeyError, TypeError) as error:
        raise ClevrSkillsError(f"{path} is damaged: {error!r}") from error


def run_folders(root: Path) -> list[Path]:
    """Return the run folders in a folder of ``clevrskills benchmark``, or the run folder itself.

    Raises:
        ClevrSkillsError: No run has begun, or ``benchmark.json`` is damaged.
    """
    if not (root / BENCHMARK_FILE).is_file():
        return [root]
    found = [root / cell for cell in read_benchmark(root)["cells"]]
    if begun := [folder for folder in found if (folder / RUN_FILE).is_file()]:
        return begun
    raise ClevrSkillsError(f"{root}: no run of the benchmark has begun")


def paired_folders(a: Path, b: Path) -> list[tuple[Path, Path]]:
    """Return the pairs of run folders to compare, one for each common cell of a benchmark.

    Raises:
        ClevrSkillsError: The folders have no cell in common.
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
        roots: Folders of runs or of ``clevrskills benchmark``.
        read: Function that reads a run folder.

    Raises:
        ClevrSkillsError: A folder is named twice, or has no run or a damaged one, or the runs are
            on different versions of a benchmark.
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
                    f"{another}, which has other episodes; evaluate the policy of the former again"
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
    return [
        Evaluation(
            *(root, run, label, tuple(r for r in results if not r.handover), source),
            parts=tuple(r for r in results if r.handover),
        )
        for root, label, (run, results, source) in zip(roots, labels, contents, strict=True)
    ]
