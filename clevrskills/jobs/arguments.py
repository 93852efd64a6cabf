"""Arguments that commands share: which tasks, how many workers and where, which cameras."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.jobs.options import Positional, Repeated

DRIVERS = ("local", "ray")
"""Where workers are: processes of this machine, or actors of a Ray cluster."""


@dataclass(kw_only=True)
class TaskArgs:
    """Tasks."""

    tasks: Positional[tuple[str, ...]] = ()
    """Keys of tasks, e.g. `sort stack`."""
    level: Repeated[str] = ()
    """All tasks of a level, L0, L1 or L2; may be given several times."""


class Labeled(Protocol):
    """The level and the tags of a task."""

    @property
    def level(self) -> str: ...
    @property
    def tags(self) -> Sequence[str]: ...


@dataclass(kw_only=True)
class SuiteArgs(TaskArgs):
    """Tasks: those of a suite."""

    suite: str | None = None
    """The suite, see `clevrskills suites`; by default the one that has the tasks."""
    group: Repeated[str] = ()
    """All tasks of a group of the suite; may be given several times."""

    def select(self, tasks: Mapping[str, Labeled]) -> list[str]:
        """Return the keys of the tasks that are asked for, in the order of the suite.

        Raises:
            UnknownNameError: There is no such task, level or group.
        """
        check_names(task=(self.tasks, tasks))
        if self.group:
            tags = (tag for task in tasks.values() for tag in task.tags if ":" not in tag)
            check_names(group=(self.group, dict.fromkeys(tags)))
        levels = {key: task.level for key, task in tasks.items()} if self.level else {}
        check_names(level=(self.level, dict.fromkeys(levels.values())))
        return [
            key
            for key in tasks
            if key in self.tasks
            or levels.get(key) in self.level
            or (self.group and not {*self.group}.isdisjoint(tasks[key].tags))
        ]


@dataclass(kw_only=True)
class WorkerArgs:
    """Workers."""

    workers: int = 1
    """Number of processes; the result is the same for any number."""


@dataclass(kw_only=True)
class ShardArgs(WorkerArgs):
    """Workers: how many, where, and for which part of the work."""

    shard: str | None = None
    """Do part i of n of the work, `i/n` with i from 0, while others do the rest, into the same
    folder."""
    driver: str = "local"
    """Where the processes are: `local`, `ray`, a Ray cluster that is started here, or
    `ray:HOST:PORT` or `ray:auto`, one that runs already."""

    @property
    def part(self) -> tuple[int, int]:
        """The part that is to be done and how many there are.

        Raises:
            ClevrSkillsError: ``shard`` says something else.
        """
        index, _, of = (self.shard or "0/1").partition("/")
        if not (index.isdecimal() and of.isdecimal() and int(index) < int(of)):
            raise ClevrSkillsError(
                f"--shard {self.shard}: allowed is i/n with i from 0 to n - 1, e.g. 0/8"
            )
        return int(index), int(of)

    @property
    def writer(self) -> str:
        """Name under which results are written."""
        index, of = self.part
        return f"shard-{index}-of-{of}" if self.shard else self.driver.partition(":")[0]

    def check_pool(self) -> None:
        """Check all of it.

        Raises:
            ClevrSkillsError: Something is not allowed.
        """
        check_least(self, workers=1)
        check_names(driver=((self.driver.partition("ray:")[0] or "ray",), DRIVERS))
        if self.shard and self.driver != "local":
            raise ClevrSkillsError(
                "--shard is for --driver local: a Ray cluster shares the work itself"
            )
        _ = self.part


@dataclass(kw_only=True)
class PoolArgs(ShardArgs):
    """Workers: how many, where, for which part of the work and how long."""

    timeout: float = 600.0
    """Seconds after which an episode is ended and counts as failed, or as an error."""

    def check_pool(self) -> None:
        check_positive(self, "timeout")
        super().check_pool()


@dataclass(kw_only=True)
class PlannerArgs:
    """Oracle."""

    planner: Literal["fcl", "mplib"] | None = None
    """Planning backend of the arm; mplib needs numpy below 2 and the extra `mplib`. By default that
    of $CLEVRSKILLS_PLANNER, or fcl."""


@dataclass(kw_only=True)
class CameraArgs:
    """Cameras."""

    cameras: tuple[str, ...] | None = None
    """Cameras to film with; by default those that the suite names."""
    size: int | None = None
    """Width and height of the images, in pixels; by default each camera's own."""
    look: Literal["soft", "flat", "stock"] = "soft"
    """Images with soft shadows and smooth edges; flat, at less than half the cost; or stock, by the
    shaders that SAPIEN ships."""
    depth: bool = False
    """Film depth, too."""
    segmentation: bool = False
    """Film which object each pixel shows, too."""

    def filmed(self, chosen: Sequence[str], known: Sequence[str]) -> dict[str, Any]:
        """Return cameras to film, as environments and datasets have them; in the known order."""
        return {
            "cameras": tuple(name for name in known if name in chosen),
            "size_px": self.size,
            "depth": self.depth,
            "segmentation": self.segmentation,
            "look": self.look,
        }


def select_tasks(
    levels: Mapping[str, str], tasks: Sequence[str] = (), level: Sequence[str] = ()
) -> list[str]:
    """Return tasks that are named and those of some levels, in the order of the registry.

    Args:
        levels: Level of every task, by key of the task.
        tasks: Keys of tasks.
        level: Levels.

    Raises:
        UnknownNameError: There is no such task or level.
    """
    check_names(task=(tasks, levels), level=(level, dict.fromkeys(levels.values())))
    return [key for key, of in levels.items() if key in tasks or of in level]


def check_names(**kinds: tuple[Iterable[str | None], Iterable[str]]) -> None:
    """Check names, by kind: those that are given, of which some may be unset, and those that exist.

    Raises:
        UnknownNameError: One does not exist.
    """
    for kind, (names, allowed) in kinds.items():
        for name in names:
            if name is not None and name not in (existing := tuple(allowed)):
                raise UnknownNameError(kind, name, existing)


def check_least(args: Any, **least: int) -> None:
    """Check that arguments, where they are set, are at least so large.

    Raises:
        ClevrSkillsError: One is not.
    """
    for name, value in least.items():
        given = getattr(args, name)
        if given is not None and given < value:
            option = name.replace("_", "-")
            raise ClevrSkillsError(f"--{option} must be at least {value}, not {given}")


def check_positive(args: Any, name: str) -> None:
    """Check that an argument is above zero.

    Raises:
        ClevrSkillsError: It is not.
    """
    if not getattr(args, name) > 0:
        raise ClevrSkillsError(f"--{name} must be positive, not {getattr(args, name)}")
