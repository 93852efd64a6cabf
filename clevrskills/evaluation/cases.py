"""Which episodes an evaluation is about."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from clevrskills.core.observer import in_words
from clevrskills.core.suite import Suite
from clevrskills.dataset_tools.dataset import Dataset
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.evaluation.messages import Case, Group

ROUNDS = 4
"""Episodes that follow each other in a place of a batch, so that few places wait for the last."""


def frozen_cases(
    suite: Suite, tasks: Sequence[str], splits: Sequence[str], episodes: int
) -> list[Case]:
    """The first frozen episodes of each task and split.

    Raises:
        ClevrSkillsError: There are not as many.
    """
    for task in tasks:
        for split in splits:
            there = suite.header(task, split).episodes
            if episodes > there:
                raise ClevrSkillsError(
                    f"--episodes {episodes}: {there} episodes of {task}, split {split}, are frozen;"
                    " with --seed others are drawn"
                )
    return [Case(t, s, k) for t in tasks for s in splits for k in range(episodes)]


def drawn_cases(
    tasks: Sequence[str], splits: Sequence[str], episodes: int, seed: int
) -> list[Case]:
    """Episodes drawn from seeds that follow each other."""
    return [Case(t, s, k, seed + k) for t in tasks for s in splits for k in range(episodes)]


def recorded_cases(
    dataset: Path, tasks: Sequence[str], splits: Sequence[str], episodes: int
) -> list[Case]:
    """The first episodes of each task and split of a dataset.

    Args:
        dataset: Its folder.
        tasks: Keys of tasks; none: all.
        splits: The splits.
        episodes: How many of each, at most.

    Raises:
        ClevrSkillsError: It has none.
    """
    found: dict[tuple[str, str], list[Case]] = defaultdict(list)
    for episode in Dataset(dataset):
        info = episode.info
        key = info["task"], info["split"]
        if (not tasks or key[0] in tasks) and key[1] in splits and len(found[key]) < episodes:
            found[key].append(Case(*key, len(found[key]), info["seed"], info["task_args"]))
    if not found:
        raise ClevrSkillsError(f"{dataset} has no episodes of these tasks and splits")
    return [case for cases in found.values() for case in cases]


def filmed(cases: Sequence[Case], first: int, names: Iterable[str]) -> list[Case]:
    """The cases, of which the first ones of each task and split, and some by name, are filmed.

    Raises:
        UnknownNameError: There is no case of that name.
    """
    ids = [case.id for case in cases]
    for name in names:
        if name not in ids:
            raise UnknownNameError("episode", name, (*ids[:3], "..."))
    return [replace(case, film=case.index < first or case.id in names) for case in cases]


def unspeakable(suite: Suite, cases: Sequence[Case], named: Sequence[str]) -> tuple[str, ...]:
    """Tasks that are left out where prompts are in words alone: those that
    the suite leaves out then and that were not asked for by name.

    Raises:
        ClevrSkillsError: A task was asked for by name, but cannot be said in words.
    """
    left_out = suite.unspeakable()
    shown = [case for case in cases if case.task in left_out]
    for (task, split), some in groupby(shown, key=lambda case: (case.task, case.split)):
        if task not in named:
            continue
        specs = suite.frozen(task, split)
        if any(c.seed is None and in_words(specs[c.index].prompt) is None for c in some):
            raise ClevrSkillsError(
                f"{task} cannot be said in words alone: leave it out, or use --prompt multimodal"
            )
    return tuple(dict.fromkeys(case.task for case in shown if case.task not in named))


def groups(cases: Sequence[Case], batch: int, workers: int) -> Iterator[Group]:
    """The cases in groups of one task and split, each for one worker."""
    for _, some in groupby(cases, key=lambda case: (case.task, case.split)):
        same = list(some)
        size = 1
        if batch > 1:  # else a result is kept as soon as it is there
            share = -(-len(same) // workers)
            size = max(batch, min(ROUNDS * batch, share))
        for start in range(0, len(same), size):
            yield Group(tuple(same[start : start + size]))
