"""Workers of a vector environment, in this process or in others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from multiprocessing.shared_memory import SharedMemory
from typing import Any

import numpy as np

from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.pool import JobResult, Ready, Refusal
from clevrskills.jobs.processes import Processes
from clevrskills.vector.scene_batch import SceneBatch
from clevrskills.vector.spec import VectorSpec

Array = tuple[str, tuple[int, ...], str]
"""Name, shape and data type of an array."""
ALIGNED_BYTES = 64


class LocalShard:
    """Environments in this process that write their results to arrays."""

    def __init__(self, batch: SceneBatch, arrays: Mapping[str, np.ndarray]) -> None:
        self._batch, self._arrays = batch, arrays

    def send(self, call: str, *arguments: Any) -> None:
        """Call ``reset`` with seeds, ``step`` with the array ``actions``, or ``render``."""
        getattr(self._batch, call)(self._arrays, *arguments)

    def wait(self) -> None:
        """Do nothing, as calls run in :meth:`send`."""

    def close(self) -> None:
        """Release the environments."""
        self._batch.close()


class RemoteShard:
    """Environments ``rows[0]`` to ``rows[1] - 1`` in another process."""

    def __init__(self, spec: VectorSpec, rows: tuple[int, int], block: SharedArrays) -> None:
        self._driver = Processes(partial(_serve, spec, rows, block.name, block.kinds))
        self._worker = self._driver.start()

    def send(self, call: str, *arguments: Any) -> None:
        """Start a call as in :meth:`LocalShard.send`."""
        self._driver.send(self._worker, (call, arguments))

    def wait(self) -> None:
        """Wait for the call.

        Raises:
            ClevrSkillsError: The call failed.
        """
        found = self._driver.wait([self._worker], None)
        assert found is not None
        message = found[1]
        if isinstance(message, Refusal):
            raise ClevrSkillsError(message.reason)
        if not isinstance(message, (JobResult, Ready)):
            raise ClevrSkillsError(f"a process of the vector environment died: {message}")

    def close(self) -> None:
        """Stop the process."""
        self._driver.kill(self._worker)
        self._driver.close()


class SharedArrays:
    """Arrays in shared memory, which is created unless a name is given."""

    def __init__(self, kinds: Sequence[Array], name: str = "") -> None:
        self.kinds = list(kinds)
        sizes = [int(np.prod(shape)) * np.dtype(kind).itemsize for _, shape, kind in kinds]
        starts = np.cumsum([0, *(-(-size // ALIGNED_BYTES) * ALIGNED_BYTES for size in sizes)])
        size = max(1, int(starts[-1]))
        self._memory = SharedMemory(name) if name else SharedMemory(create=True, size=size)
        self._owned = not name
        self.arrays: dict[str, np.ndarray] = {
            key: np.ndarray(shape, kind, self._memory.buf, int(start))
            for (key, shape, kind), start in zip(kinds, starts, strict=False)
        }

    @property
    def name(self) -> str:
        """Name of the shared memory."""
        return self._memory.name

    def close(self) -> None:
        """Release the memory."""
        self.arrays.clear()
        if self._owned:
            self._memory.unlink()


def rows_of(arrays: Mapping[str, np.ndarray], start: int, end: int) -> dict[str, np.ndarray]:
    """Return the rows of environments ``start`` to ``end - 1``."""
    return {name: array[start:end] for name, array in arrays.items()}


def _serve(
    spec: VectorSpec, rows: tuple[int, int], name: str, kinds: Sequence[Array]
) -> Callable[[Any], None]:
    """Return the handler of calls in a worker process."""
    block = SharedArrays(kinds, name)
    arrays = rows_of(block.arrays, *rows)
    batch = SceneBatch(spec, rows[1] - rows[0])

    def run(job: tuple[str, Sequence[Any]]) -> None:
        call, arguments = job
        getattr(batch, call)(arrays, *arguments)

    run.block = block  # type: ignore[attr-defined]  # keeps the memory alive
    return run
