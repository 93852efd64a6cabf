"""The tasks; one file each, in a folder for each level."""

from clevrskills.sim.body import Body
from clevrskills.tasks.bank import Bank, Sentences, Wording, listed
from clevrskills.tasks.base import LEVELS, Task, stack_roles, task, tasks
from clevrskills.tasks.layout import EpisodeRng, Layout, LayoutError, Table, Workspace

__all__ = [
    "Bank",
    "Body",
    "EpisodeRng",
    "LEVELS",
    "Layout",
    "LayoutError",
    "Sentences",
    "Table",
    "Task",
    "Wording",
    "Workspace",
    "listed",
    "stack_roles",
    "task",
    "tasks",
]
