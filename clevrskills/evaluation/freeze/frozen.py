"""Writer of the files of frozen episodes, one for each task and split."""

import gzip
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from clevrskills.core.episode import SUFFIX, FrozenHeader, frozen_name
from clevrskills.core.suite import Episode
from clevrskills.jobs.files import to_json, write_whole


def write(
    folder: Path,
    head: FrozenHeader,
    specs: Sequence[Episode],
    pack: Callable[[Episode], Mapping[str, Any]] | None = None,
) -> Path:
    """Write the file of a task and split, whole or not at all; the same bytes for the same data.

    Args:
        folder: Where.
        head: What is said of all episodes.
        specs: The episodes.
        pack: Gives the JSON data of one; ``None``: as it gives itself.

    Raises:
        StorageError: It could not be written.
    """
    data = [pack(spec) if pack else spec.to_json() for spec in specs]
    lines = [head.to_json(), *map(to_json, data)]
    text = "".join(f"{line}\n" for line in lines)
    path = folder / f"{frozen_name(head.task, head.split)}{SUFFIX}"
    write_whole(path, gzip.compress(text.encode(), compresslevel=9, mtime=0))
    return path
