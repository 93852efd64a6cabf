"""Which tasks an evaluation by other software is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clevrskills.errors import UnknownNameError
from clevrskills.evaluation.language import KEYSTEP_TASKS


def choose_tasks(
    levels: Mapping[str, str],
    tasks: Sequence[str] | None = None,
    level: str | Sequence[str] | None = None,
    in_words: bool = False,
) -> tuple[str, ...]:
    """Tasks by name, or those of some levels.

    Args:
        levels: Level of every task, by task key.
        tasks: Keys of tasks; none: those of the levels.
        level: One or several levels; none: all.
        in_words: Whether prompts are in words alone: tasks of a level that show their goal in
            pictures of key-steps are left out then.

    Raises:
        UnknownNameError: There is no such task or level.
    """
    for task in tasks or ():
        if task not in levels:
            raise UnknownNameError("task", task, tuple(levels))
    if tasks:
        return tuple(tasks)
    there = tuple(dict.fromkeys(levels.values()))
    wanted = (level,) if isinstance(level, str) else tuple(level or there)
    for name in wanted:
        if name not in there:
            raise UnknownNameError("level", name, there)
    left_out = KEYSTEP_TASKS if in_words else ()
    return tuple(t for t, of in levels.items() if of in wanted and t not in left_out)
