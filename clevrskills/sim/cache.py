"""Cache of generated files, safe against concurrent writers."""

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from clevrskills.errors import ClevrSkillsError


def cache_root() -> Path:
    """Return the cache directory: $CLEVRSKILLS_CACHE, else clevrskills in the user's cache."""
    own = os.environ.get("CLEVRSKILLS_CACHE")
    if own:
        return Path(own).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache").absolute() / "clevrskills"


def cached_directory(name: str, write: Callable[[Path], None]) -> Path:
    """Return a directory below the cache root, created atomically if it does not exist.

    Args:
        name: Path below the cache root; it must change whenever the content changes.
        write: Writes the content into an empty directory.

    Raises:
        ClevrSkillsError: The cache cannot be written.
    """
    target = cache_root() / name
    if target.is_dir():
        return target
    aside = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
        write(aside)
        aside.chmod(0o755)
        try:
            aside.rename(target)
        except OSError:
            if not target.is_dir():  # otherwise another process was first
                raise
    except OSError as error:
        raise ClevrSkillsError(
            f"cannot write the cache directory {target.parent} ({error.strerror});"
            " set CLEVRSKILLS_CACHE to a directory that can be written"
        ) from error
    finally:
        if aside is not None:
            shutil.rmtree(aside, ignore_errors=True)
    return target
