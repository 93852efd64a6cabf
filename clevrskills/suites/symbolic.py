"""Symbolic suites: simulator-free environments in which policies act by text commands.

A suite derives from :class:`SymbolicSuite`, its environment from :class:`SymbolicEnv`; its goals
are trees of symbolic predicates.
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
    """Text prompt."""

    text: str  # instruction
    others: tuple[str, ...] = ()  # equivalent instructions
    about: Mapping[str, Any] = field(default_factory=dict)  # further facts for every policy
    # ``index``, ``style`` and ``held_out`` of the task's wording
    wording: Mapping[str, Any] = field(default_factory=dict)

    def plain(self, text: str | None = None) -> str:
        """Return the text unchanged."""
        return self.text if text is None else text

    def images(self) -> Mapping[str, np.ndarray]:
        """Return no images."""
        return {}

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return {"text": self.text}


@dataclass(frozen=True)
class SymbolicEpisode(Episode):
    """Episode of a symbolic suite."""

    task: str  # key of the task
    split: str  # name of the split
    index: int  # number within the task and split
    seed: int  # seed that it was drawn from
    text: str  # instruction
    start: Mapping[str, Any]  # initial state, as JSON data
    limit: int  # maximum number of turns
    tags: Mapping[str, str | int] = field(default_factory=dict)  # groups in tables
    robot: str = "none"
    task_args: Mapping[str, Any] = field(default_factory=dict)

    @property
    def content_hash(self) -> str:
        """SHA-256, in hexadecimal, of the content without the index."""
        content = {**asdict(self), "index": 0}
        return hashlib.sha256(to_json(content).encode()).hexdigest()

    @property
    def prompt(self) -> TextPrompt:  # type: ignore[override]
        """Prompt of the episode."""
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
    """Environment of a symbolic suite, one episode at a time.

    Args:
        config: Configuration of the environment.
        level: Level of the task.

    Attributes:
        task: The task: ``key``, ``level`` and ``max_steps``.
        world: :class:`~clevrskills.core.goal.context.Context` of one environment that the goal is
            evaluated in; set by :meth:`start`.
        goal: Goal of the episode; set by :meth:`start`.
        outcome: Current outcome of the goal.
    """

    world: Any
    goal: Predicate
    outcome: Outcome

    def __init__(self, config: EnvConfig, level: str) -> None:
        self.config, self.limit, self.elapsed_steps = config, 0, 0
        self.task = SymbolicTask(config.task, level, 0)

    @abstractmethod
    def start(self, episode: SymbolicEpisode) -> None:
        """Set ``world`` and ``goal`` for the start of an episode."""

    @abstractmethod
    def apply(self, text: str) -> tuple[bool, str, Mapping[str, str]]:
        """Execute a command if possible.

        Returns:
            Whether it was executed, the code of the outcome, and the arguments of its message.
        """

    @abstractmethod
    def solve(self) -> str:
        """Return the next command of the oracle.

        Raises:
            GaveUp: There is none.
        """

    def ended(self) -> str:
        """Return the reason why the episode has ended; empty: it has not."""
        return ""

    @property
    def prompt(self) -> TextPrompt:
        """Prompt of the episode."""
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
        """Execute a command as a turn of the episode."""
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
        """Return the number of turns; symbolic states are restored by repeating the commands."""
        return np.array([self.elapsed_steps])


class SymbolicOracle(CommandOracle):
    """Oracle that follows :meth:`SymbolicEnv.solve`.

    Args:
        env: The environment.
    """

    def __init__(self, env: SymbolicEnv) -> None:
        self._env = env

    def act(self) -> Any:
        """Return the next command."""
        return self._env.solve()


class SymbolicSuite(Suite):
    """Suite of a symbolic environment.

    A subclass defines ``name``, ``title``, ``tasks``, ``env``, and :meth:`draw_start` or, for full
    control, :meth:`draw_episode`.

    Args:
        folder: Folder of the frozen episodes; ``None``: ``episodes`` beside the suite's module.

    Attributes:
        env: Class of the environments.
    """

    env: ClassVar[type[SymbolicEnv]]

    def __init__(self, folder: Path | None = None) -> None:
        module = sys.modules[type(self).__module__].__file__ or "."
        self.folder = (folder or Path(module).parent / "episodes").absolute()

    def draw_start(
        self, task: str, split: str, generator: np.random.Generator
    ) -> tuple[Mapping[str, Any], str, int]:
        """Draw the initial state, the instruction and the turn limit of an episode."""
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
        """Return the tags of an episode, by which tables group results."""
        del start
        return {}

    def read_episode(self, data: Mapping[str, Any]) -> SymbolicEpisode:
        return SymbolicEpisode(**data)

    def frozen(self, task: str, split: str) -> FrozenEpisodes[SymbolicEpisode]:
        return FrozenEpisodes(self.folder, task, split, self.read_episode)
