"""A goal tree as a list of its nodes, each before its parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from clevrskills.predicates.base import Outcome, Predicate
from clevrskills.predicates.logical import Composite, Wrapper


@dataclass(frozen=True, eq=False)
class Node:
    """A place in a goal tree.

    Attributes:
        path: Its name, e.g. ``set/1.inside``.
        depth: How many nodes are above it.
        predicate: What stands there.
        leaf: Its index among the leaves of the tree; ``None``: it has parts.
        active: Whether the environment uses it.
    """

    path: str
    depth: int
    predicate: Predicate
    leaf: int | None
    active: bool


def nodes(goal: Predicate, env: int = 0) -> list[Node]:
    """The nodes of a tree as one environment uses it; its leaves come in the order of
    ``goal.leaves()``.
    """
    return list(_nodes(goal, "", 0, True, env, count()))


def outcomes(goal: Predicate, outcome: Outcome) -> Iterator[Outcome]:
    """What was said of each node, in the order of :func:`nodes`."""
    yield outcome
    for part, result in zip(parts(goal), outcome.children, strict=True):
        yield from outcomes(part, result)


def parts(predicate: Predicate) -> tuple[Predicate, ...]:
    """What a predicate is made of; nothing if it is physical."""
    if isinstance(predicate, Composite):
        return predicate.children
    return (predicate.child,) if isinstance(predicate, Wrapper) else ()


def _nodes(
    predicate: Predicate, prefix: str, depth: int, active: bool, env: int, leaves: Iterator[int]
) -> Iterator[Node]:
    path = f"{prefix}{predicate.name}"
    leaf = None if parts(predicate) else next(leaves)
    yield Node(path, depth, predicate, leaf, active)
    mask = predicate.active if isinstance(predicate, Composite) else None
    for i, part in enumerate(parts(predicate)):
        used = active and (mask is None or bool(mask[env, i]))
        yield from _nodes(part, f"{path}/{i}.", depth + 1, used, env, leaves)
