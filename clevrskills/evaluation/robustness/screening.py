"""Screening of perturbed episodes: which of them can still be solved, and by sight."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from clevrskills.core.suite import Perturbable, Suite, perturbed
from clevrskills.evaluation.freeze.screening import EpisodeScreener
from clevrskills.jobs.journal import Record

REVISION = 2
"""Revision of how episodes are perturbed and screened; what was screened under another one is
screened anew.
"""
TURNED_AWAY = ("goal holds", "overlap", "moved while settling")
"""Faults of a start for which an episode is rejected."""


@dataclass(frozen=True)
class PerturbedEpisode:
    """A frozen episode that is to be perturbed and screened."""

    task: str
    split: str
    index: int


@dataclass(frozen=True)
class ScreeningVerdict(Record):
    """Result of screening a perturbed episode."""

    task: str  # key of the task
    split: str  # name of the split
    index: int  # which of the frozen episodes
    twin: str  # content hash of that
    episode: str = ""  # content hash of the perturbed one; empty: there is none
    reason: str = ""  # why it is rejected; empty: it is not


class PerturbedScreener(EpisodeScreener):
    """Screener of perturbed episodes, one after the other; the oracle acts where the physics is
    another one than that of the clean twin, which it has solved.

    Args:
        suite: What they are of.
        axes: Level of each axis.
    """

    def __init__(self, suite: Suite, axes: Mapping[str, int]) -> None:
        super().__init__(suite, axes)
        self._frozen = lru_cache(1)(suite.frozen)
        known = suite.axes() if isinstance(suite, Perturbable) else {}
        self._physical = any(known[name].physical for name in axes)

    def __call__(self, job: PerturbedEpisode) -> ScreeningVerdict:
        """Screen an episode.

        Raises:
            ClevrSkillsError: There is no such episode, or no oracle.
        """
        key = job.task, job.split
        clean = self._frozen(*key)[job.index]
        found = perturbed(self._suite, clean, self._axes)
        if isinstance(found, str):
            return ScreeningVerdict(*key, job.index, clean.content_hash, reason=found)
        env = self._start(found)
        reason = self._fault(found, env, TURNED_AWAY)
        if not reason and self._physical:
            reason = self._solve(found, env)[1]
        return ScreeningVerdict(*key, job.index, clean.content_hash, found.content_hash, reason)
