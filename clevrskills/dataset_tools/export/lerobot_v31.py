"""LeRobotDataset v3 with the language columns, which lerobot reads from version 0.6 on.

Earlier versions refuse such files; for them there is the format ``lerobot``, the same without.
"""

from __future__ import annotations

from pathlib import Path

from clevrskills.dataset_tools.export.lerobot import write_v3
from clevrskills.dataset_tools.export.selection import Selection


def write(selection: Selection, out: Path) -> None:
    """Write all episodes as a LeRobotDataset v3 with language columns."""
    write_v3(selection, out, language=True)
