"""Frozen episodes from a dataset: those that were recorded, of which actions are known that solve
them.
"""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from clevrskills.core.episode import episode_id
from clevrskills.core.suite import Suite
from clevrskills.dataset_tools.dataset import Episode
from clevrskills.dataset_tools.layout import Header as DatasetHeader
from clevrskills.evaluation.freeze.frozen import Header, write
from clevrskills.evaluation.request import recorded_episodes
from clevrskills.jobs.run_folder import versions


def freeze_recorded(
    dataset: Path,
    out: Path,
    suite: Suite,
    tasks: Sequence[str],
    splits: Sequence[str],
    count: int | None = None,
) -> list[Header]:
    """Write the episodes of a dataset as frozen ones, one file for each task and split.

    Args:
        dataset: Its folder.
        out: Folder of the files.
        suite: What the episodes are of.
        tasks: Keys of tasks; none: all.
        splits: The splits.
        count: How many episodes of each, at most; ``None``: all.

    Returns:
        What is said of each file.

    Raises:
        ClevrSkillsError: The folder is no dataset, or has no such episodes.
        StorageError: The disk refused.
    """
    robot = DatasetHeader.read(dataset).robot
    heads = []
    refs = recorded_episodes(dataset, tasks, splits, count)
    for (task, split), group in groupby(refs, lambda ref: (ref.task, ref.split)):
        specs, steps = [], []
        for ref in group:
            assert ref.seed is not None, "it is drawn"
            drawn = suite.draw(task, split, ref.seed, ref.index, robot, ref.task_args)
            specs.append(drawn)
            steps.append(len(Episode(dataset / episode_id(task, split, ref.seed))))
        limit = suite.describe(task)["max_steps"]
        head = Header(
            task,
            split,
            robot,
            episodes=len(specs),
            max_steps=limit,
            oracle_steps=tuple(steps),
            versions=versions(),
            suite=suite.name,
        )
        write(out, head, specs)
        heads.append(head)
    return heads
