"""Phrasing: instructions that a perfect actor grounds in a given move."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from clevrskills.suites.lohoravens.env import LoHoRavensEnv
from clevrskills.suites.lohoravens.field import (
    BESIDE_M,
    SIDES,
    FieldBody,
    FieldView,
    in_area,
    quadrant_of,
)
from clevrskills.suites.lohoravens.interfaces.grammar import FREE_AREA
from clevrskills.suites.lohoravens.interfaces.words import ground
from clevrskills.suites.lohoravens.move import Move
from clevrskills.suites.lohoravens.solver.rehearsal import helps

NEAR_M = 0.05
"""Greatest distance from the place beside a block at which its side is named."""


def instruction_for(move: Move, env: LoHoRavensEnv) -> str:
    """Return the first instruction with the block and the target of a move, or else one after which
    fewer moves are left; an empty string if there is none.
    """
    scene, others = FieldView(env, env.memory.hidden_at_start), dict[Move, str]()
    targets = [*_targets(move, scene)]
    for pick in picks_of(scene.by_slot[move.slot], scene):
        for target in targets:
            text = f"pick up the {pick} and place it on the {target}"
            meant = ground(text, env).move
            if meant and meant.slot == move.slot and meant.onto == move.onto >= 0:
                return text
            if meant:
                others.setdefault(meant, text)
    for meant, text in others.items():
        if helps(env.goal, env.world, env.goal_state, meant, env.turn_limit):
            return text
    return ""


def picks_of(body: FieldBody, scene: FieldView) -> Iterator[str]:
    """Yield phrases for a block to pick, the shortest first."""
    names = (body.name, f"{body.size} {body.name}")
    yield from names
    if body.key in scene.hidden:
        yield f"{body.name} hidden"
    yield from (f"{name} on the {scene.area(body)}" for name in names)
    if scene.stacked(body):
        yield from (f"{name} on the top" for name in names)


def _targets(move: Move, scene: FieldView) -> Iterator[str]:
    """Yield phrases for the target of a move, the shortest first."""
    if move.onto >= 0:
        onto = scene.by_slot[move.onto]
        yield onto.name
        if onto.movable:
            yield f"{onto.size} {onto.name}"
        return
    place = np.array(move.place[:2])
    for other in scene.movable:
        for side, way in SIDES.items():
            beside = scene.xy(other.slot) + BESIDE_M * np.array(way)
            if other.slot != move.slot and np.hypot(*(beside - place)) < NEAR_M:
                yield f"{side} side of the {other.name}"
    if in_area(place, "center"):
        yield "center area"
    yield f"{quadrant_of(place)} area"
    yield FREE_AREA
