"""Put the blocks into the bowls with matching colors."""

from __future__ import annotations

from dataclasses import dataclass

from clevrskills.suites.lohoravens.tasks.bowls._sorting import SortIntoBowls
from clevrskills.suites.lohoravens.wordings.bowls import BOWLS_MATCHING


@dataclass(kw_only=True, eq=False)
class BowlsMatching(SortIntoBowls):
    """Each block goes into the bowl of its color."""

    key = "bowls_matching"
    bank = BOWLS_MATCHING
    sentence = "Put the blocks into the bowls with matching colors"
