"""Screening of perturbed episodes: they must stay solvable and visually unambiguous."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from clevrskills.core.suite import Perturbable, Suite, perturbed
from clevrskills.evaluation.freeze.screening import EpisodeScreener
from clevrskills.jobs.journal import Record

REVISION = 3
"""Revision of perturbation and screening; verdicts of other revisions are not reused."""
TURNED_AWAY = ("goal holds", "overlap", "moved while settling")
"""Faults of the start for which an episode is rejected."""


@dataclass(frozen=True)
class PerturbedEpisode:
    """Frozen episode to be perturbed and screened."""

    task: str
    split: str
    index: int


@dataclass(frozen=True)
class ScreeningVerdict(Record):
    """Result of screening a perturbed episode."""

    task: str
    split: str
    index: int  # index of the frozen episode
    twin: str  # content hash of the frozen episode
    episode: str = ""  # content hash of the perturbed episode; empty: none
    reason: str = ""  # reason of rejection; empty: accepted


class PerturbedScreener(EpisodeScreener):
    """Screener of perturbed episodes; the oracle acts only if the physics differs from that of the
    clean episode, which it has solved.
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
