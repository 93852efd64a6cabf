"""Checks of submissions, for packing and for verification."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from clevrskills.core.episode import frozen_name
from clevrskills.core.observer import LANGUAGE
from clevrskills.core.policy import ObservationOptions
from clevrskills.core.report import protocol_of
from clevrskills.core.statistics import wilson
from clevrskills.core.suite import (
    IMAGES_ONLY,
    Suite,
    all_levels,
    default_splits,
    load_suite,
    suite_names,
    tagged,
)
from clevrskills.errors import (
    ClevrSkillsError,
    UnknownNameError,
    check_kind,
    errors_in,
    one_line,
    whole_number,
)
from clevrskills.evaluation.benchmark.protocol import cell_tasks, declared, deviations
from clevrskills.evaluation.results import EpisodeResult, Run, allowed, check_track
from clevrskills.evaluation.selection import frozen_tasks
from clevrskills.evaluation.submission.document import (
    Submission,
    SubmittedRun,
    TaskOutcomes,
    episodes_hash,
)
from clevrskills.jobs.arguments import check_names

_URL = re.compile(r"https?://[^\s<>()\[\]{}|`\"'\\]+")
_LONGEST = 200
"""Maximum number of characters of a name, an author and a note."""


def check(found: Submission) -> None:
    """Check a submission against this package.

    Raises:
        ClevrSkillsError: It was changed, or has other episodes, settings or rates.
    """
    with errors_in("the file is no submission"):  # any of its values may have another type
        _check(found)


def _check(found: Submission) -> None:
    for name in ("name", "by", "link", "note", "track", "trained_on", "suite"):
        check_kind(name, getattr(found, name), "str")
    if found.signed().digest != found.digest:
        raise ClevrSkillsError("the file was changed after packing: its digest does not match")
    if not found.name or not found.track:
        raise ClevrSkillsError("the submission has no name or no track")
    for text in (found.name, found.by, found.note):
        if len(text) > _LONGEST or not text.isprintable():
            raise ClevrSkillsError(
                f"{text[:40]!r}: names and notes have one line of at most {_LONGEST} characters"
            )
    if found.link and not _URL.fullmatch(found.link):
        raise ClevrSkillsError(f"--link {found.link!r}; allowed: http://… or https://…")
    check_track(found.track)
    check_names(suite=((found.suite,), suite_names()))  # a path might name code
    suite = load_suite(found.suite)
    if not found.cells or not all(cell.tasks for cell in found.cells.values()):
        raise ClevrSkillsError("the submission has no episodes")
    protocol = protocol_of(suite)
    known = [cell.name for cell in protocol.cells] if protocol else [""]
    for name, cell in found.cells.items():
        of = cell.run["protocol"]
        if of not in known or name != cell_name(name, of):  # it becomes the name of a folder
            raise ClevrSkillsError(f"{name[:40]!r} is no name of a cell of the protocol")
        try:
            _check_cell(cell, suite, found)
        except ClevrSkillsError as error:
            raise ClevrSkillsError(
                f"{name}: {one_line(error)}" if name else one_line(error)
            ) from None
    runs = [cell.run for cell in found.cells.values()]
    who = [
        (run["policy"], run["controller"], run["policy_args"].get("model"), run["content"])
        for run in runs
    ]
    if any(other != who[0] for other in who):
        raise ClevrSkillsError(f"{' and '.join(found.cells)} are runs of different policies")


def cell_name(folder: str, protocol: str) -> str:
    """Return the name of a run in a submission: the cell of the protocol that it belongs to, or the
    letters, digits, dots and dashes of its folder if the suite has no protocol.
    """
    return protocol or re.sub(r"[^\w.-]", "", folder)


def _check_cell(cell: SubmittedRun, suite: Suite, found: Submission) -> None:
    for name, of in cell.tasks.items():
        task, split = split_name(name, suite)
        frozen = suite.frozen(task, split)
        if of.file != frozen.content_hash:
            raise ClevrSkillsError(f"{name}: these are not the frozen episodes of this package")
        if of.count > len(frozen):
            raise ClevrSkillsError(f"{name}: {of.count} outcomes of {len(frozen)} episodes")
        if of.episodes != episodes_hash([e.content_hash for e in frozen[: of.count]]):
            raise ClevrSkillsError(f"{name}: the episodes were not the first {of.count}")
        if cell.run["benchmark"] != frozen.header.benchmark:
            raise ClevrSkillsError(f"{name}: the benchmark version is another")
        if cell.run["robot"] != frozen.header.robot:
            raise ClevrSkillsError(f"{name}: the robot is another")
        if cell.run["interface"] not in (known := suite.tasks[task].interfaces):
            raise UnknownNameError(f"interface of {task}", cell.run["interface"], [*known])
    protocol = protocol_of(suite)
    if protocol is None or protocol.pool == "tasks":
        counts = {of.count for of in cell.tasks.values()}
        if len(counts) > 1:
            raise ClevrSkillsError(f"the tasks have {min(counts)} to {max(counts)} episodes")
    run = run_of(cell, found)
    observation_of(run.observation)
    _check_protocol(run, suite)
    declared(run, suite)
    most = allowed(cell.count)
    if whole_number("restarts", cell.restarts) > most and not run.accept_restarts:
        raise ClevrSkillsError(f"{cell.restarts} second starts of episodes; allowed: {most}")
    if {k: list(v) for k, v in cell.rates.items()} != rates_of(
        cell.tasks, cell.run, suite, found.trained_on
    ):
        raise ClevrSkillsError("the rates do not match the outcomes")


def check_lines(root: Path, lines: Sequence[EpisodeResult]) -> None:
    """Raise an error if an episode of a run has several results that count."""
    counted = Counter(result.id for result in lines if result.counts)
    if twice := [name for name, count in counted.items() if count > 1]:
        raise ClevrSkillsError(
            f"{root}: {twice[0]} has {counted[twice[0]]} results; a submission has one run"
        )


def check_results(root: Path, run: Run, suite: Suite, results: Sequence[EpisodeResult]) -> None:
    """Check that a run can be submitted.

    Args:
        root: Run folder.
        run: The run.
        suite: Its suite.
        results: Its results, see :func:`~clevrskills.evaluation.results.judged`.

    Raises:
        ClevrSkillsError: The run cannot be submitted.
    """
    if run.seed is not None or not run.episodes:
        raise ClevrSkillsError(f"{root}: the episodes were sampled, not frozen")
    split = split_of(run, suite)
    if not any(result.split == split for result in results):
        raise ClevrSkillsError(
            f"{root} has no episodes of split {split} of the protocol: run `clevrskills benchmark`"
        )
    if run.axes or any(result.handover for result in results):
        raise ClevrSkillsError(
            f"{root} has perturbed or partial episodes: evaluate the frozen episodes as they are"
        )
    if run.sequential:
        raise ClevrSkillsError(f"{root} stopped early: evaluate a fixed number of episodes")
    if any(result.repeat for result in results):
        raise ClevrSkillsError(f"{root} repeats episodes: evaluate each once")
    if errors := [result.id for result in results if not result.counts]:
        raise ClevrSkillsError(
            f"{root}: {len(errors)} episodes ended in errors, e.g. {errors[0]}: evaluate again"
        )
    for result in results:
        if result.success_at_end and not (result.success_once and result.steps + result.turns):
            raise ClevrSkillsError(f"{root}: {result.id} is solved without a step")
    _check_protocol(run, suite)


def differences(run: Run, suite: Suite) -> list[str]:
    """Return the deviations of a run from the protocol."""
    split = split_of(run, suite)
    names = {frozen_name(task, split) for task in suite.tasks}
    kept = {name: of for name, of in run.episodes.items() if name in names}
    return deviations(replace(run, episodes=kept), suite)


def _check_protocol(run: Run, suite: Suite) -> None:
    if found := differences(run, suite):
        raise ClevrSkillsError(f"it is not the protocol: {'; '.join(found)}")


def split_of(run: Run, suite: Suite) -> str:
    """Return the split of a submission: that of the protocol, or the suite's first."""
    protocol = protocol_of(suite)
    if protocol is None:
        return default_splits(suite)[0]
    splits = {cell.name: cell.split for cell in protocol.cells}
    return splits.get(run.protocol, protocol.cells[0].split)


def run_of(cell: SubmittedRun, found: Submission) -> Run:
    """Return the run of a cell, with the attributes in a submission.

    Raises:
        UnknownNameError: Unknown attribute.
    """
    known = sorted(entry.name for entry in fields(Run))
    check_names(**{"attribute of a run": (sorted(cell.run), known)})
    episodes = {name: of.file for name, of in cell.tasks.items()}
    more = {"track": found.track, "trained_on": found.trained_on, "suite": found.suite}
    return Run(**{**cell.run, **more, "label": found.name, "episodes": episodes})


def observation_of(data: Mapping[str, Any]) -> ObservationOptions:
    """Return the observation options in a submission.

    Raises:
        ClevrSkillsError: An option is unknown or not allowed.
    """
    known = [entry.name for entry in fields(ObservationOptions)]
    check_names(**{"setting of the observation": (data, known)})
    given: dict[str, Any] = {
        name: tuple(v) if isinstance(v, list) else v for name, v in data.items()
    }
    return ObservationOptions(**given)


def numbers_of(run: Mapping[str, Any], suite: Suite, trained_on: str) -> dict[str, list[str]]:
    """Return the tasks and splits of each headline number that is a success rate, or of each level
    of a suite without a protocol; tasks without language prompts are skipped if these are used.
    """
    omitted = tagged(suite, IMAGES_ONLY) if run["observation"].get("prompt") == LANGUAGE else ()
    protocol = protocol_of(suite)
    if protocol is None:
        split, levels = default_splits(suite)[0], all_levels(suite)
        names: dict[str, list[str]] = {}
        for task in frozen_tasks(suite):
            if task not in omitted:
                names.setdefault(levels[task], []).append(frozen_name(task, split))
        return names
    cell = next((c for c in protocol.cells if c.name == run["protocol"]), protocol.cells[0])
    tasks = [task for task in cell_tasks(suite, cell) if task not in omitted]
    return {
        number.name: [
            frozen_name(task, cell.split)
            for task in tasks
            if not number.levels or suite.tasks[task].level in number.levels
        ]
        for number in protocol.numbers
        if number.measure == "success" and trained_on in (number.trained_on or (trained_on,))
    }


def rates_of(
    tasks: Mapping[str, TaskOutcomes], run: Mapping[str, Any], suite: Suite, trained_on: str
) -> dict[str, list[float]]:
    """Return the success rate with interval of each headline number with complete tasks."""
    numbers = numbers_of(run, suite, trained_on).items()
    complete = {name: keys for name, keys in numbers if keys and not {*keys} - {*tasks}}
    return {
        name: rate_of([(tasks[key].solved, tasks[key].count) for key in keys], suite)
        for name, keys in complete.items()
    }


def rate_of(counts: Sequence[tuple[int, int]], suite: Suite) -> list[float]:
    """Return a success rate and its Wilson 95 % interval for the number of episodes: the mean over
    tasks, or over episodes if the suite pools them.

    Args:
        counts: Solved and all episodes of each task.
        suite: The suite.
    """
    protocol = protocol_of(suite)
    n, solved = sum(count for _, count in counts), sum(k for k, _ in counts)
    mean = sum(k / count for k, count in counts) / len(counts)
    if protocol is not None and protocol.pool == "episodes":
        mean = solved / n
    return [round(value, 6) for value in (mean, *wilson(mean * n, n))]


def split_name(name: str, suite: Suite) -> tuple[str, str]:
    """Return the task and split of ``<task>_<split>``.

    Raises:
        ClevrSkillsError: Unknown task or split.
    """
    for task in suite.tasks:
        split = name.removeprefix(f"{task}_")
        if split != name and split in suite.tasks[task].splits:
            return task, split
    raise ClevrSkillsError(f"suite {suite.name} has no {name}")
