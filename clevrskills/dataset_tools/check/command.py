"""``clevrskills check``: verification of every file of a dataset."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from clevrskills.core.suite import KeptEnv, all_views, image_views, load_suite, perturbed, suite_of
from clevrskills.jobs.arguments import WorkerArgs, check_least
from clevrskills.jobs.files import to_json
from clevrskills.jobs.options import Positional
from clevrskills.jobs.pool import InlinePool, Pool, TimedOut, WorkerDied
from clevrskills.jobs.progress import Display

if TYPE_CHECKING:
    from clevrskills.core.suite import Suite
    from clevrskills.dataset_tools.check.fault import DatasetFault
    from clevrskills.dataset_tools.layout import Header
    from clevrskills.dataset_tools.manifest import Attempt
    from clevrskills.dataset_tools.standard import Standard


_JOBS_PER_WORKER = 2000


@dataclass(kw_only=True)
class CheckArgs(WorkerArgs):
    """Verify every file of a dataset and list all faults."""

    dataset: Positional[Path]
    """Folder of the dataset."""
    replay: int = 0
    """Replay the actions of this many episodes, evenly from all tasks; states and annotations must
    be equal."""
    decode: bool = False
    """Decode all frames of all videos, not only the first and the last."""
    standard: bool = False
    """Compare with the published digests of the standard datasets: scenes, actions, states, labels
    and, within a tolerance, images."""
    json: bool = False
    """Print the result as JSON."""


@dataclass
class CheckReport:
    """Findings of a check."""

    episodes: int = 0  # number of checked episodes
    replayed: int = 0  # number of replayed episodes
    faults: list[DatasetFault] = field(default_factory=list)  # in the order of the episodes


def check(args: CheckArgs, suite: Suite | None = None) -> int:
    """Check a dataset, see :func:`check_dataset`, and print its faults.

    Returns:
        Exit code: 1 if there are faults, else 0.
    """
    check_least(args, replay=0, workers=1)
    report = check_dataset(
        args.dataset,
        args.replay,
        decode=args.decode,
        standard=args.standard,
        workers=args.workers,
        suite=suite,
    )
    if args.json:
        data = {"dataset": args.dataset, **vars(report)}
        print(to_json({**data, "faults": [vars(fault) for fault in report.faults]}, indent=1))
        return 1 if report.faults else 0
    for fault in report.faults:
        print(fault)
    replayed = f", {report.replayed} replayed" if args.replay else ""
    faults = f"{len(report.faults)} faults" if report.faults else "no faults"
    print(f"{args.dataset}: {report.episodes} episodes{replayed}: {faults}")
    return 1 if report.faults else 0


def check_dataset(
    root: Path,
    replay: int = 0,
    *,
    decode: bool = False,
    standard: bool = False,
    workers: int = 1,
    suite: Suite | None = None,
) -> CheckReport:
    """Check a dataset.

    Args:
        root: Folder of the dataset.
        replay: Number of episodes without faults to replay.
        decode: Whether to decode all frames of all videos.
        standard: Whether to compare with the published digests of standard datasets.
        workers: Number of processes.
        suite: Suite of the environments; ``None``: that of the dataset.

    Raises:
        DatasetError: The folder is not a dataset, or of another format version.
        ClevrSkillsError: ``standard`` is set for another dataset.
    """
    from clevrskills.dataset_tools.check.catalogue import read_catalogue
    from clevrskills.dataset_tools.check.fault import DatasetFault
    from clevrskills.dataset_tools.layout import Header
    from clevrskills.dataset_tools.manifest import round_robin
    from clevrskills.dataset_tools.standard import check_header, missing_slots, read_standard
    from clevrskills.dataset_tools.storage import episode_names

    header = Header.read(root)
    tasks = {name.partition("/")[0] for name in episode_names(root)}
    suite = suite or load_suite(header.suite or suite_of(sorted(tasks)))
    published = read_standard(suite) if standard else None
    size = 0 if published is None else check_header(root, header, published)
    catalogue = read_catalogue(root, suite)
    report = CheckReport(len(catalogue.episodes), faults=list(catalogue.faults))
    if published is not None:
        report.faults += (
            DatasetFault("", "", what) for what in missing_slots(catalogue.episodes, size)
        )
    make = partial(Checker, header, suite, decode, published)
    paths = {"/".join(path.parts[-2:]): path for path in catalogue.episodes}
    jobs = [Job(path, catalogue.lines.get(name)) for name, path in paths.items()]
    report.faults += _do(make, workers, jobs, "checking")
    broken = {fault.episode for fault in report.faults}
    sound = [name for name in paths if name not in broken]
    jobs = [Job(paths[name], replay=True) for name in round_robin(sound, replay)]
    report.faults += _do(make, workers, jobs, "replaying")
    report.replayed = len(jobs)
    return report


@dataclass(frozen=True)
class Job:
    """Episode to check, with its manifest line, or to replay."""

    path: Path
    line: Attempt | None = None
    replay: bool = False


class Checker:
    """Worker that checks episodes and keeps the environment while the config stays the same."""

    def __init__(
        self, header: Header, suite: Suite, decode: bool, standard: Standard | None
    ) -> None:
        self._header, self._suite, self._decode = header, suite, decode
        self._standard = standard
        kinds = all_views(suite) if header.views else {}
        self._images = tuple(name for name in header.views if kinds.get(name) == "image")
        self._kept = KeptEnv(lambda config: (suite.make(replace(config, cameras=self._images)),))

    def __call__(self, job: Job) -> list[DatasetFault]:
        """Return the faults of an episode.

        Raises:
            ClevrSkillsError: The environment for a replay cannot be built.
        """
        from clevrskills.dataset_tools.check.episode import episode_faults
        from clevrskills.dataset_tools.check.fault import DatasetFault
        from clevrskills.dataset_tools.dataset import Episode

        if job.replay:
            return self._replay(job.path)
        known, task = self._suite.tasks, job.path.parent.name
        keystep_camera = next(iter(image_views(known[task].views if task in known else {})), "")
        found = episode_faults(
            *(job.path, self._header, job.line, keystep_camera, self._decode), bool(self._images)
        )
        name = "/".join(job.path.parts[-2:])
        faults = [DatasetFault(name, file, what) for file, what in found]
        if self._standard is not None and not faults:
            faults += (
                DatasetFault(name, "", what) for what in self._standard.faults(Episode(job.path))
            )
        return faults

    def _replay(self, path: Path) -> list[DatasetFault]:
        from clevrskills.core.env import RecordableEnv
        from clevrskills.dataset_tools.check.fault import DatasetFault
        from clevrskills.dataset_tools.check.replay import replay
        from clevrskills.dataset_tools.check.turns import replay_turns
        from clevrskills.dataset_tools.dataset import Episode
        from clevrskills.dataset_tools.layout import STATES_FILE, TURNS_FILE
        from clevrskills.jobs.run_folder import chosen_planner, planner_name
        from clevrskills.solvers.requirements import planner_obstacle

        episode = Episode(path)
        info = episode.info
        (env,) = self._kept(self._header.config(info["task"], info["split"]))
        try:
            if interface := self._header.interface:
                planner = info["versions"]["planner"]
                with chosen_planner(None if planner_obstacle(planner) else planner):
                    what = replay_turns(episode, env, self._suite, interface)
                    own = planner_name()
                if what and planner != own:
                    what += f"; it was recorded with the planner {planner}, replayed with {own}"
                return [DatasetFault(episode.id, TURNS_FILE, f"replay: {what}")] if what else []
            of = info["task"], info["split"], info["seed"], 0, info["robot"], info["task_args"]
            drawn, axes = self._suite.draw(*of, wording=None), self._header.axes
            start = perturbed(self._suite, drawn, axes)
            if isinstance(start, str):
                return [DatasetFault(episode.id, "", f"replay: {start}")]
            assert isinstance(env, RecordableEnv), "it was recorded"
            report = replay(episode, env, start)
        except Exception as error:  # the simulator raises many types
            return [DatasetFault(episode.id, "", f"replay: {type(error).__name__}: {error}")]
        return [] if report else [DatasetFault(episode.id, STATES_FILE, f"replay: {report}")]


def _do(
    make: Callable[[], Checker], workers: int, jobs: Sequence[Job], name: str
) -> Iterator[DatasetFault]:
    """Run jobs and yield the faults in their order."""
    from clevrskills.dataset_tools.check.fault import DatasetFault
    from clevrskills.jobs.work import JobQueue, open_pool, work

    found: dict[Path, list[DatasetFault]] = {}

    class CheckQueue(JobQueue[Job, list[DatasetFault]]):
        def key(self, job: Job) -> Path:
            return job.path

        def finish(self, job: Job, result: list[DatasetFault]) -> None:
            found[job.path] = result

        def give_up(self, job: Job, end: WorkerDied | TimedOut) -> None:
            episode = "/".join(job.path.parts[-2:])
            found[job.path] = [DatasetFault(episode, "", f"{name}: {end.reason}")]

        def update(self) -> None:
            display.update(len(found))

    def start_pool() -> Pool[Job, list[DatasetFault]]:
        if workers == 1:
            return InlinePool(make)
        size = min(workers, len(jobs))
        return open_pool("local", make, Path(), size, jobs_per_worker=_JOBS_PER_WORKER)

    if jobs:
        with Display(name, len(jobs)) as display:
            work(CheckQueue(jobs), start_pool)
    for job in jobs:
        yield from found[job.path]
