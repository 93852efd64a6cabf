"""Workers on a Ray cluster: each actor is one process with one simulator.

The pool handles retries: Ray neither restarts actors nor repeats calls. Ray is an optional
dependency and imported only here.
"""

import contextlib
import importlib.util
import logging
import os
import platform
import signal
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.files import PARTIAL_PREFIX, storage_errors
from clevrskills.jobs.pool import JobResult, Message, Ready, Refusal, WorkerDied
from clevrskills.jobs.processes import THREADS
from clevrskills.jobs.run_folder import PLANNER_VARIABLE, planner_name

WRITER = "ray"
QUIET_S = 60.0
"""Time without a message of any worker after which a warning is logged."""
_NO_GPU_TAKEN = {"RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
"""Variable that stops Ray from hiding GPUs from actors that request none but render on them."""
_TOKENS = ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")


@dataclass(eq=False)
class Actor:
    """Actor with the reference of its pending call, ``None`` without one."""

    handle: Any
    reference: Any


class RayActors:
    """Driver of actors of a Ray cluster.

    Args:
        make: Factory, called in each actor, of the function that does a job; a ``ClevrSkillsError``
            is passed on to the pool.
        root: Absolute path of the output folder, on storage shared by all nodes.
        workers: Maximum number of actors.
        address: ``host:port`` or ``auto`` for a running cluster; ``None`` starts one here.

    Raises:
        ClevrSkillsError: Ray is not installed, or the cluster cannot be joined.
    """

    def __init__(
        self,
        make: Callable[[], Callable[[Any], Any]],
        root: Path,
        workers: int,
        address: str | None = None,
    ) -> None:
        _join(address, workers)
        import ray

        self._marker = root / f"{PARTIAL_PREFIX}{WRITER}-{uuid.uuid4().hex}"
        with storage_errors(self._marker):
            self._marker.touch()
        self._make, self._ray = make, ray
        environment = {"env_vars": {**THREADS, **_NO_GPU_TAKEN, PLANNER_VARIABLE: planner_name()}}
        self._actor = ray.remote(num_cpus=1, max_restarts=0, runtime_env=environment)(_Server)

    def start(self) -> Actor:
        handle = self._actor.remote(self._make, self._marker)
        return Actor(handle, handle.ready.remote())

    def send(self, worker: Actor, job: Any) -> None:
        worker.reference = worker.handle.run.remote(job)

    def wait(
        self, workers: Sequence[Actor], timeout_s: float | None
    ) -> tuple[Actor, Message] | None:
        asked = {w.reference: w for w in workers if w.reference is not None}
        quiet_s = QUIET_S if timeout_s is None else timeout_s
        while not (ready := self._ray.wait(list(asked), timeout=quiet_s)[0]):
            if timeout_s is not None:
                return None
            logging.getLogger(__name__).warning("waiting for a free CPU of the Ray cluster")
        worker = asked[ready[0]]
        worker.reference = None
        try:
            message: Message = self._ray.get(ready[0])
        except self._ray.exceptions.RayError as error:
            return worker, WorkerDied(f"worker died ({_line(error)})", killed=True)
        return worker, message

    def kill(self, worker: Actor) -> None:
        self._ray.kill(worker.handle)

    def close(self) -> None:
        self._marker.unlink(missing_ok=True)
        self._ray.shutdown()


class _Server:
    """Actor that does jobs."""

    def __init__(self, make: Callable[[], Callable[[Any], Any]], marker: Path) -> None:
        self._make, self._marker = make, marker
        self._run: Callable[[Any], Any] | None = None

    def ready(self) -> Message:
        if not self._marker.exists():
            return Refusal(
                f"the Ray node {platform.node()} does not see {self._marker.parent}: "
                "--out must be on storage that all nodes share, under the same path"
            )
        try:
            self._run = self._make()
        except ClevrSkillsError as error:
            return Refusal(str(error))
        return Ready()

    def run(self, job: Any) -> Message:
        assert self._run is not None
        try:
            return JobResult(self._run(job))
        except ClevrSkillsError as error:
            return Refusal(str(error))


def _join(address: str | None, workers: int) -> None:
    """Connect to a cluster, or start one with a CPU for each worker."""
    if importlib.util.find_spec("ray") is None:
        raise ClevrSkillsError("--driver ray needs Ray; run: pip install 'clevrskills[ray]'")
    if address and any(os.environ.get(name) for name in _TOKENS):
        os.environ.setdefault("RAY_AUTH_MODE", "token")  # Ray reads it when it is imported
    os.environ.update(_NO_GPU_TAKEN)
    import ray

    handler = signal.getsignal(signal.SIGTERM)
    own = {} if address else {"num_cpus": workers, "include_dashboard": False}
    try:
        ray.init(address or "local", log_to_driver=False, logging_level=logging.ERROR, **own)
    except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        raise ClevrSkillsError(
            f"cannot join the Ray cluster at {address or 'this machine'}: {_line(error)}; "
            "if it asks for a token, set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN"
        ) from error
    with contextlib.suppress(ValueError):  # not the main thread
        signal.signal(signal.SIGTERM, handler)  # Ray sets its own


def _line(error: BaseException) -> str:
    """Return the last line of a traceback, or the first of another message."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[-1 if "ray::" in lines[0] else 0].rstrip(".")
