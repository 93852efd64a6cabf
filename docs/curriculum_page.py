"""Page of the curriculum's results: tables of the levels and of every task, from result files.

``python docs/curriculum_page.py`` writes them anew; ``python docs/curriculum_page.py FOLDER
NAME`` first takes in what ``clevrskills curriculum`` or ``clevrskills evaluate --handover`` left in
a folder, as ``docs/curriculum/NAME``.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
from results_page import PART

from clevrskills.core.policy import FORMS
from clevrskills.core.suite import load_suite
from clevrskills.evaluation.handover.tables import composition_tables
from clevrskills.evaluation.report.tables import markdown
from clevrskills.evaluation.results import (
    RESULTS_DIR,
    RUN_FILE,
    EpisodeResult,
    open_evaluations,
    read_results,
)
from clevrskills.evaluation.submission.document import SOLVED, read_submission
from clevrskills.jobs.files import to_json
from clevrskills.suites.clevrskills import curriculum_tables
from clevrskills.suites.clevrskills.curriculum_tables import Results, paper_tables
from clevrskills.suites.clevrskills.protocol import STAGES, Curriculum
from clevrskills.suites.clevrskills.stages import CURRICULUM_FILE, TRIALS_DIR, of_trial
from clevrskills.suites.clevrskills.suite import SPLITS

HERE = Path(__file__).parent
FOLDER = HERE / "curriculum"
PAGE = HERE / "curriculum_results.md"
ORACLE = HERE / "leaderboard" / "oracle.json"
PROMPTS = {"multimodal": "prompts of words and images", "language": "prompts of words alone"}
KEPT = ("index", "cause", "success_once", "total_reward", "steps", "max_steps", "revision")
"""What of each episode's result is kept; the file of frozen episodes is named by the run."""
KEPT_OF_PARTS = ("turns", "max_turns", "handover")
"""What else is kept where the policy did a part of the episode."""
EPISODES_FILE = "episodes.jsonl"
"""A line for the episodes of each task, split and part, with a list of what is not the same in all
of them."""


def take_in(folder: Path, name: str) -> None:
    """Keep what the tables need of a folder of results."""
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
            keys = (*KEPT, *(KEPT_OF_PARTS if part else ()))
            columns = {key: [getattr(r, key) for r in results] for key in keys}
            columns["total_reward"] = [float(f"{r.total_reward:.5g}") for r in results]
            same = {key: v[0] for key, v in columns.items() if v.count(v[0]) == len(v)}
            names = {"task": task, "level": level, "split": split}
            lines.append(to_json({**names, **columns, **same, "index": columns["index"]}))
        (root / EPISODES_FILE).write_text("\n".join([*lines, ""]), encoding="utf-8")
    if (folder / CURRICULUM_FILE).is_file():
        shutil.copy(folder / CURRICULUM_FILE, kept)


@contextmanager
def unpacked() -> Iterator[Path]:
    """All that is kept, as folders of results."""
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
                        result = EpisodeResult(episode="", seed=0, **one)
                        file.write(result.to_json() + "\n")
        yield root


def page(text: str) -> str:
    """The page's text with its tables written anew."""
    with unpacked() as root:
        parts = [*_parts(root)]
    return PART.sub(lambda found: "\n\n".join([found[1], *parts, found[2]]), text)


def numbers() -> str:
    """What the tables of levels have, and rewards, as CSV."""
    with unpacked() as root:
        tables = paper_tables([*_curricula(root).values()])
    frame = curriculum_tables.numbers(tables)
    return frame.to_csv(index=False, lineterminator="\n", float_format="%.6g")


def _curricula(root: Path) -> dict[Path, Results]:
    levels = load_suite().levels()
    found = [path.parent for path in sorted(root.glob(f"*/{CURRICULUM_FILE}"))]
    return {folder: curriculum_tables.read_results(folder, levels) for folder in found}


def _parts(root: Path) -> Iterator[str]:
    curricula = _curricula(root)
    for table in paper_tables([*curricula.values()]):
        if any(line.source == "here" for line in table.lines):
            texts = curriculum_tables.frame(table)
            texts = texts[[c for c in texts if c[1] not in curriculum_tables.MEASURES[1:]]]
            texts.columns = pd.Index([group or name for group, name in texts.columns])
            yield f"### {table.title}"
            yield markdown(texts).rstrip()
    remarks = [remark for one in curricula.values() for remark in one.remarks]
    if remarks:
        yield "\n".join(f"- {remark}" for remark in remarks)
    for folder, one in curricula.items():
        for prompt in FORMS:
            if any(trial.prompt == prompt for trial in one.rows):
                yield f"### Task by task: {one.label}, {PROMPTS[prompt]}"
                yield markdown(_by_task(folder, prompt)).rstrip()
    parts = [path.parent for path in sorted(root.glob(f"*/{RUN_FILE}"))]
    for composition in composition_tables(open_evaluations(parts)) if parts else ():
        yield f"### {composition.title}"
        yield markdown(composition.texts).rstrip()
        yield composition.note


def _by_task(root: Path, prompt: str) -> pd.DataFrame:
    """Successes of each task: the oracle's, before and after the training on its level."""
    oracle, levels = read_submission(ORACLE).tasks, load_suite().levels()
    episodes = json.loads((root / CURRICULUM_FILE).read_text(encoding="utf-8"))["episodes"]
    solved: dict[tuple[str, bool, str], int] = {}
    protocol = Curriculum("", "", episodes, SPLITS, (prompt,))
    for trial in (trial for stage in STAGES for trial in protocol.trials(stage)):
        folder = root / TRIALS_DIR / trial.name
        found = read_results(folder) if (folder / RUN_FILE).is_file() else []
        for result in of_trial(found, trial, levels, episodes):
            key = result.task, trial.setting == "zero-shot", trial.split
            solved[key] = solved.get(key, 0) + result.success_once
    rows = []
    for task, level in levels.items():
        row = {"task": f"`{task}`", "level": level}
        for split in SPLITS:
            seen = curriculum_tables.SEEN[split]
            row[f"zero-shot, {seen}"] = str(solved.get((task, True, split), "-"))
            row[f"trained, {seen}"] = str(solved.get((task, False, split), "-"))
            done = oracle[f"{task}_{split}"].outcomes[:episodes]
            row[f"oracle, {seen}"] = f"{done.count(SOLVED)} of {len(done)}"
        rows.append(row)
    names = [name for name in rows[0] if name.startswith(("task", "level"))]
    names += sorted(
        (n for n in rows[0] if n not in names), key=lambda n: n.split(",")[0], reverse=True
    )
    return pd.DataFrame(rows)[names]


def main() -> None:
    """Take in what is named, and write the page."""
    if len(sys.argv) == 3:
        take_in(Path(sys.argv[1]), sys.argv[2])
    elif len(sys.argv) != 1:
        sys.exit("name nothing, or a folder of results and what it is to be called")
    (FOLDER / "tables.csv").write_text(numbers(), encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
