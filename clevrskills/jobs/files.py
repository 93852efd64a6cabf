"""Atomic writes of files and directories: written aside, synchronized, moved into place."""

import contextlib
import errno
import json
import os
import shutil
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from clevrskills.errors import ClevrSkillsError, DamagedError

PARTIAL_PREFIX = ".partial-"
_FULL = (errno.ENOSPC, errno.EDQUOT)
_TAKEN = (errno.EEXIST, errno.ENOTEMPTY)


class StorageError(ClevrSkillsError):
    """Error for a failed write: disk full, read-only, no permission."""


class TakenError(StorageError):
    """Error for a destination that already exists."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """File on its own, or a byte range of a larger file."""

    path: Path  # the file; for a byte range the name in error messages
    within: Path | None = None  # the larger file
    start: int = 0  # first byte of the range
    length: int = 0  # number of bytes of the range

    def __str__(self) -> str:
        return str(self.path)

    @property
    def size(self) -> int:
        """Number of bytes."""
        return self.path.stat().st_size if self.within is None else self.length

    @property
    def url(self) -> str:
        """URL for FFmpeg."""
        if self.within is None:
            return str(self.path)
        return f"subfile,,start,{self.start},end,{self.start + self.length},,:{self.within}"

    def read(self) -> bytes:
        """Return all bytes.

        Raises:
            OSError: The file is missing, unreadable or too short.
        """
        if self.within is None:
            return self.path.read_bytes()
        with self.within.open("rb") as file:
            file.seek(self.start)
            data = file.read(self.length)
        if len(data) < self.length:
            raise OSError(f"{self.within} has {len(data)} of {self.length} bytes")
        return data


@contextlib.contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Convert any ``OSError`` to a :class:`StorageError` that names ``path``."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise StorageError(f"the disk is full: cannot write to {path}") from error
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise StorageError(f"cannot write to {path}: {reason}") from error


def _jsonable(value: Any) -> Any:
    """Return numpy and torch values as plain JSON data."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if hasattr(value, "detach"):  # a torch tensor, without importing torch
        return value.detach().cpu().tolist()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def to_json(data: Any, indent: int | None = None) -> str:
    """Return the JSON text of plain, numpy and torch values."""
    return json.dumps(data, indent=indent, default=_jsonable, ensure_ascii=False)


def read_json(path: Path) -> Any:
    """Return the content of a JSON file.

    Raises:
        DamagedError: The file is missing, damaged or unreadable.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DamagedError.of(path, error) from error


def sync(path: Path) -> None:
    """Flush a file or directory to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file atomically; text as UTF-8.

    Raises:
        StorageError: The write failed; the old content is kept.
    """
    aside = path.with_name(f".{path.name}-{uuid.uuid4().hex}")
    with storage_errors(path):
        try:
            aside.write_bytes(content.encode() if isinstance(content, str) else content)
            sync(aside)
            os.replace(aside, path)
            sync(path.parent)
        finally:
            aside.unlink(missing_ok=True)


class PartialDirectory:
    """Temporary directory that :meth:`commit` moves to its final place when it is complete.

    As a context manager it is removed on exit unless committed.

    Args:
        root: Parent of the temporary directory, on the same file system as ``final``.
        final: Destination; must not exist.
        writer: Name of the writer, for :func:`remove_partial`.

    Raises:
        StorageError: The directory cannot be created.
    """

    def __init__(self, root: Path, final: Path, writer: str = "local") -> None:
        self.final = final
        self.path = root / f"{PARTIAL_PREFIX}{writer}-{uuid.uuid4().hex}"
        with storage_errors(root):
            self.path.mkdir()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.discard()

    def commit(self) -> Path:
        """Move the directory to its final place and return that path.

        Raises:
            TakenError: The destination exists; it is not changed.
            StorageError: The move failed.
        """
        with storage_errors(self.final):
            for path in sorted(self.path.rglob("*")):
                sync(path)
            sync(self.path)
            self.final.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.rename(self.path, self.final)
            except OSError as error:
                if error.errno in _TAKEN:
                    raise TakenError(f"{self.final} exists already; give another name") from error
                raise
            sync(self.final.parent)
        return self.final

    def discard(self) -> None:
        """Remove the temporary directory, if it was not committed."""
        shutil.rmtree(self.path, ignore_errors=True)


def remove_whole(path: Path, root: Path, writer: str = "local") -> None:
    """Remove a directory below ``root`` atomically."""
    aside = root / f"{PARTIAL_PREFIX}{writer}-{uuid.uuid4().hex}"
    with storage_errors(path):
        os.rename(path, aside)
    shutil.rmtree(aside, ignore_errors=True)


def partial_writers(root: Path) -> set[str]:
    """Return the writers of the temporary files and directories in ``root``."""
    names = (path.name for path in root.glob(f"{PARTIAL_PREFIX}*"))
    return {name.removeprefix(PARTIAL_PREFIX).rpartition("-")[0] for name in names}


def remove_partial(root: Path, writer: str = "local") -> None:
    """Remove temporary files and directories of a writer that is not running."""
    for path in root.glob(f"{PARTIAL_PREFIX}{writer}-*"):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
