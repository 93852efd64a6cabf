"""Draws the losses of docs/training.md and writes its table, from what benchmarks/cloning.py
measured.

python docs/draw_cloning.py [cloning.json]
"""

from pathlib import Path
from typing import Annotated

import tyro
from matplotlib.figure import Figure
from results_page import ResultsPage, Training, markdown, panels

from clevrskills.core.statistics import wilson


def curves(trainings: list[Training]) -> Figure:
    """Loss against steps: a panel for each task, a line for each training."""
    figure, drawn = panels(trainings)
    for panel, group in drawn:
        for training in group:
            panel.plot(training["curve"]["steps"], training["curve"]["loss"])
        panel.set(yscale="log", xlim=(0, None), xlabel="steps")
    figure.axes[0].set_ylabel("loss")
    return figure


def table(trainings: list[Training]) -> str:
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


PAGE = ResultsPage("cloning", "training.md", "Losses against steps, by task", curves, table)


def main(results: Annotated[Path | None, tyro.conf.Positional] = None) -> None:
    """Draw and write.

    Args:
        results: What was measured, to be published beside what is.
    """
    PAGE.publish(results)


if __name__ == "__main__":
    tyro.cli(main)
