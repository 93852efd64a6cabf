"""Logical predicates: how statements are combined into goals.

``Set``: all hold now, in any order. ``Sequence``: all hold now; reward and oracle go in order.
``Order``: each in turn, earlier ones may break again. ``Once``: has held. Environments whose tree
has fewer parts mark the others as inactive.
"""

import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor

from clevrskills.core.goal.context import Context, any_true
from clevrskills.core.goal.predicate import GoalState, Leaf, Outcome, Predicate

__all__ = ["Keeping", "Once", "Order", "Sequence", "Set", "Strict"]

TOO_EARLY = "something was done before its turn"


def _part_of(index: int, state: GoalState) -> GoalState:
    """What the state of a whole has of one of its parts."""
    prefix = f"{index}/"
    return {k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)}


def _as_part(index: int, state: GoalState) -> GoalState:
    """The state of a part as the whole has it."""
    return {f"{index}/{key}": value for key, value in state.items()}


class ChildOutcomes(NamedTuple):
    """What was seen of the n parts of a whole: their outcomes, the same as (B, n), and the state of
    the whole. All is 0 for parts that an environment does not use.
    """

    outcomes: tuple[Outcome, ...]
    holds: Tensor
    both: Tensor
    """Reward and progress, (2, B, n)."""
    state: GoalState


@dataclass(frozen=True, eq=False)
class Composite(Predicate):
    """A predicate made of others.

    Args:
        children: The parts.
        active: Which parts an environment uses, (B, n) bool; ``None``: all. At least one must be
            active.
    """

    children: tuple[Predicate, ...]
    active: Tensor | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "children", tuple(self.children))
        if not self.children:
            raise ValueError(f"{type(self).__name__} needs at least one child")
        if self.active is not None:
            if self.active.shape[-1] != len(self.children):
                raise ValueError(
                    f"active has {self.active.shape[-1]} columns for {len(self.children)} children"
                )
            if not self.active.any(-1).all():
                raise ValueError("each environment needs at least one active child")

    @cached_property
    def _mask(self) -> Tensor:
        """Which children an environment uses, (B, n) bool, or (1, n) if all use all."""
        if self.active is None:
            return torch.ones((1, len(self.children)), dtype=torch.bool, device=self.device)
        return self.active

    @cached_property
    def _count(self) -> Tensor:
        """How many children an environment uses, (B,) or (1,) float."""
        return self._mask.sum(-1).float()

    @cached_property
    def _most(self) -> Tensor:
        """The greatest reward of each child, (B, n) or (1, n)."""
        rewards = [
            torch.as_tensor(c.max_reward, dtype=torch.float32, device=self.device).reshape(-1)
            for c in self.children
        ]
        alike = torch.broadcast_tensors(*rewards)  # type: ignore[no-untyped-call]
        return torch.stack(alike, dim=-1)

    @cached_property
    def _groups(self) -> list[tuple[Predicate, list[int]]]:
        """The children that any environment uses, with their numbers; those that differ in numbers
        only are joined and looked at together, as more environments than there are.
        """
        used = self._mask.any(0).tolist()
        groups: dict[object, list[int]] = {}
        for i, child in enumerate(self.children):
            groups.setdefault(_batch_key(child) or i, []).append(i)
        return [
            (_joined([self.children[i] for i in group]), group)
            for group in groups.values()
            if any(used[i] for i in group)
        ]

    @cached_property
    def _columns(self) -> Tensor | None:
        """Where the groups have each child, (n,), one past all others if they do not have it;
        ``None``: they have all, in order.
        """
        found = [i for _, group in self._groups for i in group]
        if found == list(range(len(self.children))):
            return None
        places = {i: column for column, i in enumerate(found)}
        columns = [places.get(i, len(found)) for i in range(len(self.children))]
        return torch.tensor(columns, device=self._mask.device)

    @cached_property
    def _unused(self) -> Tensor:
        """Which children an environment does not use, (B, n) or (1, n)."""
        return ~self._mask

    @cached_property
    def _all_used(self) -> bool:
        return bool(self._mask.all())

    @property
    def max_reward(self) -> Tensor | float:
        if self.active is None:
            return sum(child.max_reward for child in self.children)
        device = self.active.device
        rewards = [torch.as_tensor(child.max_reward, device=device) for child in self.children]
        total: Tensor = sum(r * a for r, a in zip(rewards, self.active.T, strict=True))
        return total

    def initial_state(self, world: Any) -> GoalState:
        state: GoalState = {}
        for i, child in enumerate(self.children):
            state |= _as_part(i, child.initial_state(world))
        return state

    @property
    def failure_flags(self) -> tuple[str, ...]:
        return tuple(f"{i}/{name}" for i in self.needed for name in self.children[i].failure_flags)

    def unsolvable(self, state: GoalState) -> dict[str, Tensor]:
        found: dict[str, Tensor] = {}
        for i in self.needed:
            for reason, where in self.children[i].unsolvable(_part_of(i, state)).items():
                where = where & self._required(i, state)
                found[reason] = found[reason] | where if reason in found else where
        return found

    @property
    def needed(self) -> Iterable[int]:
        """The children without which it can't hold, by number, where they are active."""
        return range(len(self.children))

    def _required(self, child: int, state: GoalState) -> Tensor:
        """Where a child has still to hold, (B,) or (1,) bool."""
        del state
        return self._mask[:, child]

    def leaves(self) -> Iterator[Leaf]:
        for child in self.children:
            yield from child.leaves()

    def steps(self, env: int = 0) -> Iterator[Predicate]:
        for i, child in enumerate(self.children):
            if self._uses(i, env):
                yield from child.steps(env)

    def with_criteria(self, table: Any) -> Self:
        return dataclasses.replace(
            self, children=tuple(c.with_criteria(table) for c in self.children)
        )

    def holds(self, world: Context, state: GoalState) -> Tensor:
        found = torch.ones(world.num_envs, dtype=torch.bool, device=world.device)
        for i in self.needed:
            asks = self._required(i, state)
            if any_true(asks):
                found = found & (self.children[i].holds(world, _part_of(i, state)) | ~asks)
            if not any_true(found):
                break
        return found

    def _look(self, world: Context, state: GoalState) -> ChildOutcomes:
        """Evaluate every child once."""
        parts = [_part_of(i, state) for i in range(len(self.children))]
        within: list[tuple[Outcome, ...]] = [()] * len(parts)
        found = []
        for predicate, group in self._groups:
            if len(group) == 1:
                outcome = predicate.evaluate(world, parts[group[0]])
                parts[group[0]], within[group[0]] = outcome.state, outcome.children
            else:
                several = [parts[i] for i in group]
                joined = {key: _interleave([part[key] for part in several]) for key in several[0]}
                outcome = predicate.evaluate(world.repeat(len(group)), joined)
                for key, values in outcome.state.items():
                    apart = values.unflatten(0, (-1, len(group)))  # type: ignore[no-untyped-call]
                    for i, value in zip(group, apart.unbind(1), strict=True):
                        parts[i][key] = value
            found.append(outcome)
        holds = self._by_child([outcome.holds for outcome in found], world.num_envs)
        if world.rewards:
            rated = [torch.stack((outcome.reward, outcome.progress)) for outcome in found]
            both = self._by_child(rated, world.num_envs)
        else:
            both = torch.zeros((2, *holds.shape), device=holds.device)
        rewards, progresses = (values.unbind(-1) for values in both.unbind(0))
        credits: tuple[Tensor | None, ...] = (None,) * len(parts)
        if any(outcome.credit is not None for outcome in found):
            known = [o.holds.float() if o.credit is None else o.credit for o in found]
            credits = self._by_child(known, world.num_envs).unbind(-1)
        by_field = (holds.unbind(-1), rewards, progresses, parts, within, credits)
        return ChildOutcomes(
            tuple(Outcome(*values) for values in zip(*by_field, strict=True)),
            holds,
            both,
            {k: v for i, part in enumerate(parts) for k, v in _as_part(i, part).items()},
        )

    def _by_child(self, values: list[Tensor], num_envs: int) -> Tensor:
        """What was seen of the groups, each (..., B * m), as (..., B, n)."""
        tables = [v.unflatten(-1, (num_envs, -1)) for v in values]  # type: ignore[no-untyped-call]
        if self._columns is not None:
            tables.append(torch.zeros_like(tables[0][..., :1]))
        table = tables[0] if len(tables) == 1 else torch.cat(tables, dim=-1)
        table = table if self._columns is None else table[..., self._columns]
        return table if self._all_used else table.masked_fill(self._unused, 0)

    @cached_property
    def _first_leaf(self) -> Tensor:
        """Index of the first leaf of each child among the leaves of the whole, (n,)."""
        counts = [sum(1 for _ in child.leaves()) for child in self.children]
        return torch.tensor([0, *accumulate(counts)][:-1], device=self.device)

    def _next_of(self, child: Tensor, outcome: Outcome) -> Tensor:
        """The index (B,) of the leaf that is next in a child (B,); -1 where the whole holds."""
        if all(isinstance(each, Leaf) for each in self.children):
            return child.masked_fill(outcome.holds, -1)
        chosen = self._first_leaf[child]
        for i, (each, part) in enumerate(zip(self.children, outcome.children, strict=True)):
            if not isinstance(each, Leaf):
                # what an order has behind it may hold no more, what it asks for may hold already
                chosen = chosen + (child == i) * each.next_index(part).clamp(min=0)
        return chosen.masked_fill(outcome.holds, -1)

    def describe(self, world: Any, env: int = 0) -> str:
        parts = [c.describe(world, env) for i, c in enumerate(self.children) if self._uses(i, env)]
        return self.conjunction.join(parts)

    conjunction = ", "

    def _uses(self, child: int, env: int) -> bool:
        return self.active is None or bool(self.active[env, child])

    def realize(self, world: Any, where: Tensor | None = None) -> None:
        for i, child in enumerate(self.children):
            mask = where
            if self.active is not None:
                mask = self.active[:, i] if where is None else where & self.active[:, i]
            child.realize(world, mask)


def _batch_key(predicate: Predicate) -> object:
    """What predicates must share to be looked at together; ``None`` for one that must stay
    alone.
    """
    if not isinstance(predicate, Leaf):
        return None
    values = [getattr(predicate, field.name) for field in dataclasses.fields(predicate)]
    kinds = [tuple(v.shape) if isinstance(v, Tensor) else v for v in values]
    return (type(predicate), *kinds)


def _joined(predicates: list[Predicate]) -> Predicate:
    """One predicate for several that are alike, for the environments of ``Context.repeat``."""
    if len(predicates) == 1:
        return predicates[0]
    tensors = {
        field.name: _interleave([getattr(predicate, field.name) for predicate in predicates])
        for field in dataclasses.fields(predicates[0])
        if isinstance(getattr(predicates[0], field.name), Tensor)
    }
    return dataclasses.replace(predicates[0], **tensors)


def _interleave(values: list[Tensor]) -> Tensor:
    """Values of n parts, each (B, ...), one environment after the other, (B * n, ...)."""
    return torch.stack(values, dim=1).flatten(0, 1)


@dataclass(frozen=True, eq=False)
class Set(Composite):
    """All active children hold now, in any order."""

    name = "set"

    def evaluate(self, world: Context, state: GoalState) -> Outcome:
        outcomes, holds, both, new_state = self._look(world, state)
        if not world.rewards:
            return Outcome.bare((holds | self._unused).all(-1), new_state, outcomes)
        # the published rule: what is done, plus the best of what is not
        done, best = (both * holds).sum(-1), both.masked_fill(holds, 0.0).amax(-1)
        total, share = (done + best).unbind(0)
        everything = (holds | self._unused).all(-1)
        return Outcome(everything, total, share / self._count, new_state, outcomes)

    def next_index(self, outcome: Outcome) -> Tensor:
        holds = torch.stack([part.holds for part in outcome.children], dim=-1)
        missing = self._mask.masked_fill(holds, False)
        return self._next_of(missing.byte().argmax(-1), outcome)


@dataclass(frozen=True, eq=False)
class Sequence(Set):
    """All active children hold now; they are rewarded and solved in order."""

    name = "sequence"
    conjunction = ", then "

    def evaluate(self, world: Context, state: GoalState) -> Outcome:
        outcomes, holds, (reward, progress), new_state = self._look(world, state)
        if not world.rewards:
            return Outcome.bare((holds | self._unused).all(-1), new_state, outcomes)
        active = self._mask
        # what only has to come to rest does not hide the reward for what comes next
        passed = (holds | (reward >= self._most) | ~active).long().cumprod(-1).bool()
        reached = torch.cat((torch.ones_like(passed[:, :1]), passed[:, :-1]), dim=-1) & active
        everything = (holds | ~active).all(-1)
        share = (progress * reached).sum(-1) / self._count
        return Outcome(
            everything,
            (reward * reached).sum(-1),
            torch.where(everything, 1.0, share),
            new_state,
            outcomes,
        )


@dataclass(frozen=True, eq=False)
class Order(Composite):
    """Each active child has held in turn; earlier ones may break again, and later ones may hold
    before their turn, which earns nothing.
    """

    name = "order"
    conjunction = ", then "

    def initial_state(self, world: Context) -> GoalState:
        stage = torch.zeros(world.num_envs, dtype=torch.long, device=world.device)
        return {"stage": stage, **super().initial_state(world)}

    def evaluate(self, world: Context, state: GoalState) -> Outcome:
        outcomes, holds, (reward, progress), new_state = self._look(world, state)
        index = self._numbers
        behind = holds | self._unused | (index < state["stage"][:, None])
        stage = behind.long().cumprod(-1).sum(-1)
        for i in range(len(self.children)):
            # what a later part remembers starts when its turn comes
            for key in [k for k in new_state if k.startswith(f"{i}/")]:
                turn = (stage >= i).reshape(-1, *(1,) * (new_state[key].dim() - 1))
                new_state[key] = torch.where(turn, new_state[key], state[key])
        new_state = {"stage": stage, **new_state}
        holds = stage == len(self.children)
        if not world.rewards:
            return Outcome.bare(holds, new_state, outcomes)
        finished = (index < stage[:, None]) & self._mask
        current = index == stage[:, None]
        return Outcome(
            holds,
            (self._most * finished + reward * current).sum(-1),
            (finished + progress * current).sum(-1) / self._count,
            new_state,
            outcomes,
        )

    def behind(self, stage: Tensor) -> tuple[Tensor, Tensor]:
        """Reward and progress of the parts before a stage (B,), each (B,)."""
        finished = (self._numbers < stage[:, None]) & self._mask
        return (self._most * finished).sum(-1), finished.sum(-1) / self._count

    def _required(self, child: int, state: GoalState) -> Tensor:
        return super()._required(child, state) & (state["stage"] <= child)

    @cached_property
    def _numbers(self) -> Tensor:
        """The numbers of the children, (n,)."""
        return torch.arange(len(self.children), device=self._mask.device)

    def next_index(self, outcome: Outcome) -> Tensor:
        return self._next_of(outcome.state["stage"].clamp(max=len(self.children) - 1), outcome)


@dataclass(frozen=True, eq=False)
class Wrapper(Predicate):
    """A predicate that adds something to another one.

    Args:
        child: The other one.
    """

    child: Predicate

    @property
    def max_reward(self) -> Tensor | float:
        return self.child.max_reward

    def initial_state(self, world: Any) -> GoalState:
        return _as_part(0, self.child.initial_state(world))

    def _look(self, world: Context, state: GoalState) -> tuple[Outcome, GoalState]:
        """Evaluate the child once."""
        part = self.child.evaluate(world, _part_of(0, state))
        return part, _as_part(0, part.state)

    @property
    def failure_flags(self) -> tuple[str, ...]:
        return tuple(f"0/{name}" for name in self.child.failure_flags)

    def unsolvable(self, state: GoalState) -> dict[str, Tensor]:
        return self.child.unsolvable(_part_of(0, state))

    def leaves(self) -> Iterator[Leaf]:
        yield from self.child.leaves()

    def steps(self, env: int = 0) -> Iterator[Predicate]:
        yield from self.child.steps(env)

    def next_index(self, outcome: Outcome) -> Tensor:
        return torch.where(outcome.holds, -1, self.child.next_index(outcome.children[0]))

    def with_criteria(self, table: Any) -> Self:
        return dataclasses.replace(self, child=self.child.with_criteria(table))

    def describe(self, world: Any, env: int = 0) -> str:
        return self.child.describe(world, env)

    def realize(self, world: Any, where: Tensor | None = None) -> None:
        self.child.realize(world, where)


@dataclass(frozen=True, eq=False)
class Once(Wrapper):
    """The child has held at some time.

    Args:
        child: The statement to remember.
    """

    name = "once"

    def initial_state(self, world: Context) -> GoalState:
        held = torch.zeros(world.num_envs, dtype=torch.bool, device=world.device)
        return {"held": held, **super().initial_state(world)}

    def evaluate(self, world: Context, state: GoalState) -> Outcome:
        part, new_state = self._look(world, state)
        held = state["held"] | part.holds
        most = torch.as_tensor(self.max_reward, device=held.device)
        return Outcome(
            held,
            torch.where(held, most, part.reward),
            torch.where(held, 1.0, part.progress),
            {"held": held, **new_state},
            (part,),
        )

    def unsolvable(self, state: GoalState) -> dict[str, Tensor]:
        found = super().unsolvable(state)
        return {reason: where & ~state["held"] for reason, where in found.items()}


@dataclass(frozen=True, eq=False)
class Keeping(Wrapper):
    """The child holds, and so does something that is to be kept, which earns nothing.

    Reward, credit and what is to be done next are those of the child; success asks for both.

    Args:
        child: What is to be achieved.
        kept: What must hold with it.
    """

    name = "keeping"
    kept: Predicate

    def initial_state(self, world: Context) -> GoalState:
        return {**super().initial_state(world), **_as_part(1, self.kept.initial_state(world))}

    def evaluate(self, world: Context, state: GoalState) -> Outcome:
        part, new_state = self._look(world, state)
        veto = self.kept.evaluate(world, _part_of(1, state))
        new_state = {**new_state, **_as_part(1, veto.state)}
        progress = torch.where(veto.holds, part.progress, part.progress.clamp(max=0.99))
        return Outcome(part.holds & veto.holds, part.reward, progress, new_state, (part,))

    @property
    def failure_flags(self) -> tuple[str, ...]:
        return (*super().failure_flags, *(f"1/{name}" for name in self.kept.failure_flags))

    def unsolvable(self, state: GoalState) -> dict[str, Tensor]:
        found = super().unsolvable(state)
        for reason, where in self.kept.unsolvable(_part_of(1, state)).items():
            found[reason] = found[reason] | where if reason in found else where
        return found

    def next_index(self, outcome: Outcome) -> Tensor:
        # where only what is to be kept is missing, nothing is left to do, but it does not hold
        left = self.child.next_index(outcome.children[0]).clamp(min=0)
        return torch.where(outcome.holds, -1, left)

    def with_criteria(self, table: Any) -> Self:
        kept = self.kept.with_criteria(table)
        return dataclasses.replace(self, child=self.child.with_criteria(table), kept=kept)


@dataclass(frozen=True, eq=False)
class Strict(Wrapper):
    """Each part of an order has held in turn, and nothing has held before its turn: that ends the
    order. What is behind still counts.

    Args:
        child: The order.
        visits: What may not hold too early; nothing that remembers.
        due: How many parts of the order must be behind before each may hold, (B, n) int.
    """

    name = "strict"
    child: Order
    visits: tuple[Predicate, ...]
    due: Tensor

    def initial_state(self, world: Context) -> GoalState:
        over = torch.zeros(world.num_envs, dtype=torch.bool, device=world.device)
        return {"over": over, **super().initial_state(world)}

    def evaluate(self, world: Context, state: GoalState) -> Outcome:
        part, over, before = self._look(world, state)[0], state["over"], _part_of(0, state)
        kept = {
            key: torch.where(over.reshape(-1, *(1,) * (value.dim() - 1)), before[key], value)
            for key, value in part.state.items()
        }
        part = dataclasses.replace(part, holds=part.holds & ~over, state=kept)
        holds = torch.stack([each.evaluate(world, {}).holds for each in self.visits], dim=-1)
        early = holds & (kept["stage"][:, None] < self.due)
        over = over | (early.any(-1) & ~part.holds)
        reward, progress = self.child.behind(kept["stage"])
        return Outcome(
            part.holds,
            torch.where(over, reward, part.reward),
            torch.where(over, progress, part.progress),
            {"over": over, **_as_part(0, kept)},
            (part,),
        )

    @property
    def failure_flags(self) -> tuple[str, ...]:
        return ("over", *super().failure_flags)

    def unsolvable(self, state: GoalState) -> dict[str, Tensor]:
        return {**super().unsolvable(state), TOO_EARLY: state["over"]}

    def with_criteria(self, table: Any) -> Self:
        visits = tuple(visit.with_criteria(table) for visit in self.visits)
        return dataclasses.replace(self, child=self.child.with_criteria(table), visits=visits)
