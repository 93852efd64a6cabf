"""``clevrskills render``: films what was recorded, by any cameras, as it would have been."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from clevrskills.errors import ClevrSkillsError, UnknownNameError

if TYPE_CHECKING:
    from clevrskills.core.env_config import EnvConfig
    from clevrskills.core.suite import Suite

INTERRUPTED = 130  # what shells report after Ctrl-C
DEATHS = 3
"""Workers that may die of an episode until the run ends."""


@dataclass(kw_only=True)
class RenderArgs:
    """Film the recorded states of a dataset into a new one; running it again continues."""

    dataset: Annotated[Path, tyro.conf.Positional]
    """Folder of the dataset; it may have been made without cameras."""
    out: Path
    """Folder of the new dataset."""
    cameras: tuple[str, ...] = ("base_camera", "hand_camera")
    """Cameras to film with."""
    size: int | None = None
    """Width and height of the pictures, in pixels; by default each camera's own."""
    depth: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Film depth, too."""
    segmentation: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Film which object each pixel shows, too."""
    workers: int = 1
    """Number of processes; the result is the same for any number."""


def render(args: RenderArgs, suite: Suite | None = None) -> int:
    """Film the episodes.

    Args:
        args: What to film.
        suite: Where films come from; ``None``: ClevrSkills.

    Returns:
        Exit code: 0 if all is filmed, 130 after Ctrl-C.

    Raises:
        ClevrSkillsError: Bad arguments, a full disk, an episode that cannot be filmed; what was
            finished is kept.
    """
    from clevrskills.core.suite import load_suite
    from clevrskills.dataset_tools.layout import locked
    from clevrskills.jobs.files import remove_partial
    from clevrskills.jobs.signals import stop_signals

    suite = suite or load_suite()
    config, root = _check(args, suite), args.out.absolute()
    with locked(root):
        try:
            with stop_signals():
                count = _render(args, config, root, suite)
        except KeyboardInterrupt:
            print(
                f"interrupted; what is finished is in {args.out}, the same command continues",
                file=sys.stderr,
            )
            return INTERRUPTED
        finally:
            remove_partial(root)
    print(f"{args.out}: {count} episodes")
    return 0


def _check(args: RenderArgs, suite: Suite) -> EnvConfig:
    """Check the arguments and open the new dataset."""
    from clevrskills.core.env_config import EnvConfig
    from clevrskills.dataset_tools.layout import Header

    if args.workers < 1:
        raise ClevrSkillsError(f"--workers must be at least 1, not {args.workers}")
    if not args.cameras:
        raise ClevrSkillsError("--cameras must name at least one")
    known = tuple(suite.cameras())
    for name in args.cameras:
        if name not in known:
            raise UnknownNameError("camera", name, known)
    header = Header.read(args.dataset)
    if args.out.resolve() == args.dataset.resolve():
        raise ClevrSkillsError("--out must be another folder than that of the dataset")
    cameras = tuple(name for name in known if name in args.cameras)
    header = replace(
        header,
        cameras=cameras,
        size_px=args.size,
        depth=args.depth,
        segmentation=args.segmentation,
    )
    header.open(args.out)
    return EnvConfig(
        "",
        robot=header.robot,
        cameras=cameras,
        size_px=args.size,
        depth=args.depth,
        segmentation=args.segmentation,
    )


def _render(args: RenderArgs, config: EnvConfig, root: Path, suite: Suite) -> int:
    """Film what is missing; returns the number of episodes that are there then."""
    from rich.console import Console
    from rich.progress import Progress

    from clevrskills.dataset_tools.dataset import Dataset
    from clevrskills.dataset_tools.manifest import Manifest, ManifestLine, read_manifest
    from clevrskills.dataset_tools.render.worker import Refilmer
    from clevrskills.jobs.pool import WorkerPool
    from clevrskills.jobs.processes import Processes

    manifest = Manifest(root, "local")
    known = {(line.id, line.success) for line in read_manifest(root)}
    for line in read_manifest(args.dataset):
        if not line.success and (line.id, False) not in known:
            manifest.append(line)
    names = Dataset(args.dataset).ids
    jobs = [name for name in names if (name, True) not in known or not (root / name).is_dir()]
    if not jobs:
        return len(names)
    make = partial(Refilmer, args.dataset.absolute(), root, config, suite)
    pool: WorkerPool[str, ManifestLine] = WorkerPool(Processes(make), args.workers)
    deaths: Counter[str] = Counter()
    with closing(pool), Progress(console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("filming", total=len(names), completed=len(names) - len(jobs))
        while jobs or pool.busy:
            while jobs and pool.idle:
                pool.submit(jobs.pop(0))
            done = pool.next()
            if isinstance(done.result, ManifestLine):
                manifest.append(done.result)
                progress.advance(bar)
                continue
            deaths[done.job] += 1
            if deaths[done.job] == DEATHS:
                reason = getattr(done.result, "reason", done.result)
                raise ClevrSkillsError(f"{done.job} cannot be filmed: {reason}")
            jobs.append(done.job)
    return len(names)
