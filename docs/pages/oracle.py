"""Page of the oracle's results, from what ``benchmarks/oracle.py`` measured."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from clevrskills.core.statistics import wilson
from pages import DOCS

PAGE = DOCS / "results.md"
RELEASED_CPU_S = {
    "match_pose": 1.3, "move_without_hitting": 13.8, "pick": 2.2, "place": 3.8, "push": 10.2,
    "rotate": 4.6, "throw": 3.6, "throw_topple": 3.8, "touch": 11.3, "touch_push": 11.5,
    "touch_topple": 3.4, "trace": 2.0, "follow_order": 4.5, "follow_order_restore": 5.1,
    "neighbour": 25.1, "novel_adjective": 10.1, "novel_adjective_noun": 10.4, "novel_noun": 5.5,
    "rearrange": 7.6, "rearrange_restore": 14.8, "rotate_restore": 6.9, "rotate_symmetry": 10.1,
    "simple_manipulation": 4.5, "stack": 9.3, "sort": 9.7, "stack_reversed": 9.5, "swap": 8.5,
    "balance": 24.8, "sort_stack": 9.7, "stack_topple": 10.7, "swap_push": 64.1,
    "swap_rotate": 12.1, "throw_sort": 23.2,
}  # fmt: skip
"""CPU-seconds per successful episode without images of ClevrSkills 1.0.0, 5 to 13 episodes a
task on a virtual machine of two cores, partly busy; some of its objects were not to be had."""
PAPER_REWARD_PER_STEP = {"L0": 3.06, "L1": 5.59, "L2": 9.12}
"""Of the paper's oracle."""

Row = dict[str, Any]


def page(rows: list[Row]) -> str:
    """Return the page in Markdown."""
    lines = [
        "# Results of the oracle",
        "",
        "How often does the oracle solve each task, in how many steps, and at what cost? Each cell",
        "has `train`, then `test`.",
        "",
        "- Steps and reward are means over successful episodes.",
        "- Cost is CPU-seconds per successful episode without images. It includes reset, planning",
        "  and failures.",
        "- The last column is its share of the released code's cost (ClevrSkills 1.0.0, 5 to 13",
        "  episodes of each task on a like machine).",
        "",
        "Written by `docs/build.py oracle`. How many demonstrations an hour records:",
        "[generation](generation.md#what-it-costs).",
        "",
    ]
    head = ["level", "task", "success", "steps", "reward / step", "CPU s"]
    for robot in dict.fromkeys(row["robot"] for row in rows):
        mine = [row for row in rows if row["robot"] == robot]
        lines += [f"## {robot}", "", "| " + " | ".join([*head, "of released"]) + " |"]
        lines.append("|---" * 7 + "|")
        for task in dict.fromkeys(row["task"] for row in mine):
            of_task = [row for row in mine if row["task"] == task]
            values = (
                [f"{row['successes']}/{row['episodes']}" for row in of_task],
                [f"{row['steps']:.0f}" for row in of_task],
                [f"{row['reward_per_step']:.2f}" for row in of_task],
                [f"{row['cpu_s_per_success']:.2f}" for row in of_task],
                [f"1/{RELEASED_CPU_S[task] / row['cpu_s_per_success']:.0f}" for row in of_task],
            )
            cells = [of_task[0]["level"], f"`{task}`", *(", ".join(value) for value in values)]
            lines.append(f"| {' | '.join(cells)} |")
        shares = [row["cpu_s_per_success"] / RELEASED_CPU_S[row["task"]] for row in mine]
        mean = float(np.exp(np.mean(np.log(shares))))
        hours = sum(row["cpu_s_per_success"] * row["successes"] for row in mine) / 3600
        worst = max(shares)
        worst_task = mine[shares.index(worst)]["task"]
        solved, episodes = (sum(row[key] for row in mine) for key in ("successes", "episodes"))
        low, high = wilson(solved, episodes)
        lines += [
            "",
            f"Solved: {solved} of {episodes}, {100 * solved / episodes:.1f} %"
            f" [{100 * low:.1f}, {100 * high:.1f}].",
            f"Cost, geometric mean: 1/{1 / mean:.0f} of the released code's;"
            f" at the most 1/{1 / worst:.0f} (`{worst_task}`).",
        ]
        rising = min(row["rising"] for row in mine)
        lines += [
            "The normalized reward rises with time: Spearman correlation at least",
            f"{rising:.3f}, in the median of each task and split.",
            f"The table took {60 * hours:.0f} CPU-minutes.",
            "",
        ]
        lines += ["| level | reward / step | paper |", "|---|---|---|"]
        for level, paper in PAPER_REWARD_PER_STEP.items():
            rates = [row["reward_per_step"] for row in mine if row["level"] == level]
            if rates:
                lines.append(f"| {level} | {np.mean(rates):.2f} | {paper} |")
        lines.append("")
    return "\n".join(lines)


def write(measured: Sequence[Path]) -> None:
    """Write the page from files of ``benchmarks/oracle.py``; the later result of a task counts."""
    found: dict[tuple[str, str, str], Row] = {}
    for file in measured:
        for row in json.loads(file.read_text(encoding="utf-8")):
            found[row["robot"], row["task"], row["split"]] = row
    order = {task: k for k, task in enumerate(RELEASED_CPU_S)}
    rows = sorted(found.values(), key=lambda r: (r["robot"] != "xarm6", order[r["task"]]))
    PAGE.write_text(page(rows), encoding="utf-8")
