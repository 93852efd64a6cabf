"""Where the work of ``generate`` is done: processes of this machine, or a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from clevrskills.dataset_tools.attempts import Attempter
from clevrskills.dataset_tools.manifest import ManifestLine
from clevrskills.dataset_tools.pool import Pool, WorkerPool
from clevrskills.dataset_tools.processes import Processes
from clevrskills.dataset_tools.schedule import Attempt

DRIVERS = ("local", "ray")


def open_pool(
    driver: str,
    make: Callable[[], Attempter],
    root: Path,
    workers: int,
    timeout_s: float | None = None,
    address: str | None = None,
) -> Pool[Attempt, ManifestLine]:
    """Start a pool.

    Args:
        driver: One of :data:`DRIVERS`.
        make: Builds what a worker does.
        root: The dataset, an absolute path.
        workers: Number of processes.
        timeout_s: Time after which an attempt is ended.
        address: Of the Ray cluster, see :class:`~clevrskills.dataset_tools.ray_driver.RayActors`.

    Raises:
        ClevrSkillsError: The Ray cluster cannot be joined.
    """
    if driver == "ray":
        from clevrskills.dataset_tools.ray_driver import RayActors

        return WorkerPool(RayActors(make, root, workers, address), workers, timeout_s)
    return WorkerPool(Processes(make), workers, timeout_s)
