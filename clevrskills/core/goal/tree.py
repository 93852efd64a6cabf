"""Goal trees as lists of nodes in depth-first order."""

from collections.abc import Iterator
from collections.abc import Sequence as Several
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count

import torch
from torch import Tensor

from clevrskills.core.goal.context import any_true
from clevrskills.core.goal.logical import Composite, Keeping, Order, Sequence, Wrapper
from clevrskills.core.goal.predicate import GoalState, Leaf, Outcome, Predicate
from clevrskills.errors import ClevrSkillsError


@dataclass(frozen=True, eq=False)
class Node:
    """Node of a goal tree."""

    path: str  # name, e.g. `set/1.inside`
    depth: int  # number of ancestors
    predicate: Predicate  # predicate of the node
    leaf: int | None  # index among the leaves of the tree; `None` for inner nodes
    active: bool  # whether the environment uses the node


def nodes(goal: Predicate, env: int = 0) -> list[Node]:
    """Return the nodes of a tree in one environment, with leaves in the order of ``leaves()``."""
    return list(_tree(goal, env))


@lru_cache(maxsize=64)
def _tree(goal: Predicate, env: int) -> tuple[Node, ...]:
    return tuple(_nodes(goal, "", 0, True, env, count()))


def outcomes(goal: Predicate, outcome: Outcome) -> Iterator[Outcome]:
    """Yield the outcome of each node, in the order of :func:`nodes`."""
    yield outcome
    for part, result in zip(parts(goal), outcome.children, strict=True):
        yield from outcomes(part, result)


def used(goal: Predicate, num_envs: int) -> Tensor:
    """Return which nodes each environment uses, in the order of :func:`nodes`, (B, N) bool."""
    every = torch.ones(num_envs, dtype=torch.bool, device=goal.device)
    return torch.stack(list(_used(goal, every)), dim=-1)


def parts(predicate: Predicate) -> tuple[Predicate, ...]:
    """Return the children of a predicate; none for a leaf."""
    if isinstance(predicate, Composite):
        return predicate.children
    return (predicate.child,) if isinstance(predicate, Wrapper) else ()


def reasons(goal: Predicate, failure_flags: Several[str], state: GoalState) -> list[str] | None:
    """Return why each environment can no longer achieve its goal, empty where it can; ``None`` if
    all can.
    """
    if not any(any_true(state[name]) for name in failure_flags):
        return None
    found: list[str] = []
    for reason, where in goal.unsolvable(state).items():
        found = found or [""] * len(where)
        found = [reason if so else last for so, last in zip(where.tolist(), found, strict=True)]
    return found


def leaves_met(goal: Predicate, outcome: Outcome, env: int = 0) -> tuple[float, float]:
    """Return the sums of the met weights and of all weights of the leaves in one environment.

    A leaf is met as far as its credit, or fully if an ancestor holds or its step of an order is
    finished. Later steps of an order are not met, nor are leaves below a wrapper that can no longer
    hold, e.g. after a forbidden touch. The kept condition of :class:`Keeping` is ignored.
    """
    if isinstance(goal, Leaf):
        weight = float(goal.weight[env] if isinstance(goal.weight, Tensor) else goal.weight)
        credit = outcome.holds if outcome.credit is None else outcome.credit
        return weight * float(credit[env]), weight
    stage = int(outcome.state["stage"][env]) if isinstance(goal, Order) else None
    met = of = 0.0
    for i, part, result in _used_parts(goal, outcome, env):
        part_met, part_of = leaves_met(part, result, env)
        holds = bool(outcome.holds[env])
        earns = not isinstance(goal, Wrapper) or isinstance(goal, Keeping)
        in_vain = not earns and bool(result.holds[env]) and not holds
        if holds or (stage is not None and i < stage):
            part_met = part_of
        elif in_vain or (stage is not None and i > stage):
            part_met = 0.0
        met, of = met + part_met, of + part_of
    return met, of


@dataclass(frozen=True)
class LeafStatus:
    """Status of a leaf in one environment."""

    leaf: Leaf
    met: bool  # whether it or an ancestor holds, or its step of an order is finished
    asked: bool  # whether it must hold now; false before and after its turn
    ahead: bool = False  # whether it is a later step of an order


def leaf_status(
    goal: Predicate, outcome: Outcome, env: int = 0, asked: bool = True
) -> Iterator[LeafStatus]:
    """Yield the status of the leaves of one environment, in order."""
    if isinstance(goal, Leaf):
        yield LeafStatus(goal, bool(outcome.holds[env]), asked)
        return
    stage = int(outcome.state["stage"][env]) if isinstance(goal, Order) else None
    whole = bool(outcome.holds[env])
    needed = goal.needed if isinstance(goal, Composite) else (0,)
    for i, part, result in _used_parts(goal, outcome, env):
        behind = stage is not None and i < stage
        turn = asked and i in needed and (stage is None or i == stage)
        for found in leaf_status(part, result, env, turn):
            ahead = found.ahead or (stage is not None and i > stage)
            yield replace(found, met=found.met or whole or behind, ahead=ahead)


def depth(goal: Predicate, outcome: Outcome, env: int = 0) -> tuple[int, int] | None:
    """Return the numbers of finished and of all steps of an ordered goal; ``None`` without order.

    Finished are the past steps of an :class:`Order` and the leading steps of a :class:`Sequence`
    that hold now. Nested orders are ignored; those side by side are added.
    """
    if isinstance(goal, Order):
        stage = int(outcome.state["stage"][env])
        used = [i for i, _, _ in _used_parts(goal, outcome, env)]
        return sum(i < stage for i in used), len(used)
    if isinstance(goal, Sequence):
        holds = [bool(result.holds[env]) for _, _, result in _used_parts(goal, outcome, env)]
        return [*holds, False].index(False), len(holds)
    found = [depth(part, result, env) for _, part, result in _used_parts(goal, outcome, env)]
    ordered = [pair for pair in found if pair is not None]
    return (sum(p[0] for p in ordered), sum(p[1] for p in ordered)) if ordered else None


def state_of(leaf: Leaf, goal: Predicate, outcome: Outcome) -> GoalState:
    """Return the goal state of a leaf.

    Raises:
        ClevrSkillsError: The leaf is not part of the goal.
    """
    for node, found in zip(nodes(goal), outcomes(goal, outcome), strict=True):
        if node.predicate is leaf:
            return found.state
    raise ClevrSkillsError(f"{leaf.name} is not part of the goal")


def _used_parts(
    goal: Predicate, outcome: Outcome, env: int
) -> Iterator[tuple[int, Predicate, Outcome]]:
    """Yield the number, predicate and outcome of each part that one environment uses."""
    mask = goal.active if isinstance(goal, Composite) else None
    for i, (part, result) in enumerate(zip(parts(goal), outcome.children, strict=True)):
        if mask is None or bool(mask[env, i]):
            yield i, part, result


def _used(predicate: Predicate, where: Tensor) -> Iterator[Tensor]:
    yield where
    mask = predicate.active if isinstance(predicate, Composite) else None
    for i, part in enumerate(parts(predicate)):
        yield from _used(part, where if mask is None else where & mask[:, i])


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
