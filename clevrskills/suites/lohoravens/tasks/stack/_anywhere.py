"""Stacks that may stand anywhere if an argument says so: no zone, and none in the sentence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from clevrskills.errors import ClevrSkillsError
from clevrskills.sim.setting import Workspace
from clevrskills.suites.lohoravens.scene import INNER, TOWERS, FieldScene
from clevrskills.suites.lohoravens.tasks.base import RavensTask
from clevrskills.tasks.arguments import Allowed
from clevrskills.tasks.bank import Bank
from clevrskills.tasks.bank_files import read_banks

ZONE, ANYWHERE = "zone", "anywhere"


def where(*allowed: str) -> Any:
    """A field of a task: where stacks are to stand, the first unless an argument says another."""
    return field(default=allowed[:1], metadata={"allowed": Allowed(allowed, False)})


@dataclass(kw_only=True, eq=False)
class StackWhere(RavensTask):
    """A task whose stacks stand on zones, or anywhere.

    Args:
        where: ``zone``, or ``anywhere``, which is the wording of the workshop paper.

    Attributes:
        anywhere_moves: Least and greatest ``n_min`` without zones.
    """

    anywhere_moves: ClassVar[tuple[int, int]]

    where: tuple[str, ...] = where(ZONE, ANYWHERE)

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.where) != 1:
            raise ClevrSkillsError(f"{self.key}: where={self.where!r}; allowed: one of them")
        if self.anywhere:
            vars(self)["moves"] = self.anywhere_moves

    @property
    def anywhere(self) -> bool:
        """Whether stacks may stand anywhere."""
        return self.where == (ANYWHERE,)

    @property
    def bank(self) -> Bank | None:
        if self.anywhere:
            return read_banks(self.bank_folder)[f"{self.key}_anywhere"]
        return super().bank

    @property
    def around(self) -> Workspace:
        """Where blocks lie at the start: a stack may grow on each that has no zone to go to."""
        return TOWERS if self.anywhere else INNER

    def base(self, scene: FieldScene, color: str) -> int:
        """A zone for a stack; -1: it may stand anywhere.

        Raises:
            LayoutError: There is no room.
        """
        return -1 if self.anywhere else scene.zone(color, tower=True)
