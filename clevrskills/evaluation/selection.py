"""Selection of tasks and episodes."""

import contextlib
from collections.abc import Iterable, Sequence

from clevrskills.core import observer
from clevrskills.core.suite import (
    IMAGES_ONLY,
    Suite,
    all_levels,
    all_robots,
    default_splits,
    tagged,
)
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.arguments import check_names, select_tasks


def choose_tasks(
    suite: Suite,
    tasks: Sequence[str] | None = None,
    level: str | Sequence[str] | None = None,
    in_words: bool = False,
) -> tuple[str, ...]:
    """Return tasks by name or level.

    Args:
        suite: Suite of the tasks.
        tasks: Task keys; none: the tasks of the levels.
        level: One or several levels; none: all tasks with frozen episodes.
        in_words: Whether to skip tasks of a level that need prompt images.

    Raises:
        UnknownNameError: Unknown task or level.
    """
    if tasks:
        check_names(task=(tasks, suite.tasks))
        return tuple(tasks)
    asked = (level,) if isinstance(level, str) else tuple(level or ())
    chosen = select_tasks(all_levels(suite), level=asked) if asked else frozen_tasks(suite)
    left_out = tagged(suite, IMAGES_ONLY) if in_words else ()
    return tuple(task for task in chosen if task not in left_out)


def check_in_words(
    suite: Suite, task: str, split: str, indices: Iterable[int], multimodal: str
) -> None:
    """Check that frozen episodes have language prompts.

    Args:
        suite: Suite of the task.
        task: Key of the task.
        split: Name of the split.
        indices: Indices of the episodes.
        multimodal: Option for prompts with images, for the message.

    Raises:
        ClevrSkillsError: An episode has no language prompt.
    """
    if IMAGES_ONLY not in suite.tasks[task].tags:
        return
    specs = suite.frozen(task, split)
    if any(observer.in_words(specs[index].prompt) is None for index in indices):
        raise ClevrSkillsError(
            f"{task} cannot be stated in words alone: leave it out, or use {multimodal}"
        )


def task_splits(
    suite: Suite, tasks: Sequence[str], splits: Sequence[str] | None, named: Sequence[str] = ()
) -> list[tuple[str, str]]:
    """Return the existing pairs of tasks and splits.

    Args:
        suite: Suite of the tasks.
        tasks: Task keys.
        splits: Names of splits; ``None``: all.
        named: Tasks that must have all of the splits.

    Raises:
        UnknownNameError: A named task lacks a split.
    """
    for task in tasks:
        if task in named and splits is not None:
            check_names(**{f"split of {task}": (splits, suite.tasks[task].splits)})
    return [
        (task, split)
        for task in tasks
        for split in suite.tasks[task].splits
        if splits is None or split in splits
    ]


def frozen_tasks(suite: Suite) -> list[str]:
    """Return the tasks of a suite with frozen episodes for its first robot."""
    robot, split = all_robots(suite)[0], default_splits(suite)[0]

    def is_frozen(task: str) -> bool:
        with contextlib.suppress(ClevrSkillsError):
            return suite.frozen(task, split).header.robot == robot
        return False

    return [task for task in suite.tasks if is_frozen(task)]


def count_episodes(suite: Suite, task: str, split: str, robot: str, number: int | None) -> int:
    """Return the number of frozen episodes of a task and split to run.

    Args:
        suite: Suite of the task.
        task: Key of the task.
        split: Name of the split.
        robot: Name of the robot.
        number: Requested number; ``None``: all.

    Raises:
        ClevrSkillsError: There are too few, or they are for another robot.
    """
    head = suite.frozen(task, split).header
    if robot != head.robot:
        raise ClevrSkillsError(f"robot={robot}: the frozen episodes of {task} are for {head.robot}")
    if number is not None and not 1 <= number <= head.episodes:
        raise ClevrSkillsError(f"episodes={number} of {task}; allowed: 1 to {head.episodes}")
    return int(number or head.episodes)
