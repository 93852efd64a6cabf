"""``clevrskills scenes``: labeled scenes for the training of perception."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from clevrskills.core.episode import SCENES, SUBSTITUTE, RecordedName
from clevrskills.core.suite import (
    NO_ROBOT,
    all_splits,
    find_suite,
    image_views,
    make_renderer,
    unsupported,
)
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.arguments import SuiteArgs, WorkerArgs, check_least, check_names
from clevrskills.jobs.progress import Display
from clevrskills.jobs.run_folder import write_into

if TYPE_CHECKING:
    from clevrskills.core.env_config import EnvConfig
    from clevrskills.core.suite import Suite
    from clevrskills.dataset_tools.scenes.scene_set import SceneHeader
    from clevrskills.dataset_tools.scenes.worker import DrawnPart, ScenePart

_DECIDED = ("scenes", "seed", "split", "robot", "look", "size", "demonstrations")
"""Options fixed by a standard set."""
EPISODES, DEMONSTRATIONS = 50, 20
"""Episodes of a part without demonstrations, and with them, which have several scenes each."""
PARTS_PER_WORKER = 8
"""Parts after which a worker is replaced: simulators leak memory with every scene."""


@dataclass(kw_only=True)
class SceneArgs(WorkerArgs, SuiteArgs):
    """Render images labeled with bodies, prompt and next subgoal for the training of perception;
    running it again continues.
    """

    out: Path
    """Folder of the scenes."""
    scenes: int = 100
    """Episodes of each task. Half of the scenes in which nothing is held are rendered a second time
    with the arm in a random pose."""
    standard: int | None = None
    """Render the standard set with this many episodes of each task, of all tasks unless some are
    named. It fixes all options that affect a scene."""
    seed: int = 0
    """First of the consecutive seeds, which differ from those of demonstrations."""
    demonstrations: Path | None = None
    """Render the start of every subgoal of the episodes of this dataset instead; it needs no
    cameras."""
    split: str | None = None
    """Split of the episodes, e.g. train or test; by default the suite's first split."""
    robot: str | None = None
    """Robot; by default the suite's first one."""
    look: Literal["soft", "flat", "stock"] = "flat"
    """Look of images, see `clevrskills generate --help`."""
    size: int = 256
    """Width and height of the images, in pixels."""


def scenes(args: SceneArgs, suite: Suite | None = None) -> int:
    """Render the scenes; return the exit code.

    Raises:
        ClevrSkillsError: Bad arguments, a full disk, or an episode that cannot be drawn; finished
            parts are kept.
    """
    from clevrskills.dataset_tools.dataset import Dataset

    if args.standard is not None:
        args = _standard(args, args.standard)
    names = [
        *map(RecordedName.parse, Dataset(args.demonstrations).ids if args.demonstrations else ())
    ]
    source = suite or find_suite(args.suite, args.tasks or [name.task for name in names[:1]])
    check_least(args, scenes=1, seed=0, workers=1, size=16)
    check_names(split=((args.split,), all_splits(source)))
    parts = _recorded(args, source, names) if args.demonstrations else _drawn(args, source)
    config, header = _check(args, source, parts)
    header.open(args.out.absolute())
    return write_into(args.out, lambda _: _draw(args, source, config, header, parts))


def _standard(args: SceneArgs, episodes: int) -> SceneArgs:
    """Return the arguments of a standard set."""
    check_least(args, standard=1)
    for entry in fields(args):
        if entry.name in _DECIDED and getattr(args, entry.name) != entry.default:
            raise ClevrSkillsError(f"--standard decides --{entry.name}: leave that out")
    return replace(args, scenes=episodes)


def _check(args: SceneArgs, suite: Suite, parts: list[ScenePart]) -> tuple[EnvConfig, SceneHeader]:
    """Check the arguments; return the configuration of environments, and the header."""
    from clevrskills.core.env_config import EnvConfig
    from clevrskills.dataset_tools.layout import Header
    from clevrskills.dataset_tools.scenes.scene_set import SceneHeader, calibration

    first = suite.tasks[parts[0].task]
    check_names(robot=((args.robot,), first.robots))
    robot = args.robot or first.robots[0]
    if args.demonstrations:
        recorded = Header.read(args.demonstrations)
        if recorded.axes or recorded.task_args or recorded.in_turns:
            raise ClevrSkillsError(
                f"{args.demonstrations} has perturbed episodes, arguments of tasks or turns; "
                "allowed are demonstrations without"
            )
        robot = recorded.robot
    names = image_views(first.views)[:1]
    config = EnvConfig("", robot=robot, cameras=names, size_px=args.size, look=args.look)
    cameras = []
    for task in dict.fromkeys(part.task for part in parts):
        film = (
            None if NO_ROBOT in first.robots else make_renderer(suite, replace(config, task=task))
        )
        if film is None:
            raise unsupported(suite, "arm, so no scenes")
        cameras.append(calibration(film.cameras[names[0]]))
        if cameras[-1] != cameras[0]:
            raise ClevrSkillsError(f"{parts[0].task} and {task} have other cameras: name one kind")
    splits = dict.fromkeys(part.split for part in parts)
    if len(splits) > 1:
        raise ClevrSkillsError(f"--split is missing: there are episodes of {', '.join(splits)}")
    return config, SceneHeader(
        *(suite.name, robot, parts[0].split, args.look, args.size, cameras[0]),
        seed=args.seed,
        demonstrations=args.demonstrations is not None,
        standard=args.standard,
    )


def _drawn(args: SceneArgs, suite: Suite) -> list[ScenePart]:
    """Return the parts to render without demonstrations, including existing episodes."""
    from clevrskills.dataset_tools.scenes.worker import ScenePart

    if args.seed + args.scenes > SUBSTITUTE:
        raise ClevrSkillsError(
            f"--seed and --scenes must not exceed {SUBSTITUTE:,} together, not "
            f"{args.seed + args.scenes:,}: later seeds are for substitutes"
        )
    tasks = args.select(suite.tasks) or (list(suite.tasks) if args.standard else [])
    if not tasks:
        raise ClevrSkillsError("nothing to draw: name tasks, a level with --level, or --standard")
    split, first = args.split or all_splits(suite)[0], SCENES.start + args.seed
    return [ScenePart(task, split, tuple(range(first, first + args.scenes))) for task in tasks]


def _recorded(args: SceneArgs, suite: Suite, names: list[RecordedName]) -> list[ScenePart]:
    """Return the parts to render of demonstrations, including existing episodes."""
    from clevrskills.dataset_tools.scenes.worker import ScenePart

    if args.scenes != SceneArgs.scenes or args.seed or args.robot:
        raise ClevrSkillsError("--scenes, --seed and --robot exclude --demonstrations")
    tasks = args.select(suite.tasks)
    seeds: dict[tuple[str, str], list[int]] = {}
    for name in names:
        if name.task in (tasks or [name.task]) and name.split == (args.split or name.split):
            seeds.setdefault((name.task, name.split), []).append(name.seed)
    if not seeds:
        raise ClevrSkillsError(f"{args.demonstrations} has no matching episodes")
    return [ScenePart(task, split, tuple(found)) for (task, split), found in seeds.items()]


def _draw(
    args: SceneArgs, suite: Suite, config: EnvConfig, header: SceneHeader, wholes: list[ScenePart]
) -> int:
    """Render the missing scenes."""
    from clevrskills.dataset_tools.scenes.scene_set import count_scenes, seeds_in
    from clevrskills.dataset_tools.scenes.worker import SceneWorker, cut
    from clevrskills.jobs.work import CountedQueue, open_pool, work

    drawn: list[DrawnPart] = []

    def finish(part: ScenePart, result: DrawnPart) -> int:
        drawn.append(result)
        return len(part.seeds)

    root = args.out.absolute()
    demonstrations = args.demonstrations.absolute() if args.demonstrations else None
    parts = []
    for whole in wholes:
        there = {seed % SUBSTITUTE for seed in seeds_in(root, whole.task, whole.split)}
        missing = tuple(seed for seed in whole.seeds if seed % SUBSTITUTE not in there)
        parts += cut(replace(whole, seeds=missing), DEMONSTRATIONS if demonstrations else EPISODES)
    total = sum(len(whole.seeds) for whole in wholes)
    done = total - sum(len(part.seeds) for part in parts)
    make = partial(SceneWorker, root, suite, config, demonstrations)
    with Display("drawing", total, done) as display:
        queue = CountedQueue(
            parts, display, done, finish, lambda part: f"{part.id} cannot be drawn"
        )
        pool = partial(
            open_pool, "local", make, root, args.workers, jobs_per_worker=PARTS_PER_WORKER
        )
        work(queue, pool)
    counts = count_scenes(root)
    replace(header, counts=counts).write(root)
    new, cpu_s = sum(part.scenes for part in drawn), sum(part.cpu_s for part in drawn)
    cost = f", {1e3 * cpu_s / new:.0f} CPU-ms each" if new else ""
    print(f"{args.out}: {sum(counts.values())} scenes, {new} of them new{cost}")
    return 0
