"""JSON data and videos of the HTML report."""

import base64
import contextlib
import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from clevrskills.core.report import Measure
from clevrskills.core.suite import Suite
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.handover.tables import part_rows, part_title
from clevrskills.evaluation.report.comparison import Comparison, p_text
from clevrskills.evaluation.report.failures import first_kind
from clevrskills.evaluation.report.tables import (
    MEASURES,
    ResultRow,
    estimate_of,
    measures_of,
    tasks_text,
)
from clevrskills.evaluation.results import ERROR, POLICY_ERROR, SETTINGS, EpisodeResult, Evaluation
from clevrskills.evaluation.statistics import Estimate, number_text
from clevrskills.jobs.files import storage_errors

VIDEO_LIMIT_BYTES = 2_000_000
"""Maximum size of an embedded video; larger ones are linked."""
PAGE_LIMIT_BYTES = 24_000_000
"""Maximum total size of embedded videos; the rest is linked."""
DIGITS = 5
"""Significant digits of numbers for plots; texts are separate."""
REASONS = 12
"""Maximum number of reasons listed for each run and cause."""
_WHICH = ("id", "task", "level", "split", "index", "seed")
"""Fields that identify an episode."""


@dataclass(frozen=True)
class Video:
    """Video of the page."""

    id: str  # id in the data of its episode
    content: str  # base64 data; empty if linked
    link: str  # path relative to the page; empty if embedded


def contents(
    evaluations: Sequence[Evaluation],
    levels: Sequence[ResultRow],
    tasks: Sequence[ResultRow],
    comparisons: Sequence[Comparison],
) -> dict[str, Any]:
    """Return the data of the page, without videos."""
    measures = (*MEASURES, *measures_of(evaluations))
    data: dict[str, Any] = plain(
        {
            "runs": [_run(evaluation) for evaluation in evaluations],
            "measures": [
                {**asdict(measure), "own": measure not in MEASURES} for measure in measures
            ],
            "levels": [_row(row, measures) for row in levels],
            "tasks": [_row(row, measures) for row in tasks],
            "parts": [_row(row, measures) for row in part_rows(evaluations)],
            "comparisons": [_comparison(comparison) for comparison in comparisons],
            "episodes": _episodes(evaluations),
        }
    )
    filmed = [e for e in data["episodes"] if any(run and run["video"] for run in e["runs"])]
    hashes = {r.id: r.episode for evaluation in evaluations for r in evaluation.all_results}
    prompts = _prompts(filmed, hashes, evaluations[0].suite)
    for episode in data["episodes"]:
        episode["prompt"] = prompts.get(episode["id"], "")
    return data


def videos(evaluations: Sequence[Evaluation], folder: Path) -> list[Video]:
    """Return the videos of all runs, failures first, embedded up to the size limits.

    Args:
        evaluations: The runs.
        folder: Folder of the page.

    Raises:
        StorageError: A video cannot be read.
    """
    found = [
        (result.success_once, f"{k}-{result.id}", path)
        for k, evaluation in enumerate(evaluations)
        for result in evaluation.all_results
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


def _row(row: ResultRow, measures: Sequence[Measure]) -> dict[str, Any]:
    data = asdict(row)
    for name in ("tag", "value", "measures"):
        del data[name]
    found = {
        measure.name: _estimate(estimate_of(row, measure), measure.digits, measure.kind == "share")
        for measure in measures
    }
    return {**data, **found, "tasks": tasks_text(row)}


def _estimate(
    estimate: Estimate, digits: int, is_share: bool = True, sign: str = ""
) -> dict[str, Any]:
    """Return an estimate with the texts of its numbers."""
    texts = estimate.texts(digits, sign, 100 if is_share else 1)
    return {**asdict(estimate), "texts": texts}


def _comparison(comparison: Comparison) -> dict[str, Any]:
    data = asdict(comparison)
    for name in ("levels", "tasks"):
        data[name] = [
            {
                **asdict(row),
                **{side: _estimate(getattr(row, side), 1) for side in ("a", "b")},
                "difference": _estimate(row.difference, 1, sign="+"),
                "p": p_text(row.p_value if row.p_holm is None else row.p_holm),
            }
            for row in getattr(comparison, name)
        ]
    return data


def _run(evaluation: Evaluation) -> dict[str, Any]:
    run, source = evaluation.run, evaluation.source
    reasons = {
        "gave up": Counter(r.reason for r in evaluation.all_results if r.reason),
        **{
            cause: Counter(r.error for r in evaluation.all_results if r.error and r.cause == cause)
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
        "parts": sum(r.counts for r in evaluation.parts),
        "errors": sum(not r.counts for r in evaluation.all_results),
    }


def _episodes(evaluations: Sequence[Evaluation]) -> list[dict[str, Any]]:
    """Return an entry for each episode of any run; ``runs`` has each run's result or ``None``."""
    entries: dict[tuple[Any, ...], dict[str, Any]] = {}
    for k, evaluation in enumerate(evaluations):
        for result in evaluation.all_results:
            rank, part = evaluation.rank(result.split), part_title(result)
            key = (result.level, result.task, part, rank, result.index, result.repeat)
            which = {**{name: getattr(result, name) for name in _WHICH}, "part": part}
            entry = entries.setdefault(key, {**which, "runs": [None] * len(evaluations)})
            entry["runs"][k] = _outcome(evaluation, result, f"{k}-{result.id}")
    return [entries[key] for key in sorted(entries)]


def _prompts(
    entries: Sequence[Mapping[str, Any]], hashes: Mapping[str, str], suite: Suite
) -> dict[str, str]:
    """Return the prompts of the suite's frozen episodes as text, by id of the episode."""
    found: dict[str, str] = {}
    by_file = groupby(entries, key=lambda entry: (entry["task"], entry["split"]))
    for (task, split), group in by_file:
        with contextlib.suppress(ClevrSkillsError):  # without frozen episodes
            specs = {spec.index: spec for spec in suite.frozen(task, split)}
            for entry in group:
                spec = specs.get(entry["index"])
                if spec is not None and hashes[entry["id"]] == spec.content_hash:
                    found[entry["id"]] = spec.prompt.plain()
    return found


def _outcome(evaluation: Evaluation, result: EpisodeResult, video: str) -> dict[str, Any]:
    return {
        "cause": result.ending,
        "once": result.success_once,
        "end": result.success_at_end,
        "goals": result.goal_fraction,
        "depth": [result.depth, result.depth_of] if result.depth_of else None,
        "texts": {
            "leaves of the goal met at the end": _stated(result.goal_fraction, 2),
            "greatest progress": _stated(result.progress, 2),
            "reward": _stated(result.total_reward, 1),
        },
        "steps": [result.steps, result.max_steps],
        "turns": [result.turns, result.max_turns],
        "why": result.error or result.reason,
        "starts": result.starts,
        "events": list(result.events),
        "first": first_kind(result) if result.counts and result.trajectory else "",
        "video": video if evaluation.video(result) else None,
    }


def _stated(value: float | None, digits: int) -> str:
    """Return a number as text."""
    return "not stated" if value is None else number_text(value, digits)


def plain(value: Any) -> Any:
    """Return JSON data with short numbers; NaN becomes ``None``."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return None if math.isnan(value) else float(f"{value:.{DIGITS}g}")
    return value
