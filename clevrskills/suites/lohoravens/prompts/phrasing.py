"""Phrasing: a pick and a place as an instruction that a perfect actor understands so."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from clevrskills.suites.lohoravens.env import LoHoRavensEnv
from clevrskills.suites.lohoravens.interfaces.words import ground
from clevrskills.suites.lohoravens.move import Move
from clevrskills.suites.lohoravens.solver.rehearsal import (
    ForeseenWorld,
    carry_out,
    moves_left,
    under,
)
from clevrskills.suites.lohoravens.things import AREAS, BESIDE_M, SIDES, Scene, Thing, area_bounds_m

SAME_M = 0.005
"""How near to each other two picks or places are the same."""
TRIED, TRIED_IN_ALL = 6, 12
"""Instructions of which it is looked ahead what would come, at most: for a move, and for a turn."""
NEAR_M = 0.05
"""How near to a place beside a block a place is that is told by the block's side."""


class LookAhead:
    """What comes after moves, each looked at once, from where an environment is now.

    Args:
        env: The environment.
    """

    def __init__(self, env: LoHoRavensEnv) -> None:
        self._env = env
        self._seen: dict[Move, tuple[bool, int]] = {}

    @cached_property
    def before(self) -> int:
        """How many moves are left."""
        env = self._env
        return moves_left(env.goal, env.world, env.goal_state, env.turn_limit)

    def after(self, move: Move) -> tuple[bool, int] | None:
        """Whether fewer moves are left after a move, and the slot of what it takes, -1 for nothing;
        ``None``: enough was looked at.
        """
        if move not in self._seen:
            if len(self._seen) == TRIED_IN_ALL:
                return None
            env, world = self._env, ForeseenWorld.snapshot(self._env.world)
            taken = carry_out(world, move)
            state = env.goal.evaluate(world, env.goal_state).state
            helps = moves_left(env.goal, world, state, self.before - 1) < self.before
            self._seen[move] = helps, taken.slot if taken else -1
        return self._seen[move]


def say(move: Move, env: LoHoRavensEnv, ahead: LookAhead, surely: bool = False) -> str:
    """A move in words: the first instruction that means just this; else the first after which fewer
    moves are left, those that take the same block first; else, unless it must surely help, one that
    takes a block alike; empty: there is none.
    """
    scene = Scene(env, env.memory.hidden_at_start)
    _, slot = under(env.world, move)
    if slot < 0:
        return ""
    thing, second = scene.by_slot[slot], ""
    known = dict[Move, tuple[float, str]]()
    for text in _ways(thing, move, scene):
        meant = ground(text, env).move
        if meant is None:
            continue
        away_m = np.subtract([*meant.pick[:2], *meant.place[:2]], [*move.pick[:2], *move.place[:2]])
        if np.abs(away_m).max() < SAME_M:
            return text
        known.setdefault(meant, (float(np.abs(away_m[:2]).max() >= SAME_M), text))
    for meant, (_, text) in sorted(known.items(), key=lambda entry: entry[1][0])[:TRIED]:
        seen = ahead.after(meant)
        if seen is None:
            break
        helps, taken = seen
        if helps:
            return text
        other = scene.by_slot.get(taken)
        alike = other is not None and (other.name, other.size) == (thing.name, thing.size)
        second = second or (text if alike else "")
    return "" if surely else second


def _ways(thing: Thing, move: Move, scene: Scene) -> Iterator[str]:
    """Instructions that may mean a move of a thing, the shortest first."""
    targets = [*_targets(thing, move, scene)]
    for pick in picks_of(thing, scene):
        yield from (f"pick up the {pick} and place it on the {target}" for target in targets)


def picks_of(thing: Thing, scene: Scene) -> Iterator[str]:
    """Phrases for a thing that is to be picked, the shortest first."""
    area = f" on the {scene.area(thing)}"
    yield thing.name
    yield f"{thing.size} {thing.name}"
    if thing.key in scene.hidden:
        yield f"{thing.name} hidden"
    yield f"{thing.name}{area}"
    yield f"{thing.size} {thing.name}{area}"
    if any(scene.stands_on(thing, other) for other in scene.blocks):
        yield f"{thing.name} on the top"
        yield f"{thing.size} {thing.name} on the top"


def _targets(thing: Thing, move: Move, scene: Scene) -> Iterator[str]:
    """What or where is at the place of a move."""
    place = np.array(move.place[:2])
    below = [
        other
        for other in scene.things
        if other is not thing
        and other.solid
        and (np.abs(scene.place(other)[:2] - place) < other.side_m / 2).all()
    ]
    if below:
        onto = max(below, key=lambda other: scene.boxes[other.slot][1, 2])
        yield onto.name
        if onto.kind not in ("bowl", "zone"):
            yield f"{onto.size} {onto.name}"
        return
    for other in scene.blocks:
        for side, (x, y) in SIDES.items():
            beside = scene.place(other)[:2] + BESIDE_M * np.array([x, y])
            if other is not thing and np.hypot(*(beside - place)) < NEAR_M:
                yield f"{side} side of the {other.name}"
    areas = [area for area in AREAS if _contains(area, place)]
    yield from (f"{area} area" for area in areas[::-1])  # the center first
    yield "free area"
    yield from (f"{area} area" for area in AREAS if area not in areas)


def _contains(area: str, place: np.ndarray) -> bool:
    low, high = area_bounds_m(area)
    return bool((place > low).all() and (place < high).all())
