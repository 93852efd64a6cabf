"""Symbolic suites: worlds of symbols in which policies act by commands in words.

A suite derives from :class:`SymbolicSuite`, its environment from :class:`SymbolicEnv`; its goals
are trees of symbolic predicates. No simulator is imported.
"""

import hashlib
import sys
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar
from zlib import crc32

import numpy as np

from clevrskills.core.env import Env, Episode, Prompt
from clevrskills.core.env_config import EnvConfig
from clevrskills.core.episode import FrozenEpisodes
from clevrskills.core.goal.predicate import Outcome, Predicate
from clevrskills.core.interface import Interface, Turn
from clevrskills.core.suite import CommandOracle, Suite
from clevrskills.jobs.files import to_json

__all__ = ["SymbolicEnv", "SymbolicSuite"]


@dataclass(frozen=True)
class TextPrompt(Prompt):
    """A prompt in words."""

    text: str  # what is asked for
    others: tuple[str, ...] = ()  # other texts that ask for the same
    # what else every policy is told of the episode
    about: Mapping[str, Any] = field(default_factory=dict)
    # which of the task's wordings the text is, ``index``, ``style`` and ``held_out``
    wording: Mapping[str, Any] = field(default_factory=dict)

    def plain(self, text: str | None = None) -> str:
        """Return the text itself."""
        return self.text if text is None else text

    def images(self) -> Mapping[str, np.ndarray]:
        """Return nothing: all is in words."""
        return {}

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return {"text": self.text}


@dataclass(frozen=True)
class SymbolicEpisode(Episode):
    """An episode as data."""

    task: str  # key of the task
    split: str  # name of the split
    index: int  # its number among those of the task and split
    seed: int  # what it was drawn from
    text: str  # what it asks for
    start: Mapping[str, Any]  # the world at the start, as JSON data
    limit: int  # turns after which it ends
    tags: Mapping[str, str | int] = field(default_factory=dict)  # what tables group it by
    robot: str = "none"
    task_args: Mapping[str, Any] = field(default_factory=dict)

    @property
    def content_hash(self) -> str:
        """SHA-256, in hexadecimal, of what it is, wherever it stands in a file."""
        content = {**asdict(self), "index": 0}
        return hashlib.sha256(to_json(content).encode()).hexdigest()

    @property
    def prompt(self) -> TextPrompt:  # type: ignore[override]
        """The prompt."""
        return TextPrompt(self.text)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return asdict(self)


@dataclass(frozen=True)
class SymbolicTask:
    """Key, level and limit of a task."""

    key: str
    level: str
    max_steps: int


class SymbolicEnv(Env):
    """An environment of one episode at a time.

    Args:
        config: What it is made from.

    Attributes:
        task: The task: ``key``, ``level`` and ``max_steps``.
        world: What the goal is about, a :class:`~clevrskills.core.goal.context.Context` of one
            environment; :meth:`start` sets it.
        goal: What is to be achieved; :meth:`start` sets it.
        outcome: What the goal says now.
    """

    world: Any
    goal: Predicate
    outcome: Outcome

    def __init__(self, config: EnvConfig, level: str) -> None:
        self.config, self.limit, self.elapsed_steps = config, 0, 0
        self.task = SymbolicTask(config.task, level, 0)

    @abstractmethod
    def start(self, episode: SymbolicEpisode) -> None:
        """Set ``world`` and ``goal`` to the start of an episode."""

    @abstractmethod
    def apply(self, text: str) -> tuple[bool, str, Mapping[str, str]]:
        """Do what a command says, if it can be done.

        Returns:
            Whether it was done, the code of what happened, and what the sentence of the code names.
        """

    @abstractmethod
    def solve(self) -> str:
        """Return the command that the oracle gives next.

        Raises:
            GaveUp: There is none.
        """

    def ended(self) -> str:
        """Return why the environment ends the episode now; empty: it goes on."""
        return ""

    @property
    def prompt(self) -> TextPrompt:
        """The prompt of the episode."""
        return self.episode.prompt

    def reset(self, *, options: Mapping[str, Any]) -> tuple[None, dict[str, Any]]:
        """Start the episode ``options["episode"]``."""
        self.episode: SymbolicEpisode = options["episode"]
        self.limit, self.elapsed_steps = self.episode.limit, 0
        self.task = SymbolicTask(self.episode.task, self.task.level, self.limit)
        self.start(self.episode)
        self._look(self.goal.initial_state(self.world))
        return None, {}

    def command(self, text: str) -> Turn:
        """Take a turn."""
        before = float(self.outcome.reward[0])
        ok, code, args = self.apply(text)
        self.elapsed_steps += 1
        self._look(self.outcome.state)
        reward, last = float(self.outcome.reward[0]) - before, self.elapsed_steps >= self.limit
        facts = {"ok": ok, "code": code, "args": args, "ended": self.ended()}
        return Turn.after(self.outcome, last, reward, steps=0, **facts)

    def _look(self, state: Any) -> None:
        self.world.invalidate()
        self.outcome = self.goal.evaluate(self.world, state)

    def get_state(self) -> np.ndarray:
        """Return the turns taken: a symbolic world is not restored but played again."""
        return np.array([self.elapsed_steps])


class SymbolicOracle(CommandOracle):
    """Oracle that solves an episode by the commands that its environment knows.

    Args:
        env: The environment.
    """

    def __init__(self, env: SymbolicEnv) -> None:
        self._env = env

    def act(self) -> Any:
        """Return the next command."""
        return self._env.solve()


class SymbolicSuite(Suite):
    """A suite of a symbolic environment.

    A class says ``name``, ``title``, ``tasks``, the attributes below, and :meth:`draw_start`, or,
    where an episode takes more than that, :meth:`draw_episode`.

    Args:
        folder: Where the frozen episodes are; ``None``: ``episodes`` beside the suite's module.

    Attributes:
        env: Class of its environments.
    """

    env: ClassVar[type[SymbolicEnv]]

    def __init__(self, folder: Path | None = None) -> None:
        module = sys.modules[type(self).__module__].__file__ or "."
        self.folder = (folder or Path(module).parent / "episodes").absolute()

    def draw_start(
        self, task: str, split: str, generator: np.random.Generator
    ) -> tuple[Mapping[str, Any], str, int]:
        """Draw an episode: the world at the start, what is asked for, and the limit of turns."""
        raise NotImplementedError(f"{type(self).__name__} draws no episodes")

    def make(self, config: EnvConfig) -> Any:
        return self.env(config, self.tasks[config.task].level)

    def oracle(self, env: Any, interface: Interface | None = None) -> Any:
        del interface
        return SymbolicOracle(env)

    def draw(
        self,
        task: str,
        split: str,
        seed: int,
        index: int = 0,
        robot: str = "",
        task_args: Mapping[str, Any] | None = None,
        wording: int | None = 0,
    ) -> SymbolicEpisode:
        self.check(EnvConfig(task, task_args=task_args or {}))
        drawn = self.draw_episode(task, split, seed, index)
        return replace(drawn, task_args=dict(task_args or {}))

    def draw_episode(self, task: str, split: str, seed: int, index: int) -> SymbolicEpisode:
        """Draw the episode of a seed."""
        entropy = (seed, crc32(task.encode()), crc32(split.encode()))
        start, text, limit = self.draw_start(task, split, np.random.default_rng(entropy))
        return SymbolicEpisode(task, split, index, seed, text, start, limit, self.tags(start))

    def tags(self, start: Mapping[str, Any]) -> Mapping[str, str | int]:
        """Return the groups of tables that an episode belongs to, by name."""
        del start
        return {}

    def read_episode(self, data: Mapping[str, Any]) -> SymbolicEpisode:
        return SymbolicEpisode(**data)

    def frozen(self, task: str, split: str) -> FrozenEpisodes[SymbolicEpisode]:
        return FrozenEpisodes(self.folder, task, split, self.read_episode)
