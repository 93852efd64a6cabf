"""Selection of tasks and episodes for evaluations by other software."""

from __future__ import annotations

from collections.abc import Sequence

from clevrskills.core.suite import Suite
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.arguments import check_names, select_tasks


def choose_tasks(
    suite: Suite,
    tasks: Sequence[str] | None = None,
    level: str | Sequence[str] | None = None,
    in_words: bool = False,
) -> tuple[str, ...]:
    """Tasks by name, or those of some levels.

    Args:
        suite: Where they come from.
        tasks: Keys of tasks; none: those of the levels.
        level: One or several levels; none: all.
        in_words: Whether prompts are in words alone: tasks of a level that show their goal in
            images of key-steps are left out then.

    Raises:
        UnknownNameError: There is no such task or level.
    """
    levels = suite.levels()
    if tasks:
        check_names(task=(tasks, levels))
        return tuple(tasks)
    wanted = (level,) if isinstance(level, str) else tuple(level or levels.values())
    left_out = suite.unspeakable() if in_words else ()
    return tuple(t for t in select_tasks(levels, level=wanted) if t not in left_out)


def count_episodes(suite: Suite, task: str, split: str, robot: str, wanted: int | None) -> int:
    """How many frozen episodes of a task and split are run.

    Args:
        suite: Where they come from.
        task: Key of the task.
        split: ``train`` or ``test``.
        robot: Key of the robot.
        wanted: How many; ``None``: all.

    Raises:
        ClevrSkillsError: There are not as many, or they are for another robot.
    """
    head = suite.header(task, split)
    if robot != head.robot:
        raise ClevrSkillsError(f"robot={robot}: the frozen episodes of {task} are for {head.robot}")
    if wanted is not None and not 1 <= wanted <= head.episodes:
        raise ClevrSkillsError(f"episodes={wanted} of {task}; allowed: 1 to {head.episodes}")
    return wanted or head.episodes
