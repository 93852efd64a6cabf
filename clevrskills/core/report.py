"""Report of a suite: what its pages show beside success rates."""

import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

MILESTONE = "milestone: "
"""Begin of the name of a measure that is 1 where an episode passed a milestone, else 0."""
NONE = "none"
"""Training data of a policy that was not trained on the suite."""
Reported = TypeVar("Reported", "Measure", "Pivot", "PublishedTable", "Protocol")


@dataclass(frozen=True)
class Measure:
    """A number of a suite's own that each episode has, and how tables show it.

    Attributes:
        name: Key in the results.
        heading: Heading of the column.
        kind: ``share`` (in percent) or ``mean``.
        digits: Digits behind the point.
        episodes: Which episodes count: ``all`` or only those ``solved``.
        of_oracle: Whether it is also told as a share of the oracle's, where the oracle was run
            through the same interface with the same noise.
    """

    name: str
    heading: str
    kind: Literal["share", "mean"] = "mean"
    digits: int = 1
    episodes: Literal["all", "solved"] = "all"
    of_oracle: bool = False


@dataclass(frozen=True)
class Pivot:
    """A table of success rates over the values of two tags of episodes.

    Attributes:
        row: Tag of the rows.
        column: Tag of the columns.
    """

    row: str
    column: str


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


@dataclass(frozen=True)
class Cell:
    """A run of a protocol: one row of its results.

    Attributes:
        name: Its name, also that of its folder.
        split: The split.
        episodes: Episodes of each task; ``None``: all frozen ones.
        options: Further options of ``clevrskills evaluate`` that it sets, by name, such as
            ``noise`` or ``view``.
        tasks: Keys of its tasks; empty: all of the suite.
        step_s: CPU seconds of a control step, or of a turn, with its images and without the policy.
    """

    name: str
    split: str
    episodes: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    tasks: tuple[str, ...] = ()
    step_s: float = 0.0


@dataclass(frozen=True)
class Number:
    """A headline number of each row.

    Attributes:
        name: Its name.
        levels: Levels of its tasks; empty: all tasks of the row.
        measure: ``success``, or the name of a :class:`Measure`.
        trained_on: Policies that it is of, by what they were trained on; empty: all.
    """

    name: str
    levels: tuple[str, ...] = ()
    measure: str = "success"
    trained_on: tuple[str, ...] = ()


@dataclass(frozen=True)
class Protocol:
    """The protocol of a suite: which runs a policy needs, and which numbers are reported of each.

    Attributes:
        cells: Its runs.
        numbers: What is reported of each of them.
        trained_on: What a policy may have been trained on, besides :data:`NONE`.
        pool: Whether a number is the mean over tasks or over all episodes, as in the suite's paper.
        quick_split: Split of quick checks, which are no results.
        pooled: Name of a further row, of the episodes of all runs; empty: there is none.
    """

    cells: tuple[Cell, ...]
    numbers: tuple[Number, ...]
    trained_on: tuple[str, ...]
    pool: Literal["tasks", "episodes"] = "tasks"
    quick_split: str = "val"
    pooled: str = ""


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
