"""Suites of tasks: the contract behind which all tools find environments, oracles and episodes.

A suite is found by its name, so that no tool imports one.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from clevrskills import register_task
from clevrskills.core.env import Env, Episode, Prompt
from clevrskills.core.env_config import LOOKS, EnvConfig
from clevrskills.core.episode import FrozenEpisodes
from clevrskills.core.feedback import Mode
from clevrskills.core.interface import Interface
from clevrskills.core.policy import Message, Observation, PromptInput, TextAction
from clevrskills.core.registry import load, others
from clevrskills.errors import ClevrSkillsError, UnknownNameError, one_line

__all__ = [
    "Measure",
    "Oracle",
    "Preset",
    "Prompter",
    "PublishedTable",
    "Suite",
    "TrajectoryRenderer",
    "load_suite",
    "register_envs",
    "suite_names",
]

SUITES = {
    "clevrskills": "clevrskills.suites.clevrskills.suite:ClevrSkillsSuite",
    "ivispar": "clevrskills.suites.ivispar.suite:IVisparSuite",
    "asgardbench": "clevrskills.suites.asgardbench.suite:AsgardBenchSuite",
    "lohoravens": "clevrskills.suites.lohoravens.suite:LoHoRavensSuite",
}
"""Class of each suite of the package, by name."""
DEFAULT = "clevrskills"
NO_ROBOT = "none"
"""Robot of suites and tasks in which no arm acts."""
RATE = "rate_hz"
"""What the spec of an interface has whose actions are one control step each."""
WORDINGS = ("own", "seen", "held_out", "empty", "other_task")
"""What a prompt may say in an evaluation: what the episode holds; the wordings that are seen in
training, or held out, in turn; nothing; what another task asks for."""


MILESTONE = "milestone: "
"""Begin of the name of a measure that is 1 where an episode passed a milestone, else 0."""


class Labels(Protocol):
    """What an action is for, in texts with placeholders and in names."""

    subtask: str
    step: str
    subgoal: int
    predicate: str
    skill: str
    action_class: str
    attempt: int


class Oracle(Labels, Protocol):
    """What solves a task in an environment; labels are those of the action just returned. One that
    picks and places may have a ``pose`` (6,): x, y and turn of the pick and of the place, in the
    world.
    """

    @property
    def failed(self) -> Sequence[tuple[int, int]]: ...
    def reset(self) -> None: ...
    def act(self) -> NDArray[Any]: ...


class Prompter(Protocol):
    """Tells a language model of an episode, and reads what it replies.

    Attributes:
        views: Names of the views that it shows unless others are asked for.
        history: How many past turns it shows, at most.
    """

    views: Sequence[str]
    history: int

    def begin(self, prompt: PromptInput) -> None:
        """An episode begins."""

    def messages(
        self, observation: Observation, history: Sequence[tuple[Observation, TextAction]]
    ) -> list[Message]:
        """What is sent.

        Args:
            observation: What is seen now.
            history: What was seen at past turns and said then, the latest last; it may be longer
                than what is shown.
        """

    def parse(self, reply: str) -> TextAction:
        """What a reply says; of one that says nothing the action is empty."""

    def reply(self, action: str, plan: Sequence[str] = ()) -> str:
        """A reply that says an action, in the format that is asked for.

        Args:
            action: The action.
            plan: All that is left to do, that action first, where it is known.
        """

    def random(self, generator: np.random.Generator) -> str:
        """Any action that can be said."""


class TrajectoryRenderer(Protocol):
    """Draws recorded moments as cameras see them."""

    @property
    def cameras(self) -> Mapping[str, Any]:
        """The cameras by name."""

    @property
    def renderer(self) -> str:
        """Name and driver of the device that draws, and the digest of its shaders."""

    def open(self, scene: Mapping[str, Any]) -> Sequence[Any]:
        """Start an episode, from its description of the scene; returns the objects' meshes."""

    def render(
        self, qpos: NDArray[Any], body_poses: NDArray[Any], textures: Mapping[str, str]
    ) -> Mapping[str, Any]:
        """What each camera sees of a moment: joint angles (n,), poses (K, ...), textures by key."""

    def prompt_images(self, prompt: Mapping[str, Any]) -> Mapping[str, NDArray[Any]]:
        """The images of a prompt given as JSON data, by placeholder."""


@dataclass(frozen=True)
class Measure:
    """A number of a suite's own that each episode has, and how tables show it.

    Attributes:
        name: Key in the results.
        heading: Heading of the column.
        kind: ``share`` (in percent) or ``mean``.
        digits: Digits behind the point.
        episodes: Which episodes count: ``all`` or only those ``solved``.
    """

    name: str
    heading: str
    kind: Literal["share", "mean"] = "mean"
    digits: int = 1
    episodes: Literal["all", "solved"] = "all"


@dataclass(frozen=True)
class Preset:
    """A named bundle of options of a run, such as an ablation.

    Attributes:
        sentence: What it is.
        options: Arguments of the command that it sets, by name.
        prompt: Options of the suite's prompts that it sets for policies that ask a language model.
    """

    sentence: str
    options: Mapping[str, Any]
    prompt: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class PublishedTable:
    """Numbers that others have published.

    Attributes:
        title: Its title.
        columns: Headings.
        rows: Rows of texts and numbers.
        note: How far ours compare with them.
        source: Where they are from.
        comparable: Whether ours may stand beside them as the same thing.
        tasks: Keys of the tasks that they are of: reports of others leave them out; empty: all.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    note: str
    source: str
    comparable: bool = False
    tasks: tuple[str, ...] = ()


class Axis(Protocol):
    """A way to perturb episodes."""

    @property
    def name(self) -> str: ...
    @property
    def sentence(self) -> str:
        """What it changes."""

    @property
    def unit(self) -> str:
        """What the numbers of its levels are."""

    @property
    def levels(self) -> Sequence[Mapping[str, float]]:
        """Greatest change at each level, from 1, by name."""

    @property
    def reason(self) -> str:
        """Why so much."""

    @property
    def seen(self) -> bool:
        """Whether it changes what is seen."""


class Suite(Protocol):
    """A set of tasks with their environments and episodes; picklable, for worker processes.

    A class that derives from it need only say what has no default.

    Attributes:
        name: Name of the suite.
        title: Its title.
        episodes: How many episodes of each task and split are evaluated unless a number is given;
            ``None``: all that are frozen.
        revision: Of the criteria of success: a higher one judges the same episodes otherwise, so
            that results of different ones can't be compared.
        feedback: What turns tell of themselves unless a run says otherwise.
    """

    name: str
    title: str
    episodes: int | None = None
    revision: int = 1
    feedback: Mode = "simple"

    def levels(self) -> Mapping[str, str]:
        """Level of every task, by task key."""

    def describe(self, task: str) -> Mapping[str, Any]:
        """What tables of tasks say of one: key, level, sentence and more, as JSON data."""

    def splits(self) -> Sequence[str]:
        """Names of the splits."""

    def default_splits(self) -> Sequence[str]:
        """Names of the splits that are evaluated unless others are named."""
        return self.splits()

    def splits_of(self, task: str) -> Sequence[str]:
        """Names of the splits that a task has."""
        del task
        return self.splits()

    def count_frozen(self, split: str) -> int:
        """How many episodes of each task are frozen of a split unless a number is given."""
        del split
        return 100

    def count_frozen_of(self, task: str, split: str) -> int:
        """The same for one task, where tasks differ."""
        del task
        return self.count_frozen(split)

    def paired_with(self, split: str) -> str:
        """The split whose frozen episodes have the same seeds, so that episodes can be compared in
        pairs; empty: there is none.
        """
        del split
        return ""

    def groups(self) -> Mapping[str, Sequence[str]]:
        """Named groups of tasks besides the levels, with the keys of their tasks."""
        return {}

    def robots(self) -> Sequence[str]:
        """Names of the robots, the default one first."""
        return (NO_ROBOT,)

    def robots_of(self, task: str) -> Sequence[str]:
        """Names of the robots that a task has, the default one first; ``none``: no arm acts."""
        del task
        return self.robots()

    def criteria(self) -> Sequence[str]:
        """Names of the success criteria, the default one first."""
        return ("paper",)

    def cameras(self) -> Sequence[str]:
        """Names of the cameras; the first one takes the images of key-steps."""
        return ()

    def default_cameras(self) -> Sequence[str]:
        """Names of the cameras that are used unless others are named."""
        return self.cameras()

    def cameras_of(self, task: str) -> Sequence[str]:
        """Names of the cameras that film a task unless others are named."""
        del task
        return self.default_cameras()

    def views(self) -> Mapping[str, str]:
        """Names of what an environment can show, and of which kind each is: ``image``, which is
        that of a camera, or ``text``; the environment's ``look(names)`` gives all others.
        """
        return dict.fromkeys(self.cameras(), "image")

    def interfaces(self) -> Mapping[str, Interface]:
        """What policies may act by, by name, the default one first."""

    def interfaces_of(self, task: str) -> Sequence[str]:
        """Names of what a task can be acted in by."""
        del task
        return tuple(self.interfaces())

    def interface(self, name: str | None = None) -> Interface:
        """What policies act by.

        Raises:
            UnknownNameError: There is no such interface.
        """
        known = self.interfaces()
        if name is not None and name not in known:
            raise UnknownNameError("interface", name, tuple(known))
        return known[name or next(iter(known))]

    def policies(self) -> Mapping[str, str]:
        """Policies of its own, ``module:attribute`` by name; they take the place of those of the
        same name that all suites have.
        """
        return {}

    def prompter(self, interface: Interface, options: Mapping[str, Any]) -> Prompter | None:
        """What tells language models of its episodes; ``None``: nothing of its own.

        Args:
            interface: What they act by.
            options: Options of the prompts, by name.

        Raises:
            UnknownNameError: There is no such option.
        """
        del interface, options
        return None

    def presets(self) -> Mapping[str, Preset]:
        """Named bundles of options."""
        return {}

    def measures(self) -> Sequence[Measure]:
        """Numbers of each episode that are the suite's own."""
        return ()

    def pivots(self) -> Sequence[tuple[str, str]]:
        """Pairs of tags over which reports show a table of success rates."""
        return ()

    def published(self) -> Sequence[PublishedTable]:
        """Numbers that others have published."""
        return ()

    def check_noise(self, noise: str) -> None:
        """Check a name or a description of noise, see
        :attr:`~clevrskills.core.env_config.EnvConfig.noise`.

        Raises:
            ClevrSkillsError: There is none such.
        """
        if noise:
            raise ClevrSkillsError(f"suite {self.name} has no noise: leave it out")

    def unspeakable(self) -> Sequence[str]:
        """Keys of the tasks that are left out where prompts are in words alone."""
        return ()

    def check(self, task: str, task_args: Mapping[str, Any]) -> None:
        """Check the arguments of a task.

        Raises:
            ClevrSkillsError: One is not allowed.
        """
        if task_args:
            raise UnknownNameError(f"argument of {task}", next(iter(task_args)), ("(none)",))

    def axes(self) -> Mapping[str, Axis]:
        """Axes along which its frozen episodes can be perturbed, by name."""
        return {}

    def perturb(self, episode: Episode, axes: Mapping[str, int]) -> Episode | str:
        """An episode perturbed along some axes, or why it cannot be; along none, the same episode.

        Args:
            episode: A frozen episode.
            axes: Level of each axis.

        Raises:
            UnknownNameError: There is no such axis.
            ClevrSkillsError: There is no such level.
        """
        if axes:
            raise UnknownNameError("axis", next(iter(axes)), tuple(self.axes()))
        return episode

    def draw_perturbed(
        self,
        task: str,
        split: str,
        seed: int,
        axes: Mapping[str, int],
        robot: str = "",
        task_args: Mapping[str, Any] | None = None,
    ) -> Episode | str:
        """The episode that an environment starts from a seed, perturbed as :meth:`perturb` does."""
        return self.perturb(self.draw(task, split, seed, 0, robot, task_args), axes)

    def hidden(self, episode: Episode) -> str:
        """What a policy that only sees cannot tell at the start of a perturbed episode; empty:
        nothing.
        """
        del episode
        return ""

    def alone(self, predicate: str) -> str:
        """The task in which a kind of leaf is the first thing to do; empty: there is none."""
        del predicate
        return ""

    def told(self, episode: Episode, wording: str, number: int, look: str = LOOKS[0]) -> Prompt:
        """An episode's prompt in another wording.

        Args:
            episode: The episode.
            wording: One of :data:`WORDINGS`.
            number: Which one of several, counted on beyond the last.
            look: How its images look.

        Raises:
            ClevrSkillsError: There is none.
        """
        if wording != "own":
            raise ClevrSkillsError(f"suite {self.name} has no wordings but its own")
        return episode.prompt

    def make(self, config: EnvConfig) -> Env:
        """Build an environment; it draws images only if there are cameras.

        Raises:
            ClevrSkillsError: It cannot be built.
        """

    def oracle(self, env: Env, interface: Interface | None = None) -> Oracle:
        """Return what solves the task of an environment.

        Args:
            env: The environment.
            interface: What it acts by; ``None``: that of the suite's demonstrations.
        """

    def trajectory_renderer(self, config: EnvConfig) -> TrajectoryRenderer | None:
        """Build what films the episodes of a configuration; ``None`` if it has no cameras."""
        return None

    def frozen(self, task: str, split: str) -> FrozenEpisodes[Episode]:
        """Return the frozen episodes of a task and split.

        Raises:
            ClevrSkillsError: There are none.
        """

    def draw(
        self,
        task: str,
        split: str,
        seed: int,
        index: int = 0,
        robot: str = "",
        task_args: Mapping[str, Any] | None = None,
    ) -> Episode:
        """The episode of a seed."""

    def imported(self, task: str, split: str, folder: Path) -> Sequence[Episode]:
        """The episodes in a folder of files of the original that a suite re-implements.

        Raises:
            ClevrSkillsError: There are none, one is damaged, or the suite reads no such files.
        """
        raise ClevrSkillsError(f"suite {self.name} reads no files of others")

    def training_envs(self, task: str, num_envs: int, seed: int) -> Any:
        """A Gymnasium vector environment of drawn episodes of a task, for reinforcement learning:
        ``Discrete`` actions, ``places`` an attribute, see :mod:`clevrskills.rl.agent`. Its
        environments have ``training_observation()`` and ``training_command(action)``.

        Raises:
            ClevrSkillsError: There is none for the task.
        """
        raise ClevrSkillsError(f"there is no reinforcement learning of {task} in {self.name}")

    def original_file(self, episode: Any) -> tuple[str, Mapping[str, Any]]:
        """Name and JSON data of the file that an episode is in the original that a suite
        re-implements.

        Raises:
            ClevrSkillsError: The suite writes no such files.
        """
        del episode
        raise ClevrSkillsError(f"suite {self.name} writes no files of others")

    def read_episode(self, data: Mapping[str, Any]) -> Episode:
        """An episode from JSON data.

        Raises:
            ValueError, KeyError, TypeError: It is damaged.
        """


def suite_names() -> tuple[str, ...]:
    """Names of all suites, those of the package first.

    Raises:
        NameTakenError: Two have the same name.
    """
    return (*SUITES, *others("suites", SUITES))


def suite_of(tasks: Sequence[str]) -> str:
    """Name of the suite that has all of some tasks; the default one if none does."""
    names = (DEFAULT, *(name for name in suite_names() if name != DEFAULT))
    for name in names:
        if tasks and set(tasks) <= set(load_suite(name).levels()):
            return name
    return DEFAULT


def load_suite(name: str = DEFAULT, **arguments: Any) -> Suite:
    """Make a suite.

    Args:
        name: Name of a suite, or ``module:Class``.
        arguments: Arguments of its class.

    Raises:
        UnknownNameError: There is no such suite.
        ClevrSkillsError: That of another distribution cannot be imported.
    """
    foreign = {} if name in SUITES else others("suites", SUITES)
    module, colon, attribute = SUITES.get(name, name).partition(":")
    if name in foreign:
        kind = load(foreign[name])
    elif colon:
        kind = getattr(importlib.import_module(module), attribute)
    else:
        raise UnknownNameError("suite", name, suite_names())
    suite: Suite = kind(**arguments)
    if name not in SUITES:
        register_envs(suite)
    return suite


def register_envs(suite: Suite) -> None:
    """Register the Gymnasium ids ``<Suite>/<Task>-v1`` of a suite's tasks: ``<Suite>`` is the name
    of its class, without ``Suite`` at its end.
    """
    namespace, path = type(suite).__name__.removesuffix("Suite"), path_of(suite)
    for task in suite.levels():
        arm = NO_ROBOT not in suite.robots_of(task)
        register_task(namespace, path, task, arm=arm)


def step_interface(suite: Suite) -> Interface:
    """Return the interface of one control step each; where there is no arm, the default one."""
    known = tuple(suite.interfaces().values())
    return next((one for one in known if RATE in one.spec), known[0])


def data_file(suite: Suite, name: str) -> Path | None:
    """Return the path of a file that a suite ships beside its module; ``None``: it ships none."""
    path = Path(inspect.getfile(type(suite))).with_name(name)
    return path if path.is_file() else None


def check_axes(suite: Suite, given: Sequence[str]) -> dict[str, int]:
    """Levels of axes from ``NAME:LEVEL``; level 0 is the clean episode.

    Raises:
        ClevrSkillsError: There is no such axis or level, or one is named twice.
    """
    known, found = suite.axes(), dict[str, int]()
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
    """The name that :func:`load_suite` finds a suite by, or the place of its class."""
    kind = type(suite)
    known = suite.name in suite_names()
    return suite.name if known else f"{kind.__module__}:{kind.__qualname__}"


@contextlib.contextmanager
def building(task: str) -> Iterator[None]:
    """Turn any error while the environment of a task is built into one for users.

    Raises:
        ClevrSkillsError: In place of any other exception.
    """
    try:
        yield
    except ClevrSkillsError:
        raise
    except Exception as error:
        raise ClevrSkillsError(
            f"cannot build the environment of {task}: {one_line(error)}"
        ) from error
