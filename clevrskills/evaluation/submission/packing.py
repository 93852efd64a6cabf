"""Packing of runs as submissions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from clevrskills.core.report import protocol_of
from clevrskills.core.suite import Suite, load_suite, path_of
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.benchmark.protocol import declared
from clevrskills.evaluation.results import (
    RUN_FILE,
    USAGE,
    EpisodeResult,
    Run,
    all_results,
    judged,
    lost,
    read_results,
    read_run,
)
from clevrskills.evaluation.submission.checks import (
    cell_name,
    check,
    check_lines,
    check_results,
    differences,
    rates_of,
    split_of,
)
from clevrskills.evaluation.submission.document import (
    Submission,
    SubmittedRun,
    TaskOutcomes,
    episodes_hash,
)
from clevrskills.evaluation.submission.inflation import FAILED, SOLVED
from clevrskills.jobs.files import to_json

LANGUAGE_MODEL = ("chat:http://", "chat:https://")
"""Prefixes of policies that are language models."""
_KEPT = (
    *("policy", "policy_args", "robot", "criteria", "interface", "feedback", "stop", "wording"),
    *("controller", "controller_args", "observation", "chunk", "clip", "noise", "axes", "preset"),
    *("renderer", "cpu", "versions", "benchmark", "protocol", "trained_tasks"),
    *("action_limit_s", "accept_restarts", "salt", "isolated", "privileged"),
)
"""Attributes of the run in a submission."""


def pack(
    root: Path, name: str, by: str, link: str, note: str, track: str = "", trained_on: str = ""
) -> Submission:
    """Return the submission of a run, or of the runs of `clevrskills benchmark`.

    Args:
        root: Run folder, or parent of the run folders.
        name: Name of the policy; empty: the label of the run.
        by: Authors.
        link: Web page of the policy.
        note: Remarks.
        track: Training data, if the run does not declare it.
        trained_on: Tasks that the policy was trained on, if the run does not declare them.

    Raises:
        ClevrSkillsError: Episodes were sampled, are missing or ended in errors, settings deviate
            from the protocol, or a declaration is missing.
    """
    roots = {path.parent.name: path.parent for path in sorted(root.glob(f"*/{RUN_FILE}"))}
    if (root / RUN_FILE).is_file() or not roots:
        roots = {"": root}
    runs = {cell: read_run(folder) for cell, folder in roots.items()}
    first = next(iter(runs.values()))
    suite = load_suite(first.suite)
    runs = {cell: _named(run, suite) for cell, run in runs.items()}
    about: dict[str, Any] = {}
    for option, given in (("track", track), ("trained_on", trained_on)):
        values = {getattr(run, option) for run in runs.values()} - {""}
        if len(values | ({given} - {""})) > 1:
            listed = " and ".join(map(repr, sorted(values)))
            raise ClevrSkillsError(
                f"--{option.replace('_', '-')} {given}: the run declares {listed}"
            )
        about[option] = given or next(iter(values), "")
    stated = declared(replace(first, **about), suite)
    cells: dict[str, SubmittedRun] = {}
    for folder, run in runs.items():
        if (cell := cell_name(folder, run.protocol)) in cells:
            raise ClevrSkillsError(f"{root} has several runs of {cell}: name the folder of one")
        cells[cell] = _cell(roots[folder], run, suite, stated.trained_on)
    found = Submission(
        name=name or first.label,
        by=by,
        link=link,
        note=note,
        track=stated.track,
        trained_on=stated.trained_on,
        suite=path_of(suite),
        cells=cells,
    ).signed()
    check(found)
    return found


def _named(run: Run, suite: Suite) -> Run:
    """Return a run with the name of the cell of the protocol that it matches."""
    protocol = protocol_of(suite)
    if run.protocol or protocol is None:
        return run
    named = [replace(run, protocol=cell.name) for cell in protocol.cells]
    return next((one for one in named if not differences(one, suite)), run)


def _cell(root: Path, run: Run, suite: Suite, trained_on: str) -> SubmittedRun:
    """Return the run of a submission."""
    lines, latest = [*all_results(root)], [*read_results(root)]
    check_lines(root, lines)
    results = judged(latest, run.accept_restarts)
    check_results(root, run, suite, results)
    tasks = dict(_outcomes(run, suite, split_of(run, suite), results))
    kept = json.loads(to_json({key: getattr(run, key) for key in _KEPT}))
    kept["policy"] = _without_folder(kept["policy"])
    files = enumerate(run.content.items(), 1)
    kept["content"] = {f"{k}/{Path(path).name}": digest for k, (path, digest) in files}
    return SubmittedRun(
        run=kept,
        tasks=tasks,
        rates=rates_of(tasks, kept, suite, trained_on),
        restarts=lost(latest),
        model=_model(run, lines),
    )


def _outcomes(
    run: Run, suite: Suite, split: str, results: Sequence[EpisodeResult]
) -> Iterator[tuple[str, TaskOutcomes]]:
    for task in suite.tasks:
        name = f"{task}_{split}"
        mine = [r for r in results if (r.task, r.split) == (task, split)]
        if not mine:
            continue
        if [r.index for r in mine] != [*range(len(mine))]:
            raise ClevrSkillsError(
                f"{name}: the episodes are not the first {len(mine)}: complete the run"
            )
        letters = "".join(SOLVED if r.success_at_end else FAILED for r in mine)
        hashes = episodes_hash([r.episode for r in mine])
        yield name, TaskOutcomes(run.episodes[name], hashes, letters)


def _without_folder(policy: str) -> str:
    """Return the name of a policy without the folder of its file."""
    scheme, colon, target = policy.partition(":")
    return f"{scheme}:{Path(target).name}" if colon and Path(target).is_absolute() else policy


def _model(run: Run, results: Sequence[EpisodeResult]) -> dict[str, Any]:
    """Return the data of a language model; empty for other policies."""
    if not run.policy.startswith(LANGUAGE_MODEL):
        return {}
    given, used = run.policy_args, Counter[str]()
    for result in results:  # including errors, which were paid for
        used.update(result.usage)
    return {
        "model": given["model"],
        "date": max(result.ended for result in results)[:10],
        "temperature": given.get("temperature", 0.0),
        "max_tokens": given.get("max_tokens", 4096),
        **{key: round(used[key], 6) for key in USAGE if key in used},
    }
