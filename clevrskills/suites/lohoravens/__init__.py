"""LoHoRavens suite: long-horizon rearrangement of blocks from one sentence."""

from pathlib import Path

_FOLDER = Path(__file__).parent / "tasks"

TASKS = tuple(path.stem for path in sorted(_FOLDER.glob("*/[a-z]*.py")))
"""Names of the tasks: one file each, in a folder for each family."""
