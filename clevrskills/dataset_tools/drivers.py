"""Where work is done: processes of this machine, or a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from clevrskills.dataset_tools.pool import Pool, WorkerPool
from clevrskills.dataset_tools.processes import Processes

DRIVERS = ("local", "ray")


def open_pool(
    driver: str,
    make: Callable[[], Callable[[Any], Any]],
    root: Path,
    workers: int,
    timeout_s: float | None = None,
    address: str | None = None,
) -> Pool[Any, Any]:
    """Start a pool.

    Args:
        driver: One of :data:`DRIVERS`.
        make: Builds, in each worker, the function that does the jobs; picklable.
        root: The folder that all workers write to, an absolute path.
        workers: Number of processes.
        timeout_s: Time after which a job is ended.
        address: Of the Ray cluster, see :class:`~clevrskills.dataset_tools.ray_driver.RayActors`.

    Raises:
        ClevrSkillsError: The Ray cluster cannot be joined.
    """
    if driver == "ray":
        from clevrskills.dataset_tools.ray_driver import RayActors

        return WorkerPool(RayActors(make, root, workers, address), workers, timeout_s)
    return WorkerPool(Processes(make), workers, timeout_s)
