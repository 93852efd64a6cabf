"""Attempts at demonstrations: what a worker of ``generate`` does."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path

from clevrskills.dataset_tools.files import StorageError
from clevrskills.dataset_tools.memory import return_freed_memory, return_holes
from clevrskills.dataset_tools.recorder import Recorder
from clevrskills.dataset_tools.rollout import EpisodeResult, rollout
from clevrskills.dataset_tools.schedule import Attempt
from clevrskills.dataset_tools.sources import Environment, Oracle, Setup, Source
from clevrskills.errors import ClevrSkillsError


class Attempter:
    """Makes attempts, one after the other; keeps the environment while the setup stays the same.

    Args:
        root: The dataset.
        source: Where environments come from.
    """

    def __init__(self, root: Path, source: Source) -> None:
        return_freed_memory()
        self._root = root
        self._source = source
        self._setup: Setup | None = None
        self._env: Environment | None = None
        self._oracle: Oracle | None = None

    def __call__(self, attempt: Attempt) -> EpisodeResult:
        """Roll out one seed and keep the episode if it succeeds.

        Raises:
            ClevrSkillsError: It makes no sense to go on: no environment, or a full disk.
        """
        env, oracle = self._prepare(attempt.setup)
        cpu_s, wall_s = time.process_time(), time.perf_counter()
        with Recorder(self._root, attempt.setup, attempt.seed) as recorder:
            try:
                result = rollout(env, oracle, recorder, attempt.seed)
            except StorageError:
                raise
            except ClevrSkillsError as error:
                result = _failed(attempt.seed, recorder.steps, str(error))
            except Exception as error:
                self._setup = None  # what it left behind is not to be trusted
                result = _failed(attempt.seed, recorder.steps, f"crash: {_where(error)}")
            if result.success:
                recorder.commit(success=True)
        return_holes()
        return dataclasses.replace(
            result, cpu_s=time.process_time() - cpu_s, wall_s=time.perf_counter() - wall_s
        )

    def _prepare(self, setup: Setup) -> tuple[Environment, Oracle]:
        if setup != self._setup or self._env is None or self._oracle is None:
            if self._env is not None:
                self._env.close()
            self._setup, self._env, self._oracle = None, None, None
            try:
                self._env, self._oracle = self._source.make(setup)
            except ClevrSkillsError:
                raise
            except Exception as error:
                raise ClevrSkillsError(
                    f"cannot build the environment of {setup.task}: {_where(error)}"
                ) from error
            self._setup = setup
        return self._env, self._oracle


def _failed(seed: int, steps: int, reason: str) -> EpisodeResult:
    return EpisodeResult(seed, False, steps, 0.0, reason, 0.0, 0.0)


def _where(error: Exception) -> str:
    """An exception in one line, with the place where it was raised."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f" ({Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno})" if trace else ""
    return " ".join(f"{type(error).__name__}: {error}{place}".split())
