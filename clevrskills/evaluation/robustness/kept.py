"""Kept episodes: the perturbed episodes that passed screening, screened once and remembered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from clevrskills.core.suite import Suite
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.robustness.screening import (
    REVISION,
    PerturbedEpisode,
    PerturbedScreener,
    Verdict,
)
from clevrskills.evaluation.robustness.shipped import shipped_verdicts
from clevrskills.jobs import work
from clevrskills.jobs.files import storage_errors
from clevrskills.jobs.journal import Journal, read_lines
from clevrskills.jobs.pool import TimedOut, WorkerDied
from clevrskills.jobs.progress import Display
from clevrskills.sim.cache import cache_root
from clevrskills.solvers.requirements import require_oracle

FOLDER = "axes"


@dataclass
class Kept:
    """The perturbed episodes of a task and split, in the order of the frozen ones.

    An episode is screened only once it is certain that those before it do not suffice, so that the
    outcome is the same for any number of workers and for all policies.

    Attributes:
        task: Key of the task.
        split: Name of the split.
        count: How many are wanted.
        frozen: How many there are to choose from.
        journal: Where verdicts are kept.
        known: Those that are known, by index.
        asked: The indices that were needed so far.
    """

    task: str
    split: str
    count: int
    frozen: int
    journal: Path
    known: dict[int, Verdict]
    asked: list[int] = field(default_factory=list, init=False)

    @property
    def verdicts(self) -> list[Verdict]:
        """Those of the indices that were needed."""
        return [self.known[index] for index in self.asked if index in self.known]

    @property
    def indices(self) -> list[int]:
        """The episodes that are kept."""
        return [verdict.index for verdict in self.verdicts if not verdict.reason]

    @property
    def rejected(self) -> list[Verdict]:
        """The others."""
        return [verdict for verdict in self.verdicts if verdict.reason]

    def next(self) -> PerturbedEpisode | None:
        """What is to be screened next; ``None``: nothing for now."""
        while len(self.asked) - len(self.rejected) < self.count and len(self.asked) < self.frozen:
            index = len(self.asked)
            self.asked.append(index)
            if index not in self.known:
                return PerturbedEpisode(self.task, self.split, index)
        return None


class ScreeningQueue(work.JobQueue[PerturbedEpisode, Verdict]):
    """The episodes of all tasks and splits.

    Args:
        kept: Those of each.
        twins: Content hashes of the frozen episodes, by task and split.
        display: Shows how many are kept.
    """

    def __init__(
        self,
        kept: Sequence[Kept],
        twins: Mapping[tuple[str, str], Sequence[str]],
        display: Display,
    ) -> None:
        super().__init__()
        self._kept, self._twins, self._display = kept, twins, display
        self._by_name = {(one.task, one.split): one for one in kept}

    def next(self) -> PerturbedEpisode | None:
        if self.waiting:
            return self.waiting.popleft()
        return next(filter(None, (one.next() for one in self._kept)), None)

    def finish(self, job: PerturbedEpisode, result: Verdict) -> None:
        one = self._by_name[job.task, job.split]
        Journal(one.journal).append(result.to_json())
        one.known[job.index] = result

    def give_up(self, job: PerturbedEpisode, end: WorkerDied | TimedOut) -> None:
        """Reject an episode that ends its worker every time.

        Raises:
            ClevrSkillsError: The end came from outside, or from a busy machine, so that it says
                nothing of the episode.
        """
        if isinstance(end, TimedOut) or end.killed:
            raise ClevrSkillsError(f"{job.task}, split {job.split}, {job.index}: {end.reason}")
        twin = self._twins[job.task, job.split][job.index]
        self.finish(job, Verdict(job.task, job.split, job.index, twin, reason=end.reason))

    def update(self) -> None:
        self._display.update(sum(len(one.indices) for one in self._kept))


def kept_episodes(
    suite: Suite,
    pairs: Sequence[tuple[str, str]],
    axes: Mapping[str, int],
    count: int | None,
    workers: int = 1,
    timeout_s: float | None = None,
    strict: bool = True,
) -> list[Kept]:
    """The first perturbed episodes of tasks and splits that can be solved; what the suite ships of
    screening, or was screened before on this machine, is not screened again.

    Args:
        suite: What they are of.
        pairs: Tasks and splits.
        axes: Level of each axis.
        count: How many of each are wanted; ``None``: as many as there are.
        workers: Number of processes.
        timeout_s: Seconds after which the screening of an episode is ended.
        strict: Whether it is an error if too few are left.

    Raises:
        ClevrSkillsError: The oracle cannot run here, or of some too few are left.
    """
    of_suite = f"{suite.name}-{REVISION}"
    folder = cache_root() / FOLDER / of_suite / _name(axes)
    with storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    kept, twins = [], {}
    for task, split in pairs:
        hashes = [episode.content_hash for episode in suite.frozen(task, split)]
        journal = folder / f"{task}_{split}.jsonl"
        lines = read_lines(journal, Verdict.from_json) if journal.exists() else ()
        known = shipped_verdicts(suite, _name(axes), task, split, hashes) | {
            line.index: line
            for line in lines
            if line.index < len(hashes) and line.twin == hashes[line.index]
        }
        twins[task, split] = hashes
        kept.append(Kept(task, split, count or len(hashes), len(hashes), journal, known))
    if any(_is_open(one) for one in kept):
        require_oracle(suite)
    start_pool = partial(
        work.open_pool,
        "local",
        partial(PerturbedScreener, suite, dict(axes)),
        folder,
        workers,
        timeout_s,
    )
    with Display("screened", sum(one.count for one in kept)) as display:
        work.work(ScreeningQueue(kept, twins, display), start_pool)
    for one in kept:
        if strict and count and len(one.indices) < count:
            last = one.rejected[-1]
            raise ClevrSkillsError(
                f"{one.task}, split {one.split}, axes {_name(axes)}: {len(one.indices)} of "
                f"{one.frozen} frozen episodes are kept, not {count}; the last was rejected: "
                f"{last.reason}"
            )
    return kept


def _is_open(one: Kept) -> bool:
    """Whether something is still to be screened."""
    good = sum(not one.known[k].reason for k in range(one.frozen) if k in one.known)
    return good < one.count


def _name(axes: Mapping[str, int]) -> str:
    """Name of a combination of axes and levels."""
    return "+".join(f"{name}-{level}" for name, level in sorted(axes.items()))
