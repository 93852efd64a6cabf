"""Finished and unfinished runs of ``clevrskills evaluate``, opened for reading."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.results import RUN_FILE, VIDEOS_DIR, EpisodeResult, Run, read_results
from clevrskills.jobs.files import storage_errors

SETTINGS = (
    *("robot", "criteria", "stop_on_success", "observation", "chunk", "clip", "seed"),
    *("renderer", "versions"),
)
"""Attributes of a run on which its numbers depend, besides the policy."""


@dataclass(frozen=True)
class Evaluation:
    """A run and its results.

    Attributes:
        root: Its folder.
        run: What was evaluated, and how.
        label: What tables call it; no other run that was opened with it has this one.
        results: One for each episode.
    """

    root: Path
    run: Run
    label: str
    results: tuple[EpisodeResult, ...]

    def video(self, result: EpisodeResult) -> Path | None:
        """The video of an episode; ``None``: it was not filmed."""
        path = self.root / VIDEOS_DIR / f"{result.id}.mp4"
        return path if path.is_file() else None


def open_evaluations(roots: Sequence[Path]) -> list[Evaluation]:
    """Open runs.

    Raises:
        ClevrSkillsError: A folder is named twice, holds no run, or a damaged one.
    """
    runs = [read_run(root) for root in roots]
    if len({root.resolve() for root in roots}) < len(roots):
        raise ClevrSkillsError("the same folder is named twice")
    labels = [run.label or run.policy for run in runs]
    for k, root in enumerate(roots):
        if labels.count(labels[k]) > 1:
            labels[k] = f"{labels[k]} ({root.resolve().name})"
    for k, root in enumerate(roots):
        if labels.count(labels[k]) > 1:
            labels[k] = f"{labels[k]} {root}"
    return [
        Evaluation(root, run, label, tuple(read_results(root)))
        for root, run, label in zip(roots, runs, labels, strict=True)
    ]


def read_run(root: Path) -> Run:
    """Read ``run.json``.

    Raises:
        ClevrSkillsError: There is none, or it is damaged.
    """
    path = root / RUN_FILE
    if not path.is_file():
        raise ClevrSkillsError(f"{root} is no run of `clevrskills evaluate`: it has no {RUN_FILE}")
    with storage_errors(path):
        text = path.read_text(encoding="utf-8")
    try:
        data = json.loads(text)
        return Run(**{f.name: data[f.name] for f in fields(Run) if f.name in data})
    except (ValueError, TypeError) as error:
        raise ClevrSkillsError(f"{path} is damaged: {error}") from error


def differences(a: Run, b: Run) -> list[str]:
    """How two runs differ in what their numbers depend on, besides the policy, in words."""
    found = []
    for name in SETTINGS:
        one, other = getattr(a, name), getattr(b, name)
        if isinstance(one, dict) and isinstance(other, dict):
            keys = sorted(k for k in {*one, *other} if one.get(k) != other.get(k))
            found += [f"{name}.{k}: {one.get(k)} and {other.get(k)}" for k in keys]
        elif one != other:
            found.append(f"{name}: {one} and {other}")
    return [text.replace("_", " ") for text in found]
