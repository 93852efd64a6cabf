"""Put the blocks into the bowls with matching colors."""

from __future__ import annotations

from dataclasses import dataclass

from clevrskills.suites.lohoravens.tasks.bowls._sorting import SortIntoBowls


@dataclass(kw_only=True, eq=False)
class BowlsMatching(SortIntoBowls):
    """Each block goes into the bowl of its color."""

    key = "bowls_matching"
    sentence = "Put the blocks into the bowls with matching colors"
