"""Cost of a remote policy: CPU time of a round trip, client and server together.

    python benchmarks/remote.py

The first row is the overhead of ``evaluate --isolate`` per control step over the same policy in
process. In the others, the server is ``clevrskills serve --policy zero`` on this machine. An
observation has images of two cameras, taken from ``docs/sort.jpg``, and the robot's state; the
policy does nothing, so only the communication is measured.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import tyro
from common import print_table
from PIL import Image

from clevrskills.core.policy import Observation, PromptInput
from clevrskills.core.policy_loader import PolicySource
from clevrskills.serving import DIALECTS, connect
from clevrskills.serving.isolation import IsolatedPolicy
from clevrskills.serving.message_fields import COMPRESSIONS

IMAGES = Path(__file__).parent.parent / "docs/sort.jpg"
HERE = Path(__file__).parent
SIZES = {"qpos": 6, "qvel": 6, "ee_pose": 7, "ee_velocity": 6, "vacuum_on": 1, "holding": 1}


class Still:
    """Policy that does nothing."""

    def reset(self, prompt: PromptInput) -> None:
        """Begin an episode."""

    def act(self, observation: Observation) -> np.ndarray:
        """Return zeros, (7,)."""
        return np.zeros(7, np.float32)


@contextlib.contextmanager
def served(dialect: str) -> Iterator[tuple[str, int]]:
    """Yield the address and the process of a server."""
    command = [sys.executable, "-m", "clevrskills", "serve", "--policy", "zero"]
    command += ["--dialect", dialect, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = re.search(r"at (\S+)", process.stdout.readline())
        assert found is not None, "the server has ended"
        try:
            yield found.group(1), process.pid
        finally:
            process.terminate()


def observation(size_px: int) -> Observation:
    """Return an observation with two images and all measurements."""
    sheet = Image.open(IMAGES).convert("RGB").resize((6 * size_px, size_px))
    pictures = np.asarray(sheet).reshape(size_px, 6, size_px, 3)
    proprioception = {name: np.full(size, 0.5, np.float32) for name, size in SIZES.items()}
    images = {
        name: np.ascontiguousarray(pictures[:, k])
        for k, name in enumerate(("base_camera", "hand_camera"))
    }
    return {"images": images, "proprioception": proprioception, "prompt": "Put it there", "step": 0}


def cpu_s(process: int) -> float:
    """Return the CPU time of all threads of a process (Linux)."""
    threads = Path(f"/proc/{process}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9


def isolated(shown: Observation, trips: int, rounds: int) -> list[float]:
    """Return the overhead of an isolated policy in milliseconds per control step."""
    source = PolicySource(f"{Path(__file__).stem}:{Still.__name__}", folder=str(HERE))
    costs = []
    for policy in (replace(source, isolated=True).make().policy, source.make().policy):
        policy.reset(PromptInput(shown["prompt"], {}))
        server = policy.pid if isinstance(policy, IsolatedPolicy) else None
        measure(policy, shown, server, 10)
        costs.append(min(measure(policy, shown, server, trips) for _ in range(rounds)))
    return [with_it - without for with_it, without in zip(*costs, strict=True)]


def measure(policy: Any, shown: Observation, server: int | None, trips: int) -> list[float]:
    """Return milliseconds per round trip: CPU of both, client, server; median wall time."""

    def server_s() -> float:
        return 0.0 if server is None else cpu_s(server)

    elapsed_s = []
    theirs_s, ours_s = server_s(), time.process_time()
    for _ in range(trips):
        begin = time.perf_counter()
        policy.act(shown)
        elapsed_s.append(time.perf_counter() - begin)
    ours_s, theirs_s = time.process_time() - ours_s, server_s() - theirs_s
    client_ms, server_ms = (1e3 * spent / trips for spent in (ours_s, theirs_s))
    return [client_ms + server_ms, client_ms, server_ms, 1e3 * median(elapsed_s)]


def main(trips: int = 100, rounds: int = 5, size_px: int = 256) -> None:
    """Measure and print.

    Args:
        trips: Round trips per round.
        rounds: Rounds; the cheapest one is shown.
        size_px: Width and height of the images.
    """
    shown = observation(size_px)
    rows: list[list[object]] = [["--isolate", "none", *isolated(shown, trips, rounds)]]
    for dialect in DIALECTS:
        with served(dialect) as (url, process):
            for compress in COMPRESSIONS:
                policy = connect(url, compress=compress)
                policy.reset(PromptInput(shown["prompt"], {}))
                measure(policy, shown, process, 10)  # warm up
                least = min(measure(policy, shown, process, trips) for _ in range(rounds))
                rows.append([dialect, compress, *least])
                policy.close()
    columns = ["dialect", "compress", "CPU ms", "of the client", "of the server", "elapsed ms"]
    print_table(f"a round trip with two {size_px} x {size_px} images", columns, rows)


if __name__ == "__main__":
    tyro.cli(main)
