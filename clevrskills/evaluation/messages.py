"""What the workers of an evaluation are asked, and what they answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from clevrskills.core.episode import episode_name
from clevrskills.core.policy import ObservationOptions
from clevrskills.evaluation.results import EpisodeResult


@dataclass(frozen=True)
class Case:
    """An episode that is to be evaluated.

    Attributes:
        task: Key of the task.
        split: ``train`` or ``test``.
        index: Its number among those of the task and split.
        seed: The seed that it is drawn from; ``None``: it is a frozen one.
        task_args: Arguments of the task, if it is drawn.
        film: Whether a video is made of it.
        tries: How often it has ended in an error before.
    """

    task: str
    split: str
    index: int
    seed: int | None = None
    task_args: Mapping[str, Any] = field(default_factory=dict)
    film: bool = False
    tries: int = 0

    @property
    def id(self) -> str:
        """Its name within the run, e.g. ``sort_test_007``."""
        return episode_name(self.task, self.split, self.index)


@dataclass(frozen=True)
class Group:
    """Episodes of one task and split that one worker evaluates, some of them at the same time."""

    cases: tuple[Case, ...]


@dataclass(frozen=True)
class Describe:
    """Tell what the policy is like."""


@dataclass(frozen=True)
class Description:
    """What the policy is like.

    Attributes:
        observation: What it is shown.
        renderer: Name and driver of what draws its pictures; empty: it is shown none.
    """

    observation: ObservationOptions
    renderer: str


@dataclass(frozen=True)
class Ended:
    """How the episodes of a group ended.

    Attributes:
        results: Those that came to an end, well or not.
        unfinished: Those that did not, since a policy that acts in several episodes at once broke
            down: one of them may be to blame, so they are to be done again one by one.
        hopeless: Why it makes no sense to go on; empty: it does.
    """

    results: tuple[EpisodeResult, ...]
    unfinished: tuple[Case, ...] = ()
    hopeless: str = ""
