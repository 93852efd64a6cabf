"""Shapes of blocks: what counts as a line, a circle, a letter, a rectangle, and how much of one."""

from math import pi

import numpy as np
import pytest
import torch

from clevrskills.assets import shape
from clevrskills.core.geometry import yaw_quaternion
from clevrskills.predicates import from_json, predicate_types
from clevrskills.sim.body_geometry import Solids
from clevrskills.sim.tensor_world import TensorWorld
from clevrskills.suites.lohoravens.predicates.shapes import (
    Concentric,
    FitsTemplate,
    InMiddle,
    OnCircle,
    OnLine,
    OnRing,
    RectangleIn,
    Shape,
    around_m,
)
from clevrskills.suites.lohoravens.predicates.templates import rectangle_points
from clevrskills.suites.lohoravens.tasks.shape import LETTERS_CM, letter_points

SIDE_M = 0.04
MIDDLE = torch.tensor([[-0.13, 0.0]])


def table(*places: np.ndarray, sides_m=None, yaw_rad: float = 0.0, zone=False) -> TensorWorld:
    """Worlds with blocks at places (n, 2), one for each; a large zone in the middle comes last."""
    count = len(places[0])
    sides_m = sides_m or [SIDE_M] * count
    shapes = [shape("cube", (side,) * 3) for side in sides_m]
    mat_m = 0.001 if zone else 0.0
    turn = yaw_quaternion(torch.tensor([yaw_rad]))[0].tolist()
    rows = [
        [[x, y, mat_m + side / 2, *turn] for (x, y), side in zip(each, sides_m, strict=True)]
        for each in places
    ]
    keys, static = [f"block_{k}" for k in range(count)], [False] * count
    if zone:
        shapes.append(shape("cube", (0.24, 0.30, 0.001)))
        keys, static = [*keys, "zone"], [*static, True]
        for row in rows:
            row.append([-0.13, 0.0, 0.0005, 1.0, 0.0, 0.0, 0.0])
    solids = Solids.from_shapes([shapes] * len(rows), [static] * len(rows))
    return TensorWorld(keys, solids, torch.tensor(rows, dtype=torch.float32))


def every(world: TensorWorld, zone: bool = False) -> torch.Tensor:
    return torch.arange(len(world.keys) - zone).expand(world.num_envs, -1)


def look(goal, world: TensorWorld, given: int = 0) -> tuple[list[bool], list[float]]:
    state = {"given": torch.full((world.num_envs,), given)} if "given" in _keys(goal, world) else {}
    outcome = goal.evaluate(world, state)
    credit = outcome.holds.float() if outcome.credit is None else outcome.credit
    assert ((credit == 1.0) == outcome.holds).all()
    assert ((outcome.progress == 1.0) == outcome.holds).all()
    return outcome.holds.tolist(), [round(each, 4) for each in credit.tolist()]


def _keys(goal, world) -> set[str]:
    return set(goal.initial_state(world))


def each(world: TensorWorld, value: float) -> torch.Tensor:
    return torch.full((world.num_envs,), value)


# ---- line ----


def line(world: TensorWorld, rank=None) -> OnLine:
    objects = every(world)
    rank = torch.arange(objects.shape[1]).float() if rank is None else torch.tensor(rank)
    middle = MIDDLE.expand(world.num_envs, 2)
    return OnLine(objects, middle, each(world, 0.6), rank.expand(objects.shape))


def row(*along: float, off=0.0) -> np.ndarray:
    return np.column_stack((np.full(len(along), -0.13) + off, along))


def test_a_line_is_in_order_with_gaps_of_one_to_six_centimeters() -> None:
    good = row(-0.15, -0.08, -0.01, 0.06, 0.13)
    cases = [
        (good, True, 1.0),
        (good + [0.0, 0.1], True, 1.0),
        (good + [0.014, 0.0], True, 1.0),
        (good + [0.016, 0.0], False, 0.0),
        (row(-0.15, -0.101, -0.01, 0.06, 0.13), False, 0.8),  # a gap of 9 mm, one of 5.1 cm
        (row(-0.16, -0.08, 0.0, 0.08, 0.179), True, 1.0),  # one of 5.9 cm
        (row(-0.12, -0.06, 0.0, 0.06, 0.165), False, 0.8),  # 6.5 cm
        (good[::-1].copy(), False, 0.2),
        (good[[1, 0, 2, 3, 4]], False, 0.6),  # neither of the swapped ones fits the others
    ]
    world = table(*(places for places, _, _ in cases))
    holds, credit = look(line(world), world)
    assert holds == [expected for _, expected, _ in cases]
    assert credit == pytest.approx([share for *_, share in cases])


def test_parts_of_a_line_count_as_far_as_the_others_fit_between() -> None:
    far = [0.1, 0.3]
    cases = [
        (np.array([*row(-0.14), far, far, *row(0.14), far]), 0.4),  # two go between
        (np.array([*row(-0.14), far, far, *row(-0.05), far]), 0.2),  # no room for two
        (np.array([far, far, far, far, *row(-0.2)]), 0.0),  # no room before it
    ]
    for places, share in cases:
        world = table(places)
        assert look(line(world), world) == ([False], [pytest.approx(share)])


def test_sizes_and_turns_count_on_a_line() -> None:
    sides = [0.03, 0.04, 0.055]
    world = table(row(-0.06, 0.0, 0.06), sides_m=sides)
    assert look(line(world), world)[0] == [True]  # gaps of 2.5 and 1.25 cm
    turned = table(row(-0.06, 0.0, 0.06), sides_m=sides, yaw_rad=pi / 4)
    assert look(line(turned), turned)[0] == [False]  # the second one is too small


# ---- circles ----


def ring(world: TensorWorld) -> OnRing:
    objects = every(world)
    rank = torch.arange(objects.shape[1]).float().expand(objects.shape)
    return OnRing(objects, MIDDLE.expand(world.num_envs, 2), each(world, 0.13), rank)


def circle(world: TensorWorld, low=0.09, high=0.16, objects=None) -> OnCircle:
    objects = every(world) if objects is None else objects
    bounds = each(world, low), each(world, high)
    return OnCircle(objects, *bounds, MIDDLE.expand(world.num_envs, 2))


@pytest.mark.parametrize("phase", [0.0, 0.7, 2.5, 5.0])
def test_a_ring_is_in_order_from_any_phase_on(phase: float) -> None:
    center = MIDDLE[0].numpy()
    good = around_m(6, 0.13, phase)
    swapped = good[[1, 0, 2, 3, 4, 5]]
    world = table(*(center + each for each in (good, good[::-1], swapped, 1.1 * good, 1.2 * good)))
    holds, credit = look(ring(world), world)
    assert holds == [True, False, False, True, False]
    assert credit[0] == credit[3] == 1.0 and credit[4] == 0.0
    assert credit[1] < 0.5 and 0.6 < credit[2] < 1.0
    turned = table(center + np.roll(good, 2, axis=0))
    assert look(ring(turned), turned)[0] == [True]


def test_neighbors_on_a_ring_are_not_too_near_and_not_too_far() -> None:
    angles = np.arange(6) * pi / 3
    for moved, fine in ((0.45, True), (0.55, False), (-0.45, True), (-0.55, False)):
        one = angles.copy()
        one[0] += moved * pi / 3
        places = 0.13 * np.column_stack((np.cos(one), np.sin(one)))
        world = table(MIDDLE[0].numpy() + places)
        holds, (credit,) = look(ring(world), world)
        assert holds == [fine]
        assert fine or credit == pytest.approx(5 / 6, abs=1e-4)


@pytest.mark.parametrize("count", [6, 8, 10])
def test_a_circle_may_be_anywhere_in_any_phase_and_order(count: int) -> None:
    rng = np.random.default_rng(count)
    for _ in range(5):
        places = around_m(count, rng.uniform(0.10, 0.15), rng.uniform(0, 6))
        places += rng.uniform(-0.1, 0.1, 2) + rng.uniform(-0.004, 0.004, (count, 2))
        world = table(rng.permutation(places), yaw_rad=rng.uniform(0, 6))
        assert look(circle(world), world)[0] == [True]
    bounds = [(1.0, True), (0.8, True), (0.65, False), (1.3, True), (1.4, False)]
    world = table(*(scale * around_m(count, 0.12) for scale, _ in bounds))
    assert look(circle(world), world)[0] == [fine for _, fine in bounds]


def test_what_fit_a_circle_at_the_start_earns_nothing() -> None:
    places = around_m(8, 0.12)
    places[0] += 0.05
    world = table(places)
    goal = circle(world)
    assert goal.initial_state(world)["given"].tolist() == [7]
    assert look(goal, world, 7)[1] == [0.0]
    assert look(goal, world, 3)[1] == [pytest.approx(0.8)]
    assert look(goal, table(around_m(8, 0.12)), 7) == ([True], [1.0])


def test_circles_are_concentric() -> None:
    inner, outer = torch.arange(6)[None], torch.arange(6, 16)[None]
    for shift, ratio, fine in (
        (0.0, 1.8, True),
        (0.019, 1.8, True),
        (0.021, 1.8, False),
        (0.0, 1.51, True),
        (0.0, 1.49, False),
    ):
        places = np.concatenate((around_m(6, 0.09) + [shift, 0.0], around_m(10, 0.09 * ratio)))
        world = table(places)
        assert look(Concentric(inner, outer), world)[0] == [fine]


def test_a_block_is_in_the_middle_of_a_circle() -> None:
    for shift, given, fine in (
        (0.0, 3, True),
        (0.019, 3, True),
        (0.021, 3, False),
        (0.0, 8, False),
    ):
        places = np.concatenate((around_m(8, 0.12) + 0.02, [[0.02 + shift, 0.02]]))
        world = table(places)
        bounds = each(world, 0.09), each(world, 0.16)
        goal = InMiddle(torch.tensor([8]), torch.arange(8)[None], *bounds)
        assert look(goal, world, given)[0] == [fine]


# ---- templates ----


def letter(world: TensorWorld, name: str) -> FitsTemplate:
    points = torch.tensor(letter_points(name)).float()
    count = world.num_envs
    return FitsTemplate(every(world), points.expand(count, -1, 2), MIDDLE.expand(count, 2))


def turned(places: np.ndarray, degrees: float) -> np.ndarray:
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return places @ np.array([[c, s], [-s, c]])


@pytest.mark.parametrize("name", LETTERS_CM)
def test_letters_may_be_moved_scaled_and_turned_a_little(name: str) -> None:
    points, rng = letter_points(name), np.random.default_rng(0)
    cases = [
        (points, True),
        (turned(1.25 * points, 15) + 0.05, True),
        (turned(0.85 * points, -15) - 0.05, True),
        (1.6 * points, False),
        (0.5 * points, False),
    ]
    if name != "O":
        cases.append((turned(points, 90), False))
    world = table(*(rng.permutation(places) for places, _ in cases))
    assert look(letter(world, name), world)[0] == [fine for _, fine in cases]


def test_points_of_letters_are_apart_so_that_each_block_has_one() -> None:
    for name in LETTERS_CM:
        points = letter_points(name)
        apart = np.linalg.norm(points[:, None] - points, axis=-1) + np.eye(len(points))
        assert apart.min() >= 0.05 - 1e-9, name


def test_a_block_beside_its_point_of_a_letter() -> None:
    points = letter_points("M")
    for shift, fine in ((0.015, True), (0.04, False)):
        places = points.copy()
        places[8] += [shift, 0.0]
        world = table(places)
        holds, (credit,) = look(letter(world, "M"), world)
        assert holds == [fine]
        assert fine or credit == pytest.approx(8 / 9, abs=1e-4)


# ---- rectangle ----


def rectangle(world: TensorWorld) -> RectangleIn:
    zone = torch.full((world.num_envs,), len(world.keys) - 1)
    return RectangleIn(every(world, zone=True), zone)


@pytest.mark.parametrize("sides", [(2, 4), (3, 3), (2, 5), (3, 4)])
@pytest.mark.parametrize("degrees", [0.0, 10.0, 40.0])
def test_rectangles_of_any_sides_and_turn(sides: tuple[int, int], degrees: float) -> None:
    center, points = MIDDLE[0].numpy(), rectangle_points(*sides)
    rng = np.random.default_rng(1)
    good, wide = (turned(pitch * points, degrees) + center for pitch in (0.046, 0.063))
    short, off = good.copy(), good.copy()
    off[0] += turned(np.array([0.03, -0.03]), degrees)
    short[-1] = [0.3, 0.3]
    world = table(*map(rng.permutation, (good, wide, short, off)), zone=True)
    holds, credit = look(rectangle(world), world)
    assert holds[0] and not any(holds[1:])
    assert credit[2] == pytest.approx((len(points) - 1) / len(points), abs=1e-4)


def test_a_rectangle_beside_its_zone_or_without_a_corner_is_none() -> None:
    center, points = MIDDLE[0].numpy(), 0.046 * rectangle_points(3, 4)
    beside = points + center + [0.0, 0.14]
    no_corner = points + center
    no_corner[0] = center  # in the middle instead
    in_a_row = center + np.column_stack((np.zeros(10), 0.02 * np.arange(-5, 5)))
    world = table(points + center, beside, no_corner, in_a_row, zone=True)
    holds, credit = look(rectangle(world), world)
    assert holds == [True, False, False, False]
    assert max(credit[1:]) < 1.0


# ---- all of them ----

SHAPES = {
    "line": (lambda: table(row(-0.15, -0.08, -0.01, 0.06, 0.13)), line),
    "ring": (lambda: table(MIDDLE[0].numpy() + around_m(6, 0.13)), ring),
    "circle": (lambda: table(around_m(8, 0.12)), circle),
    "letter": (lambda: table(letter_points("M")), lambda w: letter(w, "M")),
    "rectangle": (
        lambda: table(MIDDLE[0].numpy() + 0.046 * rectangle_points(3, 3), zone=True),
        rectangle,
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_what_is_held_moves_or_floats_does_not_count(name: str) -> None:
    make, of = SHAPES[name]
    body, goal = torch.tensor([2]), of(make())
    assert look(goal, make())[0] == [True]
    for spoil in ("held", "moving", "floating", "stacked"):
        world = make()
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
        holds, (credit,) = look(goal, world)
        assert holds == [False] and credit < 1.0, spoil


@pytest.mark.parametrize("name", SHAPES)
def test_realized_it_holds_and_none_are_left_out(name: str) -> None:
    make, of = SHAPES[name]
    goal = of(make())
    assert isinstance(goal, Shape)
    world = make()
    for slot in range(len(world.keys) - (name == "rectangle")):
        pose = world.pose(torch.tensor([slot])).clone()
        pose[:, :2] = torch.tensor([[0.3 + 0.1 * slot, 0.4 + 0.01 * slot**2]])
        world.set_body_pose(torch.tensor([slot]), pose)
    assert look(goal, world)[0] == [False]
    goal.realize(world)
    assert look(goal, world)[0] == [True]
    assert from_json(goal.to_json(), predicate_types()).to_json() == goal.to_json()
    assert "{obj:block_0}" in goal.describe(world)


def test_environments_with_different_numbers_of_blocks() -> None:
    world = table(around_m(8, 0.12), np.concatenate((around_m(6, 0.12), [[0.5, 0.5], [0.5, 0.6]])))
    objects = torch.tensor([[0, 1, 2, 3, 4, 5, 6, 7], [0, -1, 1, 2, 3, 4, -1, 5]])
    assert look(circle(world, objects=objects), world)[0] == [True, True]
    assert look(circle(world), world)[0] == [True, False]
