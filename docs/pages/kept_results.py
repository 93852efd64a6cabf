"""Results kept for the pages: the parts of a folder of results that tables need."""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from clevrskills.evaluation.results import RESULTS_DIR, RUN_FILE, EpisodeResult, read_results
from clevrskills.jobs.files import to_json
from clevrskills.suites.clevrskills.stages import CURRICULUM_FILE
from pages import RESULTS

FOLDER = RESULTS / "curriculum"
KEPT = ("index", "cause", "success_once", "total_reward", "steps", "max_steps")
"""Kept fields of an episode's result."""
KEPT_OF_PARTS = ("index", "cause", "success_once", "turns", "max_turns")
KEPT_OF_HANDOVER = ("part", "leaves", "leaf", "alone")
"""Kept fields where the policy did a part of the episode."""
HANDOVER = "handover."
EPISODES_FILE = "episodes.jsonl"
"""A line for the episodes of each task, split and part, with lists of the fields that differ."""


def take_in(folder: Path, name: str) -> None:
    """Keep the parts of a folder of results that the pages need."""
    kept = FOLDER / name
    shutil.rmtree(kept, ignore_errors=True)
    for path in sorted(folder.rglob(RUN_FILE)):
        root = kept / path.parent.relative_to(folder)
        root.mkdir(parents=True)
        shutil.copy(path, root)
        groups: dict[tuple[str, ...], list[EpisodeResult]] = defaultdict(list)
        for result in sorted(read_results(path.parent), key=lambda r: (r.level, r.task, r.index)):
            part = result.handover.get("part", "")
            groups[result.task, result.level, result.split, part].append(result)
        lines = []
        for (task, level, split, part), results in groups.items():
            keys = KEPT_OF_PARTS if part else KEPT
            columns = {key: [getattr(r, key) for r in results] for key in keys}
            for key in (key for key in KEPT_OF_HANDOVER if key in results[0].handover):
                columns[HANDOVER + key] = [r.handover[key] for r in results]
            if not part:
                columns["total_reward"] = [float(f"{r.total_reward:.5g}") for r in results]
            same = {key: v[0] for key, v in columns.items() if v.count(v[0]) == len(v)}
            names = {"task": task, "level": level, "split": split}
            lines.append(to_json({**names, **columns, **same, "index": columns["index"]}))
        (root / EPISODES_FILE).write_text("\n".join([*lines, ""]), encoding="utf-8")
    if (folder / CURRICULUM_FILE).is_file():
        shutil.copy(folder / CURRICULUM_FILE, kept)


@contextmanager
def unpacked() -> Iterator[Path]:
    """Yield a temporary folder with all kept results, as folders of results."""
    with TemporaryDirectory() as name:
        root = Path(name) / FOLDER.name
        shutil.copytree(FOLDER, root)
        for path in sorted(root.rglob(EPISODES_FILE)):
            (path.parent / RESULTS_DIR).mkdir()
            with (path.parent / RESULTS_DIR / EPISODES_FILE).open("w", encoding="utf-8") as file:
                for line in path.read_text(encoding="utf-8").splitlines():
                    group = json.loads(line)
                    for k in range(len(group["index"])):
                        one = {n: v[k] if isinstance(v, list) else v for n, v in group.items()}
                        part = {n: one.pop(n) for n in [*one] if n.startswith(HANDOVER)}
                        about = {n.removeprefix(HANDOVER): v for n, v in part.items()}
                        result = EpisodeResult(episode="", seed=0, **one, handover=about)
                        file.write(result.to_json() + "\n")
        yield root
