"""Interface of words: one instruction per turn, grounded in the present scene."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from clevrskills.core.interface import Step, TextInterface, Turn
from clevrskills.solvers.requirements import require_planner
from clevrskills.suites.lohoravens.env import Actor, LoHoRavensEnv
from clevrskills.suites.lohoravens.field import (
    AREAS,
    AROUND_M,
    BESIDE_M,
    BLOCKS,
    GAPS_M,
    KINDS,
    MOVED_M,
    SIDES,
    SIZES,
    FieldBody,
    FieldView,
    Rectangle,
    area_bounds_m,
    in_area,
)
from clevrskills.suites.lohoravens.interfaces.actuator import (
    CODES,
    DONE,
    PickPlaceActuator,
    Request,
)
from clevrskills.suites.lohoravens.interfaces.grammar import (
    DONE_COMMAND,
    FORMS,
    FREE_AREA,
    HIDDEN,
    ON_TOP,
    Instruction,
    Phrase,
    Refused,
    Spot,
    canonical,
    parse,
    plain,
)
from clevrskills.suites.lohoravens.move import Move
from clevrskills.suites.lohoravens.palette import ALL_COLORS
from clevrskills.suites.lohoravens.setting import FIELD, FIELD_MIDDLE_M
from clevrskills.suites.lohoravens.solver.rehearsal import helps

MARGIN_M = 0.005
"""Least distance between places in an area and its border."""


@dataclass(frozen=True)
class WordsInterface(TextInterface):
    """Instructions in words, one per turn, carried out by a perfect actor."""

    def begin(self, env: Any) -> PickPlaceActuator:
        """Return the actuator of the instructions.

        Raises:
            ClevrSkillsError: The planner is not installed or can't run.
        """
        require_planner()
        return WordsActuator(env)

    def random(self, generator: np.random.Generator, colors: Sequence[str] = ALL_COLORS) -> str:
        """Return a random instruction of the grammar, with colors out of ``colors``."""

        def one(words: Sequence[str]) -> str:
            return str(generator.choice(words))

        def name(kinds: Sequence[str]) -> str:
            size = one(("", *SIZES))
            return " ".join(filter(None, (size, one(colors), one(kinds))))

        place = (
            name(KINDS),
            f"{one(AREAS)} area",
            f"{one(tuple(SIDES))} side of the {one(colors)} block",
            FREE_AREA,
        )
        return f"pick up the {name(BLOCKS)} and place it on the {one(place)}"


PICK_PLACE_TEXT = WordsInterface(
    "pick_place_text",
    {
        "commands": list(FORMS),
        "colors": list(ALL_COLORS),
        "areas": list(AREAS),
        "examples": [
            "pick up the red block and place it on the blue zone",
            "pick up the bigger green block and place it on the smaller green block",
            "pick up the yellow block on the top left area and place it on the center area",
            "pick up the cyan block and place it on the left side of the pink block",
            "pick up the white block and place it on the free area",
            DONE_COMMAND,
        ],
    },
    "one instruction each turn: pick up the … and place it on the …",
    codes={code: (f"{{understood}}{text}", kind) for code, (text, kind) in CODES.items()},
    grammar=canonical,
)


class WordsActuator(PickPlaceActuator):
    """Actuator of instructions in words in one environment.

    It reports how it understood paraphrases. If the environment judges agents, it counts how many
    instructions help and how many were carried out.

    Args:
        env: The environment.
    """

    def __init__(self, env: LoHoRavensEnv) -> None:
        super().__init__(env, request_of)

    def act(self, action: Any, on_step: Callable[[Step], None] | None = None) -> Turn:
        """Carry out an instruction."""
        env, instruction = self._env, instruction_of(action)
        other = instruction and plain(action) != action.lower().rstrip(" .").strip()
        self._understood = f"Understood: {instruction}. " if other else ""
        if instruction is None or not env.judges:
            return super().act(action, on_step)
        grounded = ground(action, env)
        with torch.inference_mode():
            helpful = grounded.move is not None and helps(
                env.goal, env.world, env.goal_state, grounded.move, env.turn_limit
            )
        env.account.judge("planner", helpful)
        scene = FieldView(env)
        before = {slot: scene.xy(slot) for slot in scene.blocks}
        turn = super().act(action, on_step)
        env.account.judge("actor", is_done(instruction, env, before))
        return turn

    def _end(self, code: str, args: Mapping[str, str] | None = None, steps: int = 0) -> Turn:
        return super()._end(code, {"understood": self._understood, **(args or {})}, steps)


def instruction_of(text: str) -> Instruction | None:
    """Return the instruction in a text; ``None`` if there is none, or it says ``done``."""
    try:
        return parse(text)
    except Refused:
        return None


def is_done(instruction: Instruction, env: LoHoRavensEnv, before: Mapping[int, np.ndarray]) -> bool:
    """Return whether a block that fits an instruction was moved to where it says.

    Args:
        instruction: The instruction.
        env: The environment.
        before: World x and y of the blocks before the turn, by slot.
    """
    scene, pick = FieldView(env), instruction.pick
    return any(
        np.hypot(*(scene.xy(body.slot) - before[body.slot])) > MOVED_M
        and _is_where(body, instruction.place, scene)
        for body in scene.movable
        if _is_named(body, pick)
    )


def _is_named(body: FieldBody, phrase: Phrase) -> bool:
    """Return whether a body has the color, kind and size of a phrase."""
    named = (body.color, body.kind) == (phrase.color, phrase.kind)
    return named and phrase.size in ("", body.size)


def _is_where(body: FieldBody, target: Phrase | Spot, scene: FieldView) -> bool:
    """Return whether a body is at a target."""
    if isinstance(target, Phrase):
        return any(scene.holds(body, o) for o in scene.bodies if _is_named(o, target))
    if target.of is not None:
        beside = (
            scene.xy(other.slot) + BESIDE_M * np.array(SIDES[target.side])
            for other in scene.movable
            if other is not body and other.color == target.of.color
        )
        return any(np.hypot(*(scene.xy(body.slot) - at)) <= AROUND_M for at in beside)
    if target.area == FREE_AREA:
        return not any(scene.stands_on(body, other) for other in scene.bodies)
    return in_area(scene.xy(body.slot), target.area)


def request_of(text: str, env: LoHoRavensEnv) -> Request:
    """Return the request of an instruction, by the environment's actor if it has one."""
    return ground(text, env, env.actor)


def ground(text: str, env: LoHoRavensEnv, actor: Actor | None = None) -> Request:
    """Return the pick and place of an instruction in the present scene, by default those of
    :func:`move_of`.
    """
    try:
        instruction = parse(text)
        if instruction is None:
            return Request(code=DONE)
        if actor is not None:
            request: Request = actor(text)
            return request
        return Request(move_of(instruction, FieldView(env, env.memory.hidden_at_start)))
    except Refused as refused:
        return Request(code=refused.code, args=refused.args_of_code)


def move_of(instruction: Instruction, scene: FieldView) -> Move:
    """Return the pick and the place of an instruction.

    If several blocks fit, an uncovered one is picked: the one farthest from its place, then the
    lowest, then the one with the first slot.

    Raises:
        Refused: No body fits, or there is no place for it.
    """
    picks = _fitting(instruction.pick, scene)
    if not any(body.movable for body in picks):
        raise Refused("NOT_MOVABLE", phrase=str(instruction.pick))
    free = [body for body in picks if not scene.covered(body)]
    if not free:
        raise Refused("COVERED", phrase=str(instruction.pick))
    found, refused = list[tuple[float, float, int, Move]](), None
    for body in free:
        try:
            place, onto = _place(instruction.place, body, scene)
        except Refused as reason:
            refused = refused or reason
            continue
        (x, y), (to_x, to_y) = scene.xy(body.slot).tolist(), place.tolist()
        yaw = scene.yaw_rad(onto) if onto >= 0 and onto not in scene.furniture else 0.0
        away_m = round(float(np.hypot(to_x - x, to_y - y)), 6)
        move = Move((x, y, scene.yaw_rad(body.slot)), (to_x, to_y, yaw), body.slot, onto)
        height_m = round(float(scene.boxes[body.slot][0, 2]), 3)
        found.append((-away_m, height_m, body.slot, move))
    if refused and not found:
        raise refused
    return min(found, key=lambda entry: entry[:3])[3]


def _fitting(phrase: Phrase, scene: FieldView) -> list[FieldBody]:
    """Return the bodies that fit a phrase."""
    named = (body for body in scene.bodies if _is_named(body, phrase))
    at = {
        "": lambda _: True,
        HIDDEN: lambda body: scene.covered(body) or body.key in scene.hidden,
        ON_TOP: scene.stacked,
    }.get(phrase.at, lambda body: in_area(scene.xy(body.slot), phrase.at))
    if found := [*filter(at, named)]:
        return found
    raise Refused("NO_SUCH_OBJECT", phrase=str(phrase))


def _place(target: Phrase | Spot, body: FieldBody, scene: FieldView) -> tuple[np.ndarray, int]:
    """Return the place for a block, (2,), and the slot of the body it goes on or into, -1 for the
    table.

    Raises:
        Refused: There is no such place, or it is taken.
    """
    if isinstance(target, Spot):
        return _free_spot(target, body, scene), -1
    onto = _others(target, body, scene)
    if target.kind == "zone":
        return _in_a_zone(onto, target, body, scene)
    if target.kind != "bowl":
        onto = [other for other in onto if not scene.covered(other, but_by=body)]
        onto.sort(key=lambda other: -round(float(scene.boxes[other.slot][1, 2]), 4))
    if not onto:
        raise Refused("COVERED", phrase=str(target))
    return scene.xy(onto[0].slot), onto[0].slot


def _others(phrase: Phrase, body: FieldBody, scene: FieldView) -> list[FieldBody]:
    """Return the bodies but ``body`` that fit a phrase, the nearest to the field's middle first."""
    found = [other for other in _fitting(phrase, scene) if other is not body]
    offsets = {o.slot: scene.xy(o.slot) - FIELD_MIDDLE_M for o in found}
    found.sort(key=lambda o: (round(float(np.hypot(*offsets[o.slot])), 6), o.slot))
    if not found:
        raise Refused("NO_SUCH_OBJECT", phrase=str(phrase))
    return found


def _in_a_zone(
    zones: Sequence[FieldBody], target: Phrase, body: FieldBody, scene: FieldView
) -> tuple[np.ndarray, int]:
    """Return the free place nearest to the middle of the first zone with one, and its slot."""
    for zone in zones:
        low, high = scene.rectangle(zone.slot)
        within = (low + body.side_m / 2, high - body.side_m / 2)
        place = scene.free_place(body.slot, within, side_m=body.side_m)
        if place is not None:
            return place, zone.slot
    raise Refused("NO_ROOM", phrase=f"on the {target}")


def _free_spot(spot: Spot, body: FieldBody, scene: FieldView) -> np.ndarray:
    """Return the free place nearest to the middle of an area or of the side of a block, (2,)."""
    inset, near = body.side_m / 2, None
    gaps_m: Sequence[float] = GAPS_M
    avoid: list[Rectangle] = []
    low, high = np.array([FIELD.x_m, FIELD.y_m]).T
    if spot.of is not None:
        block = _others(spot.of, body, scene)[0]
        near = scene.xy(block.slot) + BESIDE_M * np.array(SIDES[spot.side])
        low, high = np.maximum(near - AROUND_M, low), np.minimum(near + AROUND_M, high)
        inset = 0.0
    elif spot.area == FREE_AREA:
        gaps_m, near = GAPS_M[:1], np.array(FIELD_MIDDLE_M)
        zones = map(scene.rectangle, scene.furniture)
        avoid = [(a - GAPS_M[0], b + GAPS_M[0]) for a, b in zones]
    else:
        low, high = area_bounds_m(spot.area)
        if spot.area == "center":  # it is small
            inset, gaps_m = MARGIN_M, GAPS_M[-1:]
    within = (low + inset, high - inset)
    place = scene.free_place(
        body.slot, within, near=near, avoid=avoid, gaps_m=gaps_m, side_m=body.side_m
    )
    if place is None or (spot.of and np.hypot(*(place - near)) > AROUND_M):
        raise Refused("NO_ROOM", phrase=str(spot))
    return place
