"""The episodes that are exported."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from clevrskills.core.episode import RecordedName
from clevrskills.core.suite import IMAGES_ONLY, tagged
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.arguments import check_names

if TYPE_CHECKING:
    from clevrskills.core.suite import Suite
    from clevrskills.dataset_tools.dataset import Dataset, Episode
    from clevrskills.dataset_tools.layout import Header


@dataclass(frozen=True)
class Selection:
    """Some episodes of a dataset, to be read one after the other.

    Iterating over it gives each episode once, in the order of ``ids``. An episode is read from the
    disk then and not kept.
    """

    root: Path  # folder of the dataset
    header: Header  # what all episodes have in common
    ids: tuple[str, ...]  # names of the episodes, e.g. ``sort/train_00000007``
    # called with the number of episodes done, after each
    on_progress: Callable[[int], None] | None = None

    def __len__(self) -> int:
        """Return the number of episodes."""
        return len(self.ids)

    def __iter__(self) -> Iterator[Episode]:
        from clevrskills.dataset_tools.dataset import Episode

        for done, name in enumerate(self.ids, start=1):
            yield Episode(self.root / name, self.header)
            if self.on_progress:
                self.on_progress(done)

    def first(self) -> Episode:
        """Return the first episode."""
        return next(iter(self))

    @cached_property
    def suite(self) -> Suite:
        """The suite that has the task of the first episode."""
        return self.first().suite


def in_words(selection: Selection) -> tuple[Selection, dict[str, int]]:
    """Return the episodes that words alone can ask for, and how many of each task are left out.

    Left out are those of tasks with the tag :data:`~clevrskills.core.suite.IMAGES_ONLY`, where
    each wording shows its goal as an image.

    Raises:
        ClevrSkillsError: None remains.
    """
    images_only, ids = tagged(selection.suite, IMAGES_ONLY), []
    left_out: dict[str, int] = {}
    for episode in selection:
        task = RecordedName.parse(episode.id).task
        if task in images_only:
            data = episode.prompt["data"]
            if all("{ks:" in text for text in (data["text"], *data.get("others", ()))):
                left_out[task] = left_out.get(task, 0) + 1
                continue
        ids.append(episode.id)
    if not ids:
        raise ClevrSkillsError(f"{', '.join(left_out)}: words alone cannot say what is asked for")
    return replace(selection, ids=tuple(ids)), left_out


def select(
    dataset: Dataset,
    *,
    tasks: Sequence[str] = (),
    levels: Sequence[str] = (),
    splits: Sequence[str] = (),
) -> Selection:
    """Choose episodes of a dataset; an empty filter fits everything.

    Raises:
        UnknownNameError: No episode has that task, level or split.
        ClevrSkillsError: No episode fits.
    """
    level_of: dict[str, str] = {}
    episodes: list[tuple[str, str, str, str]] = []  # task, level, split, name
    for episode in dataset:
        name = RecordedName.parse(episode.id)
        if name.task not in level_of:
            level_of[name.task] = str(episode.info["level"])
        episodes.append((name.task, level_of[name.task], name.split, episode.id))
    filters = {"task": tasks, "level": levels, "split": splits}
    for column, (kind, names) in enumerate(filters.items()):
        if episodes:
            known = dict.fromkeys(row[column] for row in episodes)
            check_names(**{f"{kind} of {dataset.path}": (names, known)})
        episodes = [row for row in episodes if not names or row[column] in names]
    if not episodes:
        raise ClevrSkillsError(f"{dataset.path} has no episodes that fit: leave out a filter")
    return Selection(dataset.path, dataset.header, tuple(row[-1] for row in episodes))
