"""Shapes of blocks: what counts as a line, a circle, a letter, a rectangle, and how much of one.

Correct and wrong places are drawn here by code of its own: each kind at twenty positions and sizes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import pi

import numpy as np
import pytest
import torch

from clevrskills.assets import shape
from clevrskills.core.geometry import yaw_quaternion
from clevrskills.predicates import from_json, predicate_types
from clevrskills.sim.body_geometry import Solids
from clevrskills.sim.tensor_world import TensorWorld
from clevrskills.suites.lohoravens.predicates.shapes import Forms

SIDE_M = 0.04
MIXED_M = (0.03, 0.035, 0.04, 0.045, 0.05, 0.055)
ANCHOR = -0.13 + 0.0j
"""Middle of the field, of the line, of the circle and of the zone."""
COUNT = 20
MISS_M = 0.002
"""How far the arm misses, to each side."""

Places = Callable[[np.random.Generator], np.ndarray]


@dataclass(frozen=True)
class Kind:
    """A kind of shape: correct places, and wrong ones by their fault."""

    figure: str
    groups: tuple[int, ...]
    correct: Places
    wrong: dict[str, Places]
    sides_m: tuple[float, ...] = ()

    def goal(self, world: TensorWorld) -> Forms:
        envs, count = world.num_envs, len(self.groups)
        drawn = self.figure in ("line", "ring")
        anchor = torch.tensor([[ANCHOR.real, ANCHOR.imag] if drawn else [0.0, 0.0]])
        zone = count if self.figure == "rectangle" else -1
        return Forms(
            torch.arange(count).expand(envs, -1),
            torch.tensor(self.groups).expand(envs, -1),
            anchor.expand(envs, 2),
            torch.full((envs,), zone),
            self.figure,
        )

    def world(self, *places: np.ndarray, yaws_rad: np.ndarray | None = None) -> TensorWorld:
        """Worlds with the blocks at places (n,), one for each."""
        count, zone = len(self.groups), self.figure == "rectangle"
        sides = self.sides_m or (SIDE_M,) * count
        shapes = [shape("cube", (side,) * 3) for side in sides]
        ground_m = 0.001 if zone else 0.0
        yaws = np.zeros(count) if yaws_rad is None else yaws_rad
        turns = yaw_quaternion(torch.tensor(yaws)).tolist()
        rows = [
            [
                [at.real, at.imag, ground_m + side / 2, *turn]
                for at, side, turn in zip(each, sides, turns, strict=True)
            ]
            for each in places
        ]
        keys, static = [f"block_{k}" for k in range(count)], [False] * count
        if zone:
            shapes.append(shape("cube", (0.24, 0.30, 0.001)))
            keys, static = [*keys, "zone"], [*static, True]
            for row in rows:
                row.append([ANCHOR.real, ANCHOR.imag, 0.0005, 1.0, 0.0, 0.0, 0.0])
        solids = Solids.from_shapes([shapes] * len(rows), [static] * len(rows))
        return TensorWorld(keys, solids, torch.tensor(rows, dtype=torch.float32))


def look(kind: Kind, *places: np.ndarray) -> tuple[list[bool], list[float]]:
    """Whether the goal holds and its credit; blocks were elsewhere at the start."""
    return judge(kind.goal(world := kind.world(*places)), world)


def judge(goal: Forms, world: TensorWorld) -> tuple[list[bool], list[float]]:
    start = world.position(goal.objects)[..., :2] + 1.0
    outcome = goal.evaluate(world, {"start": start})
    assert outcome.credit is not None
    assert ((outcome.credit == 1.0) == outcome.holds).all()
    assert ((outcome.progress == 1.0) == outcome.holds).all()
    return outcome.holds.tolist(), [round(each, 4) for each in outcome.credit.tolist()]


# ---- correct and wrong places ----


def row(sides: tuple[float, ...], even_gaps: bool = True, gaps: Places | None = None) -> Places:
    """A row on the line of 60 cm, its gaps or the distances of its middles even."""

    def draw(rng: np.random.Generator) -> np.ndarray:
        count, along = len(sides), np.cumsum(sides) - np.array(sides) / 2
        gap_m = rng.uniform(0.004, 0.98 * (0.6 - along[-1] + along[0]) / (count - 1))
        if gaps is not None:
            along = along + gap_m * np.concatenate(([0.0], np.cumsum(gaps(rng)[: count - 1])))
        elif even_gaps:
            along = along + gap_m * np.arange(count)
        else:
            pitch_m = rng.uniform(max(sides) + 0.004, 0.6 / (count - 1))
            along = pitch_m * np.arange(count)
        span = along[-1] - along[0]
        shift = rng.uniform(-0.3, 0.3 - span) if span < 0.6 else -span / 2
        return ANCHOR + 1j * (along - along[0] + shift)

    return draw


def around(count: int, radius_m: float, phase_rad: float) -> np.ndarray:
    return radius_m * np.exp(1j * (phase_rad + 2 * pi * np.arange(count) / count))


def ring(rng: np.random.Generator) -> np.ndarray:
    return ANCHOR + around(6, 0.13, rng.uniform(0, 2 * pi))


def somewhere(rng: np.random.Generator, radius_m: float) -> complex:
    x, y = (
        rng.uniform(low + radius_m, high - radius_m) for low, high in ((-0.31, 0.05), (-0.38, 0.38))
    )
    return complex(x, y)


def with_middle(count: int) -> Places:
    def draw(rng: np.random.Generator) -> np.ndarray:
        radius_m = rng.uniform(max(0.065, 0.05 / np.sin(pi / count) / 2), 0.175)
        circle = around(count, radius_m, rng.uniform(0, 2 * pi))
        return somewhere(rng, radius_m) + np.concatenate(([0.0], circle))

    return draw


def concentric(inside: int, outside: int) -> Places:
    def draw(rng: np.random.Generator) -> np.ndarray:
        least_m = 0.07 if inside == 6 else 0.05
        outer_m = rng.uniform(least_m + 0.06 + 0.04 * (outside == 10), 0.175)
        inner_m = rng.uniform(least_m, outer_m - 0.06)
        rings = (
            around(n, r, rng.uniform(0, 6)) for n, r in ((inside, inner_m), (outside, outer_m))
        )
        return somewhere(rng, outer_m) + np.concatenate((*rings,))

    return draw


def letter(rng: np.random.Generator, upside_down: bool = False) -> np.ndarray:
    height = rng.uniform(0.10, 0.28)
    half = rng.uniform(0.085, 0.16)
    deep = rng.uniform(0.45, 1.0)
    stroke = np.array([0.0, 0.5, 1.0])
    up = np.concatenate((stroke, stroke, [1 - deep / 2, 1 - deep / 2, 1 - deep]))
    right = half * np.array([-1, -1, -1, 1, 1, 1, -0.5, 0.5, 0])
    up = height * ((1 - up) if upside_down else up)
    places = (-up + height / 2 + 1j * right) * np.exp(1j * rng.uniform(-0.2, 0.2))
    return complex(rng.uniform(-0.145, -0.115), rng.uniform(-0.15, 0.15)) + places


def outline(count: int) -> Places:
    def draw(rng: np.random.Generator) -> np.ndarray:
        across = int(rng.integers(2, count // 4 + 2))
        along = count // 2 + 2 - across
        grid = [(i, j) for i in range(across) for j in range(along)]
        border = [(i, j) for i, j in grid if i in (0, across - 1) or j in (0, along - 1)]
        points = np.array(border) - (np.array([across, along]) - 1) / 2
        most = np.array([0.19, 0.25]) / np.array([across - 1, along - 1])
        pitch = rng.uniform(0.046, np.minimum(most, 0.12))
        lean = rng.uniform(-0.1, 0.1) if (pitch < 0.85 * most).all() else 0.0
        return ANCHOR + (points * pitch) @ np.array([1, 1j]) * np.exp(1j * lean)

    return draw


def swap(places: Places, one: int, other: int) -> Places:
    def draw(rng: np.random.Generator) -> np.ndarray:
        found = places(rng)
        found[[one, other]] = found[[other, one]]
        return found

    return draw


def reversed_(places: Places) -> Places:
    return lambda rng: places(rng)[::-1].copy()


def moved(places: Places, block: int, aside: float = 1.0) -> Places:
    """One block is off by the width of a block, in any direction; of some, away from the middle."""

    def draw(rng: np.random.Generator) -> np.ndarray:
        found = places(rng)
        found[block] += aside * SIDE_M * np.exp(1j * rng.uniform(0, 2 * pi))
        return found

    return draw


def oval(places: Places, ratio: float = 1.3) -> Places:
    def draw(rng: np.random.Generator) -> np.ndarray:
        found = places(rng)
        middle, turn = found.mean(), np.exp(1j * rng.uniform(0, pi))
        away = (found - middle) * turn
        return middle + (ratio * away.real + 1j * away.imag) / turn

    return draw


def one_missing(count: int, first: int = 0) -> Places:
    """A circle in which the place of one more block is left out."""

    def draw(rng: np.random.Generator) -> np.ndarray:
        radius_m = rng.uniform(0.09, 0.17)
        circle = around(count + 1, radius_m, rng.uniform(0, 6))[:count]
        return somewhere(rng, radius_m) + np.concatenate((np.zeros(first), circle))

    return draw


def skewed(places: Places) -> Places:
    """A parallelogram."""

    def draw(rng: np.random.Generator) -> np.ndarray:
        away = places(rng) - ANCHOR
        return ANCHOR + 0.9 * away.real + 1j * (0.8 * away.imag + 0.35 * away.real)

    return draw


def one_gap(rng: np.random.Generator) -> np.ndarray:
    """Gaps of which one is much wider: that of a box that is not there."""
    gaps = np.full(6, 0.3)
    gaps[rng.integers(1, 4)] = 0.3 + 0.055 / 0.02
    return gaps


def uneven(rng: np.random.Generator) -> np.ndarray:
    """Gaps that are narrow and wide in turn."""
    return np.tile([0.1, 3.0], 3)


def wide_row(sides: tuple[float, ...], gaps: Places) -> Places:
    """A row whose gaps are some multiples of 2 cm."""

    def draw(rng: np.random.Generator) -> np.ndarray:
        gaps_m = 0.02 * gaps(rng)[: len(sides) - 1]
        along = np.cumsum(sides) - np.array(sides) / 2 + np.concatenate(([0], np.cumsum(gaps_m)))
        return ANCHOR + 1j * (along - along.mean())

    return draw


def lines(sides: tuple[float, ...]) -> dict[str, Places]:
    good = row(sides)
    return {
        "reversed": reversed_(good),
        "two swapped": swap(good, 1, 2),
        "uneven": wide_row(sides, uneven),
        "a gap": wide_row(sides, one_gap),
        "one off": moved(row(sides), 2),
        "beside the line": lambda rng: good(rng) + 0.02,
    }


def circle(places: Places, count: int) -> dict[str, Places]:
    return {
        "oval": oval(places),
        "one off": moved(places, count - 1),
        "a gap": one_missing(count - 1, 1),
    }


FLAT = {"sides_m": MIXED_M}
SIX, EIGHT = (0,) + (1,) * 6, (0,) + (1,) * 8
RINGS, FEWER = (0,) * 6 + (1,) * 10, (0,) * 4 + (1,) * 8
KINDS = {
    "line of colors": Kind("line", tuple(range(7)), row((SIDE_M,) * 7), lines((SIDE_M,) * 7)),
    "line of sizes": Kind("line", tuple(range(6)), row(MIXED_M), lines(MIXED_M), **FLAT),
    "line of even middles": Kind(
        "line", tuple(range(6)), row(MIXED_M, even_gaps=False), lines(MIXED_M), **FLAT
    ),
    "drawn circle": Kind(
        "ring",
        tuple(range(6)),
        ring,
        {
            "clockwise": reversed_(ring),
            "two swapped": swap(ring, 0, 1),
            "one off": moved(ring, 3),
            "too large": lambda rng: ANCHOR + 1.15 * (ring(rng) - ANCHOR),
            "a gap": lambda rng: ANCHOR + around(7, 0.13, rng.uniform(0, 6))[:6],
        },
        **FLAT,
    ),
    "circle of six": Kind(
        "circle",
        SIX,
        with_middle(6),
        {
            **circle(with_middle(6), 7),
            "no middle": moved(with_middle(6), 0, 1.2),
            "middle on the circle": swap(with_middle(6), 0, 1),
        },
    ),
    "circle of eight": Kind("circle", EIGHT, with_middle(8), circle(with_middle(8), 9)),
    "two circles": Kind(
        "circles",
        RINGS,
        concentric(6, 10),
        {
            "colors swapped": lambda rng: np.roll(concentric(10, 6)(rng), 6),
            "two swapped": swap(concentric(6, 10), 0, 15),
            "oval": oval(concentric(6, 10)),
            "one off": moved(concentric(6, 10), 12),
            "apart": lambda rng: concentric(6, 10)(rng) + 0.025 * (np.arange(16) < 6),
        },
    ),
    "two smaller circles": Kind(
        "circles",
        FEWER,
        concentric(4, 8),
        {
            "apart": lambda rng: concentric(4, 8)(rng) + 0.025 * (np.arange(12) < 4),
            "one off": moved(concentric(4, 8), 2),
        },
    ),
    "letter M": Kind(
        "letter_m",
        (0,) * 9,
        letter,
        {
            "W": lambda rng: letter(rng, upside_down=True),
            "on its side": lambda rng: ANCHOR + 1j * (letter(rng) - ANCHOR),
            **{f"block {k} off": moved(letter, k) for k in (0, 1, 2, 6, 8)},
        },
    ),
    "rectangle of eight": Kind(
        "rectangle",
        (0,) * 8,
        outline(8),
        {
            "no rectangle": skewed(outline(8)),
            "one off": moved(outline(8), 3),
            "oval": lambda rng: ANCHOR + around(8, rng.uniform(0.07, 0.09), 0.0),
        },
    ),
    "rectangle of ten": Kind(
        "rectangle",
        (0,) * 10,
        outline(10),
        {
            "no rectangle": skewed(outline(10)),
            "one off": moved(outline(10), 4),
            "beside the zone": lambda rng: outline(10)(rng) + 0.2j,
        },
    ),
}
NAMES = [*KINDS]
WRONG = [(name, fault) for name, kind in KINDS.items() for fault in kind.wrong]


def drawn(kind: Kind, places: Places, seed: int) -> list[np.ndarray]:
    """Twenty of the places, each missed by a little, interchangeable blocks in any order."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(COUNT):
        each = places(rng) + (rng.uniform(-MISS_M, MISS_M, (len(kind.groups), 2)) @ [1, 1j])
        for group in set(kind.groups):
            own = np.flatnonzero(np.array(kind.groups) == group)
            each[own] = each[rng.permutation(own)]
        found.append(each)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_correct_shapes_of_any_position_and_size(name: str) -> None:
    kind = KINDS[name]
    assert look(kind, *drawn(kind, kind.correct, 1)) == ([True] * COUNT, [1.0] * COUNT)


@pytest.mark.parametrize(("name", "fault"), WRONG)
def test_wrong_shapes(name: str, fault: str) -> None:
    kind = KINDS[name]
    holds, credit = look(kind, *drawn(kind, kind.wrong[fault], 2))
    assert holds == [False] * COUNT and max(credit) < 1.0


# ---- partial credit ----


@pytest.mark.parametrize("name", NAMES)
def test_credit_grows_with_each_block_in_its_place(name: str) -> None:
    kind, rng = KINDS[name], np.random.default_rng(3)
    places = kind.correct(rng)
    count, order = len(places), rng.permutation(len(places))
    start = ANCHOR + 0.3 + 0.1 * np.arange(count)
    rows = [np.where(np.isin(np.arange(count), order[:k]), places, start) for k in range(count + 1)]
    world, state = kind.world(*rows), kind.world(*[start] * (count + 1))
    goal = kind.goal(world)
    outcome = goal.evaluate(world, goal.initial_state(state))
    credit = outcome.credit.numpy()
    loose = {"circle": 2, "circles": 3, "letter_m": 3}.get(kind.figure, 0)
    assert outcome.holds.tolist() == [False] * count + [True]
    assert (np.diff(credit) >= 0).all() and not credit[: loose + 1].any()
    assert credit[-2] == pytest.approx((count - 1 - loose) / (count - loose))


def test_blocks_in_place_at_the_start_earn_nothing() -> None:
    kind = KINDS["circle of eight"]
    places = kind.correct(np.random.default_rng(0))
    places[3] += 0.06
    world = kind.world(places)
    goal = kind.goal(world)
    assert goal.evaluate(world, goal.initial_state(world)).credit.tolist() == [0.0]


def test_wrong_order_and_an_upside_down_letter_earn_partial_credit() -> None:
    """Of a W, the uprights and the middle are right: two blocks are missing."""
    for name, fault, most in (("line of sizes", "reversed", 0.2), ("letter M", "W", 0.7)):
        kind = KINDS[name]
        assert np.mean(look(kind, *drawn(kind, kind.wrong[fault], 4))[1]) < most, name


# ---- all of them ----


@pytest.mark.parametrize("name", ["line of sizes", "circle of six", "letter M", "rectangle of ten"])
def test_held_moving_or_floating_blocks_do_not_count(name: str) -> None:
    kind, body = KINDS[name], torch.tensor([2])
    places = kind.correct(np.random.default_rng(5))
    for spoil in ("held", "moving", "floating", "stacked"):
        world = kind.world(places)
        pose = world.pose(body).clone()
        if spoil == "held":
            world.hold(body, pose)
        elif spoil == "moving":
            world.set_body_velocity(body, torch.tensor([[0.05, 0, 0, 0, 0, 0]]))
        else:
            if spoil == "stacked":
                pose[:, :2] = world.position(torch.tensor([0]))[:, :2]
            pose[:, 2] += SIDE_M
            world.set_body_pose(body, pose)
        holds, (credit,) = judge(kind.goal(world), world)
        assert holds == [False] and credit < 1.0, spoil


@pytest.mark.parametrize("name", NAMES)
def test_realized_it_holds_and_reads_back(name: str) -> None:
    kind = KINDS[name]
    world = kind.world(
        0.4 + 0.1 * np.arange(len(kind.groups)) + 0.01j * np.arange(len(kind.groups)) ** 2
    )
    goal = kind.goal(world)
    state = goal.initial_state(world)
    assert goal.evaluate(world, state).holds.tolist() == [False]
    goal.realize(world)
    assert goal.evaluate(world, state).holds.tolist() == [True]
    assert from_json(goal.to_json(), predicate_types()).to_json() == goal.to_json()
    assert "{obj:block_0}" in goal.describe(world)


def test_blocks_may_be_turned() -> None:
    for name, kind in KINDS.items():
        rng = np.random.default_rng(6)
        world = kind.world(kind.correct(rng), yaws_rad=rng.uniform(0, 6, len(kind.groups)))
        if kind.figure != "rectangle":  # whose corners may then hang over the zone's edge
            assert judge(kind.goal(world), world)[0] == [True], name


def test_environments_with_different_numbers_of_blocks() -> None:
    eight = KINDS["circle of eight"]
    one, other = (with_middle(n)(np.random.default_rng(7)) for n in (8, 6))
    world = eight.world(one, np.concatenate((other, [0.5 + 0.5j, 0.5 + 0.6j])))
    goal = eight.goal(world)
    assert judge(goal, world)[0] == [True, False]
    objects = torch.tensor([[0, 1, 2, 3, 4, 5, 6, 7, 8], [0, -1, 1, 2, 3, 4, -1, 5, 6]])
    few = Forms(objects, goal.groups, goal.anchor, goal.zone, goal.figure)
    assert judge(few, world)[0] == [True, True]
