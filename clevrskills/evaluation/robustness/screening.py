"""Screening of perturbed episodes: which of them can still be solved, and by sight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Self

import torch

from clevrskills.core.env import Env, Episode
from clevrskills.core.env_config import EnvConfig
from clevrskills.core.suite import Perturbable, Suite, find_interface, perturbed
from clevrskills.evaluation.freeze.screening import solve, succeeds_blindly
from clevrskills.jobs.files import to_json
from clevrskills.jobs.journal import parse_record

REVISION = 1
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
class Verdict:
    """What was found of a perturbed episode.

    Attributes:
        task: Key of the task.
        split: Name of the split.
        index: Which of the frozen episodes.
        twin: Content hash of that.
        episode: Content hash of the perturbed one; empty: there is none.
        reason: Why it is rejected; empty: it is not.
    """

    task: str
    split: str
    index: int
    twin: str
    episode: str = ""
    reason: str = ""

    def to_json(self) -> str:
        """One line of a journal, without its end."""
        return to_json(asdict(self))

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read a line.

        Raises:
            ValueError: It is damaged.
        """
        return parse_record(cls, text)


class PerturbedScreener:
    """Screens one perturbed episode after the other; keeps the environment while it fits.

    Args:
        suite: What they are of.
        axes: Level of each axis.
    """

    def __init__(self, suite: Suite, axes: Mapping[str, int]) -> None:
        torch.set_num_threads(1)
        self._suite, self._axes = suite, axes
        self._made: tuple[EnvConfig, Env] | None = None
        self._frozen: tuple[tuple[str, str], Sequence[Episode]] = ("", ""), ()

    def __call__(self, job: PerturbedEpisode) -> Verdict:
        """Screen an episode.

        Raises:
            ClevrSkillsError: There is no such episode, or no oracle.
        """
        key = job.task, job.split
        if self._frozen[0] != key:
            self._frozen = key, self._suite.frozen(*key)
        clean = self._frozen[1][job.index]
        found = perturbed(self._suite, clean, self._axes)
        if isinstance(found, str):
            return Verdict(*key, job.index, clean.content_hash, reason=found)
        reason = self._reason(found)
        return Verdict(*key, job.index, clean.content_hash, found.content_hash, reason)

    def _reason(self, episode: Episode) -> str:
        """Why a perturbed episode is rejected; empty: it is not."""
        env, interface = self._env(episode), find_interface(self._suite)
        oracle, start = self._suite.oracle(env), {"episode": episode}
        env.reset(options=start)
        faults = env.faults()
        if found := [name for name in TURNED_AWAY if faults.get(name)]:
            return f"start: {', '.join(found)}"
        assert isinstance(self._suite, Perturbable), "it made the episode"
        if fault := self._suite.visibility_fault(episode):
            return fault
        if reason := solve(env, oracle, interface)[1]:
            return f"oracle: {reason}"
        env.reset(options=start)
        if succeeds_blindly(env, interface.none, steady=True, interface=interface):
            return "solved by doing nothing"
        return ""

    def _env(self, episode: Episode) -> Env:
        config = EnvConfig(
            *(episode.task, episode.split, episode.robot), task_args=episode.task_args
        )
        if self._made is None or self._made[0] != config:
            if self._made is not None:
                self._made[1].close()
            self._made = config, self._suite.make(config)
        return self._made[1]
