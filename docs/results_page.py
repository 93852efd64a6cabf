"""What the pages of results share: a panel for each task, and a part of the page that is written
anew from what was measured.
"""

import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

HERE = Path(__file__).parent
COLUMNS = 3
PANEL_INCHES = (3.2, 2.3)
PART = re.compile(r"(<!-- results -->).*?(<!-- end of results -->)", re.DOTALL)

Training = dict[str, Any]


def panels(trainings: list[Training]) -> tuple[Figure, Iterator[tuple[Axes, list[Training]]]]:
    """A figure with a panel for each task, and its panels with the trainings of that task."""
    groups: dict[str, list[Training]] = defaultdict(list)
    for training in trainings:
        groups[training["task"]].append(training)
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
        return HERE / f"{self.name}.json"

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
        matplotlib.rcParams.update({"svg.hashsalt": self.name, "font.size": 9})
        image = self.results.with_suffix(".svg")
        self.curves(trainings).savefig(image, metadata={"Date": None})
        path = HERE / self.page
        path.write_text(self.written(path.read_text(encoding="utf-8"), trainings), encoding="utf-8")


def _read(path: Path) -> list[Training]:
    if not path.exists():
        sys.exit(f"there is no file {path}")
    trainings: list[Training] = json.loads(path.read_text(encoding="utf-8"))["trainings"]
    return trainings


def _key(training: Training) -> tuple[str, str, int]:
    return training["task"], training.get("policy", ""), training["seed"]
