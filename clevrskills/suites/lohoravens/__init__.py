"""LoHoRavens suite: long-horizon rearrangement of blocks from one sentence."""

from clevrskills.suites.lohoravens.tasks import CATALOG

TASKS = tuple(CATALOG)
"""Names of the tasks."""
