"""The tasks; one file each, in a folder for each level."""

from clevrskills.sim.body import Body
from clevrskills.tasks.base import LEVELS, Task, stack_roles, task, tasks
from clevrskills.tasks.layout import EpisodeRng, Layout, LayoutError, Table, Workspace

__all__ = [
    "Body",
    "EpisodeRng",
    "LEVELS",
    "Layout",
    "LayoutError",
    "Table",
    "Task",
    "Workspace",
    "stack_roles",
    "task",
    "tasks",
]
