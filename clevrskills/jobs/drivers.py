"""Where work is done: processes of this machine, or a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from clevrskills.jobs.pool import JOBS_PER_WORKER, Pool, WorkerPool
from clevrskills.jobs.processes import Processes

DRIVERS = ("local", "ray")


def open_pool(
    driver: str,
    make: Callable[[], Callable[[Any], Any]],
    root: Path,
    workers: int,
    timeout_s: float | Callable[[Any], float] | None = None,
    address: str | None = None,
    jobs_per_worker: int = JOBS_PER_WORKER,
) -> Pool[Any, Any]:
    """Start a pool.

    Args:
        driver: One of :data:`DRIVERS`.
        make: Builds, in each worker, the function that does the jobs; picklable.
        root: The folder that all workers write to, an absolute path.
        workers: Number of processes.
        timeout_s: Time after which a job is ended; a number, or a function of the job.
        address: Of the Ray cluster, see :class:`~clevrskills.jobs.ray_workers.RayActors`.
        jobs_per_worker: Jobs after which a worker is replaced.

    Raises:
        ClevrSkillsError: The Ray cluster cannot be joined.
    """
    if driver == "ray":
        from clevrskills.jobs.ray_workers import RayActors

        actors = RayActors(make, root, workers, address)
        return WorkerPool(actors, workers, timeout_s, jobs_per_worker)
    return WorkerPool(Processes(make), workers, timeout_s, jobs_per_worker)
