"""Append-only files of lines with one writer and any number of concurrent readers."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self, TypeVar

from clevrskills.errors import DamagedError
from clevrskills.jobs.files import StorageError, storage_errors, sync, to_json

Line = TypeVar("Line")


class Journal:
    """Append-only file; an incomplete last line is removed when it is opened.

    Args:
        path: The file; its folder is created.

    Raises:
        StorageError: A write failed, here or in :meth:`append`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with storage_errors(path):
            path.parent.mkdir(exist_ok=True)
            if path.exists():
                _remove_torn_end(path)

    def append(self, line: str) -> None:
        """Append one line atomically and flush it to disk."""
        data = (line + "\n").encode()
        with storage_errors(self.path):
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                size = os.fstat(descriptor).st_size
                try:
                    written = os.write(descriptor, data)
                    os.fsync(descriptor)
                except OSError:
                    os.ftruncate(descriptor, size)
                    raise
                if written < len(data):
                    os.ftruncate(descriptor, size)
                    raise StorageError(f"the disk is full: cannot write to {self.path}")
            finally:
                os.close(descriptor)
        if not size:
            with storage_errors(self.path):
                sync(self.path.parent)  # the file is new


def read_lines(path: Path, parse: Callable[[bytes], Line]) -> Iterator[Line]:
    """Yield the lines of a journal, in order.

    Args:
        path: The file.
        parse: Parser of one line; raises ``ValueError`` if it is damaged.

    Raises:
        DamagedError: A line is damaged.
    """
    with storage_errors(path), path.open("rb") as file:
        for number, text in enumerate(file, start=1):
            if not text.endswith(b"\n"):
                break  # incomplete: its writer was killed, or is writing it
            try:
                yield parse(text)
            except ValueError as error:
                raise DamagedError(
                    f"{path} is damaged in line {number}; remove that line"
                ) from error


def parse_record(
    kind: Callable[..., Line], text: str | bytes, renamed: Mapping[str, str] = MappingProxyType({})
) -> Line:
    """Return a dataclass parsed from a JSON object with its fields.

    Args:
        kind: The dataclass.
        text: The line.
        renamed: Names of fields in the file, where they differ.

    Raises:
        ValueError: The line is damaged.
    """
    data: Any = json.loads(text)
    names = {f.name: renamed.get(f.name, f.name) for f in fields(kind)}  # type: ignore[arg-type]
    try:
        return kind(**{name: data[key] for name, key in names.items() if key in data})
    except (KeyError, TypeError) as error:
        raise ValueError(f"damaged line: {error!r}") from error


class Record:
    """Base class of dataclasses that are stored as lines of a journal."""

    __slots__ = ()

    def to_json(self) -> str:
        """Return the line, without line break."""
        return to_json(asdict(self))  # type: ignore[call-overload]

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Parse a line.

        Raises:
            ValueError: The line is damaged.
        """
        return parse_record(cls, text)


def _remove_torn_end(path: Path) -> None:
    """Truncate the file after its last line break."""
    with path.open("rb+") as file:
        keep = sum(len(line) for line in file if line.endswith(b"\n"))
        if keep < file.seek(0, os.SEEK_END):
            file.truncate(keep)
            os.fsync(file.fileno())
