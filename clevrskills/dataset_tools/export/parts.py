"""Export in parts: planned once, written by any number of processes, assembled at the end.

``.export/plan.json`` assigns episodes to parts; ``.export/part-00000`` is a finished part. They
allow the same command to continue, or to add episodes.
"""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from clevrskills.dataset_tools.dataset import Episode, checked
from clevrskills.dataset_tools.export.selection import Selection
from clevrskills.dataset_tools.layout import STATES_FILE, VIDEO_SUFFIXES
from clevrskills.errors import ClevrSkillsError, DamagedError
from clevrskills.jobs.arguments import ShardArgs
from clevrskills.jobs.files import PartialDirectory, storage_errors, to_json, write_whole
from clevrskills.jobs.pool import InlinePool, Pool
from clevrskills.jobs.process_setup import return_freed_memory, trim_heap
from clevrskills.jobs.progress import Display
from clevrskills.jobs.run_folder import check_settings, open_folder, write_into
from clevrskills.jobs.work import CountedQueue, open_pool, work

STATE_DIR = ".export"
PLAN_FILE = f"{STATE_DIR}/plan.json"
PART_BYTES = 64 << 20
"""Size of the source files of a part."""
_NOT_WRITTEN = (STATES_FILE, VIDEO_SUFFIXES["depth"], VIDEO_SUFFIXES["segmentation"])


@dataclass
class Plan:
    """Parts of an export.

    Attributes:
        made: Format, and settings of the dataset.
        ids: Names of the episodes in the order of the export.
        lengths: Number of control steps of each episode.
        stops: Index after the last episode of each part.
        numbers: Indices of sentences by kind.
    """

    made: dict[str, Any]
    ids: list[str] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    stops: list[int] = field(default_factory=list)
    numbers: dict[str, dict[str, int]] = field(default_factory=dict)

    def number(self, kind: str, sentence: str) -> int:
        """Return the index of a sentence, which is added if it is new."""
        found = self.numbers.setdefault(kind, {})
        return found.setdefault(sentence, len(found))

    def episodes(self, part: int) -> range:
        """Return the indices of the episodes of a part."""
        return range(self.stops[part - 1] if part else 0, self.stops[part])

    def paths(self, out: Path) -> list[Path]:
        """Return the folders of the parts."""
        return [out / STATE_DIR / f"part-{part:05d}" for part in range(len(self.stops))]


class PartWriter(ABC):
    """Writer of a format in parts; ``selection`` has all episodes in the order of the export."""

    def __init__(self, selection: Selection, plan: Plan) -> None:
        self.selection, self.plan = selection, plan

    @staticmethod
    @abstractmethod
    def order(selection: Selection) -> list[str]:
        """Return the names of added episodes in the order of the export."""

    def survey(self, episode: Episode) -> None:  # noqa: B027
        """Add information about an episode to the plan."""

    @abstractmethod
    def write_part(self, part: int, path: Path) -> None:
        """Write a part into an empty folder."""

    @abstractmethod
    def assemble(self, parts: Sequence[Path], out: Path) -> None:
        """Move the files of all parts into place, and write common files; it can be repeated after
        an interruption, or with more parts.
        """

    @abstractmethod
    def files(self) -> int:
        """Return the total number of files."""


def make_plan(kind: type[PartWriter], to: str, selection: Selection, out: Path) -> Plan:
    """Return the plan of a new or continued export.

    Raises:
        ClevrSkillsError: The folder has another export, or episodes that are not selected.
        DatasetError: An episode is damaged, or does not match the dataset.
    """
    header = asdict(selection.header)
    left_out = ("versions", "views", "interface", "suite")
    settings = {name: value for name, value in header.items() if name not in left_out}
    made = json.loads(to_json({"format_of_export": to, **settings}))
    plan, path = Plan(made), out / PLAN_FILE
    if path.exists():
        try:
            plan = Plan(**json.loads(path.read_bytes()))
        except (ValueError, TypeError) as error:
            raise DamagedError.of(path, error) from error
        check_settings(out, plan.made, made, made="exported")
    known = {*plan.ids}
    if other := known - {*selection.ids}:
        raise ClevrSkillsError(
            f"{out} has {min(other)}, which is not selected; give another folder"
        )
    new = replace(selection, ids=tuple(name for name in selection.ids if name not in known))
    new = replace(new, ids=tuple(kind.order(new) if new.ids else ()), on_progress=None)
    writer, size = kind(replace(new, ids=(*plan.ids, *new.ids)), plan), PART_BYTES
    with Display("reading", len(new)) as display:
        for episode in checked(replace(new, on_progress=display.update)):
            if size >= PART_BYTES:
                plan.stops.append(len(plan.ids))
                size = 0
            size += sum(f.size for n, f in episode.files.items() if not n.endswith(_NOT_WRITTEN))
            plan.ids.append(episode.id)
            plan.lengths.append(len(episode))
            plan.stops[-1] += 1
            writer.survey(episode)
    return plan


def write_parts(
    kind: type[PartWriter], to: str, selection: Selection, out: Path, args: ShardArgs
) -> int:
    """Write episodes in parts into a folder, an absolute path, and assemble them at the end.

    Returns:
        Exit code: 0, or 130 after Ctrl-C.

    Raises:
        ClevrSkillsError: See :func:`make_plan`; or a write failed. Finished parts are kept.
    """
    plan = make_plan(kind, to, selection, out)
    open_folder(out, PLAN_FILE, "not an export")
    state, selection = out / STATE_DIR, replace(selection, ids=tuple(plan.ids), on_progress=None)
    with storage_errors(out):
        state.mkdir(exist_ok=True)
    return write_into(state, lambda _: _write(kind, plan, selection, out, args), args.writer)


def _write(
    kind: type[PartWriter], plan: Plan, selection: Selection, out: Path, args: ShardArgs
) -> int:
    write_whole(out / PLAN_FILE, to_json(asdict(plan)))
    (index, of), paths = args.part, plan.paths(out)
    own = [part for part in range(index, len(paths), of)]
    missing = [part for part in own if not paths[part].is_dir()]
    total, left = (sum(len(plan.episodes(part)) for part in parts) for parts in (own, missing))
    make = partial(PartWorker, kind, selection, out, args.writer)

    def start_pool() -> Pool[int, int]:
        if args.workers == 1 and args.driver == "local":
            return InlinePool(make)
        return open_pool(args.driver, make, out, args.workers)

    with Display("exporting", total, total - left) as display:
        queue = CountedQueue(
            missing,
            display,
            total - left,
            lambda _, count: count,
            lambda part: f"part {part} cannot be written",
        )
        work(queue, start_pool)
    if not args.shard:
        with storage_errors(out):
            kind(selection, plan).assemble(paths, out)
    return 0


class PartWorker:
    """Worker that writes parts and returns their number of episodes."""

    def __init__(
        self, kind: type[PartWriter], selection: Selection, out: Path, writer: str
    ) -> None:
        return_freed_memory()
        self._out, self._name = out, writer
        self._plan = Plan(**json.loads((out / PLAN_FILE).read_bytes()))
        self._writer = kind(selection, self._plan)

    def __call__(self, part: int) -> int:
        final = self._plan.paths(self._out)[part]
        if not final.is_dir():
            with PartialDirectory(final.parent, final, self._name) as directory:
                with storage_errors(final):
                    self._writer.write_part(part, directory.path)
                directory.commit()
            trim_heap()
        return len(self._plan.episodes(part))


def move(source: Path, target: Path) -> None:
    """Move a file, unless that was done before."""
    if source.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        os.rename(source, target)
