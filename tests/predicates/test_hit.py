"""Hit, hit and toppled: only what flew there counts."""

from itertools import pairwise
from math import cos, exp, radians, sin

import pytest
import torch

from clevrskills.predicates import CRITERIA, Hit, HitToppled
from clevrskills.predicates.criteria import PAPER
from clevrskills.sim.tensor_world import TensorWorld
from tests.support.worlds import (
    AREA,
    CUBE,
    SLAB,
    BodySpec,
    index,
    make_world,
    move_gripper,
    pose,
    tabletop,
)

TOWER = BodySpec("tower", "cube", (0.05, 0.05, 0.25))
DISC = BodySpec("disc", "cube", (0.12, 0.12, 0.025))
THROWN, TARGET, OTHER = range(3)
GOAL_XY = (0.0, 0.3)
ON_AREA_M = 0.01 + CUBE.geometry.half_extents[2]
HIGH_M = 0.4
SPEED = torch.tensor([[0.3, 1.2, -2.0, 0.0, 0.0, 0.0]])


def stage(thrown=CUBE, target=AREA):
    """Something in the gripper high above the table, a target, and a slab between them."""
    world = make_world(
        [thrown, target, SLAB],
        [pose(thrown, -0.2, -0.2), pose(target, *GOAL_XY), pose(SLAB, -0.1, 0.0)],
    )
    hold(world, (-0.2, -0.2, HIGH_M))
    return world


def at(world, position, slot=THROWN):
    place = world.pose(index(world, slot)).clone()
    place[:, :3] = torch.as_tensor(position, dtype=torch.float32)
    return place


def hold(world, position):
    """In the gripper, at a place of the body's origin."""
    move_gripper(world, torch.as_tensor(position) + torch.tensor([0.0, 0.0, 0.025]))
    world.hold(index(world, THROWN), at(world, position))


def moving(world, position, velocity=SPEED):
    """Let go, on its way; the gripper stays away."""
    if float(world.gripper_distance(index(world, THROWN)).min()) < 0.05:
        move_gripper(world, (-0.4, -0.4, 0.4))
    world.set_body_pose(index(world, THROWN), at(world, position))
    world.set_body_velocity(index(world, THROWN), velocity.expand(world.num_envs, 6))


def lying(world, position):
    world.set_body_pose(index(world, THROWN), at(world, position))


def episode(world, *events, kind=Hit, criteria="paper"):
    """Look at the world at the start and after each event, a function and a place; the last
    outcome.
    """
    goal = kind(index(world, THROWN), index(world, TARGET)).with_criteria(CRITERIA[criteria])
    outcome = goal.evaluate(world, goal.initial_state(world))
    for act, *place in events:
        act(world, *place)
        outcome = goal.evaluate(world, outcome.state)
        assert bool(outcome.holds) == (float(outcome.progress) == 1.0)
        assert bool(outcome.holds) == (float(outcome.reward) == goal.max_reward)
    return outcome


def released_at(y_m, z_m=HIGH_M):
    return (hold, (GOAL_XY[0], y_m, z_m))


IN_THE_AIR = (moving, (0.0, 0.2, 0.3))
LANDED = (moving, (*GOAL_XY, ON_AREA_M))
RESTS = (lying, (*GOAL_XY, ON_AREA_M))
FLIGHT = (released_at(0.0), IN_THE_AIR, LANDED)


def test_a_flight_to_the_target_hits():
    assert episode(stage(), *FLIGHT).holds
    assert not episode(stage(), *FLIGHT[:2]).holds
    assert not episode(stage(), *FLIGHT[:1]).holds


def test_a_hit_is_remembered():
    for after in (RESTS, (moving, (0.1, 0.5, 0.025)), (hold, (-0.2, 0.0, 0.4))):
        assert episode(stage(), *FLIGHT, after).holds


def test_falling_straight_down_is_no_hit():
    over = released_at(GOAL_XY[1])
    assert not episode(stage(), over, (moving, (*GOAL_XY, 0.2)), LANDED, RESTS).holds


@pytest.mark.parametrize(("way_m", "holds"), [(0.149, False), (0.151, True)])
def test_a_flight_has_a_least_length(way_m, holds):
    assert PAPER.fly_distance_m == 0.15
    begin = released_at(GOAL_XY[1] - way_m)
    assert bool(episode(stage(), begin, (moving, (0.0, 0.25, 0.3)), LANDED).holds) == holds


def test_a_long_way_up_is_no_flight():
    low, high = released_at(GOAL_XY[1] - 0.05, 0.1), (moving, (0.0, 0.26, 0.9))
    assert not episode(stage(), low, high, LANDED).holds


def test_carrying_it_there_is_no_hit():
    way = [(hold, (0.0, y, ON_AREA_M)) for y in (0.0, 0.1, 0.2, 0.3)]
    assert not episode(stage(), *way).holds
    assert not episode(stage(), *way, RESTS).holds
    assert not episode(stage(), *way, LANDED, RESTS).holds


def test_releasing_it_in_motion_at_the_target_is_no_hit():
    """Held till it hits: the gripper moves by 0.1 m in a control step."""
    assert not episode(stage(), released_at(0.2, 0.1), LANDED, RESTS).holds


def test_sliding_there_is_no_hit():
    half = CUBE.geometry.half_extents[2]
    way = [(moving, (0.0, y, half)) for y in (0.0, 0.05, 0.1, 0.15)]
    edge = (moving, (0.0, GOAL_XY[1] - 0.12 - half, half))
    assert not episode(stage(), (lying, (0.0, -0.1, half)), *way, edge, LANDED, RESTS).holds


def test_pushing_it_there_is_no_hit():
    half = CUBE.geometry.half_extents[2]

    def push(world, y):
        moving(world, (0.0, y, half))
        move_gripper(world, (0.0, y - half, half))

    way = [(push, y) for y in (0.0, 0.05, 0.1, 0.15, 0.2)]
    assert not episode(stage(), (lying, (0.0, -0.1, half)), *way, LANDED, RESTS).holds


def test_bouncing_off_the_table_is_no_hit():
    bounce = (moving, (0.0, 0.1, CUBE.geometry.half_extents[2]))
    assert not episode(stage(), released_at(-0.2), IN_THE_AIR, bounce, IN_THE_AIR, LANDED).holds


def test_bouncing_off_another_body_is_no_hit():
    bounce = (moving, (-0.1, 0.0, 0.03 + CUBE.geometry.half_extents[2]))
    assert not episode(stage(), released_at(-0.2), bounce, IN_THE_AIR, LANDED).holds


def test_touching_another_body_at_the_same_time_is_no_hit():
    edge = (moving, (0.0, GOAL_XY[1] - 0.12 - 0.025, 0.025))
    assert not episode(stage(), *FLIGHT[:2], edge).holds


def test_a_touch_of_the_robot_in_flight_ends_the_throw():
    def struck(world):
        moving(world, (0.0, 0.25, 0.2))
        move_gripper(world, (0.0, 0.25, 0.225))

    assert not episode(stage(), *FLIGHT[:2], (struck,), LANDED).holds


def test_after_a_miss_it_can_be_thrown_again():
    miss = (moving, (0.2, 0.0, CUBE.geometry.half_extents[2]))
    assert not episode(stage(), released_at(0.0), miss, IN_THE_AIR, LANDED).holds
    assert episode(stage(), released_at(0.0), miss, *FLIGHT).holds


def test_hitting_another_body_is_no_hit():
    world = stage()
    goal = Hit(index(world, THROWN), index(world, OTHER))
    outcome = goal.evaluate(world, goal.initial_state(world))
    for act, *place in FLIGHT:
        act(world, *place)
        outcome = goal.evaluate(world, outcome.state)
    assert not outcome.holds


def test_in_the_released_criteria_any_contact_counts_that_is_not_held():
    over = released_at(GOAL_XY[1])
    for way in ((over, LANDED), (RESTS,), (released_at(0.2, 0.1), LANDED)):
        assert episode(stage(), *way, criteria="released").holds
    assert not episode(stage(), (hold, (*GOAL_XY, ON_AREA_M)), criteria="released").holds


def test_a_thousand_flights_of_different_length():
    world = tabletop(1000)
    thrown, area = index(world, 0), index(world, 4)
    goal = Hit(thrown, area)
    way = torch.linspace(0.0, 0.4, 1000)
    begin = world.pose(area).clone()
    begin[:, 1] -= way
    begin[:, 2] = 0.6
    landed = world.pose(area).clone()
    landed[:, 2] = ON_AREA_M
    velocity = SPEED.expand(1000, 6)
    state = goal.initial_state(world)
    world.hold(thrown, begin)
    state = goal.evaluate(world, state).state
    for place in ((begin + landed) / 2, landed):
        world.set_body_pose(thrown, place)
        world.set_body_velocity(thrown, velocity)
        outcome = goal.evaluate(world, state)
        state = outcome.state
    assert torch.equal(outcome.holds, way >= 0.15)


# ---- toppled ----


def fall(world, angle_deg):
    place = world.pose(index(world, TARGET)).clone()
    half = radians(angle_deg) / 2
    place[:, 3:] = torch.tensor([cos(half), sin(half), 0.0, 0.0])
    world.set_body_pose(index(world, TARGET), place)


STRIKES = (moving, (0.0, GOAL_XY[1] - 0.025 - 0.06, 0.245))
STRUCK = (released_at(-0.2), (moving, (0.0, 0.1, 0.3)), STRIKES)
AWAY = (moving, (0.2, 0.1, 0.1))


@pytest.mark.parametrize(
    ("angle_deg", "toppled"), [(0, False), (44, False), (46, True), (180, True)]
)
def test_it_must_fall_over(angle_deg, toppled):
    events = (*STRUCK, AWAY, (fall, angle_deg))
    assert bool(episode(stage(DISC, TOWER), *events, kind=HitToppled).holds) == toppled
    assert episode(stage(DISC, TOWER), *events).holds


def test_it_must_be_hit():
    assert not episode(stage(DISC, TOWER), (fall, 90), kind=HitToppled).holds
    touched = (hold, STRIKES[1])
    assert not episode(stage(DISC, TOWER), touched, AWAY, (fall, 90), kind=HitToppled).holds


def test_it_must_not_lie_before():
    """Lying, it spans from its middle 0.125 m along y."""
    lies = (moving, (0.0, GOAL_XY[1] - 0.125 - 0.06, 0.15))
    for begin, toppled in ((((fall, 90),), False), (((fall, 90), (fall, 0)), True)):
        events = (*begin, *STRUCK[:2], STRIKES if toppled else lies)
        assert episode(stage(DISC, TOWER), *events).holds
        last = episode(stage(DISC, TOWER), *events, AWAY, (fall, 90), kind=HitToppled)
        assert bool(last.holds) == toppled
        (lost,) = HitToppled(torch.tensor([0]), torch.tensor([1])).unsolvable(last.state).values()
        assert bool(lost) != toppled


def test_set_upright_again_it_does_not_hold():
    assert episode(stage(DISC, TOWER), *STRUCK, AWAY, (fall, 90), kind=HitToppled).holds
    last = episode(stage(DISC, TOWER), *STRUCK, AWAY, (fall, 90), (fall, 0), kind=HitToppled)
    assert not last.holds


# ---- reward and progress ----


def swing(world, share):
    """Held, and as fast as a share of what it takes to hit the middle of the target."""
    hold(world, (0.0, 0.0, HIGH_M))
    fall_s = (2 * HIGH_M / 9.81) ** 0.5
    speed = torch.tensor([[0.0, share * GOAL_XY[1] / fall_s, 0.0, 0.0, 0.0, 0.0]])
    world.set_body_velocity(index(world, THROWN), speed)


def test_reward_of_aiming_is_the_published_one():
    """4 + 4 exp(-10 m), m: how far the flight would miss by, if it began now."""
    assert float(episode(stage(), released_at(0.0)).reward) == pytest.approx(
        4 + 4 * exp(-10 * (GOAL_XY[1] - 0.12)), abs=1e-3
    )

    assert float(episode(stage(), (swing, 1.0)).reward) == pytest.approx(8.0, abs=1e-3)


def test_progress_shows_the_way_from_far_off():
    """Each twentieth of the speed that it takes to hit is worth something, 0.004 or more, until its
    edge is hit.
    """
    shares = [part / 20 for part in range(11)]
    progress = [float(episode(stage(), (swing, share)).progress) for share in (*shares, 1.0)]
    left_m = GOAL_XY[1] - 0.12 + PAPER.fly_distance_m
    assert progress[0] == pytest.approx(0.15 + 0.35 * 0.2 / (0.2 + left_m), abs=1e-3)
    assert progress[-1] == pytest.approx(0.5, abs=1e-3)
    assert min(after - before for before, after in pairwise(progress[:-1])) >= 0.004


@pytest.mark.parametrize("share", [0.2, 0.5, 1.0])
def test_letting_go_is_worth_something_the_more_the_better_it_is_aimed(share):
    """Progress 0.35 while it is held is 0.65 as soon as it flies."""

    def release(world):
        swing(world, share)
        moving(world, (0.0, 0.0, HIGH_M), world.velocity(index(world, THROWN)))

    swung, let_go = (episode(stage(), (swing, share), *more) for more in ((), ((release,),)))
    assert float(let_go.reward) == pytest.approx(float(swung.reward), abs=1e-3)
    closeness = (float(swung.progress) - 0.15) / 0.35
    assert float(let_go.progress) == pytest.approx(0.15 + 0.65 * closeness, abs=1e-3)


@pytest.mark.parametrize(("criteria", "left_m"), [("paper", 0.15), ("released", 0.0)])
def test_an_object_that_would_drop_on_the_target_is_not_aimed(criteria, left_m):
    outcome = episode(stage(), released_at(GOAL_XY[1]), criteria=criteria)
    assert float(outcome.reward) == pytest.approx(8.0, abs=1e-3)
    assert float(outcome.progress) == pytest.approx(0.15 + 0.35 * 0.2 / (0.2 + left_m), abs=1e-3)


def test_reward_rises_from_reaching_to_holding_to_flying_to_toppling():
    world = stage(DISC, TOWER)
    half = DISC.geometry.half_extents[2]
    events = [(lying, (-0.2, -0.2, half)), *STRUCK, AWAY, (fall, 30), (fall, 90)]
    outcomes = [
        episode(stage(DISC, TOWER), *events[: k + 1], kind=HitToppled) for k in range(len(events))
    ]
    rewards, progress = zip(*((float(o.reward), float(o.progress)) for o in outcomes), strict=True)
    assert 0 < rewards[0] < 4 <= rewards[1] < rewards[2] < 8.0
    assert rewards[3] == pytest.approx(8.0) and rewards[4] == pytest.approx(8.0)
    assert 8.0 < rewards[5] < 12.0 and rewards[6] == 12.0
    assert 0 < progress[0] <= 0.1 < 0.15 < progress[1] < 0.5 < progress[2] < 0.8
    assert progress[3:5] == pytest.approx((0.8, 0.8)) and 0.8 < progress[5] < progress[6] == 1.0
    del world


# ---- looks and sentences ----


def test_realized_the_target_lies_where_nothing_is_in_its_way():
    world = stage(DISC, TOWER)
    before = TensorWorld.snapshot(world)
    goal = HitToppled(index(world, THROWN), index(world, TARGET))
    goal.realize(world)
    assert torch.equal(world.pose(index(world, OTHER)), before.pose(index(world, OTHER)))
    assert float(world.top(index(world, TARGET))) == pytest.approx(0.05, abs=1e-3)
    assert float(world.distance(world.world_points(index(world, TARGET)))[0, OTHER].min()) > 0


def test_sentences():
    world = stage(DISC, TOWER)
    said = [kind(index(world, 0), index(world, 1)).describe(world) for kind in (Hit, HitToppled)]
    assert said == [
        "Throw {obj:disc} to {obj:tower}",
        "Throw {obj:disc} to {obj:tower} such that it falls over",
    ]
