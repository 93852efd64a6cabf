"""Frozen episodes from a dataset, whose recorded actions solve them."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from clevrskills.core.env_config import EnvConfig
from clevrskills.core.episode import FrozenHeader, episode_id
from clevrskills.core.suite import Suite, find_interface
from clevrskills.dataset_tools.dataset import Episode
from clevrskills.dataset_tools.layout import Header
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.freeze.frozen import write
from clevrskills.evaluation.freeze.screening import solve
from clevrskills.evaluation.modes import recorded_episodes
from clevrskills.jobs.run_folder import versions


def freeze_recorded(
    dataset: Path,
    out: Path,
    suite: Suite,
    tasks: Sequence[str],
    splits: Sequence[str],
    count: int | None = None,
) -> list[FrozenHeader]:
    """Freeze the episodes of a dataset, one file for each task and split.

    Args:
        dataset: Folder of the dataset.
        out: Output folder.
        suite: Suite of the episodes.
        tasks: Task keys; none: all.
        splits: Names of the splits.
        count: Maximum number of episodes per task and split; ``None``: all.

    Returns:
        Headers of the files.

    Raises:
        ClevrSkillsError: The folder is not a dataset, or has no such episodes.
        StorageError: Writing failed.
    """
    robot = Header.read(dataset).robot
    heads = []
    refs = recorded_episodes(dataset, tasks, splits, count)
    for (task, split), group in groupby(refs, lambda ref: (ref.task, ref.split)):
        specs, steps = [], []
        for ref in group:
            assert ref.seed is not None
            drawn = suite.draw(task, split, ref.seed, ref.index, robot, ref.task_args)
            specs.append(drawn)
            steps.append(len(Episode(dataset / episode_id(task, split, ref.seed))))
        heads.append(write_given(out, suite, task, split, robot, specs, steps))
    return heads


def write_given(
    out: Path,
    suite: Suite,
    task: str,
    split: str,
    robot: str,
    episodes: Sequence[Any],
    steps: Sequence[int] | None,
) -> FrozenHeader:
    """Freeze given episodes.

    Args:
        out: Output folder.
        suite: Suite of the episodes.
        task: Key of the task.
        split: Name of the split.
        robot: Name of the robot.
        episodes: The episodes.
        steps: Turns of known solutions; ``None``: found by the oracle.

    Raises:
        ClevrSkillsError: The oracle does not solve an episode.
        StorageError: Writing failed.
    """
    if steps is None:
        steps = _solved(suite, task, split, robot, episodes)
    limits = tuple(episode.limit for episode in episodes)
    head = FrozenHeader(
        task,
        split,
        robot,
        episodes=len(episodes),
        max_steps=suite.tasks[task].details["max_steps"] or max(limits),
        oracle_steps=tuple(steps),
        versions=versions(),
        suite=suite.name,
        limits=limits,
    )
    write(out, head, episodes)
    return head


def _solved(suite: Suite, task: str, split: str, robot: str, episodes: Sequence[Any]) -> list[int]:
    """Return the number of turns of the oracle in each episode."""
    env, steps = suite.make(EnvConfig(task, split, robot, cameras=())), []
    for episode in episodes:
        env.reset(options={"episode": episode})
        turns, reason = solve(env, suite.oracle(env), find_interface(suite))
        if reason:
            named = f"{task}, seed {episode.seed}"
            raise ClevrSkillsError(f"the oracle does not solve {named}: {reason}")
        steps.append(turns)
    return steps
