"""Arguments shared by commands: tasks, workers, planner, cameras."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.jobs.options import Positional, Repeated

DRIVERS = ("local", "ray")
"""Worker backends: local processes, or actors of a Ray cluster."""


@dataclass(kw_only=True)
class TaskArgs:
    """Tasks."""

    tasks: Positional[tuple[str, ...]] = ()
    """Keys of tasks, e.g. `sort stack`."""
    level: Repeated[str] = ()
    """All tasks of a level: L0, L1 or L2; repeatable."""


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
    """Suite, see `clevrskills suites`; by default the one that contains the tasks."""
    group: Repeated[str] = ()
    """All tasks of a group of the suite; repeatable."""

    def select(self, tasks: Mapping[str, Labeled]) -> list[str]:
        """Return the keys of the selected tasks, in the order of the suite.

        Raises:
            UnknownNameError: An unknown task, level or group.
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
    """Number of worker processes; the result does not depend on it."""


@dataclass(kw_only=True)
class ShardArgs(WorkerArgs):
    """Workers: number, location and share of the work."""

    shard: str | None = None
    """Do only part i of n of the work, `i/n` with i from 0; other processes write the other parts
    into the same folder."""
    driver: str = "local"
    """Location of the workers: `local`; `ray` starts a Ray cluster on this machine;
    `ray:HOST:PORT` and `ray:auto` join a running one."""

    @property
    def part(self) -> tuple[int, int]:
        """Index of the part to do, and number of parts.

        Raises:
            ClevrSkillsError: ``shard`` is malformed.
        """
        index, _, of = (self.shard or "0/1").partition("/")
        if not (index.isdecimal() and of.isdecimal() and int(index) < int(of)):
            raise ClevrSkillsError(
                f"--shard {self.shard}: allowed is i/n with i from 0 to n - 1, e.g. 0/8"
            )
        return int(index), int(of)

    @property
    def writer(self) -> str:
        """Name of the writer of the results."""
        index, of = self.part
        return f"shard-{index}-of-{of}" if self.shard else self.driver.partition(":")[0]

    def check_pool(self) -> None:
        """Check the arguments.

        Raises:
            ClevrSkillsError: A value is not allowed.
        """
        check_least(self, workers=1)
        check_names(driver=((self.driver.partition("ray:")[0] or "ray",), DRIVERS))
        if self.shard and self.driver != "local":
            raise ClevrSkillsError(
                "--shard needs --driver local: a Ray cluster distributes the work itself"
            )
        _ = self.part


@dataclass(kw_only=True)
class PoolArgs(ShardArgs):
    """Workers: number, location, share of the work and timeout."""

    timeout: float = 600.0
    """Seconds after which an episode is aborted and counted as a failure or an error."""

    def check_pool(self) -> None:
        check_positive(self, "timeout")
        super().check_pool()


@dataclass(kw_only=True)
class PlannerArgs:
    """Oracle."""

    planner: Literal["fcl", "mplib"] | None = None
    """Motion planning backend; mplib needs numpy below 2 and the extra `mplib`. Default:
    $CLEVRSKILLS_PLANNER, or fcl."""


@dataclass(kw_only=True)
class CameraArgs:
    """Cameras."""

    cameras: tuple[str, ...] | None = None
    """Cameras to record; by default those of the suite."""
    size: int | None = None
    """Width and height of the images, in pixels; by default each camera's own."""
    look: Literal["soft", "flat", "stock"] = "soft"
    """Look of the images: soft shadows and smooth edges; flat, at less than half the cost; or
    SAPIEN's stock shaders."""
    depth: bool = False
    """Record depth too."""
    segmentation: bool = False
    """Record segmentation masks too."""

    def filmed(self, chosen: Sequence[str], known: Sequence[str]) -> dict[str, Any]:
        """Return the camera settings of environments and datasets; cameras in the known order."""
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
    """Return the named tasks and those of the given levels, in the order of ``levels``.

    Args:
        levels: Level of every task, by key.
        tasks: Keys of tasks.
        level: Levels.

    Raises:
        UnknownNameError: An unknown task or level.
    """
    check_names(task=(tasks, levels), level=(level, dict.fromkeys(levels.values())))
    return [key for key, of in levels.items() if key in tasks or of in level]


def check_names(**kinds: tuple[Iterable[str | None], Iterable[str]]) -> None:
    """Check given names (``None``: unset) against the existing ones, by kind.

    Raises:
        UnknownNameError: A name does not exist.
    """
    for kind, (names, allowed) in kinds.items():
        for name in names:
            if name is not None and name not in (existing := tuple(allowed)):
                raise UnknownNameError(kind, name, existing)


def check_least(args: Any, **least: int) -> None:
    """Check the minimum of arguments that are set.

    Raises:
        ClevrSkillsError: A value is too small.
    """
    for name, value in least.items():
        given = getattr(args, name)
        if given is not None and given < value:
            option = name.replace("_", "-")
            raise ClevrSkillsError(f"--{option} must be at least {value}, not {given}")


def check_positive(args: Any, name: str) -> None:
    """Check that an argument is positive.

    Raises:
        ClevrSkillsError: It is not.
    """
    if not getattr(args, name) > 0:
        raise ClevrSkillsError(f"--{name} must be positive, not {getattr(args, name)}")
