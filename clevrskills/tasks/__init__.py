"""The tasks; one file each, in a folder for each level."""

from clevrskills.sim.body import Body
from clevrskills.tasks.bank import Bank, Sentences, Wording
from clevrskills.tasks.base import LEVELS, Task, stack_roles, task, tasks
from clevrskills.tasks.layout import (
    DEFAULT_WORKSPACE,
    FAR_WORKSPACE,
    EpisodeRng,
    Layout,
    LayoutError,
    Table,
    Workspace,
)

__all__ = [
    "Bank",
    "DEFAULT_WORKSPACE",
    "EpisodeRng",
    "FAR_WORKSPACE",
    "Layout",
    "LayoutError",
    "Sentences",
    "Table",
    "Task",
    "task",
    "tasks",
]
