"""``clevrskills export``: a dataset in the formats of other tools, which ``docs/formats.md`` lists.

One module for each format. It has a function ``write(selection, out)``, which reads the episodes
of a :class:`~clevrskills.dataset_tools.export.selection.Selection` one by one and writes into the
empty folder ``out``; the folder is moved into place when the function has returned.
"""

import json
import pkgutil
from dataclasses import dataclass, replace
from pathlib import Path

from clevrskills.dataset_tools.export.selection import Selection, in_words
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.arguments import check_names
from clevrskills.jobs.files import PartialDirectory, storage_errors
from clevrskills.jobs.options import Positional, Repeated
from clevrskills.jobs.progress import Display

FORMATS = {
    "lerobot": "lerobot.v30:write",
    "lerobot-v3.1": "lerobot.v30:write_v31",
    "lerobot-v2.1": "lerobot.v21:write",
    "maniskill": "maniskill:write",
    "rlds": "rlds:write",
    "minari": "minari:write",
    "chat": "chat:write",
    "ivispar": "ivispar:write",
    "cliport": "cliport:write",
}
"""What writes each format: a module of this package and a function."""
OF_TURNS = ("chat", "ivispar", "cliport")
"""Formats of what is recorded turn by turn; the others are of control steps."""
IN_WORDS = ("lerobot", "lerobot-v3.1", "lerobot-v2.1", "rlds", "chat")
"""Formats that ask for a task in words alone."""
BY_SEED = ("maniskill", "minari")
"""Formats whose episodes are drawn again by their seeds."""


@dataclass(kw_only=True)
class ExportArgs:
    """Write a dataset in the format of another tool."""

    dataset: Positional[Path]
    """Folder of the dataset."""
    to: str
    """The format: lerobot, lerobot-v3.1, lerobot-v2.1, maniskill, rlds, minari or, of turns, chat,
    ivispar and cliport."""
    out: Path
    """Folder to write, which must not exist yet."""
    task: Repeated[str] = ()
    """Only episodes of this task; may be given several times."""
    level: Repeated[str] = ()
    """Only episodes of this level, e.g. L0; may be given several times."""
    split: Repeated[str] = ()
    """Only episodes of this split, e.g. train; may be given several times."""
    json: bool = False
    """Print what was written as JSON."""


def export(args: ExportArgs) -> int:
    """Write the dataset in another format.

    Returns:
        Exit code, 0.

    Raises:
        ClevrSkillsError: An unknown format; no such dataset, nothing in it that fits, or a damaged
            episode; ``out`` is taken or cannot be written. ``out`` is whole or not there.
    """
    from clevrskills.dataset_tools.dataset import Dataset
    from clevrskills.dataset_tools.export.selection import select

    check_names(format=((args.to,), FORMATS))
    dataset = Dataset(args.dataset)
    selection = select(dataset, tasks=args.task, levels=args.level, splits=args.split)
    written, left_out = write_dataset(selection, args.to, args.out)
    size = sum(path.stat().st_size for path in args.out.rglob("*") if path.is_file())
    if args.json:
        row = {"out": str(args.out), "format": args.to, "episodes": len(written), "bytes": size}
        print(json.dumps({**row, "left_out": left_out}))
    else:
        print(f"{args.out}: {len(written)} episodes as {args.to}, {size / 1e6:.1f} MB")
        if left_out:
            tasks = ", ".join(f"{task} ({count})" for task, count in left_out.items())
            print(f"left out, as words alone cannot say what is asked for: {tasks}")
    return 0


def write_dataset(selection: Selection, to: str, out: Path) -> tuple[Selection, dict[str, int]]:
    """Write episodes in another format, whole or not at all.

    Formats that ask in words alone leave out what words cannot say.

    Args:
        selection: The episodes.
        to: The format, one of ``FORMATS``.
        out: Folder to write.

    Returns:
        The episodes that were written, and how many were left out, by task.

    Raises:
        UnknownNameError: There is no such format.
        ClevrSkillsError: ``out`` is taken or cannot be written, or an episode is damaged.
    """
    from clevrskills.dataset_tools.dataset import check_make

    check_names(format=((to,), FORMATS))
    if not selection.header.in_steps and to not in OF_TURNS:
        raise ClevrSkillsError(
            f"{selection.root} records turns, not the steps of an arm; allowed: --to "
            + ", ".join(OF_TURNS)
        )
    if to in OF_TURNS and not selection.header.in_turns:
        raise ClevrSkillsError(f"{selection.root} has no turns: it records the steps of an arm")
    if to in BY_SEED and selection.header.axes:
        raise ClevrSkillsError(
            f"{selection.root} is perturbed, and --to {to} draws its episodes again by their seeds"
        )
    out = out.absolute()
    if out.exists() or out.is_symlink():
        raise ClevrSkillsError(f"{out} exists; give the name of a new folder")
    if out.resolve().is_relative_to(selection.root.resolve()):
        raise ClevrSkillsError(f"{out} lies in the dataset itself; give a folder outside of it")
    left_out: dict[str, int] = {}
    check_make(selection)
    if to in IN_WORDS:
        selection, left_out = in_words(selection)
    write = pkgutil.resolve_name(f"{__package__}.{FORMATS[to]}")
    with storage_errors(out):
        out.parent.mkdir(parents=True, exist_ok=True)
    with PartialDirectory(out.parent, out) as partial:
        with Display("exporting", len(selection)) as display, storage_errors(out):
            write(replace(selection, on_progress=display.update), partial.path)
        partial.commit()
    return selection, left_out
