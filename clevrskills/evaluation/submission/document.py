"""Submission document: a run in one small JSON file, with hashes of its episodes and of itself."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from clevrskills.core.statistics import wilson
from clevrskills.core.suite import Suite, load_suite, path_of
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.results import EpisodeResult, Run, read_results, read_run
from clevrskills.jobs.files import storage_errors, to_json

VERSION = 1
SOLVED, FAILED = "1", "0"
_KEPT = (
    *("policy", "policy_args", "robot", "criteria", "interface", "feedback", "stop", "wording"),
    *("controller", "controller_args"),
    *("observation", "chunk", "clip", "renderer", "versions", "benchmark", "preset"),
)
"""Attributes of the run that a submission has."""


@dataclass(frozen=True)
class TaskOutcomes:
    """How the first episodes of a task and split went.

    Attributes:
        file: Hash of the file of frozen episodes.
        episodes: Hash of the content hashes of these episodes, in order.
        outcomes: A letter for each, in order: ``1`` solved, ``0`` not.
    """

    file: str
    episodes: str
    outcomes: str

    @property
    def count(self) -> int:
        """Number of episodes."""
        return len(self.outcomes)

    @property
    def solved(self) -> int:
        """How many were solved."""
        return self.outcomes.count(SOLVED)


@dataclass(frozen=True)
class Submission:
    """A run, as it is handed in.

    Attributes:
        name: Name of the policy, as tables show it.
        by: Who hands it in.
        link: Where more is told of it.
        note: What else is to be known of it.
        track: What the policy has learned from.
        suite: Name of the suite.
        run: How it was run.
        tasks: Outcomes by ``<task>_<split>``.
        rates: Success rate and its Wilson 95 % interval by level and split, such as ``L0 train``,
            and by ``<task>_<split>``.
        version: Of this document.
        digest: SHA-256 of all else.
    """

    name: str
    by: str
    link: str
    note: str
    track: str
    suite: str
    run: Mapping[str, Any]
    tasks: Mapping[str, TaskOutcomes]
    rates: Mapping[str, Sequence[float]]
    version: int = VERSION
    digest: str = field(default="")

    def to_json(self) -> str:
        """The content of the file."""
        return to_json(asdict(self), indent=1) + "\n"

    def signed(self) -> Submission:
        """The same with its digest."""
        data = {**asdict(self), "digest": ""}
        text = json.dumps(json.loads(to_json(data)), sort_keys=True, ensure_ascii=False)
        return replace(self, digest=hashlib.sha256(text.encode()).hexdigest())


def read_submission(path: Path) -> Submission:
    """Read a file.

    Raises:
        ClevrSkillsError: It is none, or of another version.
    """
    with storage_errors(path):
        if not path.is_file():
            raise ClevrSkillsError(f"there is no file {path}")
        text = path.read_text(encoding="utf-8")
    try:
        data = json.loads(text)
        if data["version"] != VERSION:
            raise ClevrSkillsError(
                f"{path} is of version {data['version']}; this package reads {VERSION}"
            )
        if data.keys() != {entry.name for entry in fields(Submission)}:
            raise ValueError("it has other fields")
        tasks = {name: TaskOutcomes(**of) for name, of in data["tasks"].items()}
        found = Submission(**{**data, "tasks": tasks})
        bad = [n for n, of in tasks.items() if not re.fullmatch("[01]+", of.outcomes)]
        if bad:
            raise ValueError(f"the outcomes of {bad[0]} are not of 0 and 1")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ClevrSkillsError(f"{path} is no submission: {error}") from None
    return found


def pack(root: Path, name: str, by: str, link: str, note: str) -> Submission:
    """The submission of the run in a folder.

    Raises:
        ClevrSkillsError: It can't be handed in: episodes were drawn, left out in the middle, ended
            in errors, or the policy's track is not stated.
    """
    run, results = read_run(root), list(read_results(root))
    if run.seed is not None or not run.episodes:
        raise ClevrSkillsError(f"{root}: its episodes were drawn, not frozen ones")
    if run.axes or run.noise or any(result.handover for result in results):
        raise ClevrSkillsError(
            f"{root} has perturbed episodes, noise, or episodes of which the policy did a part: "
            "evaluate the frozen episodes as they are"
        )
    if run.sequential:
        raise ClevrSkillsError(f"{root} stopped early: evaluate a number of episodes of each task")
    if not run.track:
        raise ClevrSkillsError(f"{root} does not say its track: evaluate with --track")
    errors = [result.id for result in results if not result.counts]
    if errors:
        raise ClevrSkillsError(
            f"{root}: {len(errors)} episodes ended in errors, {errors[0]} for one: evaluate again"
        )
    if any(result.repeat for result in results):
        raise ClevrSkillsError(f"{root} repeats episodes: evaluate each once")
    suite = load_suite(run.suite)
    tasks = dict(_outcomes(run, suite, results))
    return Submission(
        name=name or run.label,
        by=by,
        link=link,
        note=note,
        track=run.track,
        suite=path_of(suite),
        run={key: getattr(run, key) for key in _KEPT},
        tasks=tasks,
        rates=rates_of(tasks, suite),
    ).signed()


def _outcomes(
    run: Run, suite: Suite, results: Sequence[EpisodeResult]
) -> Iterator[tuple[str, TaskOutcomes]]:
    for task in suite.tasks:
        for split in suite.tasks[task].splits:
            name = f"{task}_{split}"
            mine = [r for r in results if (r.task, r.split) == (task, split)]
            if not mine:
                continue
            if [r.index for r in mine] != [*range(len(mine))]:
                raise ClevrSkillsError(
                    f"{name}: the episodes are not the first {len(mine)}: let the run end"
                )
            letters = "".join(SOLVED if r.success_at_end else FAILED for r in mine)
            hashes = episodes_hash([r.episode for r in mine])
            yield name, TaskOutcomes(run.episodes[name], hashes, letters)


def episodes_hash(hashes: Sequence[str]) -> str:
    """SHA-256 of content hashes of episodes, in order."""
    return hashlib.sha256("\n".join(hashes).encode()).hexdigest()


def rates_of(tasks: Mapping[str, TaskOutcomes], suite: Suite) -> dict[str, list[float]]:
    """Success rates: by level and split, then by task and split; each with its interval.

    The rate of a level is the mean of its tasks' rates, and its interval that of as many episodes.
    """
    levels: dict[str, list[TaskOutcomes]] = {}
    for name, of in tasks.items():
        task, split = split_name(name, suite)
        levels.setdefault(f"{suite.tasks[task].level} {split}", []).append(of)
    rates = {}
    for level in sorted(levels):
        group = levels[level]
        mean = sum(of.solved / of.count for of in group) / len(group)
        count = sum(of.count for of in group)
        rates[level] = [mean, *wilson(round(mean * count), count)]
    for name, of in tasks.items():
        rates[name] = [of.solved / of.count, *wilson(of.solved, of.count)]
    return {name: [round(value, 6) for value in rate] for name, rate in rates.items()}


def split_name(name: str, suite: Suite) -> tuple[str, str]:
    """Task and split of ``<task>_<split>``.

    Raises:
        ClevrSkillsError: The suite has no such task and split.
    """
    for task in suite.tasks:
        split = name.removeprefix(f"{task}_")
        if split != name and split in suite.tasks[task].splits:
            return task, split
    raise ClevrSkillsError(f"suite {suite.name} has no {name}")
