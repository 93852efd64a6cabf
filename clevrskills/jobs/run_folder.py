"""Run folder: made or continued, locked by its writers, tidied up after those that were ended."""

import contextlib
import errno
import fcntl
import functools
import importlib.metadata
import logging
import os
import platform
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from shlex import quote
from typing import Any

import clevrskills
from clevrskills.errors import DamagedError
from clevrskills.jobs.files import StorageError, partial_writers, remove_partial, storage_errors
from clevrskills.jobs.process_setup import stop_signals

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells report it."""
LOCK_FILE = ".lock"
_NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)
_CPU_FEATURES = {
    "sse4_2",
    "avx",
    "avx2",
    "fma",
    "f16c",
    "avx512f",
    "avx512_vnni",
    "amx_tile",
    "asimd",
}
_CPU = ("ATEN_CPU_CAPABILITY", "GALLIUM_OVERRIDE_CPU_CAPS", "OPENBLAS_CORETYPE")
PLANNER_VARIABLE = "CLEVRSKILLS_PLANNER"
"""Environment variable that names the planning backend of oracles."""
_PACKAGES = ("mani_skill", "sapien", "torch", "numpy", "mplib", "python-fcl", "toppra")


def versions() -> dict[str, str | None]:
    """Return versions of Python and of the packages that shape an episode, ``None`` where one is
    absent, and the name of the planning backend.
    """
    return _package_versions() | {"planner": planner_name()}


@functools.cache
def _package_versions() -> dict[str, str | None]:
    found: dict[str, str | None] = {
        "clevrskills": clevrskills.__version__,
        "python": platform.python_version(),
    }
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
    return found


def planner_name() -> str:
    """Return the name of the planning backend: $CLEVRSKILLS_PLANNER, by default ``fcl``."""
    return os.environ.get(PLANNER_VARIABLE) or "fcl"


@contextlib.contextmanager
def chosen_planner(name: str | None) -> Iterator[None]:
    """Use a planning backend, in processes that are started meanwhile too; ``None``: leave it."""
    before = os.environ.get(PLANNER_VARIABLE, "")
    os.environ[PLANNER_VARIABLE] = name or before
    try:
        yield
    finally:
        os.environ[PLANNER_VARIABLE] = before


@functools.cache
def cpu_features() -> str:
    """Return the vendor of the CPU, its vector instructions, and the environment variables that
    choose among them, e.g. ``GenuineIntel avx avx2 fma``; without ``/proc/cpuinfo`` the machine.
    """
    cpuinfo = Path("/proc/cpuinfo")
    text = cpuinfo.read_text() if cpuinfo.is_file() else ""
    lines = (line.partition(":") for line in text.partition("\n\n")[0].splitlines())
    found = {key.strip(): value.split() for key, _, value in lines}
    flags = {*found.get("flags", found.get("Features", ()))}
    words = [*found.get("vendor_id", [platform.machine()]), *sorted(flags & _CPU_FEATURES)]
    return " ".join(words + [f"{name}={os.environ[name]}" for name in _CPU if name in os.environ])


def open_folder(root: Path, file: str, kind: str) -> bool:
    """Make a folder, or find that there is something to be continued.

    Args:
        root: The folder.
        file: Name of the file that is there from the beginning of a run on.
        kind: What a folder is that is not empty and does not have it, such as ``not a dataset``.

    Returns:
        Whether the file is there.

    Raises:
        DamagedError: The folder holds something else.
        StorageError: It cannot be written.
    """
    if root.exists() and not root.is_dir():
        raise DamagedError(f"{root} is a file; give a folder")
    if (root / file).exists():
        return True
    with storage_errors(root):
        root.mkdir(parents=True, exist_ok=True)
        names = {path.name for path in root.iterdir() if not path.name.startswith(".")}
    if names and file not in names:  # else another writer was quicker
        raise DamagedError(
            f"{root} is {kind} (no {file}) and not empty; give an empty or new folder"
        )
    return bool(names)


def check_settings(
    root: Path,
    begun: Mapping[str, Any],
    now: Mapping[str, Any],
    words: Callable[[Any], str] = str,
    made: str = "made",
    trained: bool = False,
) -> None:
    """Check that a run is continued as it was begun.

    Args:
        root: Its folder.
        begun: Settings that it was begun with.
        now: Those among them that it is to be continued with.
        words: A setting in words.
        made: What was done with the folder.
        trained: Whether it has a checkpoint that another run may go on from.

    Raises:
        DamagedError: One differs.
    """
    more = f"; --from {quote(str(root))} goes on from it" if trained else ""
    for name, value in now.items():
        if begun.get(name) != value:
            raise DamagedError(
                f"{root} was {made} with {name} {words(begun.get(name))}, not {words(value)}; "
                f"give another folder{more}"
            )


@contextlib.contextmanager
def locked(root: Path, writer: str = "local") -> Iterator[None]:
    """Keep other writers of the same name out of a folder; the lock ends with the process.

    Raises:
        DamagedError: Another process writes to it under this name.
        StorageError: It cannot be written.
    """
    with storage_errors(root):
        descriptor = os.open(root / f"{LOCK_FILE}-{writer}", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DamagedError(
                f"another process is writing to {root} ({writer}): wait, or name a new folder"
            ) from None
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise StorageError(f"cannot lock {root}: {error.strerror}") from error
            logging.getLogger(__name__).warning(
                "%s is on a disk without locks: see that one process only writes as %s",
                root,
                writer,
            )
        yield
    finally:
        os.close(descriptor)


def remove_abandoned(root: Path) -> None:
    """Remove what interrupted writers left half-written, unless they are at work again."""
    for writer in sorted(partial_writers(root)):
        with contextlib.suppress(DamagedError), locked(root, writer):
            remove_partial(root, writer)


def write_into(
    out: Path,
    do: Callable[[Callable[[], None]], int],
    writer: str = "local",
    kept: str = "what is finished",
) -> int:
    """Do what writes into a folder, as its only writer of this name.

    Args:
        out: The folder, as the user named it.
        do: Does it and returns an exit code; is given a function that raises ``KeyboardInterrupt``
            once the process was asked to end, see :func:`stop_signals`.
        writer: Name of the writer.
        kept: What is in the folder after Ctrl-C, in words.

    Returns:
        The exit code, :data:`INTERRUPTED` after Ctrl-C; nothing half-written is left then.

    Raises:
        DamagedError: Another process writes to the folder under this name.
        StorageError: It cannot be written.
    """
    root = out.absolute()
    remove_abandoned(root)
    with locked(root, writer):
        try:
            with stop_signals() as check:
                return do(check)
        except KeyboardInterrupt:
            print(f"interrupted; {kept} is in {out}, the same command continues", file=sys.stderr)
            return INTERRUPTED
        finally:
            remove_partial(root, writer)
            _remove_if_empty(root, f"{LOCK_FILE}-{writer}")


def _remove_if_empty(root: Path, lock: str) -> None:
    """Remove a folder that holds nothing but the lock of its writer, as after a command that failed
    before it wrote anything.
    """
    with contextlib.suppress(OSError):
        if [path.name for path in root.iterdir()] == [lock]:
            (root / lock).unlink()
            root.rmdir()
