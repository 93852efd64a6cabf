"""Put the blocks into the bowls with mismatching colors."""

from __future__ import annotations

from dataclasses import dataclass

from clevrskills.suites.lohoravens.tasks.bowls._sorting import SortIntoBowls


@dataclass(kw_only=True, eq=False)
class BowlsMismatching(SortIntoBowls):
    """Each block goes into a bowl of another color; several may share one."""

    key = "bowls_mismatching"
    sentence = "Put the blocks into the bowls with mismatching colors"
    matching = False
