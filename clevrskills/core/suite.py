"""Suites of tasks: base class and optional protocols; tools load suites by name."""

from __future__ import annotations

import contextlib
import importlib
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Literal, Protocol, TypeVar, runtime_checkable

from numpy.typing import NDArray

from clevrskills import env_id, register_task, task_keys
from clevrskills.core.env import Env, Episode, Prompt
from clevrskills.core.env_config import LOOKS, EnvConfig
from clevrskills.core.episode import FrozenEpisodes
from clevrskills.core.interface import Interface
from clevrskills.core.policy import Prompter
from clevrskills.core.registry import load, others
from clevrskills.errors import ClevrSkillsError, UnknownNameError, errors_in

__all__ = ["Suite", "TaskInfo", "load_suite", "register_envs"]

Made = TypeVar("Made", bound=tuple[Any, ...])

SUITES = {
    "clevrskills": "clevrskills.suites.clevrskills.suite:ClevrSkillsSuite",
    "ivispar": "clevrskills.suites.ivispar.suite:IVisparSuite",
    "asgardbench": "clevrskills.suites.asgardbench.suite:AsgardBenchSuite",
    "lohoravens": "clevrskills.suites.lohoravens.suite:LoHoRavensSuite",
}
"""Class of each suite of the package, by name."""
DEFAULT = "clevrskills"
NO_ROBOT = "none"
"""Name of the robot where no arm acts."""
RATE = "rate_hz"
"""Key in the spec of an interface whose actions are one control step each."""
WORDINGS = ("own", "seen", "held_out", "empty", "other_task")
"""Prompts of an evaluation: that of the episode; training wordings or held-out wordings in turn; an
empty prompt; the prompt of another task."""
DEFAULT_PRESET = "default"
"""Name of the preset with the default options of runs."""
IMAGES_ONLY = "images_only"
"""Tag of tasks that are skipped when prompts are text only."""
SINGLE_SKILL = "single_skill"
"""Prefix of the tags ``single_skill:LEAF`` of a task whose first leaf needs the same skill."""


class Labels(Protocol):
    """Labels of an action: subgoal, motion and objects, as texts with placeholders and names."""

    subtask: str
    step: str
    subgoal: int
    predicate: str
    skill: str
    action_class: str
    attempt: int


class EpisodeOracle(Labels, Protocol):
    """Solver of a task in an environment, with the labels of the action just returned.

    One that picks and places may have a ``pose`` (6,): x, y and yaw of pick and place in the world.
    """

    @property
    def failed(self) -> Sequence[tuple[int, int]]: ...
    def reset(self) -> None: ...
    def act(self) -> NDArray[Any]: ...


class CommandOracle:
    """Base of oracles whose actions are commands, without labels of motions."""

    subtask = step = predicate = skill = action_class = ""
    subgoal, attempt = -1, 0
    failed: Sequence[tuple[int, int]] = ()

    def reset(self) -> None:
        """Begin an episode."""


ViewKind = Literal["image", "text", "array"]


class MomentRenderer(Protocol):
    """Renderer of recorded moments."""

    @property
    def cameras(self) -> Mapping[str, Any]:
        """The cameras by name."""

    @property
    def renderer(self) -> str:
        """Name and driver of the rendering device, and the digest of its shaders."""

    def open(self, scene: Mapping[str, Any]) -> Sequence[Any]:
        """Start an episode from its scene description and return the meshes of the objects."""

    def render(
        self, qpos: NDArray[Any], body_poses: NDArray[Any], textures: Mapping[str, str]
    ) -> Mapping[str, Any]:
        """Return the image of each camera for joint angles (n,), poses (K, ...) and textures."""

    def draw(
        self, qpos: NDArray[Any], body_poses: NDArray[Any], textures: Mapping[str, str]
    ) -> None:
        """Start rendering a moment in the background; :meth:`views` waits for it."""

    def views(self) -> Mapping[str, Any]:
        """Return the view of each camera of the moment drawn last."""

    def prompt_images(self, prompt: Mapping[str, Any]) -> Mapping[str, NDArray[Any]]:
        """Return the images of a prompt, given as JSON data, by placeholder."""


@dataclass(frozen=True)
class Preset:
    """Named set of options of a run, such as an ablation."""

    sentence: str  # description
    options: Mapping[str, Any]  # arguments of the command by name
    # options of the suite's prompts for language models
    prompt: Mapping[str, Any] = field(default_factory=dict)
    # sampling parameters of language models, such as ``temperature``
    sampling: Mapping[str, Any] = field(default_factory=dict)


class Axis(Protocol):
    """Axis of perturbation of episodes."""

    @property
    def name(self) -> str: ...

    @property
    def levels(self) -> Sequence[Mapping[str, float]]:
        """Greatest changes by name, for each level from 1."""

    @property
    def visual(self) -> bool:
        """``True`` if it changes images."""

    @property
    def physical(self) -> bool:
        """``True`` if it changes the physics."""


@dataclass(frozen=True)
class TaskInfo:
    """Description of a task, as data.

    Attributes:
        level: Level of the task.
        sentence: Description of its goal.
        splits: Default number of frozen episodes of each split.
        interfaces: Action interfaces by name, the default one first.
        limit: Step or turn limit, in words.
        robots: Names of its robots, the default one first; ``none`` if no arm acts.
        cameras: Names of the default cameras.
        views: Kind of each view of its environments by name; images are those of cameras, the first
            of which renders the images of key-steps.
        tags: Names of its groups; a tag ``KIND:VALUE`` is not a group.
        details: Further columns of task tables, as JSON data.
    """

    level: str
    sentence: str
    splits: Mapping[str, int]
    interfaces: Mapping[str, Interface]
    limit: str
    robots: tuple[str, ...] = (NO_ROBOT,)
    cameras: tuple[str, ...] = ()
    views: Mapping[str, ViewKind] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)


class TaskTable(Mapping[str, TaskInfo]):
    """Tasks of a suite by key, described on access.

    Args:
        keys: Keys of the tasks.
        describe: Function that describes a task.
    """

    def __init__(self, keys: Iterable[str], describe: Callable[[str], TaskInfo]) -> None:
        self._keys, self._describe = dict.fromkeys(keys), describe

    def __getitem__(self, key: str) -> TaskInfo:
        if key not in self._keys:
            raise KeyError(key)
        return self._describe(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)


class Suite(ABC):
    """Set of tasks with their environments and episodes; picklable, for worker processes.

    Optional features are separate protocols, such as :class:`Perturbable`.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of the suite."""

    @property
    @abstractmethod
    def title(self) -> str:
        """Title of the suite."""

    @property
    @abstractmethod
    def tasks(self) -> Mapping[str, TaskInfo]:
        """Tasks of the suite by key."""

    @abstractmethod
    def make(self, config: EnvConfig) -> Env:
        """Make an environment; it renders images only if there are cameras.

        Raises:
            ClevrSkillsError: The environment cannot be made.
        """

    @abstractmethod
    def oracle(self, env: Env, interface: Interface | None = None) -> EpisodeOracle:
        """Return the oracle of an environment.

        Args:
            env: The environment.
            interface: Its action interface; ``None``: that of the suite's demonstrations.
        """

    @abstractmethod
    def draw(
        self,
        task: str,
        split: str,
        seed: int,
        index: int = 0,
        robot: str = "",
        task_args: Mapping[str, Any] | None = None,
        wording: int | None = 0,
    ) -> Episode:
        """Sample the episode of a seed.

        Args:
            task: Key of the task.
            split: Name of the split.
            seed: The seed.
            index: Number of the episode, for its name.
            robot: Name of the robot; empty: the first one of the task.
            task_args: Arguments of the task.
            wording: Index of the wording; ``None``: sampled. Suites with one wording ignore it.
        """

    @abstractmethod
    def read_episode(self, data: Mapping[str, Any]) -> Episode:
        """Read an episode from JSON data.

        Raises:
            ValueError, KeyError, TypeError: The data is damaged.
        """

    @abstractmethod
    def frozen(self, task: str, split: str) -> FrozenEpisodes[Episode]:
        """Return the frozen episodes of a task and split.

        Raises:
            ClevrSkillsError: There are none.
        """

    def criteria(self) -> Sequence[str]:
        """Return the names of the success criteria, the default one first."""
        return ("paper",)

    def presets(self) -> Mapping[str, Preset]:
        """Return presets by name; the options of ``default`` are the defaults of runs."""
        return {}

    def policies(self) -> Mapping[str, str]:
        """Return the suite's own policies, ``module:attribute`` by name; they replace those that
        all suites have.
        """
        return {}

    def check(self, config: EnvConfig) -> None:
        """Check the task arguments and the noise of a configuration.

        Raises:
            ClevrSkillsError: One is not allowed.
        """
        if config.task_args:
            name = next(iter(config.task_args))
            raise UnknownNameError(f"argument of {config.task}", name, ("(none)",))
        if config.noise:
            raise ClevrSkillsError(f"suite {self.name} has no noise: leave it out")


@runtime_checkable
class Prompting(Protocol):
    """Suite with its own prompts for language models."""

    def prompter(self, interface: Interface, options: Mapping[str, Any]) -> Prompter | None:
        """Return the prompter of an interface; ``None`` for the default one.

        Raises:
            UnknownNameError: There is no such option.
        """


@runtime_checkable
class Perturbable(Protocol):
    """Suite whose episodes can be perturbed."""

    def axes(self) -> Mapping[str, Axis]:
        """Return the axes of perturbation by name."""

    def perturb(self, episode: Episode, axes: Mapping[str, int]) -> Episode | str:
        """Return an episode perturbed along some axes, or the reason why it cannot be.

        Args:
            episode: The episode.
            axes: Level of each axis.

        Raises:
            UnknownNameError: There is no such axis.
            ClevrSkillsError: There is no such level.
        """

    def visibility_fault(self, episode: Episode) -> str:
        """Return what is not visible at the start of a perturbed episode; empty if all is."""


@runtime_checkable
class Worded(Protocol):
    """Suite whose prompts have several wordings."""

    def prompt_variant(
        self, episode: Episode, wording: str, number: int, look: str = LOOKS[0]
    ) -> Prompt:
        """Return an episode's prompt in another wording.

        Args:
            episode: The episode.
            wording: One of :data:`WORDINGS`.
            number: Index among several wordings, modulo their number.
            look: Look of its images.

        Raises:
            ClevrSkillsError: There is no such wording.
        """


@runtime_checkable
class Renderable(Protocol):
    """Suite whose recorded episodes can be rendered."""

    def trajectory_renderer(self, config: EnvConfig) -> MomentRenderer | None:
        """Return the renderer of a configuration's cameras; ``None`` without cameras."""


@runtime_checkable
class OriginalFormat(Protocol):
    """Re-implemented suite that reads and writes the files of the original."""

    def read_original(self, task: str, split: str, folder: Path) -> Sequence[Episode]:
        """Read the episodes of a folder.

        Raises:
            ClevrSkillsError: There are none, or one is damaged.
        """

    def write_original(self, episode: Episode) -> tuple[str, Mapping[str, Any]]:
        """Return the file name and JSON data of an episode."""


def unsupported(suite: Suite, what: str) -> ClevrSkillsError:
    """Return the error of a suite that lacks an optional protocol."""
    return ClevrSkillsError(f"suite {suite.name} has no {what}")


def perturbed(suite: Suite, episode: Episode, axes: Mapping[str, int]) -> Episode | str:
    """Return an episode perturbed along some axes, or the reason why it cannot be.

    Raises:
        ClevrSkillsError: The suite has no such axis or level.
    """
    if not axes:
        return episode
    if not isinstance(suite, Perturbable):
        raise unsupported(suite, "axes")
    return suite.perturb(episode, axes)


def make_renderer(suite: Suite, config: EnvConfig) -> MomentRenderer | None:
    """Return the renderer of a configuration's cameras; ``None`` if there is none."""
    return suite.trajectory_renderer(config) if isinstance(suite, Renderable) else None


def default_options(suite: Suite) -> Mapping[str, Any]:
    """Return the default options of runs, see :meth:`Suite.presets`."""
    preset = suite.presets().get(DEFAULT_PRESET)
    return {} if preset is None else preset.options


def default_splits(suite: Suite) -> tuple[str, ...]:
    """Return the names of the splits that are evaluated by default."""
    return tuple(default_options(suite).get("split", ())) or all_splits(suite)


def suite_names() -> tuple[str, ...]:
    """Return the names of all suites, those of the package first.

    Raises:
        NameTakenError: Two suites have the same name.
    """
    return (*SUITES, *others("suites", SUITES))


def all_levels(suite: Suite) -> dict[str, str]:
    """Return the level of each task of a suite, by key."""
    return {key: task.level for key, task in suite.tasks.items()}


def all_splits(suite: Suite) -> tuple[str, ...]:
    """Return the names of the splits of a suite's tasks."""
    return tuple(dict.fromkeys(split for task in suite.tasks.values() for split in task.splits))


def all_robots(suite: Suite) -> tuple[str, ...]:
    """Return the names of the robots of a suite's tasks, the default one first."""
    return tuple(dict.fromkeys(robot for task in suite.tasks.values() for robot in task.robots))


def all_views(suite: Suite) -> dict[str, str]:
    """Return the kind of each view of a suite's environments, by name."""
    return {name: kind for task in suite.tasks.values() for name, kind in task.views.items()}


def all_cameras(suite: Suite) -> tuple[str, ...]:
    """Return the names of the views of a suite that are images."""
    return image_views(all_views(suite))


def image_views(views: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of the views that are images."""
    return tuple(name for name, kind in views.items() if kind == "image")


def default_cameras(suite: Suite) -> tuple[str, ...]:
    """Return the names of the default cameras of a suite's first task."""
    return next(iter(suite.tasks.values())).cameras


def all_interfaces(suite: Suite) -> dict[str, Interface]:
    """Return the action interfaces of a suite's tasks by name, the default one first."""
    tasks = suite.tasks.values()
    return {name: one for task in tasks for name, one in task.interfaces.items()}


def find_interface(suite: Suite, name: str | None = None) -> Interface:
    """Return an action interface of a suite, by default the first one.

    Raises:
        UnknownNameError: There is no such interface.
    """
    for task in suite.tasks.values():
        for known, interface in task.interfaces.items():
            if name in (None, known):
                return interface
    raise UnknownNameError("interface", str(name), tuple(all_interfaces(suite)))


def task_groups(suite: Suite) -> tuple[str, ...]:
    """Return the names of the groups of a suite's tasks."""
    tags = (tag for task in suite.tasks.values() for tag in task.tags)
    return tuple(dict.fromkeys(tag for tag in tags if ":" not in tag))


def tagged(suite: Suite, tag: str) -> tuple[str, ...]:
    """Return the keys of the tasks with a tag."""
    return tuple(key for key, task in suite.tasks.items() if tag in task.tags)


def single_skill_task(suite: Suite, leaf: str) -> str:
    """Return the task whose first leaf needs the same skill as a leaf type; empty if none does."""
    return next(iter(tagged(suite, f"{SINGLE_SKILL}:{leaf}")), "")


def suite_of(tasks: Sequence[str]) -> str:
    """Return the name of the suite with all of these tasks; the default one if there is none."""
    names = (DEFAULT, *(name for name in suite_names() if name != DEFAULT))
    for name in names:
        if tasks and set(tasks) <= set(task_names(name)):
            return name
    return DEFAULT


def task_names(suite: str) -> Sequence[str]:
    """Return the keys of a suite's tasks, without loading the suites of the package."""
    if suite == DEFAULT:
        return task_keys()
    if suite in SUITES:
        names: tuple[str, ...] = importlib.import_module(SUITES[suite].rpartition(".")[0]).TASKS
        return names
    return tuple(load_suite(suite).tasks)


def find_suite(name: str | None, tasks: Sequence[str], **arguments: Any) -> Suite:
    """Make the suite of some tasks; unknown tasks are refused before anything is loaded.

    Args:
        name: Name of the suite; ``None``: the suite that has the tasks.
        tasks: Keys of tasks.
        arguments: Arguments of its class.

    Raises:
        UnknownNameError: There is no such suite or task.
        ClevrSkillsError: A task is of another suite.
    """
    name = name or suite_of(tasks)
    known = task_names(name) if name in SUITES else tasks
    for task in tasks:
        if task not in known:
            for other in SUITES:
                if task in task_names(other):
                    raise ClevrSkillsError(f"{task} is a task of suite {other}, not of {name}")
            raise UnknownNameError("task", task, tuple(known))
    return load_suite(name, **arguments)


def load_suite(name: str = DEFAULT, **arguments: Any) -> Suite:
    """Make a suite.

    Args:
        name: Name of a suite, or ``module:Class``.
        arguments: Arguments of its class.

    Raises:
        UnknownNameError: There is no such suite.
        ClevrSkillsError: The suite cannot be imported, or lacks an abstract member.
    """
    foreign = {} if name in SUITES else others("suites", SUITES)
    module, colon, attribute = SUITES.get(name, name).partition(":")
    if name in foreign:
        kind = load(foreign[name])
    elif colon:
        kind = getattr(importlib.import_module(module), attribute)
    else:
        raise UnknownNameError("suite", name, suite_names())
    if not (isinstance(kind, type) and issubclass(kind, Suite)):
        raise ClevrSkillsError(f"{name} is not a suite; allowed: a class derived from Suite")
    if missing := sorted(kind.__abstractmethods__):
        raise ClevrSkillsError(f"suite {kind.__qualname__} lacks {', '.join(missing)}")
    suite: Suite = kind(**arguments)
    if name not in SUITES:
        register_envs(suite)
    return suite


def register_envs(suite: Suite) -> None:
    """Register the Gymnasium ids of a suite's tasks."""
    for task in suite.tasks:
        arm = NO_ROBOT not in suite.tasks[task].robots
        register_task(_namespace(suite), path_of(suite), task, arm=arm)


def gym_id(suite: Suite, task: str) -> str:
    """Return the Gymnasium id of a task, ``<Suite>/<Task>-v1``; ``<Suite>`` is the name of the
    suite's class without the ending ``Suite``.
    """
    return env_id(task, _namespace(suite))


def _namespace(suite: Suite) -> str:
    return type(suite).__name__.removesuffix("Suite")


def step_interface(suite: Suite) -> Interface:
    """Return the interface of control steps; without an arm, the default interface."""
    known = tuple(all_interfaces(suite).values())
    return next((one for one in known if RATE in one.spec), known[0])


def data_file(suite: Suite, name: str) -> Path | None:
    """Return the path of a file beside a suite's module; ``None`` if it is missing."""
    path = Path(inspect.getfile(type(suite))).with_name(name)
    return path if path.is_file() else None


def check_axes(suite: Suite, given: Sequence[str]) -> dict[str, int]:
    """Parse levels of axes, ``NAME:LEVEL``; level 0 is the unperturbed episode.

    Raises:
        ClevrSkillsError: There is no such axis or level, or an axis is repeated.
    """
    known = suite.axes() if isinstance(suite, Perturbable) else {}
    found: dict[str, int] = {}
    for text in given:
        name, colon, level = text.partition(":")
        if name not in known:
            allowed = ", ".join(known) or "(none)"
            raise ClevrSkillsError(f"--axis {text}: suite {suite.name} has the axes {allowed}")
        count = len(known[name].levels)
        if not colon or not level.isdecimal() or int(level) > count:
            raise ClevrSkillsError(
                f"--axis {text}: allowed is {name}:LEVEL with a level from 0 to {count}"
            )
        if name in found:
            raise ClevrSkillsError(f"--axis names {name} twice")
        found[name] = int(level)
    return {name: found[name] for name in known if found.get(name)}


def path_of(suite: Suite) -> str:
    """Return the name or ``module:Class`` by which :func:`load_suite` finds a suite."""
    kind = type(suite)
    known = suite.name in suite_names()
    return suite.name if known else f"{kind.__module__}:{kind.__qualname__}"


def building(task: str) -> contextlib.AbstractContextManager[None]:
    """Return a context that turns errors in making a task's environment into errors for users."""
    return errors_in(f"cannot build the environment of {task}")


class KeptEnv(Generic[Made]):
    """Environment that is kept while its config stays the same.

    Args:
        make: Function that returns the environment of a config, and what belongs to it.

    Attributes:
        config: Its config; ``None``: it must not be used again.
    """

    def __init__(self, make: Callable[[EnvConfig], Made]) -> None:
        self._make = make
        self._made: Made | None = None
        self.config: EnvConfig | None = None

    def __call__(self, config: EnvConfig) -> Made:
        """Return the environment of a config, and what belongs to it.

        Raises:
            ClevrSkillsError: The environment cannot be built.
        """
        if self._made is None or config != self.config:
            if self._made is not None:
                self._made[0].close()
                self._made = None
            with building(config.task):
                self._made, self.config = self._make(config), config
        return self._made
