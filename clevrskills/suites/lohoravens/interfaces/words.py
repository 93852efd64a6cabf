"""Interface of words: an instruction each turn, grounded in the scene as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from clevrskills.core.interface import Step, TextInterface, Turn
from clevrskills.solvers.requirements import require_planner
from clevrskills.suites.lohoravens.env import LoHoRavensEnv
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
    SIZES,
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
from clevrskills.suites.lohoravens.things import (
    AREAS,
    BESIDE_M,
    BLOCKS,
    KINDS,
    SIDES,
    Scene,
    Thing,
    area_bounds_m,
)

GRID_M = 0.01
"""Distance between the places that are looked at for a free one."""
GAPS_M, FREE_GAPS_M = (0.030, 0.010), (0.030,)
"""Gaps to what stands around, in a place that is named and in a free area: the first that leaves a
place, as a gripper beside high blocks needs more.
"""
AROUND_M = 0.04
"""Greatest distance from the place beside a block."""
MOVED_M = 0.02
"""How far a block is to have moved to have been carried."""
MARGIN_M = 0.005
"""How far from the border of an area its places end."""


@dataclass(frozen=True)
class WordsInterface(TextInterface):
    """Instructions in words, which a perfect actor carries out, one each turn."""

    def begin(self, env: Any) -> PickPlaceActuator:
        """What takes the instructions.

        Raises:
            ClevrSkillsError: The planner is not installed or can't run.
        """
        require_planner()
        return WordsActuator(env)

    def random(self, generator: np.random.Generator, colors: Sequence[str] = ALL_COLORS) -> str:
        """Any instruction of the grammar, with some colours."""

        def one(words: Sequence[str]) -> str:
            return str(generator.choice(words))

        def thing(kinds: Sequence[str]) -> str:
            size = one(("", *SIZES))
            return " ".join(filter(None, (size, one(colors), one(kinds))))

        place = (
            thing(KINDS),
            f"{one(AREAS)} area",
            f"{one(tuple(SIDES))} side of the {one(colors)} block",
            FREE_AREA,
        )
        return f"pick up the {thing(BLOCKS)} and place it on the {one(place)}"


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
    codes={code: (f"{{understood}}{told}", kind) for code, (told, kind) in CODES.items()},
    grammar=canonical,
)


class WordsActuator(PickPlaceActuator):
    """Takes instructions in words in one environment, and tells how it understood those in other
    words than the grammar's; where it is to judge them, it takes note of how often what was said
    helps and what was said was done.

    Args:
        env: The environment.
    """

    def __init__(self, env: LoHoRavensEnv) -> None:
        super().__init__(env, request_of)

    def act(self, action: Any, on_step: Callable[[Step], None] | None = None) -> Turn:
        """Carry out an instruction."""
        env, instruction = self._env, instruction_of(action)
        self._understood = ""
        if instruction is not None and plain(action) != action.lower().rstrip(" .").strip():
            self._understood = f"Understood: {instruction}. "
        if instruction is None or not env.judges:
            return super().act(action, on_step)
        told = ground(action, env)
        with torch.inference_mode():
            helpful = told.move is not None and helps(
                env.goal, env.world, env.goal_state, told.move, env.turn_limit
            )
        env.account.judge("planner", helpful)
        before = {thing.slot: place for thing, place in _places(env)}
        turn = super().act(action, on_step)
        env.account.judge("actor", is_done(instruction, env, before))
        return turn

    def _end(self, code: str, args: Mapping[str, str] | None = None, steps: int = 0) -> Turn:
        return super()._end(code, {"understood": self._understood, **(args or {})}, steps)


def instruction_of(text: str) -> Instruction | None:
    """What a text asks for; ``None``: nothing, or that all is done."""
    try:
        return parse(text)
    except Refused:
        return None


def _places(env: LoHoRavensEnv) -> Iterator[tuple[Thing, np.ndarray]]:
    scene = Scene(env)
    yield from ((thing, scene.place(thing)) for thing in scene.blocks)


def is_done(instruction: Instruction, env: LoHoRavensEnv, before: Mapping[int, np.ndarray]) -> bool:
    """Whether a block that fits an instruction is where it says, and was not there before.

    Args:
        instruction: The instruction.
        env: The environment.
        before: Where the blocks were, by slot.
    """
    scene, pick, target = (
        Scene(env, env.memory.hidden_at_start),
        instruction.pick,
        instruction.place,
    )
    for thing in scene.blocks:
        fits = (thing.color, thing.kind) == (pick.color, pick.kind)
        moved = np.linalg.norm(scene.place(thing) - before[thing.slot]) > MOVED_M
        if fits and pick.size in ("", thing.size) and moved and _is_where(thing, target, scene):
            return True
    return False


def _is_where(thing: Thing, target: Phrase | Spot, scene: Scene) -> bool:
    """Whether a thing is where words say."""
    if isinstance(target, Phrase):
        onto = (
            other
            for other in scene.things
            if (other.color, other.kind) == (target.color, target.kind)
            and target.size in ("", other.size)
        )
        return any(
            scene.inside(thing, other) if other.kind == "bowl" else scene.stands_on(thing, other)
            for other in onto
        )
    if target.of is not None:
        middles = (
            scene.place(other)[:2] + BESIDE_M * np.array(SIDES[target.side])
            for other in scene.blocks
            if other is not thing and other.color == target.of.color
        )
        return any(np.hypot(*(scene.place(thing)[:2] - m)) <= AROUND_M for m in middles)
    if target.area == FREE_AREA:
        return not any(scene.stands_on(thing, other) for other in scene.things)
    return scene.is_in(thing, target.area)


def request_of(text: str, env: LoHoRavensEnv) -> Request:
    """What an instruction asks for, as the environment's actor has it; what is no instruction is
    refused before.
    """
    if env.actor is None:
        return ground(text, env)
    try:
        return Request(code=DONE) if parse(text) is None else env.actor(text)
    except Refused as refused:
        return Request(code=refused.code, args=refused.args_of_code)


def ground(text: str, env: LoHoRavensEnv) -> Request:
    """What an instruction asks for, as the scene is now; where several things fit, uncovered ones
    first, then the one farthest from the place, then by slot.
    """
    try:
        instruction = parse(text)
        if instruction is None:
            return Request(code=DONE)
        return Request(move_of(instruction, Scene(env, env.memory.hidden_at_start)))
    except Refused as refused:
        return Request(code=refused.code, args=refused.args_of_code)


def move_of(instruction: Instruction, scene: Scene) -> Move:
    """The pick and the place that an instruction asks for.

    Raises:
        Refused: There is nothing such, or no place for it.
    """
    picks = _fitting(instruction.pick, scene)
    if not any(thing.movable for thing in picks):
        raise Refused("NOT_MOVABLE", phrase=str(instruction.pick))
    free = [thing for thing in picks if not scene.covered(thing)]
    if not free:
        raise Refused("COVERED", phrase=str(instruction.pick))
    found, refused = list[tuple[float, int, Thing, tuple[float, float, float]]](), None
    for thing in free:
        try:
            place = _place(instruction.place, thing, scene)
        except Refused as reason:
            refused = refused or reason
            continue
        away_m = float(np.hypot(*(scene.place(thing)[:2] - place[:2])))
        found.append((-round(away_m, 6), thing.slot, thing, place))
    if not found:
        assert refused is not None
        raise refused
    _, _, thing, place = min(found, key=lambda entry: entry[:2])
    x, y, _ = scene.place(thing)
    return Move((float(x), float(y), scene.yaw_rad(thing)), place)


def _fitting(phrase: Phrase, scene: Scene) -> list[Thing]:
    """The things that a phrase fits.

    Raises:
        Refused: There is none.
    """
    found = [
        thing
        for thing in scene.things
        if thing.color == phrase.color
        and thing.kind == phrase.kind
        and phrase.size in ("", thing.size)
        and _is_at(thing, phrase.at, scene)
    ]
    if not found:
        raise Refused("NO_SUCH_OBJECT", phrase=str(phrase))
    return found


def _is_at(thing: Thing, at: str, scene: Scene) -> bool:
    if at == HIDDEN:
        return scene.covered(thing) or thing.key in scene.hidden
    if at == ON_TOP:
        return any(scene.stands_on(thing, other) for other in scene.blocks)
    return not at or scene.is_in(thing, at)


def _place(target: Phrase | Spot, thing: Thing, scene: Scene) -> tuple[float, float, float]:
    """Where a thing goes: x, y and turn.

    Raises:
        Refused: There is no such place, or it is taken.
    """
    if isinstance(target, Spot):
        return _free_spot(target, thing, scene)
    onto = [other for other in _fitting(target, scene) if other is not thing]
    if not onto:
        raise Refused("NO_SUCH_OBJECT", phrase=str(target))
    if target.kind == "bowl":
        bowl = min(onto, key=lambda other: _from_middle(other, scene))
        x, y, _ = scene.place(bowl)
        return float(x), float(y), 0.0
    if target.kind == "zone":
        return _in_a_zone(onto, target, thing, scene)
    open_ = [
        other
        for other in onto
        if not any(scene.stands_on(upper, other) for upper in scene.blocks if upper is not thing)
    ]
    if not open_:
        raise Refused("COVERED", phrase=str(target))
    below = min(open_, key=lambda o: (-round(_top(o, scene), 4), *_from_middle(o, scene)))
    x, y, _ = scene.place(below)
    return float(x), float(y), scene.yaw_rad(below)


def _top(thing: Thing, scene: Scene) -> float:
    return float(scene.boxes[thing.slot][1, 2])


def _from_middle(thing: Thing, scene: Scene) -> tuple[float, int]:
    away_m = float(np.hypot(*(scene.place(thing)[:2] - FIELD_MIDDLE_M)))
    return round(away_m, 6), thing.slot


def _in_a_zone(
    zones: Sequence[Thing], target: Phrase, thing: Thing, scene: Scene
) -> tuple[float, float, float]:
    """The free place nearest the middle of a zone, of several the one nearest the field's middle
    that has one.
    """
    for zone in sorted(zones, key=lambda other: _from_middle(other, scene)):
        low, high = scene.boxes[zone.slot][:, :2]
        half = thing.side_m / 2
        place = _nearest_free((low + high) / 2, low + half, high - half, thing, scene, GAPS_M)
        if place is not None:
            return place
    raise Refused("NO_ROOM", phrase=f"on the {target}")


def _free_spot(spot: Spot, thing: Thing, scene: Scene) -> tuple[float, float, float]:
    """The free place nearest the middle of an area, or nearest to where a side is."""
    field = np.array([FIELD.x_m, FIELD.y_m]).T
    inset = thing.side_m / 2
    if spot.of is not None:
        others = [other for other in _fitting(spot.of, scene) if other is not thing]
        if not others:
            raise Refused("NO_SUCH_OBJECT", phrase=str(spot.of))
        block = min(others, key=lambda other: _from_middle(other, scene))
        middle = scene.place(block)[:2] + BESIDE_M * np.array(SIDES[spot.side])
        low, high = np.maximum(middle - AROUND_M, field[0]), np.minimum(middle + AROUND_M, field[1])
        place = _nearest_free(middle, low, high, thing, scene, GAPS_M, AROUND_M)
    elif spot.area == FREE_AREA:
        low, high = field[0] + inset, field[1] - inset
        middle = np.array(FIELD_MIDDLE_M)
        place = _nearest_free(middle, low, high, thing, scene, FREE_GAPS_M, solid_only=False)
    else:
        low, high = area_bounds_m(spot.area)
        inset = MARGIN_M if spot.area == "center" else inset
        gaps_m = GAPS_M[-1:] if spot.area == "center" else GAPS_M  # which is small
        middle = (low + high) / 2
        low, high = low + inset, high - inset
        place = _nearest_free(middle, low, high, thing, scene, gaps_m)
    if place is None:
        raise Refused("NO_ROOM", phrase=str(spot))
    return place


def _nearest_free(
    middle: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    thing: Thing,
    scene: Scene,
    gaps_m: Sequence[float],
    most_m: float = np.inf,
    solid_only: bool = True,
) -> tuple[float, float, float] | None:
    """The place nearest to a middle (2,) where a thing, its sides along x and y, is clear of what
    stands around; ``None``: there is none.

    Args:
        middle: Where it should be.
        low: Least x and y of its middle.
        high: Greatest ones.
        thing: The thing.
        scene: Where everything is.
        gaps_m: Least gaps that are tried.
        most_m: How far from the middle at most.
        solid_only: Whether zones are no obstacles.
    """
    around = [
        scene.boxes[other.slot][:, :2]
        for other in scene.things
        if other is not thing and other.solid and not (solid_only and other.kind == "zone")
    ]
    for gap_m in gaps_m:
        for place in _spiral(middle, low, high):
            if np.hypot(*(place - middle)) > most_m:
                break
            clear = all(_gap_m(place, thing.side_m, box) >= gap_m for box in around)
            if clear and FIELD.contains(*place):
                return float(place[0]), float(place[1]), 0.0
    return None


def _spiral(middle: np.ndarray, low: np.ndarray, high: np.ndarray) -> Iterator[np.ndarray]:
    """Places of a grid about a middle (2,), within bounds, the nearest first."""
    if (low > high).any():
        return
    below, above = (np.ceil(np.abs(end - middle) / GRID_M).astype(int) for end in (low, high))
    ticks = [middle[k] + GRID_M * np.arange(-below[k], above[k] + 1) for k in range(2)]
    grid = np.stack(np.meshgrid(*ticks, indexing="ij"), axis=-1).reshape(-1, 2)
    grid = grid[((grid >= low - 1e-9) & (grid <= high + 1e-9)).all(1)]
    yield from grid[np.argsort(np.round(np.hypot(*(grid - middle).T), 6), kind="stable")]


def _gap_m(place: np.ndarray, side_m: float, box: np.ndarray) -> float:
    """Gap between a square at a place (2,) and a box, lowest and highest corner (2, 2)."""
    away = np.maximum(box[0] - place, place - box[1]) - side_m / 2
    return float(away.max())
