"""Run folder: created or continued, locked by its writers, cleaned up after interruptions."""

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
_CPU_FEATURES = {*"sse4_2 avx avx2 fma f16c avx512f avx512_vnni amx_tile asimd".split()}
_CPU = ("ATEN_CPU_CAPABILITY", "GALLIUM_OVERRIDE_CPU_CAPS", "OPENBLAS_CORETYPE")
PLANNER_VARIABLE = "CLEVRSKILLS_PLANNER"
"""Environment variable that names the planning backend of oracles."""
_PACKAGES = ("mani_skill", "sapien", "torch", "numpy", "mplib", "python-fcl", "toppra")


def versions() -> dict[str, str | None]:
    """Return versions of Python and of packages that affect episodes, ``None`` for missing ones,
    and the planning backend.
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
    """Select a planning backend, also for child processes; ``None`` keeps the current one."""
    before = os.environ.get(PLANNER_VARIABLE, "")
    os.environ[PLANNER_VARIABLE] = name or before
    try:
        yield
    finally:
        os.environ[PLANNER_VARIABLE] = before


@functools.cache
def cpu_features() -> str:
    """Return vendor and vector instructions of the CPU, and variables that restrict them, e.g.
    ``GenuineIntel avx avx2 fma``; without ``/proc/cpuinfo`` the machine type.
    """
    cpuinfo = Path("/proc/cpuinfo")
    text = cpuinfo.read_text() if cpuinfo.is_file() else ""
    lines = (line.partition(":") for line in text.partition("\n\n")[0].splitlines())
    found = {key.strip(): value.split() for key, _, value in lines}
    flags = {*found.get("flags", found.get("Features", ()))}
    words = [*found.get("vendor_id", [platform.machine()]), *sorted(flags & _CPU_FEATURES)]
    return " ".join(words + [f"{name}={os.environ[name]}" for name in _CPU if name in os.environ])


def open_folder(root: Path, file: str, kind: str) -> bool:
    """Create a folder, or detect a run to continue.

    Args:
        root: The folder.
        file: Name of the file that marks a run.
        kind: Description of a non-empty folder without that file, such as ``not a dataset``.

    Returns:
        Whether the folder contains a run.

    Raises:
        DamagedError: The folder contains something else.
        StorageError: The folder cannot be created.
    """
    if root.exists() and not root.is_dir():
        raise DamagedError(f"{root} is a file; give a folder")
    if (root / file).exists():
        return True
    with storage_errors(root):
        root.mkdir(parents=True, exist_ok=True)
        names = {path.name for path in root.iterdir() if not path.name.startswith(".")}
    if names and file not in names:  # else another writer was faster
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
    """Check that a run is continued with the settings of its start.

    Args:
        root: Folder of the run.
        begun: Settings at the start.
        now: Settings of the continuation.
        words: Formatter of a setting.
        made: Verb for the error message.
        trained: Whether another run can start from its checkpoint.

    Raises:
        DamagedError: A setting differs.
    """
    more = f"; --from {quote(str(root))} continues from it" if trained else ""
    for name, value in now.items():
        if begun.get(name) != value:
            raise DamagedError(
                f"{root} was {made} with {name} {words(begun.get(name))}, not {words(value)}; "
                f"give another folder{more}"
            )


@contextlib.contextmanager
def locked(root: Path, writer: str = "local") -> Iterator[None]:
    """Lock a folder against other writers of the same name; the lock ends with the process.

    Raises:
        DamagedError: Another process holds the lock.
        StorageError: The lock file cannot be written.
    """
    with storage_errors(root):
        descriptor = os.open(root / f"{LOCK_FILE}-{writer}", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DamagedError(
                f"another process is writing to {root} ({writer}): wait, or choose a new folder"
            ) from None
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise StorageError(f"cannot lock {root}: {error.strerror}") from error
            logging.getLogger(__name__).warning(
                "%s is on a file system without locks: make sure only one process writes as %s",
                root,
                writer,
            )
        yield
    finally:
        os.close(descriptor)


def remove_abandoned(root: Path) -> None:
    """Remove temporary files of writers that are not running."""
    for writer in sorted(partial_writers(root)):
        with contextlib.suppress(DamagedError), locked(root, writer):
            remove_partial(root, writer)


def write_into(
    out: Path,
    do: Callable[[Callable[[], None]], int],
    writer: str = "local",
    kept: str = "what is finished",
) -> int:
    """Run a function as the only writer of this name in a folder.

    Args:
        out: The folder, as named by the user.
        do: Function that returns an exit code; its argument raises ``KeyboardInterrupt`` after a
            signal, see :func:`stop_signals`.
        writer: Name of the writer.
        kept: Description of what remains after Ctrl-C.

    Returns:
        The exit code, :data:`INTERRUPTED` after Ctrl-C.

    Raises:
        DamagedError: Another process holds the lock of this writer.
        StorageError: The folder cannot be written.
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
            remove_unused(root, f"{LOCK_FILE}-{writer}")


def remove_unused(root: Path, file: str) -> None:
    """Remove a folder that contains only one file, such as its writer's lock."""
    with contextlib.suppress(OSError):
        if [path.name for path in root.iterdir()] == [file]:
            (root / file).unlink()
            root.rmdir()
