"""Pushed towards another body, and pushed to a place: never held, let alone, at rest."""

from math import cos, exp, radians, sin

import pytest
import torch

from clevrskills.predicates import CRITERIA, AtPositionPushed, PushedTowards
from clevrskills.predicates.pushed import SLACK_M
from clevrskills.sim.world import CONTACT_TOLERANCE_M
from tests.support.worlds import CUBE, SLAB, index, make_world, move_gripper, pose

START, GOAL = (-0.3, -0.1), (-0.05, 0.05)
WAY_M = ((GOAL[0] - START[0]) ** 2 + (GOAL[1] - START[1]) ** 2) ** 0.5
ALONG = ((GOAL[0] - START[0]) / WAY_M, (GOAL[1] - START[1]) / WAY_M)


def stage():
    world = make_world([CUBE, SLAB], [pose(CUBE, *START), pose(SLAB, *GOAL)])
    move_gripper(world, (-0.1, 0.0, 0.4))
    return world


def towards(world, criteria="paper"):
    return PushedTowards(index(world, 0), index(world, 1)).with_criteria(CRITERIA[criteria])


def to_place(world, criteria="paper"):
    place = torch.tensor([[*GOAL, 0.025]])
    return AtPositionPushed(index(world, 0), place).with_criteria(CRITERIA[criteria])


def at(share, angle_deg=0.0):
    """A place some share of the way, off by an angle."""
    c, s = cos(radians(angle_deg)), sin(radians(angle_deg))
    x, y = c * ALONG[0] - s * ALONG[1], s * ALONG[0] + c * ALONG[1]
    return START[0] + share * WAY_M * x, START[1] + share * WAY_M * y


def put(world, xy, slot=0):
    spec = (CUBE, SLAB)[slot]
    world.set_body_pose(index(world, slot), pose(spec, *xy)[None])


def after(goal, world, *events):
    """Look at the start and after each event; the last outcome."""
    outcome = goal.evaluate(world, goal.initial_state(world))
    for event in events:
        event()
        outcome = goal.evaluate(world, outcome.state)
        assert bool(outcome.holds) == (float(outcome.reward) == goal.max_reward)
    return outcome


# ---- towards a body ----


@pytest.mark.parametrize(
    ("criteria", "share", "holds"),
    [
        ("paper", 0.29, False),
        ("paper", 0.31, True),
        ("released", 0.14, False),
        ("released", 0.16, True),
    ],
)
def test_it_must_come_nearer_by_30_percent(criteria, share, holds):
    world = stage()
    goal = towards(world, criteria)
    assert bool(after(goal, world, lambda: put(world, at(share))).holds) == holds


@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize(
    ("criteria", "angle_deg", "holds"),
    [
        ("paper", 43.9, True),
        ("paper", 45, False),
        ("paper", 60, False),
        ("released", 43.9, True),
        ("released", 45, False),
    ],
)
def test_the_cone_follows_from_the_distance(criteria, angle_deg, holds, side):
    """Wherever it is pushed on a line at the angle."""
    world = stage()
    goal = towards(world, criteria)
    state = goal.initial_state(world)
    reached = False
    for share in torch.arange(0.05, 1.5, 0.01).tolist():
        put(world, at(share, side * angle_deg))
        reached |= bool(goal.evaluate(world, state).holds)
    assert reached == holds


def test_pushed_the_other_way_it_does_not_hold():
    world = stage()
    assert not after(towards(world), world, lambda: put(world, at(-0.4))).holds


@pytest.mark.parametrize("criteria", CRITERIA)
def test_moving_the_other_body_does_not_help(criteria):
    world = stage()
    outcome = after(towards(world, criteria), world, lambda: put(world, at(0.5), slot=1))
    assert not outcome.holds
    world = stage()
    away = (GOAL[0] + 0.1, GOAL[1] + 0.25)
    outcome = after(
        towards(world, criteria),
        world,
        lambda: put(world, at(0.35)),
        lambda: put(world, away, slot=1),
    )
    assert not outcome.holds


# ---- to a place ----


@pytest.mark.parametrize("criteria", CRITERIA)
@pytest.mark.parametrize(("off_m", "holds"), [(0.0298, True), (0.0302, False)])
def test_a_place_is_within_3_cm(criteria, off_m, holds):
    world = make_world([CUBE, SLAB], [pose(CUBE, *START), pose(SLAB, 0.05, 0.3)])
    goal = to_place(world, criteria)
    place = (GOAL[0] + 0.6 * off_m, GOAL[1] - 0.8 * off_m)
    assert bool(after(goal, world, lambda: put(world, place)).holds) == holds


def test_on_something_else_at_the_place_does_not_count():
    world = stage()
    high = pose(CUBE, *GOAL, bottom_z=0.03)[None]
    outcome = after(to_place(world), world, lambda: world.set_body_pose(index(world, 0), high))
    assert not outcome.holds


# ---- both ----


def there(goal):
    return at(0.4) if isinstance(goal, PushedTowards) else GOAL


def free_stage():
    """The other body out of the way of the place."""
    world = make_world([CUBE, SLAB], [pose(CUBE, *START), pose(SLAB, *at(1.0, 5.0))])
    move_gripper(world, (-0.1, 0.0, 0.4))
    return world


KINDS = pytest.mark.parametrize("make", [towards, to_place])


@KINDS
def test_carried_there_it_does_not_count(make):
    world = free_stage()
    goal = make(world)
    hold = lambda: world.hold(index(world, 0), world.pose(index(world, 0)))  # noqa: E731
    outcome = after(goal, world, hold, lambda: put(world, there(goal)))
    assert not outcome.holds and float(outcome.reward) == 0.0
    world = free_stage()
    assert after(make(world), world, lambda: put(world, there(goal))).holds


@KINDS
def test_the_gripper_must_have_left_it(make):
    world = free_stage()
    goal = make(world)
    x, y = there(goal)
    arrive = lambda: put(world, (x, y))  # noqa: E731
    outcome = after(goal, world, arrive, lambda: move_gripper(world, (x, y, 0.05)))
    assert not outcome.holds
    leave = lambda: move_gripper(world, (x, y, 0.05 + CONTACT_TOLERANCE_M + 1e-3))  # noqa: E731
    put(world, START)
    assert after(goal, world, arrive, leave).holds


@KINDS
def test_it_must_be_at_rest(make):
    world = free_stage()
    goal = make(world)
    put(world, there(goal))
    state = {**goal.initial_state(free_stage())}
    world.set_body_velocity(index(world, 0), torch.tensor([[0.01, 0.0, 0, 0, 0, 0]]))
    outcome = goal.evaluate(world, state)
    assert not outcome.holds and float(outcome.reward) < goal.max_reward


@KINDS
def test_reward_of_pushing_is_the_published_one(make):
    world = free_stage()
    goal = make(world)
    x, y = START
    end = at(1.0, 5.0) if make is towards else GOAL
    way = torch.tensor(end) - torch.tensor(START)
    behind = torch.tensor(START) - 0.1 * way / way.norm()
    move_gripper(world, (*behind.tolist(), 0.025))
    gap = float(world.gripper_distance(index(world, 0)))
    expected = exp(-5 * gap) + exp(-5 * float(way.norm())) + 1.0
    assert float(after(goal, world).reward) == pytest.approx(expected, abs=1e-4)
    move_gripper(world, (2 * x - float(behind[0]), 2 * y - float(behind[1]), 0.025))
    assert float(after(goal, world).reward) == pytest.approx(expected - 1.0 + exp(-2), abs=5e-2)


@KINDS
def test_progress_follows_the_body(make):
    world = free_stage()
    goal = make(world)
    move_gripper(world, (START[0] - 0.05 * ALONG[0], START[1] - 0.05 * ALONG[1], 0.02))
    state, said = goal.initial_state(world), []
    end = at(1.0, 5.0) if make is towards else GOAL
    needed = 0.29 if make is towards else 0.85
    for share in (-0.1, 0.0, 0.5 * needed, needed):
        place = [a + share * (b - a) for a, b in zip(START, end, strict=True)]
        put(world, place)
        behind = [a - 0.05 * along for a, along in zip(place, ALONG, strict=True)]
        move_gripper(world, (*behind, 0.02))
        said.append(float(goal.evaluate(world, state).progress))
    assert said == sorted(said) and said[-1] - said[1] > 0.25


@KINDS
def test_progress_leads_behind_the_body(make):
    world = free_stage()
    goal = make(world)
    end = at(1.0, 5.0) if make is towards else GOAL
    way = torch.tensor(end) - torch.tensor(START)
    ahead = (way / way.norm()).tolist()
    contact = 0.025 + world.cup_reach_m

    def progress(behind_m, aside_m=0.0, z=0.025):
        x = START[0] - behind_m * ahead[0] - aside_m * ahead[1]
        y = START[1] - behind_m * ahead[1] + aside_m * ahead[0]
        move_gripper(world, (x, y, z))
        return float(goal.evaluate(world, state).progress)

    state = goal.initial_state(world)
    best = progress(contact)
    assert progress(contact + SLACK_M) == pytest.approx(best, abs=1e-4)
    assert progress(contact + SLACK_M + 0.02) < best - 0.05
    assert progress(contact, 0.03) < best - 0.05 and progress(contact, -0.03) < best - 0.05
    way_there = [progress(0.0, 0.0, 0.4), progress(0.0, 0.0, 0.1), progress(contact, 0.0, 0.1)]
    assert sorted([*way_there, best]) == [*way_there, best]


def test_sentences():
    world = stage()
    assert towards(world).describe(world) == "Push {obj:cube} towards {obj:slab}"
    assert to_place(world).describe(world) == "Push {obj:cube} to (-0.05, 0.05)"
