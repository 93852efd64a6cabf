"""Selection of episodes for an export."""

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
    """Selected episodes of a dataset; iteration reads them one by one in the order of ``ids``."""

    root: Path  # folder of the dataset
    header: Header
    ids: tuple[str, ...]  # names of the episodes, e.g. ``sort/train_00000007``
    on_progress: Callable[[int], None] | None = None  # called with the number of episodes read

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
        """Suite of the first episode."""
        return self.first().suite


def in_words(selection: Selection) -> tuple[Selection, dict[str, int]]:
    """Return the episodes with a wording without goal image, and the number of others by task.

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
        raise ClevrSkillsError(f"{', '.join(left_out)}: the task cannot be stated in words")
    return replace(selection, ids=tuple(ids)), left_out


def select(
    dataset: Dataset,
    *,
    tasks: Sequence[str] = (),
    levels: Sequence[str] = (),
    splits: Sequence[str] = (),
) -> Selection:
    """Select episodes of a dataset; an empty filter matches everything.

    Raises:
        UnknownNameError: No episode has such a task, level or split.
        ClevrSkillsError: No episode matches.
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
        raise ClevrSkillsError(f"{dataset.path} has no matching episodes: remove a filter")
    return Selection(dataset.path, dataset.header, tuple(row[-1] for row in episodes))
