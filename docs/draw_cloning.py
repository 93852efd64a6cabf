"""Draws the losses of docs/training.md and writes its table, from what benchmarks/cloning.py
measured.

python docs/draw_cloning.py [cloning.json]
"""

import json
from pathlib import Path
from typing import Annotated, Any

import matplotlib
import tyro
from draw_learning import PANEL_INCHES, TABLE, by_task
from matplotlib.figure import Figure

from clevrskills.evaluation.statistics import wilson

HERE = Path(__file__).parent
RESULTS, PICTURE, PAGE = HERE / "cloning.json", HERE / "cloning.svg", HERE / "training.md"
COLUMNS = 3

Training = dict[str, Any]


def curves(trainings: list[Training]) -> Figure:
    """Loss against steps: a panel for each task, a line for each training."""
    tasks = by_task(trainings)
    rows = -(-len(tasks) // COLUMNS)
    size = PANEL_INCHES[0] * COLUMNS, PANEL_INCHES[1] * rows
    figure = Figure(figsize=size, layout="constrained")
    panels = list(figure.subplots(rows, COLUMNS, squeeze=False, sharey=True).flat)
    for panel, (task, group) in zip(panels, tasks.items(), strict=False):
        for training in group:
            panel.plot(training["curve"]["steps"], training["curve"]["loss"])
        panel.set(title=task, yscale="log", xlim=(0, None), xlabel="steps")
        panel.grid(alpha=0.3)
    for panel in panels[len(tasks) :]:
        panel.remove()
    figure.axes[0].set_ylabel("loss")
    return figure


def table(trainings: list[Training], machine: str) -> str:
    """The table of results, in Markdown."""
    lines = [
        "| task | policy | demonstrations | steps | minutes | split | success | 95 % | progress |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for training in trainings:
        for split, result in training["evaluation"].items():
            low, high = wilson(result["successes"], result["episodes"])
            lines.append(
                f"| `{training['task']}` | `{training['policy']}` | {training['demonstrations']} "
                f"| {training['steps']:,} | {training['minutes']:.0f} | {split} "
                f"| {result['successes']} of {result['episodes']} "
                f"| {100 * low:.0f}-{100 * high:.0f} % | {result['progress']:.2f} |"
            )
    return "\n".join([*lines, "", f"Machine: {machine}."])


def page(text: str, trainings: list[Training], machine: str) -> str:
    """The page with its table written anew."""
    picture = f"![Losses against steps, by task]({PICTURE.name})"
    written = f"\n{picture}\n\n{table(trainings, machine)}\n\n" if trainings else "\n"
    return TABLE.sub(lambda found: found[1] + written + found[2], text)


def main(results: Annotated[Path, tyro.conf.Positional] = RESULTS) -> None:
    """Draw and write.

    Args:
        results: What was measured; a copy is kept beside the page.
    """
    data = json.loads(results.read_text(encoding="utf-8"))
    RESULTS.write_text(json.dumps(data) + "\n", encoding="utf-8")
    matplotlib.rcParams.update({"svg.hashsalt": "cloning", "font.size": 9})
    curves(data["trainings"]).savefig(PICTURE, metadata={"Date": None})
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(page(text, data["trainings"], data["machine"]), encoding="utf-8")


if __name__ == "__main__":
    tyro.cli(main)
