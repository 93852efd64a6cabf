"""Report of a suite: what its pages show beside success rates."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

MILESTONE = "milestone: "
"""Begin of the name of a measure that is 1 where an episode passed a milestone, else 0."""
Reported = TypeVar("Reported", "Measure", "Pivot", "PublishedTable")


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


@runtime_checkable
class Reportable(Protocol):
    """Suite with numbers of its own in reports."""

    def report(self) -> Sequence[Measure | Pivot | PublishedTable]:
        """Return the measures, pivot tables and published numbers that reports show."""


def reported(suite: object, kind: type[Reported]) -> list[Reported]:
    """Return what reports show of a suite, of one kind."""
    items = suite.report() if isinstance(suite, Reportable) else ()
    return [item for item in items if isinstance(item, kind)]
