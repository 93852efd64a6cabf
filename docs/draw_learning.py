"""Draws the learning curves of docs/rl.md and writes its table, from what benchmarks/learning.py
measured.

python docs/draw_learning.py [learning.json]
"""

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Annotated, Any

import matplotlib
import numpy as np
import tyro
from matplotlib.figure import Figure

from clevrskills.evaluation.statistics import wilson

HERE = Path(__file__).parent
RESULTS, PICTURE, PAGE = HERE / "learning.json", HERE / "learning.svg", HERE / "rl.md"
COLUMNS = 3
PANEL_INCHES = (3.2, 2.3)
LINES = {"success_once": ("at some time", "C0"), "success_at_end": ("at the end", "C1")}
TABLE = re.compile(r"(<!-- results -->\n).*?(<!-- end of results -->)", re.DOTALL)

Training = dict[str, Any]


def by_task(trainings: list[Training]) -> dict[str, list[Training]]:
    """The trainings of each task."""
    groups: dict[str, list[Training]] = defaultdict(list)
    for training in trainings:
        groups[training["task"]].append(training)
    return dict(groups)


def curves(trainings: list[Training]) -> Figure:
    """Success against control steps: for each task its mean over seeds, and their range."""
    tasks = by_task(trainings)
    rows = -(-len(tasks) // COLUMNS)
    size = PANEL_INCHES[0] * COLUMNS, PANEL_INCHES[1] * rows + 0.4
    figure = Figure(figsize=size, layout="constrained")
    panels = list(figure.subplots(rows, COLUMNS, squeeze=False, sharey=True).flat)
    for panel, (task, group) in zip(panels, tasks.items(), strict=False):
        steps = np.array(group[0]["curve"]["steps"]) / 1e6
        for name, (label, color) in LINES.items():
            values = np.array([t["curve"][name] for t in group], dtype=float)
            there = ~np.isnan(values).any(0)
            x, y = steps[there], values[:, there]
            panel.plot(x, y.mean(0), color=color, label=label)
            panel.fill_between(x, y.min(0), y.max(0), color=color, alpha=0.25, linewidth=0)
        panel.set(title=task, ylim=(-0.03, 1.03), xlim=(0, None), xlabel="million control steps")
        panel.grid(alpha=0.3)
    for panel in panels[len(tasks) :]:
        panel.remove()
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.axes[0].set_ylabel("episodes with success")
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    return figure


def table(trainings: list[Training], machine: str) -> str:
    """The table of results, in Markdown."""
    lines = [
        "| task | steps | seeds | minutes | split | each seed | all | 95 % |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for task, group in by_task(trainings).items():
        minutes = np.mean([training["minutes"] for training in group])
        for split in group[0]["evaluation"]:
            results = [training["evaluation"][split] for training in group]
            solved = [result["successes"] for result in results]
            of = sum(result["episodes"] for result in results)
            low, high = wilson(sum(solved), of)
            lines.append(
                f"| `{task}` | {group[0]['steps']:,} | {len(group)} | {minutes:.0f} | {split} "
                f"| {', '.join(map(str, solved))} of {results[0]['episodes']} "
                f"| {sum(solved) / of:.1%} | {100 * low:.0f}-{100 * high:.0f} % |"
            )
    return "\n".join([*lines, "", f"Machine: {machine}."])


def page(text: str, trainings: list[Training], machine: str) -> str:
    """The page with its table written anew."""
    written = f"\n{table(trainings, machine)}\n\n" if trainings else "\n"
    return TABLE.sub(lambda found: found[1] + written + found[2], text)


def main(results: Annotated[Path, tyro.conf.Positional] = RESULTS) -> None:
    """Draw and write.

    Args:
        results: What was measured; a copy is kept beside the page.
    """
    data = json.loads(results.read_text(encoding="utf-8"))
    RESULTS.write_text(json.dumps(data) + "\n", encoding="utf-8")
    matplotlib.rcParams.update({"svg.hashsalt": "learning", "font.size": 9})
    curves(data["trainings"]).savefig(PICTURE, metadata={"Date": None})
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(page(text, data["trainings"], data["machine"]), encoding="utf-8")


if __name__ == "__main__":
    tyro.cli(main)
