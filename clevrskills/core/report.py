"""Contents of a suite's reports beside success rates."""

import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

NONE = "none"
"""Training data of a policy that was not trained on the suite."""
Reported = TypeVar("Reported", "Measure", "Pivot", "PublishedTable", "Protocol")


@dataclass(frozen=True)
class Measure:
    """A suite's own measure of an episode, and its column in tables."""

    name: str  # key in the results
    heading: str  # heading of the column
    kind: Literal["share", "mean"] = "mean"  # ``share`` (in percent) or ``mean``
    digits: int = 1  # decimal places
    episodes: Literal["all", "solved"] = "all"  # episodes that count
    # whether to show it also relative to the oracle with the same interface and noise
    of_oracle: bool = False


@dataclass(frozen=True)
class Pivot:
    """Table of success rates over the values of two episode tags."""

    row: str  # tag of the rows
    column: str  # tag of the columns


@dataclass(frozen=True)
class PublishedTable:
    """Table of published numbers."""

    title: str  # title
    columns: tuple[str, ...]  # headings
    rows: tuple[tuple[Any, ...], ...]  # rows of texts and numbers
    note: str  # comparability with results of this package
    source: str  # reference
    comparable: bool = False  # whether results of this package are directly comparable
    tasks: tuple[str, ...] = ()  # keys of its tasks; empty: all of the suite


@dataclass(frozen=True)
class Cell:
    """Run of a protocol: one row of its results."""

    name: str  # name of the run and of its folder
    split: str  # the split
    episodes: int | None = None  # episodes of each task; ``None``: all frozen ones
    # further options of ``clevrskills evaluate`` by name, such as ``noise`` or ``view``
    options: Mapping[str, Any] = field(default_factory=dict)
    tasks: tuple[str, ...] = ()  # keys of its tasks; empty: all of the suite
    # CPU seconds of a control step or turn, with images and without the policy
    step_s: float = 0.0


@dataclass(frozen=True)
class Number:
    """Headline number of each row."""

    name: str  # name of the number
    levels: tuple[str, ...] = ()  # levels of its tasks; empty: all tasks of the row
    measure: str = "success"  # ``success`` or the name of a :class:`Measure`
    # training data of the policies that have this number; empty: all policies
    trained_on: tuple[str, ...] = ()


@dataclass(frozen=True)
class Protocol:
    """Evaluation protocol of a suite: its runs, and the numbers reported for each."""

    cells: tuple[Cell, ...]  # the runs
    numbers: tuple[Number, ...]  # the numbers of each run
    trained_on: tuple[str, ...]  # allowed training data besides :data:`NONE`
    # whether numbers are means over tasks or over all episodes, as in the suite's paper
    pool: Literal["tasks", "episodes"] = "tasks"
    quick_split: str = "val"  # split of quick checks, which are not results
    pooled: str = ""  # name of a further row for the episodes of all runs; empty for none


Item = Measure | Pivot | PublishedTable | Protocol
"""Item of a suite's report."""


@typing.runtime_checkable
class Reportable(typing.Protocol):
    """Suite with its own items in reports."""

    def report(self) -> Sequence[Item]:
        """Return the measures, pivot tables, published numbers and protocol of the suite."""


def reported(suite: object, kind: type[Reported]) -> list[Reported]:
    """Return the report items of one kind."""
    items = suite.report() if isinstance(suite, Reportable) else ()
    return [item for item in items if isinstance(item, kind)]


def protocol_of(suite: object) -> Protocol | None:
    """Return the protocol of a suite, or ``None``."""
    return next(iter(reported(suite, Protocol)), None)


def pools_episodes(suite: object) -> bool:
    """Return whether the suite's numbers are means over episodes; otherwise over tasks."""
    protocol = protocol_of(suite)
    return protocol is not None and protocol.pool == "episodes"
