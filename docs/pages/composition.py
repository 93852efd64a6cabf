"""Tables and figure of composition, from kept result files."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from types import MappingProxyType

import pandas as pd

from clevrskills.assets import SPLITS
from clevrskills.evaluation.handover.tables import LEVELS, LOSSES, Composition, compositions
from clevrskills.evaluation.report.tables import markdown, strata
from clevrskills.evaluation.results import RUN_FILE, Evaluation, open_evaluations
from clevrskills.evaluation.statistics import difference, share
from pages.composition_figure import composition_figure, on_white

COLUMNS = ("alone", "in_place", "planner", "whole")
TRAIN = "train"
ZOO = "checkpoint:zoo/"
PARTS = ("gap", "strange", "dependence", "choosing")
KNOWN = ("quitter", "disorderly", "starter")
HEADINGS = {"learned policies": False, "scripted policies with a known weakness": True}
"""Parts of the figure, and whether the skill of their policies is known."""


def handovers(root: Path) -> list[Evaluation]:
    """Return the runs in a folder in which a policy did parts of episodes."""
    return _open(root, "handover")


def _open(root: Path, kind: str) -> list[Evaluation]:
    folders = [path.parent for path in sorted(root.glob(f"{kind}-*/{RUN_FILE}"))]
    return open_evaluations(folders) if folders else []


def splits(root: Path) -> Iterator[str]:
    """Yield the table of learned policies on compositional splits and the same training tasks."""
    rows = []
    for run in _open(root, "splits"):
        results = [result for result in run.results if result.counts]
        levels = sorted({result.level for result in results})
        names = [name for name in SPLITS if name != TRAIN]
        for level, name in ((level, name) for level in levels for name in names):
            there = [r for r in results if (r.level, r.split) == (level, name)]
            tasks = {result.task for result in there}
            seen = [r for r in results if r.split == TRAIN and r.task in tasks]
            if there:
                new, old = (share(strata(of, lambda r: r.success_once)) for of in (there, seen))
                rows.append(
                    {
                        "policy": _name(run),
                        "level": level,
                        "split": f"`{name}`",
                        "tasks": str(len(tasks)),
                        "%": new.percent(),
                        "the same tasks, `train`, %": old.percent(),
                        "difference": difference(new, old).percent(1, "+"),
                    }
                )
    if rows:
        yield "### Splits of composition"
        yield markdown(pd.DataFrame(rows)).rstrip()


def learned(runs: Sequence[Evaluation]) -> Iterator[str]:
    """Return the heading and the table of learned policies, means of the levels."""
    runs = [run for run in runs if not _is_known(run)]
    if len(runs) > 1:
        yield "### Where composition breaks"
        rows = [row for run in runs for row in compositions([run]) if not row.task]
        rows.sort(key=lambda row: (row.run, row.level))
        about = [{"policy": row.run.removeprefix(ZOO), "level": row.level} for row in rows]
        texts = [_texts(row) for row in rows]
        yield markdown(pd.DataFrame([a | t for a, t in zip(about, texts, strict=True)])).rstrip()


def known(runs: Sequence[Evaluation]) -> Iterator[str]:
    """Yield the table of policies of known skill, with the values of the closed form."""
    lines, coverage = [], []
    for run in (run for run in runs if _is_known(run)):
        held = cells = 0
        rows = compositions([run])
        for row in rows:
            wanted = _closed_form(run, rows, row)
            if row.task:
                of = [(getattr(row, name), value) for name, value in wanted.items()]
                cells += len(of)
                held += sum(e.low - 1e-9 <= value <= e.high + 1e-9 for e, value in of)
                continue
            lines.append({"policy": run.label, "level": row.level, **_texts(row, wanted)})
        coverage.append(f"{held} of {cells} ({run.label})")
    if lines:
        yield markdown(pd.DataFrame(lines)).rstrip()
        yield f"Task intervals that contain the closed form: {', '.join(coverage)}."


def image(runs: Sequence[Evaluation]) -> str:
    """Return the figure of the means of levels."""
    rows, headings = list[Composition](), {}
    for heading, is_known in HEADINGS.items():
        headings[len(rows)] = heading
        of = [run for run in runs if _is_known(run) == is_known]
        found = [replace(row, run=_name(run)) for run in of for row in compositions([run])]
        rows += [row for row in found if not row.task]
    return on_white(composition_figure(rows, headings)) + "\n"


def _is_known(run: Evaluation) -> bool:
    return run.run.policy in KNOWN


def _name(run: Evaluation) -> str:
    return run.label.removeprefix(ZOO)


def _headings() -> dict[str, str]:
    names = {**LEVELS, **LOSSES}
    return {name: f"{names[name]} %" for name in (*COLUMNS, *PARTS)}


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
    """Return the closed form for a policy of known skill on a task, or on the mean of a level."""
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
    else:
        kept = 1 - float(str(run.run.policy_args["p"]))
        wanted = dict.fromkeys(("alone", *in_place), kept)
        wanted |= dict.fromkeys(wholes, mean(lambda leaves: kept**leaves))
        wanted |= dict.fromkeys(PARTS, 0.0)
    return {n: v for n, v in wanted.items() if not math.isnan(getattr(row, n).value)}
