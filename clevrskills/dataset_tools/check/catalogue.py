"""Checks of header, manifest, directories and shards of a dataset."""

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from clevrskills.core.episode import SUBSTITUTE, RecordedName
from clevrskills.core.suite import Suite, all_splits
from clevrskills.dataset_tools.check.fault import DatasetFault, schema_faults
from clevrskills.dataset_tools.layout import (
    CARD_FILE,
    CROISSANT_FILE,
    DATASET_FILE,
    EPISODES_FILE,
    MANIFEST_DIR,
    DatasetError,
)
from clevrskills.dataset_tools.manifest import Attempt
from clevrskills.dataset_tools.storage import (
    INDEX_FILE,
    SHARDS_DIR,
    Shard,
    file_in_shard,
    parse_shard,
    shard_paths,
)
from clevrskills.jobs.files import PARTIAL_PREFIX
from clevrskills.jobs.run_folder import LOCK_FILE

_PUBLISHED = ("LICENSE", ".gitattributes")  # the second is the hub's
_WRITTEN = (DATASET_FILE, MANIFEST_DIR, SHARDS_DIR, CARD_FILE, CROISSANT_FILE, EPISODES_FILE)
"""Files of a dataset beside its episodes."""


@dataclass
class DatasetIndex:
    """Declared and actual content of a dataset."""

    lines: dict[str, Attempt] = field(default_factory=dict)  # manifest lines by episode
    episodes: list[Path] = field(default_factory=list)  # directories of episodes, sorted
    faults: list[DatasetFault] = field(default_factory=list)

    def add(self, file: str, what: str, episode: str = "") -> None:
        """Add a fault of a file."""
        self.faults.append(DatasetFault(episode, file, what))


def read_catalogue(root: Path, suite: Suite) -> DatasetIndex:
    """Read and check header, manifest and directories of a dataset of a suite."""
    catalogue, tasks = DatasetIndex(), suite.tasks
    header = json.loads((root / DATASET_FILE).read_text(encoding="utf-8"))
    for what in schema_faults("dataset", header):
        catalogue.add(DATASET_FILE, what)
    catalogue.faults += _directory_faults(root, suite, catalogue.episodes)
    attempts: dict[tuple[str, str, int], tuple[str, Attempt]] = {}
    for place, line in _lines(root, catalogue):
        key = (line.task, line.split, line.seed)
        for what in _line_faults(line, tasks, all_splits(suite)):
            catalogue.add(place, what)
        if key in attempts and not _made_again(place, line, *attempts[key]):
            catalogue.add(place, f"the same attempt as {attempts[key][0]}: remove one")
        attempts[key] = (place, line)
        if line.success:
            catalogue.lines[line.id] = line
    catalogue.faults += _attempt_faults(attempts)
    catalogue.faults += _shard_faults(root, suite, catalogue.episodes)
    existing = {"/".join(path.parts[-2:]) for path in catalogue.episodes}
    for name in sorted(set(catalogue.lines) - existing):
        catalogue.add("", "is in the manifest, but missing", name)
    for name in sorted(existing - set(catalogue.lines)):
        catalogue.add("", "is not in the manifest", name)
    return catalogue


def _directory_faults(root: Path, suite: Suite, episodes: list[Path]) -> Iterator[DatasetFault]:
    """Check the directories, and add those of episodes to ``episodes``."""
    tasks, splits = suite.tasks, all_splits(suite)
    for path in sorted(root.iterdir()):
        if path.name.startswith(LOCK_FILE) or path.name in (*_WRITTEN, *_PUBLISHED):
            continue
        if path.name.startswith("."):
            partial = path.name.startswith(PARTIAL_PREFIX)
            what = "left by an interrupted or running writer"
            yield DatasetFault("", path.name, what if partial else "is not part of a dataset")
        elif not path.is_dir():
            yield DatasetFault("", path.name, "is not part of a dataset")
        else:
            if path.name not in tasks:
                yield DatasetFault("", path.name, "is no task")
            for inner in sorted(path.iterdir()):
                name = f"{path.name}/{inner.name}"
                try:
                    known = inner.is_dir() and RecordedName.parse(name).split in splits
                except ValueError:
                    known = False
                if known:
                    episodes.append(inner)
                else:
                    yield DatasetFault("", name, "is no episode")


def _shard_faults(root: Path, suite: Suite, episodes: list[Path]) -> Iterator[DatasetFault]:
    """Check the shards, and add their episodes to ``episodes``."""
    splits, folders = all_splits(suite), {*episodes}
    for path in shard_paths(root):
        place = f"{SHARDS_DIR}/{path.name}"
        try:
            if parse_shard(path.name)[0] not in splits:
                yield DatasetFault("", place, "is of no split of the suite")
            shard = Shard(path)
        except (ValueError, DatasetError) as error:
            yield DatasetFault("", place, str(error))
            continue
        ends: dict[str, int] = {}
        for name, files in shard.items():
            if root / name in folders:
                yield DatasetFault(
                    name, "", f"is in a folder and in {place}: run `clevrskills pack`"
                )
            else:
                episodes.append(root / name)
            for file, part in files.items():
                if part.start != ends.get(file, 0):
                    yield DatasetFault(
                        name, file, f"does not begin in {place} where the last one ends"
                    )
                ends[file] = part.start + part.length
        for file, end in ends.items():
            yield from (
                DatasetFault("", f"{place}/{file}", what)
                for what in _joined(path, file, end, shard)
            )
        known = {INDEX_FILE, *map(file_in_shard, ends)}
        for name in sorted({entry.name for entry in path.iterdir()} - known):
            yield DatasetFault("", f"{place}/{name}", "is not part of a shard")
    episodes.sort()


def _joined(path: Path, file: str, end: int, shard: Shard) -> Iterator[str]:
    """Yield faults of a concatenated file of a shard with parts up to byte ``end``."""
    joined = path / file_in_shard(file)
    try:
        if joined.name == file:
            groups = pq.read_metadata(joined).num_row_groups
            if groups != len(shard):
                yield f"{groups} row groups of {len(shard)} episodes"
        elif joined.stat().st_size != end:
            yield f"{joined.stat().st_size} bytes, not {end}"
    except (OSError, pa.ArrowException) as error:
        yield f"damaged: {' '.join(str(error).split())}"


def _lines(root: Path, catalogue: DatasetIndex) -> Iterator[tuple[str, Attempt]]:
    """Yield the valid lines of all manifests with their locations."""
    folder = root / MANIFEST_DIR
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        name = path.relative_to(root).as_posix()
        if path.suffix != ".jsonl":
            catalogue.add(name, "is not part of a dataset")
            continue
        with path.open("rb") as file:
            for number, text in enumerate(file, start=1):
                place = f"{name} line {number}"
                if not text.endswith(b"\n"):
                    catalogue.add(place, "is incomplete: its writer was interrupted, or is running")
                    continue
                try:
                    wrong = [*schema_faults("manifest", json.loads(text))]
                except ValueError as error:
                    wrong = [f"damaged: {error}"]
                for what in wrong:
                    catalogue.add(place, what)
                if not wrong:
                    yield place, Attempt.from_json(text)


def _line_faults(line: Attempt, tasks: Collection[str], splits: Collection[str]) -> Iterator[str]:
    if line.task not in tasks:
        yield f"unknown task {line.task!r}"
    if line.split not in splits:
        yield f"unknown split {line.split!r}"
    if line.success == bool(line.kind):
        yield f"success is {line.success}, but kind {line.kind!r}"
    if line.success != bool(line.files):
        yield f"success is {line.success}, but {len(line.files)} files"
    if line.seed < line.number * SUBSTITUTE + line.slot:
        yield f"seed {line.seed} cannot be attempt {line.number} of slot {line.slot}"


def _made_again(place: str, line: Attempt, before_place: str, before: Attempt) -> bool:
    """Return whether the same writer recreated an episode with the same content."""
    same_writer = place.rpartition(" line ")[0] == before_place.rpartition(" line ")[0]
    same = line.success and before.success and line.files == before.files
    return same_writer and same and line.ended > before.ended


def _attempt_faults(
    attempts: dict[tuple[str, str, int], tuple[str, Attempt]],
) -> Iterator[DatasetFault]:
    """Yield attempts after a success, or without the preceding attempts."""
    for (task, split, seed), (place, line) in attempts.items():
        for number in range(line.number):
            earlier = attempts.get((task, split, seed - (line.number - number) * SUBSTITUTE))
            if earlier is None:
                yield DatasetFault(
                    "", place, f"attempt {line.number}, but no line of attempt {number}"
                )
            elif earlier[1].success:
                what = f"attempt {line.number} after the success of {earlier[0]}"
                yield DatasetFault("", place, what)
