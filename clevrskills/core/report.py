"""Report of a suite: what its pages show beside success rates."""

import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

NONE = "none"
"""Training data of a policy that was not trained on the suite."""
Reported = TypeVar("Reported", "Measure", "Pivot", "PublishedTable", "Protocol")


@dataclass(frozen=True)
class Measure:
    """A number of a suite's own that each episode has, and how tables show it."""

    name: str  # key in the results
    heading: str  # heading of the column
    kind: Literal["share", "mean"] = "mean"  # ``share`` (in percent) or ``mean``
    digits: int = 1  # digits behind the point
    # which episodes count: ``all`` or only those ``solved``
    episodes: Literal["all", "solved"] = "all"
    # whether it is also told as a share of the oracle's, where the oracle was run through the same
    # interface with the same noise
    of_oracle: bool = False


@dataclass(frozen=True)
class Pivot:
    """A table of success rates over the values of two tags of episodes."""

    row: str  # tag of the rows
    column: str  # tag of the columns


@dataclass(frozen=True)
class PublishedTable:
    """Numbers that others have published."""

    title: str  # its title
    columns: tuple[str, ...]  # headings
    rows: tuple[tuple[Any, ...], ...]  # rows of texts and numbers
    note: str  # how far ours compare with them
    source: str  # where they are from
    comparable: bool = False  # whether ours may stand beside them as the same thing
    # keys of the tasks that they are of: reports of others leave them out; empty: all
    tasks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cell:
    """A run of a protocol: one row of its results."""

    name: str  # its name, also that of its folder
    split: str  # the split
    episodes: int | None = None  # episodes of each task; ``None``: all frozen ones
    # further options of ``clevrskills evaluate`` that it sets, by name, such as ``noise`` or
    # ``view``
    options: Mapping[str, Any] = field(default_factory=dict)
    tasks: tuple[str, ...] = ()  # keys of its tasks; empty: all of the suite
    # CPU seconds of a control step, or of a turn, with its images and without the policy
    step_s: float = 0.0


@dataclass(frozen=True)
class Number:
    """A headline number of each row."""

    name: str  # its name
    levels: tuple[str, ...] = ()  # levels of its tasks; empty: all tasks of the row
    measure: str = "success"  # ``success``, or the name of a :class:`Measure`
    # policies that it is of, by what they were trained on; empty: all
    trained_on: tuple[str, ...] = ()


@dataclass(frozen=True)
class Protocol:
    """The protocol of a suite: the runs that a policy needs, and the numbers reported of each."""

    cells: tuple[Cell, ...]  # its runs
    numbers: tuple[Number, ...]  # what is reported of each of them
    trained_on: tuple[str, ...]  # what a policy may have been trained on, besides :data:`NONE`
    # whether a number is the mean over tasks or over all episodes, as in the suite's paper
    pool: Literal["tasks", "episodes"] = "tasks"
    quick_split: str = "val"  # split of quick checks, which are no results
    pooled: str = ""  # name of a further row, of the episodes of all runs; empty: there is none


Item = Measure | Pivot | PublishedTable | Protocol
"""Item that reports show of a suite."""


@typing.runtime_checkable
class Reportable(typing.Protocol):
    """Suite with numbers of its own in reports."""

    def report(self) -> Sequence[Item]:
        """Return the measures, pivot tables, published numbers and protocol of the suite."""


def reported(suite: object, kind: type[Reported]) -> list[Reported]:
    """Return what reports show of a suite, of one kind."""
    items = suite.report() if isinstance(suite, Reportable) else ()
    return [item for item in items if isinstance(item, kind)]


def protocol_of(suite: object) -> Protocol | None:
    """Return the protocol of a suite; ``None``: it has none."""
    return next(iter(reported(suite, Protocol)), None)


def pools_episodes(suite: object) -> bool:
    """Return whether a number of several tasks is the mean over their episodes, as the protocol of
    the suite says; else it is the mean over tasks.
    """
    protocol = protocol_of(suite)
    return protocol is not None and protocol.pool == "episodes"
