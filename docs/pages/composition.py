"""Tables of docs/composition.md, from results of ``clevrskills evaluate --handover`` kept in
results/composition/NAME.
"""

from __future__ import annotations

import json
import math
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from types import MappingProxyType

import pandas as pd

from clevrskills.evaluation.handover.tables import LEVELS, LOSSES, Composition, compositions
from clevrskills.evaluation.report.tables import markdown
from clevrskills.evaluation.results import (
    RESULTS_DIR,
    RUN_FILE,
    EpisodeResult,
    Evaluation,
    open_evaluations,
    read_results,
)
from clevrskills.jobs.files import to_json
from pages import DOCS, RESULTS
from pages.trainings import PART

PAGE, FOLDER = DOCS / "composition.md", RESULTS / "composition"
COLUMNS = ("alone", "in_place", "planner", "whole")
PARTS = ("gap", "strange", "dependence", "choosing")
KEPT = ("index", "cause", "success_once", "turns", "max_turns")
"""Fields of an episode's result that are kept."""
KEPT_OF_HANDOVER = ("part", "leaves", "leaf", "alone")
"""Kept fields of the part of the episode that the policy did."""
HANDOVER = "handover."
EPISODES_FILE = "episodes.jsonl"
"""A line for the episodes of each task, split and part; values that differ are lists."""


def page(text: str, root: Path) -> str:
    """Return the page with its tables rewritten from unpacked results."""
    folders = [path.parent for path in sorted(root.glob(f"*/{RUN_FILE}"))]
    parts = [*known(open_evaluations(folders))]
    return PART.sub(lambda found: "\n\n".join([found[1], *parts, found[2]]), text)


def write(measured: Path | None = None) -> None:
    """Write the page; a folder of results is first kept under its own name."""
    if measured:
        take_in(measured)
    with unpacked() as root:
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), root), encoding="utf-8")


def take_in(folder: Path) -> None:
    """Keep the parts of a folder of results that the page needs."""
    kept = FOLDER / folder.name
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir(parents=True)
    shutil.copy(folder / RUN_FILE, kept)
    groups: dict[tuple[str, ...], list[EpisodeResult]] = defaultdict(list)
    for result in sorted(read_results(folder), key=lambda r: (r.level, r.task, r.index)):
        part = result.handover.get("part", "")
        groups[result.task, result.level, result.split, part].append(result)
    lines = []
    for (task, level, split, _), results in groups.items():
        columns = {key: [getattr(r, key) for r in results] for key in KEPT}
        for key in (key for key in KEPT_OF_HANDOVER if key in results[0].handover):
            columns[HANDOVER + key] = [r.handover[key] for r in results]
        same = {key: v[0] for key, v in columns.items() if v.count(v[0]) == len(v)}
        names = {"task": task, "level": level, "split": split}
        lines.append(to_json({**names, **columns, **same, "index": columns["index"]}))
    (kept / EPISODES_FILE).write_text("\n".join([*lines, ""]), encoding="utf-8")


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


def known(runs: Sequence[Evaluation]) -> Iterator[str]:
    """Yield the table of policies, those of known skill with the values of the closed form."""
    lines, coverage = [], []
    for run in runs:
        held = cells = 0
        rows = compositions([run])
        for row in rows:
            wanted = _closed_form(run, rows, row)
            if row.task:
                of = [(getattr(row, name), value) for name, value in wanted.items()]
                cells += len(of)
                held += sum(e.low - 1e-9 <= value <= e.high + 1e-9 for e, value in of)
                continue
            name = Path(run.label.removeprefix("checkpoint:")).name
            lines.append({"policy": name, "level": row.level, **_texts(row, wanted)})
        if cells:
            coverage.append(f"{held} of {cells} ({run.label})")
    if lines:
        yield markdown(pd.DataFrame(lines)).rstrip()
        yield f"Task intervals that contain the closed form: {', '.join(coverage)}."


def _texts(row: Composition, wanted: Mapping[str, float] = MappingProxyType({})) -> dict[str, str]:
    """Return the cells of a row, each with the value of the closed form in parentheses."""
    names, texts = {**LEVELS, **LOSSES}, {}
    for name in (*COLUMNS, *PARTS):
        text = getattr(row, name).percent(0, "+" if name in PARTS else "")
        closed = f" ({100 * wanted[name]:.0f})" if name in wanted else ""
        texts[f"{names[name]} %"] = text + closed
    return texts


def _closed_form(
    run: Evaluation, rows: Sequence[Composition], row: Composition
) -> dict[str, float]:
    """Return the closed form for a policy of known skill on a task, or on the mean of a level; for
    other policies nothing.
    """
    leaves: dict[str, dict[int, int]] = defaultdict(dict)
    for part in run.parts:
        leaves[part.task][part.index] = int(part.handover["leaves"])
    of_level = [one.task for one in rows if one.task and one.level == row.level]
    tasks = [row.task] if row.task else of_level

    def mean(of_episode: Callable[[int], float]) -> float:
        return fmean(fmean(map(of_episode, leaves[task].values())) for task in tasks)

    in_place, wholes = ("in_place", "prompted"), ("product", "planner", "whole", "longer")
    if run.run.policy == "disorderly":
        names = ("alone", "in_place", "product", "planner")
        wanted = {**dict.fromkeys(names, 1.0), "strange": 0.0, "dependence": 0.0}
    elif run.run.policy == "starter":
        one = mean(lambda leaves: leaves == 1)
        wanted = {"alone": 1.0, **dict.fromkeys(in_place, mean(lambda leaves: 1 / leaves))}
        wanted |= {**dict.fromkeys(wholes, one), **dict.fromkeys(PARTS, 0.0)}
        wanted |= {"gap": 1 - one, "strange": 1 - one}
    elif "p" not in run.run.policy_args:
        wanted = {}
    else:
        kept = 1 - float(str(run.run.policy_args["p"]))
        wanted = dict.fromkeys(("alone", *in_place), kept)
        wanted |= dict.fromkeys(wholes, mean(lambda leaves: kept**leaves))
        wanted |= dict.fromkeys(PARTS, 0.0)
    return {n: v for n, v in wanted.items() if not math.isnan(getattr(row, n).value)}
