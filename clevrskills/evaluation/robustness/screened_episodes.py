"""Perturbed episodes that passed screening, with a cache of the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from clevrskills.core.suite import Suite
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.freeze.candidates import Screening, ScreeningQueue
from clevrskills.evaluation.robustness.screening import (
    REVISION,
    PerturbedEpisode,
    PerturbedScreener,
    ScreeningVerdict,
)
from clevrskills.evaluation.robustness.shipped import shipped_verdicts
from clevrskills.jobs import work
from clevrskills.jobs.files import storage_errors
from clevrskills.jobs.journal import read_lines
from clevrskills.jobs.pool import TimedOut, WorkerDied
from clevrskills.jobs.progress import Display
from clevrskills.sim.cache import cache_root
from clevrskills.solvers.requirements import require_oracle

FOLDER = "axes"


@dataclass
class Kept(Screening[PerturbedEpisode, ScreeningVerdict]):
    """Screening of the perturbed episodes of a task and split, in the order of the frozen ones."""

    twins: Sequence[str]  # content hashes of the frozen episodes

    @property
    def indices(self) -> list[int]:
        """Indices of the accepted episodes."""
        return [verdict.index for verdict in self.accepted]

    def _candidate(self, place: int) -> tuple[PerturbedEpisode, int]:
        return PerturbedEpisode(self.task, self.split, place), place

    def _goes_on(self) -> bool:
        return len(self.asked) < len(self.twins)

    @property
    def is_open(self) -> bool:
        """``True`` if more episodes must be screened."""
        good = sum(not self.results[k].reason for k in range(len(self.twins)) if k in self.results)
        return good < self.count


class PerturbedQueue(ScreeningQueue[PerturbedEpisode, ScreeningVerdict]):
    """Job queue of the episodes of all tasks and splits."""

    def __init__(self, kept: Sequence[Kept], display: Display) -> None:
        super().__init__(kept)
        self._kept, self._display = {(one.task, one.split): one for one in kept}, display

    def finish(self, job: PerturbedEpisode, result: ScreeningVerdict) -> None:
        self._by_name[job.task, job.split].enter(job.index, result)

    def give_up(self, job: PerturbedEpisode, end: WorkerDied | TimedOut) -> None:
        """Reject an episode that crashes its worker every time.

        Raises:
            ClevrSkillsError: The worker was killed from outside, or timed out.
        """
        if isinstance(end, TimedOut) or end.killed:
            raise ClevrSkillsError(f"{job.task}, split {job.split}, {job.index}: {end.reason}")
        twin = self._kept[job.task, job.split].twins[job.index]
        self.finish(job, ScreeningVerdict(job.task, job.split, job.index, twin, reason=end.reason))

    def update(self) -> None:
        self._display.update(sum(len(one.indices) for one in self._kept.values()))


def kept_episodes(
    suite: Suite,
    pairs: Sequence[tuple[str, str]],
    axes: Mapping[str, int],
    count: int | None,
    workers: int = 1,
    timeout_s: float | None = None,
    strict: bool = True,
) -> list[Kept]:
    """Return the first perturbed episodes of tasks and splits that pass screening, reusing verdicts
    shipped with the suite or cached on this machine.

    Args:
        suite: Suite of the episodes.
        pairs: Tasks and splits.
        axes: Level of each axis.
        count: Number of episodes per task and split; ``None``: all.
        workers: Number of processes.
        timeout_s: Time limit of the screening of an episode in seconds.
        strict: Whether too few episodes are an error.

    Raises:
        ClevrSkillsError: The oracle cannot run on this machine, or too few episodes pass.
    """
    of_suite = f"{suite.name}-{REVISION}"
    folder = cache_root() / FOLDER / of_suite / _name(axes)
    with storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    kept = []
    for task, split in pairs:
        hashes = [episode.content_hash for episode in suite.frozen(task, split)]
        journal = folder / f"{task}_{split}.jsonl"
        lines = read_lines(journal, ScreeningVerdict.from_json) if journal.exists() else ()
        known = shipped_verdicts(suite, _name(axes), task, split, hashes) | {
            line.index: line
            for line in lines
            if line.index < len(hashes) and line.twin == hashes[line.index]
        }
        kept.append(Kept(task, split, count or len(hashes), journal, known, hashes))
    if any(one.is_open for one in kept):
        require_oracle(suite)
    make = partial(PerturbedScreener, suite, dict(axes))
    start_pool = partial(work.open_pool, "local", make, folder, workers, timeout_s)
    with Display("screened", sum(one.count for one in kept)) as display:
        work.work(PerturbedQueue(kept, display), start_pool)
    for one in kept:
        if strict and count and len(one.indices) < count:
            last = one.rejected[-1]
            raise ClevrSkillsError(
                f"{one.task}, split {one.split}, axes {_name(axes)}: {len(one.indices)} of "
                f"{len(one.twins)} frozen episodes are kept, not {count}; the last was rejected: "
                f"{last.reason}"
            )
    return kept


def _name(axes: Mapping[str, int]) -> str:
    """Return the name of a combination of axes and levels."""
    return "+".join(f"{name}-{level}" for name, level in sorted(axes.items()))
