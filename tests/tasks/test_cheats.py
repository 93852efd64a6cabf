"""Cheats: scripted motions that come near to what is asked for, and do not do it; and what looks
like a cheat, but does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
import torch

from tests.support.cheats import FULL_M, SAFE_M, Trial, towards

X, Y = np.array([1.0, 0.0]), np.array([0.0, 1.0])


@dataclass(frozen=True)
class Cheat:
    """A motion, and whether the goal must hold at any time."""

    family: str
    name: str
    key: str
    motion: Callable[[Trial], object]
    wins: bool = False
    fast: bool = False
    args: dict = field(default_factory=dict)

    def run(self) -> Trial:
        trial = Trial(self.key, **self.args)
        self.motion(trial)
        return trial.end()


CHEATS: list[Cheat] = []


def cheat(key: str, name: str = "", *, wins: bool = False, fast: bool = False, **args):
    """Enter a motion into the table, under the family that is being written."""

    def enter(motion: Callable[[Trial], object]) -> Callable[[Trial], object]:
        words = name or motion.__name__.replace("_", " ")
        CHEATS.append(Cheat(FAMILY, f"{key}: {words}", key, motion, wins, fast, args))
        return motion

    return enter


def free_way(t: Trial, body: int) -> np.ndarray:
    """A direction along y to where there is more table."""
    return Y if t.xy(body)[1] < 0 else -Y


# ---- push and touch ----

FAMILY = "push and touch"


@cheat("touch", wins=True, num_objects=1, fast=True)
def touched_gently(t: Trial) -> None:
    t.touch(0).rise()


def slam(speed_m: float, aside: tuple[float, float] = (0.0, 0.0)) -> Callable[[Trial], object]:
    def motion(t: Trial) -> None:
        t.above(0, 2 * speed_m, aside).lower(2 * speed_m, speed_m).rise()

    return motion


for speed in (0.05, 0.075, 0.1):
    cheat("touch", f"slammed at {20 * speed:g} m/s", num_objects=1, fast=speed == 0.1)(slam(speed))
cheat("touch", "slammed near the edge", num_objects=1)(slam(0.075, (0.03, 0.02)))


@cheat("touch", num_objects=1)
def slammed_and_then_touched_gently(t: Trial) -> None:
    slam(0.1)(t)
    t.touch(0).rise()


@cheat("touch", num_objects=1)
def hovered_over(t: Trial) -> None:
    t.above(0, 0.005).wait(10)


@cheat("touch", num_objects=1)
def touched_and_dragged_fast(t: Trial) -> None:
    t.touch(0).lower(0.004, 0.002).along(free_way(t, 0), 0.3, 0.05).rise()


@cheat("touch", num_objects=1)
def swept_from_the_side(t: Trial) -> None:
    way = free_way(t, 0)
    t.behind(0, way, 0.08).along(way, 0.085, FULL_M).along(-way, 0.1)


@cheat("touch_push", wins=True, num_objects=1)
def pushed(t: Trial) -> None:
    way = free_way(t, 0)
    t.behind(0, way).along(way, 0.2).along(-way, 0.05).rise()


@cheat("touch_push", num_objects=1, fast=True)
def touched_gently_then_flung(t: Trial) -> None:
    way = free_way(t, 0)
    t.behind(0, way).along(way, 0.04, 0.005)
    assert bool(t.base.goal_state["0/touched"])
    t.along(way, 0.36, FULL_M).along(-way, 0.05)


@cheat("touch_push", num_objects=1)
def touched_gently_then_flung_to_the_side(t: Trial) -> None:
    t.behind(0, -X).along(-X, 0.035, 0.005).along(-X, 0.3, 0.09).along(X, 0.05)


@cheat("touch_push", num_objects=1)
def kicked_at_full_speed(t: Trial) -> None:
    way = free_way(t, 0)
    t.behind(0, way, 0.1).along(way, 0.35, FULL_M).along(-way, 0.05)


@cheat("touch_push", num_objects=1)
def pushed_away_and_back(t: Trial) -> None:
    way = free_way(t, 0)
    t.behind(0, way).along(way, 0.12).along(-way, 0.05)
    t.behind(0, -way).along(-way, 0.12)


@cheat("touch_push", num_objects=1)
def carried(t: Trial) -> None:
    t.take(0).put(t.xy(0) + 0.15 * free_way(t, 0)).touch(0).rise()


def shove_other(t: Trial) -> tuple[int, int, np.ndarray]:
    """Push the one object against the other, which moves by more than 10 cm."""
    pusher, pushed = 0, 1
    way = towards(t.xy(pusher), t.xy(pushed))
    start = t.xy(pushed)
    gap = np.linalg.norm(t.xy(pushed) - t.xy(pusher))
    t.behind(pusher, way).along(way, gap + 0.14, 0.012).along(-way, 0.06).rise()
    assert np.linalg.norm(t.xy(pushed) - start) > 0.1
    return pusher, pushed, way


@cheat("touch_push", num_objects=2, seed=2)
def one_pushed_by_the_other_and_touched_afterwards(t: Trial) -> None:
    _, pushed, _ = shove_other(t)
    t.touch(pushed).rise()


@cheat("touch_push", num_objects=2, seed=2, wins=True)
def one_pushed_by_the_other_and_then_by_the_gripper(t: Trial) -> None:
    _, body, _ = shove_other(t)
    way = free_way(t, body)
    t.behind(body, way).along(way, 0.2).along(-way, 0.05).rise()


@cheat("push", num_distractors=1, fast=True, seed=5)
def pushed_with_what_is_held(t: Trial) -> None:
    body, goal = t.role("object"), t.role("towards")
    other = ({0, 1, 2} - {body, goal}).pop()
    way, start = towards(t.xy(body), t.xy(goal)), t.xy(body)
    gap = np.linalg.norm(t.xy(goal) - start)
    t.take(other)
    x, y = start - way * (t.reach(body) + t.reach(other) + 0.02)
    t.by(z=SAFE_M - t.tip[2]).to(x, y, SAFE_M)
    t.by(z=0.004 - t.bottom(other)).along(way, 0.02 + 0.45 * gap).along(-way, 0.04).rise()
    assert np.linalg.norm(t.xy(goal) - t.xy(body)) < 0.7 * gap


@cheat("push", num_distractors=0)
def the_other_brought_nearer(t: Trial) -> None:
    body, goal = t.role("object"), t.role("towards")
    way = towards(t.xy(goal), t.xy(body))
    t.behind(goal, way).along(way, 0.18).along(-way, 0.05).rise()


@cheat("push", num_distractors=0)
def pushed_the_other_way(t: Trial) -> None:
    body, goal = t.role("object"), t.role("towards")
    way = towards(t.xy(goal), t.xy(body))
    t.behind(body, way).along(way, 0.18).along(-way, 0.05).rise()


@cheat("touch_topple", num_objects=1, fast=True)
def touched_gently_then_whipped_over(t: Trial) -> None:
    way = free_way(t, 0)
    t.behind(0, way, z=0.16).along(way, 0.04, 0.005)
    assert bool(t.base.goal_state["0/touched"])
    t.along(way, 0.2, FULL_M).along(-way, 0.1)


@cheat("touch_topple", num_objects=1, wins=True)
def pushed_over(t: Trial) -> None:
    way = free_way(t, 0)
    t.behind(0, way, z=0.16).along(way, 0.16, 0.015).along(-way, 0.1).rise()


@cheat("touch_topple", num_objects=1)
def taken_and_laid_down(t: Trial) -> None:
    t.take(0).by(z=0.1)
    t.by(x=-0.05).let_go().rise()


@cheat("swap_push", fast=True)
def carried_into_each_other_s_place(t: Trial) -> None:
    one, other = t.role("first"), t.role("second")
    homes = t.xy(one), t.xy(other)
    before = max(t.progress)
    t.take(one)
    assert t.unsolvable and t.progress[-1] == 0.0 == before
    t.put(t.roles["free"][:2]).take(other).put(homes[0]).take(one).put(homes[1])
    assert t.unsolvable and t.progress[-1] == 0.0


# ---- place and stack ----

FAMILY = "place and stack"


@cheat("place", fast=True)
def set_down_but_not_let_go(t: Trial) -> None:
    t.put_on(t.role("bottom"), hold=True).wait(10)
    assert max(t.progress) < 0.95


@cheat("place", wins=True)
def put_on_it(t: Trial) -> None:
    t.put_on(t.role("bottom"))


@cheat("place", seed=2)
def let_go_but_the_cups_left_on_it(t: Trial) -> None:
    t.put_on(t.role("bottom"), hold=True).lower(0.003, 0.001)
    t.arm.vacuum = False
    t.wait(20)


@cheat("place")
def put_beside_it(t: Trial) -> None:
    base, held = t.role("bottom"), t.role("top")
    way = towards(t.xy(base), np.array([-0.2, 0.0]))
    t.put(t.xy(base) + way * (t.reach(base) + t.reach(held) + 0.01))


@cheat("place")
def leant_against_it(t: Trial) -> None:
    base, held = t.role("bottom"), t.role("top")
    way = towards(t.xy(base), np.array([-0.2, 0.0]))
    x, y = t.xy(base) + way * (t.reach(base) + 0.6 * t.reach(held))
    t.by(z=0.05).to(x, y, t.tip[2]).by(z=t.top(base) / 2 + 0.02 - t.bottom(held)).let_go().rise()


@cheat("simple_manipulation", seed=2)
def the_base_put_on_the_object(t: Trial) -> None:
    base, body = t.role("bottom"), t.role("top")
    t.above(base, 0.01).lower(0.0105, 0.002).rise()
    t.take(body).put(np.array([-0.3, 0.0]))


@cheat("stack", num_objects=2)
def the_last_one_held_in_its_place(t: Trial) -> None:
    named = t.roles["named"]
    t.take(int(named[1])).put_on(int(named[0]), hold=True).wait(10)


@cheat("stack", num_objects=2, wins=True)
def stacked(t: Trial) -> None:
    named = t.roles["named"]
    t.take(int(named[1])).put_on(int(named[0]))


@cheat("stack", num_objects=2)
def stacked_the_other_way_round(t: Trial) -> None:
    named = t.roles["named"]
    t.take(int(named[0])).put_on(int(named[1]))


@cheat("stack", num_objects=3, seed=4)
def the_third_beside_two(t: Trial) -> None:
    named = [int(k) for k in t.roles["named"]]
    t.take(named[1]).put_on(named[0])
    t.take(named[2]).put(t.xy(named[2]))


@cheat("stack", num_objects=3, seed=4)
def two_side_by_side_on_one(t: Trial) -> None:
    named = [int(k) for k in t.roles["named"]]
    t.take(named[2]).put_on(named[0])


@cheat("stack_topple", num_objects=2, wins=True)
def only_the_top_shoved_off(t: Trial) -> None:
    named = [int(k) for k in t.roles["named"]]
    t.take(named[1]).put_on(named[0])
    way = free_way(t, named[0])
    t.behind(named[1], way, z=t.bottom(named[1]) + 0.012).along(way, 0.28, 0.015).rise()


@cheat("stack_topple", num_objects=2)
def stacked_and_taken_apart_by_hand(t: Trial) -> None:
    named = [int(k) for k in t.roles["named"]]
    t.take(named[1]).put_on(named[0])
    t.take(named[1]).put(t.xy(named[0]) + 0.2 * free_way(t, named[0]))
    t.touch(named[0]).rise()
    assert t.unsolvable


@cheat("stack_topple", num_objects=2)
def touched_but_left_standing(t: Trial) -> None:
    named = [int(k) for k in t.roles["named"]]
    t.take(named[1]).put_on(named[0])
    t.touch(named[1]).rise().touch(named[1]).rise()


# ---- areas ----

FAMILY = "areas"


def neighbors(t: Trial) -> tuple[int, int, int]:
    return 3, 4, t.role("area")


def wrong_order(t: Trial) -> tuple[int, int, int]:
    first, second, area = neighbors(t)
    t.take(second).put_on(area, (0.05, 0.05)).take(first).put_on(area, (-0.05, -0.05))
    return first, second, area


def hop(height_m: float) -> Callable[[Trial], object]:
    def motion(t: Trial) -> None:
        _, second, _ = wrong_order(t)
        t.above(second, 0.01)
        t.arm.vacuum = True
        t.lower(0.0125, 0.002).wait(2)
        assert t.arm.held == second
        t.by(z=height_m, per_step_m=0.003)
        t.let_go().rise()

    return motion


for height in (0.003, 0.01, 0.1):
    words = f"in the wrong order, then lifted by {1e3 * height:g} mm"
    cheat("neighbour", words, seed=3)(hop(height))


@cheat("neighbour", seed=3)
def in_the_wrong_order(t: Trial) -> None:
    wrong_order(t)


@cheat("neighbour", seed=3)
def in_the_wrong_order_then_the_first_anew(t: Trial) -> None:
    first, _, area = wrong_order(t)
    t.take(first).put(np.array([-0.25, 0.0])).take(first).put_on(area, (-0.05, -0.05))


@cheat("neighbour", seed=3)
def in_the_wrong_order_then_moved_within_the_area(t: Trial) -> None:
    _, second, area = wrong_order(t)
    t.take(second).put_on(area, (0.05, 0.0))


@cheat("neighbour", wins=True, seed=3)
def in_the_wrong_order_then_taken_out_and_in_again(t: Trial) -> None:
    _, second, area = wrong_order(t)
    t.take(second)
    x, y = t.xy(area) + 0.3 * towards(t.xy(area), np.array([-0.2, 0.0]))
    t.to(x, y, SAFE_M).put_on(area, (0.05, 0.05))


def heap(t: Trial, hold: bool = False) -> None:
    """Put one object into the area, and the other one onto it."""
    one, other = _movable(t)
    t.take(one).put_on(_areas(t)[0])
    t.take(other).put_on(one, hold=hold)


def _movable(t: Trial) -> list[int]:
    return [k for k, b in enumerate(t.base.layouts[0].bodies) if b and not b.static]


def _areas(t: Trial) -> list[int]:
    return [k for k, b in enumerate(t.base.layouts[0].bodies) if b and b.static]


SORT = {"num_areas": 1, "num_objects": 2, "seed": 4}


@cheat("sort", wins=True, **SORT)
def on_one_another(t: Trial) -> None:
    heap(t)


@cheat("sort", **SORT)
def on_one_another_but_held(t: Trial) -> None:
    heap(t, hold=True)
    t.wait(10)


@cheat("sort", num_areas=1, num_objects=1, seed=1, fast=True)
def two_centimetres_over_the_edge(t: Trial) -> None:
    (body,), (area,) = _movable(t), _areas(t)
    t.take(body)
    points = t.base.world.world_points(torch.tensor([body]))[0, :, 0]
    half = float(points.max()) - t.xy(body)[0]
    t.put_on(area, (t.reach(area) / 2**0.5 - half + 0.025, 0.0))


@cheat("sort", num_areas=1, num_objects=1, seed=1)
def held_in_the_area(t: Trial) -> None:
    t.take(_movable(t)[0]).put_on(_areas(t)[0], hold=True).wait(10)


@cheat("sort", num_areas=2, num_objects=1, seed=2)
def in_another_area(t: Trial) -> None:
    (body,) = _movable(t)
    bodies = t.base.layouts[0].bodies
    wrong = [a for a in _areas(t) if bodies[a].texture != bodies[body].texture]
    t.take(body).put_on(wrong[0])


ROUTE = {"num_areas": 3, "num_visits": 2, "seed": 2}


def visit(t: Trial, places: list[int], hold: bool = False) -> None:
    route = t.roles["route"]
    for place in places:
        if t.arm.held != 4:
            t.take(4)
        t.put_on(int(route[place]), hold=hold)


cheat("follow_order", "in reverse order", **ROUTE)(lambda t: visit(t, [2, 1]))
cheat("follow_order", "without letting go", **ROUTE)(lambda t: visit(t, [1, 2], True))
cheat("follow_order", "another visit first", wins=True, **ROUTE)(lambda t: visit(t, [2, 1, 2]))


@cheat("follow_order", "another visit first, strict", strict=True, **ROUTE)
def strictly(t: Trial) -> None:
    visit(t, [2])
    assert t.unsolvable and t.progress[-1] == 0.0
    visit(t, [1, 2])


@cheat("swap", num_distractors=0, seed=2)
def swapped_seven_centimetres_aside(t: Trial) -> None:
    one, other = (int(k) for k in t.roles["objects"])
    homes = t.xy(one), t.xy(other)
    t.take(one).put(t.roles["aside"]).take(other).put(homes[0] + [0.0, 0.07])
    t.take(one).put(homes[1] + [0.0, 0.07])


# ---- turning ----

FAMILY = "turning"
TURN = {"num_distractors": 0, "angles_deg": 60, "directions": "clockwise"}


def turned(*angles_deg: float, hold: bool = False, aside=(0.0, 0.0)) -> Callable[[Trial], object]:
    """Take the object, turn it and put it down, once for each angle."""

    def motion(t: Trial) -> None:
        body = t.role("object")
        home = t.xy(body)
        for k, angle in enumerate(angles_deg):
            t.take(body)
            t.put(home + aside, angle, hold=hold and k == len(angles_deg) - 1)

    return motion


cheat("rotate", "turned right", wins=True, **TURN)(turned(-60))
cheat("rotate", "turned the wrong way", **TURN)(turned(60))
cheat("rotate", "turned the wrong way twice as far", **TURN)(turned(60, 60))
cheat("rotate", "turned on by half", **TURN)(turned(-30, -60))
cheat("rotate", "turned eight degrees too far", **TURN)(turned(-68))
cheat("rotate", "turned eight degrees too little", **TURN)(turned(-52))
cheat("rotate", "turned and turned back", **TURN)(turned(-40, 40))
cheat("rotate", "turned, but held", **TURN)(turned(-60, hold=True))
cheat("rotate", "turned, but seven centimetres aside", **TURN)(turned(-60, aside=(0.0, 0.07)))


@cheat("rotate", num_distractors=1, angles_deg=60, directions="clockwise", seed=2)
def another_one_turned(t: Trial) -> None:
    other = next(k for k in _movable(t) if k != t.role("object"))
    t.take(other).put(t.xy(other), -60)


@cheat("rotate", **TURN)
def turned_in_the_air_and_back(t: Trial) -> None:
    body = t.role("object")
    home = t.xy(body)
    t.take(body)
    for angle in (-60.0, 60.0):
        half = np.radians(angle) / 2
        turn = type(t.arm.pose)(q=[np.cos(half), 0, 0, np.sin(half)])
        target = type(t.arm.pose)(t.tip, (turn * type(t.arm.pose)(q=t.arm.pose.q)).q)
        t.do(t.arm.straight(target, 0.02))
    t.put(home)


@cheat("swap_rotate", seed=2)
def swapped_but_not_turned(t: Trial) -> None:
    one, other = (int(k) for k in t.roles["objects"])
    homes = t.xy(one), t.xy(other)
    t.take(one).put(t.roles["aside"]).take(other).put(homes[0])
    t.take(one).put(homes[1])


# ---- throwing ----

FAMILY = "throwing"


def outward(t: Trial, target: int) -> np.ndarray:
    return towards(t.arm.base.p[:2].astype(float), t.xy(target))


def thrown(t: Trial) -> tuple[int, int]:
    if "target" in t.roles:
        return t.role("target") - 1, t.role("target")
    return _movable(t)[0], _areas(t)[0]


def carried_out(length_m: float, height_m: float, per_step_m: float) -> Callable[[Trial], object]:
    """Carry it outward, at some height over the table, and let it go without stopping."""

    def motion(t: Trial) -> None:
        body, target = thrown(t)
        if t.arm.held != body:
            t.take(body)
        way = outward(t, target)
        x, y = t.arm.base.p[:2] + 0.35 * way
        t.by(z=max(0.0, 0.2 - t.tip[2])).to(x, y, t.tip[2]).by(z=height_m - t.bottom(body))
        t.along(way, length_m, per_step_m).let_go().wait(15)

    return motion


for key, args in (("throw", {}), ("throw_topple", {}), ("throw_sort", {"num_areas": 1})):
    args = {**args, "seed": 3}
    cheat(key, "carried as far as can be and dropped", **args, fast=key == "throw")(
        carried_out(0.33, 0.1, 0.03)
    )
    cheat(key, "slid over the table", **args)(carried_out(0.3, 0.004, 0.08))
    cheat(key, "let go on the way", **args)(carried_out(0.15, 0.1, 0.05))
    cheat(key, "put down", **args)(carried_out(0.25, 0.002, 0.02))


@cheat("throw", robot="panda", seed=3)
def carried_over_it_and_dropped(t: Trial) -> None:
    body, target = thrown(t)
    way = outward(t, target)
    t.by(z=0.05).along(way, 0.3, 0.03)
    x, y = t.xy(target) - 0.02 * way
    t.to(x, y, t.tip[2]).let_go().wait(15)


@cheat("throw", seed=3)
def thrown_backwards(t: Trial) -> None:
    _, target = thrown(t)
    t.along(-outward(t, target), 0.25, FULL_M).let_go().wait(15)


# ---- end effector ----

FAMILY = "end effector"
GOALS = {"num_goals": 3, "seed": 2}


def through(*places: int, aside: float = 0.0) -> Callable[[Trial], object]:
    def motion(t: Trial) -> None:
        for place in places:
            goal = int(t.roles["goals"][place])
            x, y, z = t.base.world.position(torch.tensor([goal]))[0].double().tolist()
            t.to(x, y, z + aside)

    return motion


cheat("trace", "in order", wins=True, **GOALS)(through(0, 1, 2))
cheat("trace", "in reverse order", fast=True, **GOALS)(through(2, 1, 0))
cheat("trace", "one left out", **GOALS)(through(0, 2))
cheat("trace", "six centimetres above each", **GOALS)(through(0, 1, 2, aside=0.06))
cheat("trace", "the last one only, again and again", **GOALS)(through(2, 0, 2, 0))
cheat("trace", "the last one first", wins=True, **GOALS)(through(2, 0, 1, 2))
cheat("trace", "the last one first, strict", strict=True, **GOALS)(through(2, 0, 1, 2))
cheat("trace", "in order, strict", wins=True, strict=True, **GOALS)(through(0, 1, 2))


def goal_pose(t: Trial):
    goal = t.base.goal
    leaf = next(goal.leaves())
    values = leaf.pose(t.base.world)[0].double().numpy()
    return type(t.arm.pose)(values[:3], values[3:])


@cheat("match_pose", seed=1)
def the_place_without_the_turn(t: Trial) -> None:
    pose = type(t.arm.pose)(goal_pose(t).p, t.arm.pose.q)
    t.do(t.arm.straight(pose, 0.03)).wait(5)


@cheat("match_pose", seed=1)
def the_turn_without_the_place(t: Trial) -> None:
    pose = goal_pose(t)
    t.do(t.arm.straight(type(pose)(pose.p + [0.0, 0.0, 0.06], pose.q), 0.03)).wait(5)


@cheat("pick", num_distractors=1, seed=2)
def another_object(t: Trial) -> None:
    other = next(k for k in _movable(t) if k != t.role("object"))
    t.take(other).wait(5)


@cheat("pick", num_distractors=0, seed=2, fast=True)
def lifted_by_a_centimetre(t: Trial) -> None:
    body = t.role("object")
    t.above(body, 0.01)
    t.arm.vacuum = True
    t.lower(0.0125, 0.002).wait(2)
    assert t.arm.held == body
    t.by(z=0.012, per_step_m=0.002).wait(5)


@cheat("pick", num_distractors=0, seed=2)
def hovered_over_with_the_vacuum_on(t: Trial) -> None:
    t.arm.vacuum = True
    t.above(t.role("object"), 0.008).wait(10)


@cheat("move_without_hitting", num_obstacles=1, seed=3)
def through_the_obstacle(t: Trial) -> None:
    x, y, z = t.base.world.position(torch.tensor([0]))[0].double().tolist()
    t.to(x, y, z + 0.1).by(z=-0.15)
    assert t.unsolvable
    t.do(t.arm.straight(goal_pose(t), 0.03)).wait(5)


# ---- the tests ----

SLOW = [pytest.param(c, marks=() if c.fast else pytest.mark.slow, id=c.name) for c in CHEATS]


@pytest.mark.parametrize("trick", SLOW)
def test_a_cheat_does_not_succeed(trick: Cheat) -> None:
    trial = trick.run()
    assert len(trial.progress) > 10
    assert trial.won == trick.wins
    assert trial.won or max(trial.progress) < 1.0
    assert not (trial.won and trial.unsolvable)


def test_each_family_has_ten_cheats() -> None:
    families = [trick.family for trick in CHEATS if not trick.wins]
    assert all(families.count(family) >= 10 for family in set(families))
    assert len({trick.name for trick in CHEATS}) == len(CHEATS)
