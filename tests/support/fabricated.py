"""Fabricated runs of ``evaluate``: result files with chosen numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from clevrskills.evaluation.results import (
    RESULTS_DIR,
    RUN_FILE,
    VIDEOS_DIR,
    EpisodeResult,
    Run,
)
from clevrskills.jobs.files import to_json
from clevrskills.sim.render.video import VideoWriter
from clevrskills.suites.clevrskills.suite import ClevrSkillsSuite
from clevrskills.tasks import Task, tasks


class FewTasks(ClevrSkillsSuite):
    """One task of each level."""

    def task_types(self) -> dict[str, type[Task]]:
        return {key: tasks()[key] for key in ("trace", "sort", "stack_topple")}


def result(
    task: str, index: int, success: bool | None = False, level: str = "L0", **more: Any
) -> EpisodeResult:
    """An episode; ``success=None`` is one that ended in an error."""
    split = more.get("split", "train")
    cause = {True: "success", False: "step limit", None: "error"}[success]
    known: dict[str, Any] = {
        "split": "train",
        "seed": 1000 + index,
        "episode": hashlib.sha256(f"{task} {split} {index}".encode()).hexdigest(),
        "cause": cause,
        "success_once": bool(success),
        "success_at_end": bool(success),
        "goal_fraction": float(bool(success)),
        "total_reward": 100.0,
        "progress": float(bool(success)),
        "steps": 50,
        "max_steps": 200,
        "error": "" if success is not None else "the server closed the connection",
        "ended": f"2026-01-02T03:04:{index % 60:02d}+00:00",
    }
    return EpisodeResult(task=task, index=index, level=level, **{**known, **more})


def outcomes(
    task: str, successes: Sequence[bool | None], level: str = "L0", **more: Any
) -> list[EpisodeResult]:
    """One episode for each outcome."""
    return [result(task, k, success, level, **more) for k, success in enumerate(successes)]


def write_run(
    root: Path, results: Iterable[EpisodeResult], label: str = "policy", **run: Any
) -> Path:
    """Write a run to disk; returns its folder."""
    root.mkdir(parents=True, exist_ok=True)
    given = {"policy": "package:Policy", "label": label, "robot": "xarm6", "criteria": "paper"}
    known = Run(**{**given, **run})
    (root / RUN_FILE).write_text(to_json(asdict(known)))
    path = root / RESULTS_DIR / "local.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(one.to_json() + "\n" for one in results))
    return root


def write_video(root: Path, episode: EpisodeResult, size_px: int = 64, steps: int = 20) -> Path:
    """Film an episode: a bright square that moves to the right."""
    path = root / VIDEOS_DIR / f"{episode.id}.mp4"
    path.parent.mkdir(exist_ok=True)
    writer = VideoWriter(path, size_px, size_px, 20)
    for t in range(steps):
        frame = np.full((size_px, size_px, 3), 40, np.uint8)
        x = round((size_px - 12) * t / max(steps - 1, 1))
        frame[size_px // 2 - 6 : size_px // 2 + 6, x : x + 12] = (240, 190, 60)
        writer.write(frame)
    writer.close()
    return path
