"""Wordings of all tasks: whether in many scenes each phrase fits just the objects that it means.

::

    python benchmarks/wordings.py --scenes 1000
"""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import torch
import tyro

from clevrskills.suites.clevrskills.suite import SPLITS
from clevrskills.suites.clevrskills.wording_checks import draw_layout, wording_faults
from clevrskills.tasks import task, tasks

SHOWN = 3


def main(*keys: Annotated[str, tyro.conf.Positional], scenes: int = 1000) -> None:
    """Check the wordings of tasks.

    Args:
        keys: Keys of the tasks; none: all.
        scenes: Scenes of each, half of them of either split.
    """
    torch.set_num_threads(1)
    total = Counter[str]()
    for key in keys or tasks():
        made, faults, phrases = task(key), list[str](), 0
        for number in range(scenes):
            seed, split = number // len(SPLITS), SPLITS[number % len(SPLITS)]
            layout = draw_layout(made, seed, split)
            found = [f"{split} seed {seed}: {fault}" for fault in wording_faults(made, layout)]
            faults, phrases = faults + found, phrases + len(made.wordings(layout))
        count = made.count_wordings()
        print(
            f"{key:24} {count['seen']:3} seen {count['held_out']:3} held out"
            f" {phrases:7} sentences {len(faults):5} faults",
            flush=True,
        )
        for fault in faults[:SHOWN]:
            print(f"    {fault}", flush=True)
        total.update(sentences=phrases, faults=len(faults))
    print(f"{total['sentences']} sentences, {total['faults']} faults")
    if total["faults"]:
        raise SystemExit(1)


if __name__ == "__main__":
    tyro.cli(main)
