"""Data of the page of a report, as JSON; and its videos."""

import base64
import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from clevrskills.core.suite import Suite
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.report.comparison import Comparison
from clevrskills.evaluation.report.failures import first_kind
from clevrskills.evaluation.report.tables import Row, measures_of
from clevrskills.evaluation.results import (
    ERROR,
    POLICY_ERROR,
    SETTINGS,
    EpisodeResult,
    Evaluation,
)
from clevrskills.jobs.files import storage_errors

VIDEO_LIMIT_BYTES = 2_000_000
"""A larger video is not put into the page but linked."""
PAGE_LIMIT_BYTES = 24_000_000
"""Of all videos in the page; those that come later are linked."""
DIGITS = 5
"""Significant digits of the numbers in the data of a page."""
REASONS = 12
"""Reasons that are listed for each run and cause."""
_WHICH = ("id", "task", "level", "split", "index", "seed")
"""What tells an episode from others."""


@dataclass(frozen=True)
class Video:
    """A video of the page."""

    id: str  # what the data of its episode calls it
    content: str  # its bytes as base64; empty if it is linked
    link: str  # where it is, from the page's folder; empty if it is in the page


def contents(
    evaluations: Sequence[Evaluation],
    levels: Sequence[Row],
    tasks: Sequence[Row],
    comparisons: Sequence[Comparison],
) -> dict[str, Any]:
    """All that the page shows, but for its videos."""
    data: dict[str, Any] = plain(
        {
            "runs": [_run(evaluation) for evaluation in evaluations],
            "measures": [asdict(measure) for measure in measures_of(evaluations)],
            "levels": [_row(row) for row in levels],
            "tasks": [_row(row) for row in tasks],
            "comparisons": [asdict(comparison) for comparison in comparisons],
            "episodes": _episodes(evaluations),
        }
    )
    filmed = [e for e in data["episodes"] if any(run and run["video"] for run in e["runs"])]
    hashes = {r.id: r.episode for evaluation in evaluations for r in evaluation.results}
    prompts = _prompts(filmed, hashes, evaluations[0].suite)
    for episode in data["episodes"]:
        episode["prompt"] = prompts.get(episode["id"], "")
    return data


def videos(evaluations: Sequence[Evaluation], folder: Path) -> list[Video]:
    """The videos of all runs; those of failures first, as long as the page has room.

    Args:
        evaluations: The runs.
        folder: Where the page will be.

    Raises:
        StorageError: A video cannot be read.
    """
    found = [
        (result.success_once, f"{k}-{result.id}", path)
        for k, evaluation in enumerate(evaluations)
        for result in evaluation.results
        if (path := evaluation.video(result))
    ]
    room, made = PAGE_LIMIT_BYTES, []
    for _, name, path in sorted(found):
        with storage_errors(path):
            size = path.stat().st_size
            if size <= min(VIDEO_LIMIT_BYTES, room):
                room -= size
                made.append(Video(name, base64.b64encode(path.read_bytes()).decode(), ""))
            else:
                link = os.path.relpath(path.resolve(), folder.resolve())
                made.append(Video(name, "", Path(link).as_posix()))
    return made


def _row(row: Row) -> dict[str, Any]:
    data = asdict(row)
    for name in ("tag", "value"):
        del data[name]
    return {**data, **data.pop("measures")}


def _run(evaluation: Evaluation) -> dict[str, Any]:
    run, source = evaluation.run, evaluation.source
    reasons = {
        "gave up": Counter(r.reason for r in evaluation.results if r.reason),
        **{
            cause: Counter(r.error for r in evaluation.results if r.error and r.cause == cause)
            for cause in (POLICY_ERROR, ERROR)
        },
    }
    return {
        "label": evaluation.label,
        "policy": run.policy,
        "folder": str(evaluation.root),
        "settings": {
            name: "not stated" if source else getattr(run, name)
            for name in ("policy_args", *SETTINGS)
        },
        "reasons": {cause: found.most_common(REASONS) for cause, found in reasons.items() if found},
        "episodes": sum(r.counts for r in evaluation.results),
        "errors": sum(not r.counts for r in evaluation.results),
    }


def _episodes(evaluations: Sequence[Evaluation]) -> list[dict[str, Any]]:
    """One entry for each episode of any run; ``runs`` has how each of them did, or ``None``."""
    entries: dict[tuple[str, str, int, int, int], dict[str, Any]] = {}
    for k, evaluation in enumerate(evaluations):
        for result in evaluation.results:
            rank = evaluation.rank(result.split)
            key = (result.level, result.task, rank, result.index, result.repeat)
            which = {name: getattr(result, name) for name in _WHICH}
            entry = entries.setdefault(key, {**which, "runs": [None] * len(evaluations)})
            entry["runs"][k] = _outcome(evaluation, result, f"{k}-{result.id}")
    return [entries[key] for key in sorted(entries)]


def _prompts(
    entries: Sequence[Mapping[str, Any]], hashes: Mapping[str, str], suite: Suite
) -> dict[str, str]:
    """What was asked for in words, by id of the episode, where it is one of the suite's frozen
    ones.
    """
    found: dict[str, str] = {}
    by_file = groupby(entries, key=lambda entry: (entry["task"], entry["split"]))
    for (task, split), group in by_file:
        indices = {entry["index"]: entry["id"] for entry in group}
        try:
            specs = suite.frozen(task, split)
        except ClevrSkillsError:
            continue  # the episodes are others
        for spec in specs or ():
            name = indices.get(spec.index)
            if name is not None and hashes[name] == spec.content_hash:
                found[name] = spec.prompt.plain()
    return found


def _outcome(evaluation: Evaluation, result: EpisodeResult, video: str) -> dict[str, Any]:
    return {
        "cause": result.cause,
        "once": result.success_once,
        "end": result.success_at_end,
        "goals": result.goal_fraction,
        "depth": [result.depth, result.depth_of] if result.depth_of else None,
        "reward": result.total_reward,
        "progress": result.progress,
        "steps": [result.steps, result.max_steps],
        "why": result.error or result.reason,
        "starts": result.starts,
        "events": list(result.events),
        "first": first_kind(result) if result.counts and result.trajectory else "",
        "video": video if evaluation.video(result) else None,
    }


def plain(value: Any) -> Any:
    """JSON data with short numbers; NaN becomes ``None``."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return None if math.isnan(value) else float(f"{value:.{DIGITS}g}")
    return value
