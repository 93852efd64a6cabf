"""Writer of the files of frozen episodes, one for each task and split."""

import gzip
from collections.abc import Sequence
from pathlib import Path

from clevrskills.core.env import Episode
from clevrskills.core.episode import SUFFIX, FrozenHeader, frozen_name
from clevrskills.jobs.files import storage_errors, to_json, write_whole


def write(folder: Path, head: FrozenHeader, specs: Sequence[Episode]) -> Path:
    """Write the file of a task and split atomically; equal data gives equal bytes.

    Args:
        folder: Folder of the file; it is created.
        head: Header of the file.
        specs: The episodes.

    Raises:
        StorageError: Writing failed.
    """
    lines = [head.to_json(), *(to_json(spec.pack()) for spec in specs)]
    text = "".join(f"{line}\n" for line in lines)
    path = folder / f"{frozen_name(head.task, head.split)}{SUFFIX}"
    with storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    write_whole(path, gzip.compress(text.encode(), compresslevel=9, mtime=0))
    return path
