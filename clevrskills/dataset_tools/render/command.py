"""``clevrskills render``: videos of recorded episodes by any cameras."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from clevrskills.core.suite import all_cameras, default_cameras, load_suite
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.arguments import CameraArgs, WorkerArgs, check_least, check_names
from clevrskills.jobs.options import Positional
from clevrskills.jobs.progress import Display
from clevrskills.jobs.run_folder import write_into

if TYPE_CHECKING:
    from clevrskills.core.env_config import EnvConfig
    from clevrskills.core.suite import Suite


@dataclass(kw_only=True)
class RenderArgs(WorkerArgs, CameraArgs):
    """Render the recorded states of a dataset into a new one; running it again continues."""

    dataset: Positional[Path]
    """Folder of the dataset, recorded with or without cameras."""
    out: Path
    """Folder of the new dataset."""


def render(args: RenderArgs, suite: Suite | None = None) -> int:
    """Render the episodes; return the exit code.

    Raises:
        ClevrSkillsError: Bad arguments, a full disk, or an episode that cannot be rendered;
            finished episodes are kept.
    """
    from clevrskills.dataset_tools.dataset import Dataset

    episode = next(iter(Dataset(args.dataset)), None)
    source = suite or (episode.suite if episode else load_suite())
    if episode and not episode.has_steps:
        raise ClevrSkillsError(
            f"{args.dataset} has no control steps of an arm to render: name another dataset"
        )
    config = _check(args, source)
    return write_into(args.out, lambda _: _render(args, config, source))


def _check(args: RenderArgs, suite: Suite) -> EnvConfig:
    """Check the arguments and open the new dataset."""
    from clevrskills.core.env_config import EnvConfig
    from clevrskills.dataset_tools.layout import Header

    check_least(args, workers=1)
    chosen = default_cameras(suite) if args.cameras is None else args.cameras
    if not chosen:
        raise ClevrSkillsError("--cameras must name at least one")
    known = tuple(all_cameras(suite))
    check_names(camera=(chosen, known))
    header = Header.read(args.dataset)
    if args.out.resolve() == args.dataset.resolve():
        raise ClevrSkillsError("--out must differ from the folder of the dataset")
    filmed = args.filmed(chosen, known)
    replace(header, **filmed).open(args.out)
    return EnvConfig("", robot=header.robot, **filmed)


def _render(args: RenderArgs, config: EnvConfig, suite: Suite) -> int:
    """Render the missing episodes."""
    from clevrskills.dataset_tools.dataset import Dataset
    from clevrskills.dataset_tools.manifest import Attempt, Manifest, read_manifest
    from clevrskills.dataset_tools.render.worker import RenderWorker
    from clevrskills.dataset_tools.storage import has_episode
    from clevrskills.jobs.work import CountedQueue, open_pool, work

    def finish(_: str, line: Attempt) -> int:
        manifest.append(line)
        return 1

    root = args.out.absolute()
    manifest = Manifest(root, "local")
    known = {(line.id, line.success) for line in read_manifest(root)}
    for line in read_manifest(args.dataset):
        if not line.success and (line.id, False) not in known:
            manifest.append(line)
    names = Dataset(args.dataset).ids
    missing = [n for n in names if (n, True) not in known or not has_episode(root / n)]
    make = partial(RenderWorker, args.dataset.absolute(), root, config, suite)
    done = len(names) - len(missing)
    with Display("rendering", len(names), done) as display:
        queue = CountedQueue(missing, display, done, finish, "{} cannot be rendered".format)
        work(queue, partial(open_pool, "local", make, root, args.workers))
    print(f"{args.out}: {len(names)} episodes")
    return 0
