"""``clevrskills export``: conversion of datasets to the formats in ``docs/formats.md``.

The module of a format has a :class:`~clevrskills.dataset_tools.export.parts.PartWriter`, or a
function ``write(selection, out)`` that writes the episodes of a
:class:`~clevrskills.dataset_tools.export.selection.Selection` into an empty temporary folder.
"""

import json
import pkgutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from clevrskills.dataset_tools.export.selection import Selection, in_words
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.arguments import ShardArgs, check_names
from clevrskills.jobs.files import PartialDirectory, storage_errors
from clevrskills.jobs.options import Positional, Repeated
from clevrskills.jobs.progress import Display

FORMATS = {
    "lerobot": "lerobot.v30:V30",
    "lerobot-v3.1": "lerobot.v30:V31",
    "lerobot-v2.1": "lerobot.v21:V21",
    "maniskill": "maniskill:write",
    "rlds": "rlds:Rlds",
    "minari": "minari:write",
    "chat": "chat:write",
    "ivispar": "ivispar:write",
    "cliport": "cliport:write",
}
"""Writer of each format: module of this package, and function or class."""
IN_PARTS = ("lerobot", "lerobot-v3.1", "lerobot-v2.1", "rlds")
"""Formats that several processes can write and that can be extended later."""
OF_TURNS = ("chat", "ivispar", "cliport")
"""Formats of turns; the others are of control steps."""
IN_WORDS = (*IN_PARTS, "chat")
"""Formats with tasks in words only."""
BY_SEED = ("maniskill", "minari")
"""Formats whose episodes are recreated from their seeds."""
SAMPLE = 4
"""Minimum number of episodes for an estimate."""


@dataclass(kw_only=True)
class ExportArgs(ShardArgs):
    """Convert a dataset to the format of another tool.

    LeRobot's formats and rlds can be written by several processes; running the same command again
    continues, or adds new episodes of the dataset.
    """

    dataset: Positional[Path]
    """Folder of the dataset."""
    to: str
    """Format: lerobot, lerobot-v3.1, lerobot-v2.1, maniskill, rlds or minari; for turns chat,
    ivispar or cliport."""
    out: Path
    """Output folder; it must not exist, unless an export is continued."""
    task: Repeated[str] = ()
    """Only episodes of this task; repeatable."""
    level: Repeated[str] = ()
    """Only episodes of this level, e.g. L0; repeatable."""
    split: Repeated[str] = ()
    """Only episodes of this split, e.g. train; repeatable."""
    dry_run: bool = False
    """Write nothing; estimate the number of files and bytes."""
    json: bool = False
    """Print the result as JSON."""


def export(args: ExportArgs) -> int:
    """Convert a dataset to another format; return the exit code.

    Raises:
        ClevrSkillsError: An unknown format, no matching episodes, a damaged episode, or ``out``
            exists or cannot be written; it never has incomplete parts.
    """
    from clevrskills.dataset_tools.dataset import Dataset
    from clevrskills.dataset_tools.export.selection import select

    check_names(format=((args.to,), FORMATS))
    dataset = Dataset(args.dataset)
    selection = select(dataset, tasks=args.task, levels=args.level, splits=args.split)
    args.check_pool()
    if (args.workers > 1 or args.shard or args.driver != "local") and args.to not in IN_PARTS:
        raise ClevrSkillsError(
            f"--to {args.to} is written by one process; --workers, --shard and --driver need one "
            f"of {', '.join(IN_PARTS)}"
        )
    if args.dry_run:
        files, size, (written, left_out, code) = _estimate(selection, args.to, args.out)
    else:
        written, left_out, code = write_dataset(selection, args.to, args.out, args)
        files, size = _sizes(args.out)
    if code:
        return code
    if args.json:
        row = {"out": str(args.out), "format": args.to, "episodes": len(written)}
        row |= {"files": files, "bytes": size, "left_out": left_out, "dry_run": args.dry_run}
        print(json.dumps(row))
    elif args.shard:
        print(f"{args.out}: part {args.shard} is done; when all are, run it without --shard")
    else:
        about = "would be about " if args.dry_run else ""
        counts = f"{files:,} files, {size / 1e6:.1f} MB"
        print(f"{args.out}: {about}{len(written)} episodes as {args.to}, {counts}")
        if left_out:
            tasks = ", ".join(f"{task} ({count})" for task, count in left_out.items())
            print(f"left out, because their task cannot be stated in words: {tasks}")
    return 0


def _sizes(out: Path) -> tuple[int, int]:
    """Return the number of files and bytes of an export."""
    from clevrskills.dataset_tools.export.parts import STATE_DIR

    found = [path for path in out.rglob("*") if path.is_file() and STATE_DIR not in path.parts]
    return len(found), sum(path.stat().st_size for path in found)


def _estimate(
    selection: Selection, to: str, out: Path
) -> tuple[int, int, tuple[Selection, dict[str, int], int]]:
    """Return the estimated number of files and bytes from an export of a few episodes, and the
    result of :func:`write_dataset`.
    """
    from clevrskills.dataset_tools.export.parts import make_plan

    check_export(selection, to, out)
    left_out: dict[str, int] = {}
    if to in IN_WORDS:
        selection, left_out = in_words(selection)
    sample = selection.ids[:: max(1, len(selection) // SAMPLE)]
    with tempfile.TemporaryDirectory() as folder:
        write_dataset(replace(selection, ids=sample), to, Path(folder) / "out")
        files, size = _sizes(Path(folder) / "out")
    share, kind = len(selection) / len(sample), pkgutil.resolve_name(f"{__package__}.{FORMATS[to]}")
    files = round(files * share)
    if to in IN_PARTS:
        plan = make_plan(kind, to, selection, out.absolute())
        share = sum(plan.lengths) / sum(plan.lengths[plan.ids.index(name)] for name in sample)
        files = kind(replace(selection, ids=tuple(plan.ids)), plan).files()
    return files, round(size * share), (selection, left_out, 0)


def write_dataset(
    selection: Selection, to: str, out: Path, args: ShardArgs | None = None
) -> tuple[Selection, dict[str, int], int]:
    """Write episodes in a format, one of ``FORMATS``.

    Returns:
        The written episodes, the number of omitted ones by task, and the exit code.

    Raises:
        UnknownNameError: An unknown format.
        ClevrSkillsError: ``out`` exists or cannot be written, or an episode is damaged.
    """
    from clevrskills.dataset_tools.dataset import checked
    from clevrskills.dataset_tools.export.parts import write_parts

    check_export(selection, to, out)
    out, left_out = out.absolute(), dict[str, int]()
    if to in IN_WORDS:
        selection, left_out = in_words(selection)
    write = pkgutil.resolve_name(f"{__package__}.{FORMATS[to]}")
    if to in IN_PARTS:
        code = write_parts(write, to, selection, out, args or ShardArgs())
        return selection, left_out, code
    for _ in checked(selection):
        pass
    with storage_errors(out):
        out.parent.mkdir(parents=True, exist_ok=True)
    with PartialDirectory(out.parent, out) as partial:
        with Display("exporting", len(selection)) as display, storage_errors(out):
            write(replace(selection, on_progress=display.update), partial.path)
        partial.commit()
    return selection, left_out, 0


def check_export(selection: Selection, to: str, out: Path) -> None:
    """Check that episodes can be written in a format and into a folder.

    Raises:
        UnknownNameError: An unknown format.
        ClevrSkillsError: The episodes do not fit the format, or the folder exists.
    """
    from clevrskills.dataset_tools.export.parts import PLAN_FILE

    check_names(format=((to,), FORMATS))
    if not selection.header.in_steps and to not in OF_TURNS:
        raise ClevrSkillsError(
            f"{selection.root} records turns, not the steps of an arm; allowed: --to "
            + ", ".join(OF_TURNS)
        )
    if to in OF_TURNS and not selection.header.in_turns:
        raise ClevrSkillsError(f"{selection.root} has no turns, only control steps of an arm")
    if to in BY_SEED and selection.header.axes:
        raise ClevrSkillsError(
            f"{selection.root} is perturbed, but --to {to} recreates episodes from their seeds"
        )
    out = out.absolute()
    if (out.exists() or out.is_symlink()) and not (to in IN_PARTS and (out / PLAN_FILE).exists()):
        raise ClevrSkillsError(f"{out} exists; give the name of a new folder")
    if out.resolve().is_relative_to(selection.root.resolve()):
        raise ClevrSkillsError(f"{out} is inside the dataset; choose a folder outside")
