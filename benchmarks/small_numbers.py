"""What numbers too small to be normal cost in training on a CPU: a step of a trained policy with
them, and with zeros in their place, as ``clevrskills train`` has it.

    python benchmarks/small_numbers.py zoo/stream-robolm-compact-l0 demos

CPU time of one thread; steps of both kinds alternate, on the same batches.
"""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median
from typing import Annotated

import torch
import tyro
from common import print_table
from torch.utils.data import DataLoader

from clevrskills.baselines import load
from clevrskills.baselines.data.sources import open_source
from clevrskills.baselines.data.windows import Batches, Order, Selection, Windows


def main(
    checkpoint: Annotated[str, tyro.conf.Positional],
    data: Annotated[Path, tyro.conf.Positional],
    steps: int = 10,
) -> None:
    """Measure and print.

    Args:
        checkpoint: A trained policy, e.g. `zoo/bc-compact-l0`.
        data: Folder of demonstrations.
        steps: Steps of each kind.
    """
    torch.set_num_threads(1)
    policy = load(checkpoint).train()
    config = policy.config
    source = open_source(data, config.cameras)
    windows = Windows([source], config, Selection(), policy.tokenizer)
    order = Order(windows)
    batches = iter(
        DataLoader(windows, batch_size=None, sampler=Batches(order, config.batch_size, 0, 0, 1))
    )
    spent_s: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(steps):
        batch = next(batches)
        for flushed, spent in spent_s.items():
            torch.set_flush_denormal(flushed)
            torch.manual_seed(0)
            begin = time.process_time()
            policy(batch)["loss"].backward()
            policy.zero_grad()
            spent.append(time.process_time() - begin)
    as_they_are, zeros = (median(spent_s[flushed]) for flushed in (False, True))
    print_table(
        "a step of training",
        ["policy", "as they are, CPU-s", "zeros, CPU-s", "as they are / zeros"],
        [[checkpoint, f"{as_they_are:.3f}", f"{zeros:.3f}", f"{as_they_are / zeros:.2f}"]],
    )


if __name__ == "__main__":
    tyro.cli(main)
