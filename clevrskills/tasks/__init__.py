"""The tasks, one file each, in one folder per level."""

from clevrskills.sim.body import Body
from clevrskills.tasks.bank import Sentences, Wording, WordingSet
from clevrskills.tasks.base import LEVELS, Task, stack_roles, task, tasks
from clevrskills.tasks.layout import (
    DEFAULT_WORKSPACE,
    FAR_WORKSPACE,
    EpisodeRng,
    Layout,
    LayoutError,
    TableLayout,
    Workspace,
)

__all__ = [
    "DEFAULT_WORKSPACE",
    "EpisodeRng",
    "FAR_WORKSPACE",
    "Layout",
    "LayoutError",
    "Sentences",
    "TableLayout",
    "Task",
    "WordingSet",
    "task",
    "tasks",
]
