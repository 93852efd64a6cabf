"""Learning curves and table of docs/rl.md, from results of ``clevrskills rl --protocol states``."""

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from clevrskills.rl.protocol import over_seeds
from pages import DOCS, RESULTS

PAGE, LEARNING = DOCS / "rl.md", RESULTS / "learning.json"
CAPTION = "Success against control steps: mean over seeds, and their range"
COLUMNS = 3
PANEL_INCHES = (3.2, 2.3)
PART = re.compile(r"(<!-- results -->).*?(<!-- end of results -->)", re.DOTALL)
LINES = {"success_once": ("at some time", "C0"), "success_at_end": ("at the end", "C1")}

Training = dict[str, Any]


def panels(trainings: list[Training]) -> tuple[Figure, Iterator[tuple[Axes, list[Training]]]]:
    """Return a figure with a panel per task, and the panels with the training runs of the task."""
    groups: dict[str, list[Training]] = defaultdict(list)
    for training in trainings:
        groups[training["task"]].append(training)
    matplotlib.rcParams["font.size"] = 9
    rows = -(-len(groups) // COLUMNS)
    size = PANEL_INCHES[0] * COLUMNS, PANEL_INCHES[1] * rows + 0.4
    figure = Figure(figsize=size, layout="constrained")
    axes = list(figure.subplots(rows, COLUMNS, squeeze=False, sharey=True).flat)
    for unused in axes[len(groups) :]:
        unused.remove()
    for panel, task in zip(axes, groups, strict=False):
        panel.set_title(task)
        panel.grid(alpha=0.3)
    return figure, zip(axes, groups.values(), strict=False)


def machines(trainings: list[Training]) -> str:
    """Return the machine of the training runs, or the tasks of each machine."""
    tasks: dict[str, dict[str, None]] = defaultdict(dict)
    for training in trainings:
        tasks[training["machine"]][f"`{training['task']}`"] = None
    if len(tasks) == 1:
        return f"Machine: {next(iter(tasks))}."
    parts = [f"{name} ({', '.join(of)})" for name, of in tasks.items()]
    return f"Machines: {'; '.join(parts)}."


def markdown(columns: list[str], rows: list[list[str]]) -> str:
    """Return a table in Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def successes(trainings: list[Training]) -> Figure:
    """Plot success against control steps: mean and range over seeds, for each task."""
    figure, drawn = panels(trainings)
    for panel, group in drawn:
        steps = np.array(group[0]["curve"]["steps"]) / 1e6
        for name, (label, color) in LINES.items():
            values = np.array([t["curve"][name] for t in group], dtype=float)
            there = ~np.isnan(values).any(0)
            x, y = steps[there], values[:, there]
            panel.plot(x, y.mean(0), color=color, label=label)
            panel.fill_between(x, y.min(0), y.max(0), color=color, alpha=0.25, linewidth=0)
        panel.set(ylim=(-0.03, 1.03), xlim=(0, None), xlabel="million control steps")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.axes[0].set_ylabel("episodes with success")
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    return figure


def successes_table(trainings: list[Training]) -> str:
    """Return the table of results in Markdown."""
    splits = list(trainings[0]["evaluation"])
    rows = []
    for task, some in groupby(trainings, key=lambda training: training["task"]):
        group = list(some)
        steps = sorted({training["steps"] for training in group})
        span = " to ".join(f"{count:,}" for count in (steps[0], *steps[1:][-1:]))
        minutes = np.mean([training["minutes"] for training in group])
        cells = [f"`{task}`", span, f"{minutes:.0f}"]
        for split in splits:
            results = [training["evaluation"][split] for training in group]
            solved = ", ".join(str(result["successes"]) for result in results)
            cells.append(f"{solved} of {results[0]['episodes']}: {over_seeds(results).percent()}")
        rows.append(cells)
    return markdown(["task", "steps", "minutes", *(f"`{s}`, each seed: %" for s in splits)], rows)


def read(path: Path | None = None) -> list[Training]:
    """Return the training runs of a file, by default the published ones."""
    path = path or LEARNING
    if not path.exists():
        sys.exit(f"there is no file {path}")
    trainings: list[Training] = json.loads(path.read_text(encoding="utf-8"))["trainings"]
    return trainings


def written(text: str, trainings: list[Training]) -> str:
    """Return the page with its results rewritten."""
    parts = [f"![{CAPTION}](learning.svg)", successes_table(trainings), machines(trainings)]
    return PART.sub(lambda found: "\n\n".join([found[1], *parts, found[2]]), text)


def publish(measured: Path | None) -> None:
    """Plot and write the published runs and those of a measured file, which replace published runs
    of the same task and seed.
    """
    rows = {(t["task"], t["seed"]): t for t in [*read(), *(read(measured) if measured else [])]}
    trainings = [rows[key] for key in sorted(rows)]
    LEARNING.write_text(json.dumps({"trainings": trainings}) + "\n", encoding="utf-8")
    matplotlib.rcParams["svg.hashsalt"] = "learning"  # the same bytes each time
    successes(trainings).savefig(DOCS / "learning.svg", metadata={"Date": None})
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), trainings), encoding="utf-8")
