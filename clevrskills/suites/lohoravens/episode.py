"""Episodes of LoHoRavens: how many moves they take, their limits, and what tables sort them by."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Self

from clevrskills.envs.episode import EpisodeSpec
from clevrskills.suites.lohoravens.packed import pack, unpack

PRIMITIVE_TURNS = 3
"""Turns of a primitive."""
_BINS = ((1, "1"), (3, "2-3"), (5, "4-5"), (8, "6-8"))


def turn_limit(level: str, n_min: int) -> int:
    """Return turns after which an episode of a level ends: twice what is needed, and four more."""
    return PRIMITIVE_TURNS if level == "primitive" else 2 * n_min + 4


def moves_bin(n_min: int) -> str:
    """Return the bin of a number of moves, as tables sort it, e.g. ``4-5``."""
    return next((name for most, name in _BINS if n_min <= most), "9+")


class RavensEpisode(EpisodeSpec):
    """An episode of the suite."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read what :meth:`to_json` wrote, packed or not."""
        return super().from_json(unpack(data))

    def pack(self) -> Mapping[str, Any]:
        return pack(self.to_json())

    @property
    def n_min(self) -> int:
        """Least number of moves."""
        return int(self.layout.roles["n_min"])

    @property
    def planned_turns(self) -> tuple[int, int]:
        return self.n_min, self.limit

    @cached_property
    def limit(self) -> int:  # type: ignore[override]
        """Turns after which it ends."""
        from clevrskills.suites.lohoravens.tasks import tasks

        return turn_limit(tasks()[self.task].level, self.n_min)

    @cached_property
    def tags(self) -> Mapping[str, Any]:  # type: ignore[override]
        """Tags for tables: capabilities, their number, family, ``n_min`` and its bin."""
        from clevrskills.suites.lohoravens.tasks import tasks

        of_task = tasks()[self.task]().tags()
        return {**of_task, "n_min": self.n_min, "moves": moves_bin(self.n_min)}
