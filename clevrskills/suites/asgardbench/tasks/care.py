"""Count of needless repairs, which looking would have avoided."""

from __future__ import annotations

from clevrskills.suites.asgardbench.rules.catalogue import catalogue
from clevrskills.suites.asgardbench.rules.world import Household
from clevrskills.suites.asgardbench.tasks.instances import FAMILIES, Variant
from clevrskills.suites.asgardbench.tasks.setup import needed_types
from clevrskills.suites.asgardbench.tasks.solver import DEVICES


class Care:
    """Counter of needless repairs: washing clean dishes and removing objects that are not in the
    way.

    Objects of the task may be taken from anywhere. Others are in the way in the sink, in an
    appliance, in a dish, and on a table that must be cleared.

    Args:
        task: The family.
        variant: The instance.
        house: Initial state.

    Attributes:
        needless: Number of needless repairs.
    """

    def __init__(self, task: str, variant: Variant, house: Household) -> None:
        self.needless = 0
        slices = catalogue().slices
        needed = needed_types(task, variant)
        self._needed = needed | {slices[kind] for kind in needed if kind in slices}
        cleared = {"DiningTable"} if FAMILIES[task].clears_table else set()
        self._free = catalogue().fixtures - {*DEVICES, "SinkBasin"} - cleared
        self._moved: set[str] = set()
        self._washed: set[str] = set()  # were dirty when water ran over them
        self._wet: set[str] = set()  # are under running water
        self._note(house)

    def turn(self, verb: str, house: Household) -> None:
        """Record a verb and the state that it led to."""
        used = house.entities[house.last_used]
        parent, dirty = self._before.get(used.id, ("", False))
        if verb == "PICKUP":
            where = house.entities[parent].type if parent in house.entities else ""
            new = used.id not in self._moved and used.type not in self._needed
            self.needless += new and where in self._free
            self._moved.add(used.id)
            self._washed.discard(used.id)
        elif verb == "CLEAN":
            self.needless += not dirty and used.id not in self._washed
        runs = any(faucet.on for faucet in house.of_type("Faucet"))
        wet = {e.id for basin in house.of_type("SinkBasin") for e in house.contents(basin) if runs}
        for name in wet - self._wet:
            if self._before.get(name, ("", False))[1]:
                self._washed.add(name)
            elif house.entities[name].type in catalogue().dirtyable:
                self.needless += name in self._moved - self._washed
        self._wet = wet
        self._note(house)

    def _note(self, house: Household) -> None:
        self._before = {e.id: (e.parent, e.dirty) for e in house.entities.values()}
