"""Draws the learning curves of docs/rl.md and writes its table, from what
`clevrskills rl --protocol states` measured.

python docs/draw_learning.py [results.json]
"""

from itertools import groupby
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro
from matplotlib.figure import Figure
from results_page import ResultsPage, Training, markdown, panels

from clevrskills.rl.protocol import over_seeds

LINES = {"success_once": ("at some time", "C0"), "success_at_end": ("at the end", "C1")}


def curves(trainings: list[Training]) -> Figure:
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


def table(trainings: list[Training]) -> str:
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


PAGE = ResultsPage(
    "learning",
    "rl.md",
    "Success against control steps: mean over seeds, and their range",
    curves,
    table,
)


def main(results: Annotated[Path | None, tyro.conf.Positional] = None) -> None:
    """Draw and write.

    Args:
        results: What was measured, to be published beside what is.
    """
    PAGE.publish(results)


if __name__ == "__main__":
    tyro.cli(main)
