"""``clevrskills merge`` and ``pack``: join datasets, and put episodes into shards."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from clevrskills.core.episode import RecordedName
from clevrskills.dataset_tools.layout import MANIFEST_DIR, DatasetError, Header
from clevrskills.dataset_tools.manifest import Attempt, file_hashes
from clevrskills.dataset_tools.storage import (
    EPISODE,
    INDEX_FILE,
    SHARDS_DIR,
    SIZE,
    START,
    episode_files,
    episode_names,
    file_in_shard,
    packed_episodes,
    parse_shard,
    shard_paths,
)
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.arguments import check_least
from clevrskills.jobs.files import PartialDirectory, remove_whole, storage_errors, write_whole
from clevrskills.jobs.journal import read_lines
from clevrskills.jobs.options import Positional
from clevrskills.jobs.progress import Display
from clevrskills.jobs.run_folder import write_into

if TYPE_CHECKING:
    from clevrskills.dataset_tools.parquet_join import FooterJoin

SHARD_EPISODES = 1000
"""Episodes of a shard."""
WRITER = "pack"
_ENTERED = "merge"
"""Manifest of episodes that had no line."""


@dataclass(kw_only=True)
class MergeArgs:
    """Join datasets with equal settings; running it again continues.

    Identical episodes of several datasets are kept once.
    """

    datasets: Positional[tuple[Path, ...]]
    """Folders of the datasets."""
    out: Path
    """Folder of a new dataset, or of one with equal settings, to which episodes are added."""
    pack: bool = False
    """Put the episodes into shards, as `clevrskills pack` does."""


@dataclass(kw_only=True)
class PackArgs:
    """Put the episodes of a dataset into shards, a few large files; running it again continues.

    All commands read shards like folders, and the files of an episode stay equal byte by byte.
    """

    dataset: Positional[Path]
    """Folder of the dataset; other commands may write to it meanwhile."""
    out: Path | None = None
    """Folder of the packed dataset; by default the dataset itself, whose episode folders are
    removed once they are in a shard."""
    episodes: int = SHARD_EPISODES
    """Episodes per shard."""


def merge(args: MergeArgs) -> int:
    """Join datasets, see :func:`join`."""
    return join(args.datasets, args.out, SHARD_EPISODES if args.pack else 0)


def pack(args: PackArgs) -> int:
    """Put a dataset into shards, see :func:`join`."""
    check_least(args, episodes=1)
    return join((args.dataset,), args.out or args.dataset, args.episodes)


def join(datasets: Sequence[Path], out: Path, shard_episodes: int) -> int:
    """Write the episodes of datasets into one; return the exit code.

    Args:
        datasets: Folders of the datasets.
        out: Output folder; if it is one of the datasets, its episodes are put into shards.
        shard_episodes: Episodes per shard; 0: a folder for each.

    Raises:
        ClevrSkillsError: Settings differ, an episode is damaged, two of the same name differ, or a
            write failed; finished episodes are kept.
    """
    roots = [path.absolute() for path in datasets]
    header, target = Header.read(roots[0]), out.absolute()
    for root in roots[1:]:
        header.check(root)
    among = target.exists() and any(target.samefile(root) for root in roots)
    if among and not (shard_episodes and len(roots) == 1):
        raise ClevrSkillsError(f"{out} is one of the datasets: leave that one out")
    header.open(target)
    return write_into(
        out, lambda _: _DatasetJoin(roots, target, header).write(shard_episodes), WRITER
    )


class _DatasetJoin:
    """Join of datasets with one header into a folder, which may be one of them, see :func:`join`.

    Raises:
        DatasetError: A manifest or an episode is damaged, or two of the same name differ.
    """

    def __init__(self, roots: Sequence[Path], out: Path, header: Header) -> None:
        self._out, self._header = out, header
        self._in_place = any(out.samefile(root) for root in roots)
        self._there = {*episode_names(out)}
        self._sources = dict.fromkeys(self._there, out)
        self._lines: dict[str, Attempt] = {}
        self._manifests: dict[str, list[Attempt]] = {}
        self._again = self._absent = 0
        for root in (out, *([] if self._in_place else roots)):
            self._read(root)

    def _read(self, root: Path) -> None:
        """Collect the episodes and manifest lines of a dataset."""
        own = {
            line.id: (path.stem, line)
            for path in sorted((root / MANIFEST_DIR).glob("*.jsonl"))
            for line in read_lines(path, Attempt.from_json)
        }
        names, is_source = {*episode_names(root)}, root != self._out
        for name in sorted(names) if is_source else ():
            try:
                RecordedName.parse(name)
            except ValueError as error:
                raise DatasetError(f"{root}: {error}") from error
            if name not in own:
                own[name] = _ENTERED, self._entered(root / name)
            self._again += self._sources.get(name, self._out) != self._out
            self._sources.setdefault(name, root)
        stems: dict[str, str] = {}
        for stem, line in own.values():
            if is_source and line.success and line.id not in names:
                self._absent += 1
                continue
            before = self._lines.setdefault(line.id, line)
            if (before.success, before.files) != (line.success, line.files):
                raise DatasetError(f"{line.id} of {root} differs from another one: remove one")
            if is_source and before is line:
                stems[stem] = stems.get(stem) or self._free(stem)
                self._manifests.setdefault(stems[stem], []).append(line)

    def _entered(self, path: Path) -> Attempt:
        """Return the manifest line of an episode that has none."""
        from clevrskills.dataset_tools.dataset import Episode

        episode = Episode(path, self._header)
        hashes = {name: list(found) for name, found in file_hashes(path).items()}
        return Attempt.of(episode.info).end(files=hashes)

    def _manifest(self, stem: str) -> Path:
        return self._out / MANIFEST_DIR / f"{stem}.jsonl"

    def _free(self, stem: str) -> str:
        """Return an unused name for a manifest."""
        number, name = 1, stem
        while name in self._manifests or self._manifest(name).exists():
            number += 1
            name = f"{stem}-{number}"
        return name

    def write(self, shard_episodes: int) -> int:
        """Write the manifests, then the episodes; return the exit code, 0."""
        from clevrskills.dataset_tools.dataset import Episode, checked

        packed = packed_episodes(self._out)
        if self._in_place:
            self._remove_folders(packed)
            todo = {name for name in self._there if name not in packed and name in self._lines}
        else:
            todo = {*self._sources} - self._there
        done = len(self._sources) - len(todo)
        for _ in checked(Episode(self._sources[n] / n, self._header) for n in sorted(todo)):
            continue
        for stem, lines in self._manifests.items():
            path = self._manifest(stem)
            with storage_errors(path):
                path.parent.mkdir(exist_ok=True)
            write_whole(path, "".join(line.to_json() + "\n" for line in lines))
        with Display("writing", len(self._sources), done) as display:
            for target, names in self._targets(todo, shard_episodes):
                with PartialDirectory(self._out, target, WRITER) as directory:
                    with storage_errors(target):
                        (self._write_shard if shard_episodes else self._write_folder)(
                            directory.path, names
                        )
                    directory.commit()
                if self._in_place:
                    self._remove_folders(names)
                done += len(names)
                display.update(done)
        self._report()
        return 0

    def _targets(self, todo: set[str], shard_episodes: int) -> Iterator[tuple[Path, list[str]]]:
        """Yield the folders to write with their episodes, sorted; each shard has one split."""
        key = lambda name: name.split("/")  # noqa: E731
        if not shard_episodes:
            yield from ((self._out / name, [name]) for name in sorted(todo, key=key))
            return
        by_split: dict[str, list[str]] = {}
        for name in sorted(todo, key=key):
            by_split.setdefault(RecordedName.parse(name).split, []).append(name)
        taken = [parse_shard(path.name) for path in shard_paths(self._out)]
        for split, names in sorted(by_split.items()):
            number = 1 + max((number for of, number in taken if of == split), default=-1)
            for start in range(0, len(names), shard_episodes):
                shard = f"{split}_{number + start // shard_episodes:05d}"
                yield self._out / SHARDS_DIR / shard, names[start : start + shard_episodes]

    def _content(self, name: str) -> Iterator[tuple[str, bytes]]:
        """Yield the files of an episode, verified against the manifest."""
        path, expected = self._sources[name] / name, self._lines[name]
        files = episode_files(path)
        if files.keys() != expected.files.keys():
            differ = ", ".join(sorted({*files} ^ {*expected.files}))
            raise DatasetError(f"{path} and the manifest differ in {differ}")
        for file, stored in sorted(files.items()):
            try:
                data = stored.read()
            except OSError as error:
                raise DatasetError.of(stored, error) from error
            if [len(data), hashlib.sha256(data).hexdigest()] != [*expected.files[file]]:
                raise DatasetError(f"{stored} differs from the manifest; see: clevrskills check")
            yield file, data

    def _write_folder(self, path: Path, names: Sequence[str]) -> None:
        """Write the one episode of a folder."""
        for file, data in self._content(names[0]):
            (path / file).write_bytes(data)

    def _write_shard(self, path: Path, names: Sequence[str]) -> None:
        """Write the files of a shard and its index."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        from clevrskills.dataset_tools.parquet_join import FooterJoin

        files: dict[str, IO[bytes]] = {}
        joins: dict[str, FooterJoin] = {}
        columns: dict[str, list[int]] = {}
        with contextlib.ExitStack() as stack:
            for name in names:
                content = dict(self._content(name))
                for file in content if not files else ():
                    files[file] = stack.enter_context((path / file_in_shard(file)).open("wb"))
                    if file_in_shard(file) == file:
                        joins[file] = FooterJoin()
                if content.keys() != files.keys():
                    raise DatasetError(f"{name} has other files than {names[0]}")
                for file, data in content.items():
                    start = files[file].tell()
                    columns.setdefault(file + START, []).append(start)
                    columns.setdefault(file + SIZE, []).append(len(data))
                    files[file].write(data)
                    if file in joins:
                        try:
                            joins[file].add(data, start)
                        except (ValueError, LookupError) as error:
                            raise DatasetError(f"{name}: {file}: {error}") from error
            for file, join in joins.items():
                files[file].write(join.footer())
        pq.write_table(pa.table({EPISODE: list(names), **columns}), path / INDEX_FILE)

    def _remove_folders(self, names: Iterable[str]) -> None:
        """Remove the folders of episodes that are in a shard."""
        for name in names:
            if (self._out / name).is_dir():
                remove_whole(self._out / name, self._out, WRITER)
                with contextlib.suppress(OSError):
                    (self._out / name).parent.rmdir()

    def _report(self) -> None:
        packed, shards = packed_episodes(self._out), shard_paths(self._out)
        words = [f"{self._out}: {len(self._sources)} episodes"]
        if shards:
            words.append(f"{len(packed)} packed (shards: {len(shards)})")
        unknown = len(self._there - {*packed}) if self._in_place else 0
        entered = len(self._manifests.get(_ENTERED, ()))
        for count, what in (
            (unknown, "not in the manifest and left unpacked"),
            (self._again, "duplicates"),
            (self._absent, "in the manifest but missing"),
            (entered, "added to the manifest"),
        ):
            if count:
                words.append(f"{count} {what}")
        print(", ".join(words))
