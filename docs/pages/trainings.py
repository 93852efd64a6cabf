"""Trainings on pages: learning curves and tables of docs/training.md and docs/rl.md, from what
``benchmarks/cloning.py`` and ``clevrskills rl --protocol states`` measured.
"""

import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from clevrskills.core.statistics import wilson
from clevrskills.rl.protocol import over_seeds
from pages import DOCS, RESULTS

COLUMNS = 3
PANEL_INCHES = (3.2, 2.3)
PART = re.compile(r"(<!-- results -->).*?(<!-- end of results -->)", re.DOTALL)
LINES = {"success_once": ("at some time", "C0"), "success_at_end": ("at the end", "C1")}

Training = dict[str, Any]


def panels(trainings: list[Training]) -> tuple[Figure, Iterator[tuple[Axes, list[Training]]]]:
    """A figure with a panel for each task, and its panels with the trainings of that task."""
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
    """Where they ran; where that is several machines, which task on which."""
    tasks: dict[str, dict[str, None]] = defaultdict(dict)
    for training in trainings:
        tasks[training["machine"]][f"`{training['task']}`"] = None
    if len(tasks) == 1:
        return f"Machine: {next(iter(tasks))}."
    parts = [f"{name} ({', '.join(of)})" for name, of in tasks.items()]
    return f"Machines: {'; '.join(parts)}."


def markdown(columns: list[str], rows: list[list[str]]) -> str:
    """A table."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def losses(trainings: list[Training]) -> Figure:
    """Loss against steps: a panel for each task, a line for each training."""
    figure, drawn = panels(trainings)
    for panel, group in drawn:
        for training in group:
            panel.plot(training["curve"]["steps"], training["curve"]["loss"])
        panel.set(yscale="log", xlim=(0, None), xlabel="steps")
    figure.axes[0].set_ylabel("loss")
    return figure


def losses_table(trainings: list[Training]) -> str:
    """The table of results, in Markdown."""
    columns = [
        *("task", "policy", "demonstrations", "steps", "minutes", "split"),
        *("success", "95 %", "progress"),
    ]
    rows = []
    for training in trainings:
        for split, result in training["evaluation"].items():
            low, high = wilson(result["successes"], result["episodes"])
            rows.append(
                [
                    *(f"`{training['task']}`", f"`{training['policy']}`"),
                    *(str(training["demonstrations"]), f"{training['steps']:,}"),
                    *(f"{training['minutes']:.0f}", split),
                    f"{result['successes']} of {result['episodes']}",
                    *(f"{100 * low:.0f}-{100 * high:.0f} %", f"{result['progress']:.2f}"),
                ]
            )
    return markdown(columns, rows)


def successes(trainings: list[Training]) -> Figure:
    """Success against control steps: for each task its mean over seeds, and their range."""
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
    """The table of results, in Markdown."""
    columns = ["task", "steps", "seeds", "minutes", "split", "each seed", "all", "95 %"]
    rows = []
    for task, some in groupby(trainings, key=lambda training: training["task"]):
        group = list(some)
        steps = sorted({training["steps"] for training in group})
        span = " to ".join(f"{count:,}" for count in (steps[0], *steps[1:][-1:]))
        minutes = np.mean([training["minutes"] for training in group])
        for split in group[0]["evaluation"]:
            results = [training["evaluation"][split] for training in group]
            solved = [result["successes"] for result in results]
            found = over_seeds(results)
            each = f"{', '.join(map(str, solved))} of {results[0]['episodes']}"
            rows.append(
                [
                    *(f"`{task}`", span, str(len(group)), f"{minutes:.0f}"),
                    *(split, each, f"{found.value:.1%}"),
                    f"{100 * found.low:.0f}-{100 * found.high:.0f} %",
                ]
            )
    return markdown(columns, rows)


def save(figure: Figure, path: Path) -> None:
    """Save a figure, the same bytes each time."""
    matplotlib.rcParams["svg.hashsalt"] = path.stem
    figure.savefig(path, metadata={"Date": None})


@dataclass(frozen=True)
class ResultsPage:
    """A page of results.

    Attributes:
        name: Of what was measured, and of the image beside it.
        page: File of the page.
        caption: What the image shows.
        curves: Draws the image.
        table: Writes the table.
    """

    name: str
    page: str
    caption: str
    curves: Callable[[list[Training]], Figure]
    table: Callable[[list[Training]], str]

    @property
    def results(self) -> Path:
        """What was measured."""
        return RESULTS / f"{self.name}.json"

    def read(self) -> list[Training]:
        """What is published."""
        return _read(self.results)

    def written(self, text: str, trainings: list[Training]) -> str:
        """The page's text with its results written anew."""
        image = f"![{self.caption}]({self.name}.svg)"
        parts = [image, self.table(trainings), machines(trainings)]
        return PART.sub(lambda found: "\n\n".join([found[1], *parts, found[2]]), text)

    def publish(self, measured: Path | None) -> None:
        """Draw and write what is published and what was measured, a file of trainings, which
        takes the place of what is published of the same task, policy and seed.
        """
        rows = {_key(t): t for t in [*self.read(), *(_read(measured) if measured else [])]}
        trainings = [rows[key] for key in sorted(rows)]
        self.results.write_text(json.dumps({"trainings": trainings}) + "\n", encoding="utf-8")
        save(self.curves(trainings), DOCS / f"{self.name}.svg")
        path = DOCS / self.page
        path.write_text(self.written(path.read_text(encoding="utf-8"), trainings), encoding="utf-8")


def _read(path: Path) -> list[Training]:
    if not path.exists():
        sys.exit(f"there is no file {path}")
    trainings: list[Training] = json.loads(path.read_text(encoding="utf-8"))["trainings"]
    return trainings


def _key(training: Training) -> tuple[str, str, int]:
    return training["task"], training.get("policy", ""), training["seed"]


CLONING = ResultsPage(
    "cloning", "training.md", "Losses against steps, by task", losses, losses_table
)
LEARNING = ResultsPage(
    "learning",
    "rl.md",
    "Success against control steps: mean over seeds, and their range",
    successes,
    successes_table,
)
