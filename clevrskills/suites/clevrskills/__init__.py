"""ClevrSkills suite: 33 tabletop tasks, the paper's curriculum and its results."""

from pathlib import Path

_FOLDER = Path(__file__).parents[2] / "tasks"

TASKS = tuple(path.stem for path in sorted(_FOLDER.glob("l[0-2]/[a-z]*.py")))
"""Keys of the tasks of this package, one file each."""
