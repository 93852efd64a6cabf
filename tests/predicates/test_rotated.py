"""Rotated: where it was, turned by the angle, in the direction."""

from math import radians

import pytest
import torch

from clevrskills.core.geometry import quaternion_multiply, yaw_quaternion
from clevrskills.predicates import Rotated
from clevrskills.predicates.criteria import CRITERIA
from tests.support.worlds import BRICK, index, make_world, move_gripper, pose

PLACE, YAW_RAD = (-0.1, 0.1), 0.4
ANGLES_DEG = (-150, -90, -30, 30, 120)


def start():
    world = make_world((BRICK,), (pose(BRICK, *PLACE, YAW_RAD),))
    move_gripper(world, (-0.3, 0.0, 0.4))
    return world


def goal_of(world, angle_deg, criteria="paper", position=None):
    body = index(world, 0)
    at = world.pose(body)
    angle = torch.tensor([radians(angle_deg)])
    place = at[:, :3] if position is None else torch.tensor([position])
    return Rotated.by(body, at, angle, place).with_criteria(CRITERIA[criteria])


class Watched:
    """A world and a goal that is looked at after each change."""

    def __init__(self, angle_deg, criteria="paper", **kwargs):
        self.world = start()
        self.goal = goal_of(self.world, angle_deg, criteria, **kwargs)
        self.outcome = self.goal.evaluate(self.world, self.goal.initial_state(self.world))
        self.seen = [self.outcome]

    def look(self):
        self.outcome = self.goal.evaluate(self.world, self.outcome.state)
        self.seen.append(self.outcome)
        return bool(self.outcome.holds)

    def stand(self, turn_deg, x_m=0.0, bottom_z=0.0, tilt_deg=0.0):
        """Put it at a turn away from the start, moved, lifted and tilted."""
        at = pose(BRICK, PLACE[0] + x_m, PLACE[1], YAW_RAD + radians(turn_deg), bottom_z)[None]
        half = torch.tensor(radians(tilt_deg) / 2)
        tilt = torch.stack((half.cos(), half.sin(), 0 * half, 0 * half))[None]
        at[:, 3:] = quaternion_multiply(tilt, at[:, 3:])
        self.world.set_body_pose(index(self.world, 0), at)
        return self.look()

    def turn(self, to_deg, from_deg=0.0, **kwargs):
        """Turn it in steps of at most 10 degrees."""
        count = max(1, int(abs(to_deg - from_deg) / 10))
        for k in range(1, count + 1):
            held = self.stand(from_deg + (to_deg - from_deg) * k / count, **kwargs)
        return held

    @property
    def turned_deg(self):
        return float(torch.rad2deg(self.outcome.state["turned_rad"][0]))


@pytest.mark.parametrize("angle_deg", ANGLES_DEG)
def test_turned_by_the_angle_in_the_direction(angle_deg):
    watched = Watched(angle_deg)
    assert not watched.outcome.holds
    assert watched.turn(angle_deg)
    assert watched.turned_deg == pytest.approx(angle_deg, abs=1e-3)
    assert float(watched.outcome.reward) == 6.0


@pytest.mark.parametrize("angle_deg", ANGLES_DEG)
def test_the_other_direction_does_not_count(angle_deg):
    assert not Watched(angle_deg).turn(-angle_deg)


@pytest.mark.parametrize("angle_deg", ANGLES_DEG)
def test_the_other_way_round_does_not_count(angle_deg):
    """It lies just as it should, but was turned by 360 degrees less the angle the other way."""
    around = angle_deg - 360 if angle_deg > 0 else angle_deg + 360
    watched = Watched(angle_deg)
    assert not watched.turn(around)
    assert watched.turned_deg == pytest.approx(around, abs=1e-3)
    assert watched.turn(angle_deg, around)  # undone, and turned as asked for
    assert Watched(angle_deg, "released").turn(around)


@pytest.mark.parametrize("angle_deg", [-150, 30])
def test_a_whole_turn_more_does_not_count(angle_deg):
    more = angle_deg + (360 if angle_deg > 0 else -360)
    watched = Watched(angle_deg)
    assert not watched.turn(more)
    assert watched.turn(angle_deg, more)


@pytest.mark.parametrize("angle_deg", [30, -30, 150])
@pytest.mark.parametrize(("off_deg", "holds"), [(4.9, True), (5.1, False)])
@pytest.mark.parametrize("sign", [1, -1])
def test_angle_boundary(angle_deg, off_deg, holds, sign):
    assert CRITERIA["paper"].angle_rad == pytest.approx(radians(5.0))
    assert Watched(angle_deg).turn(angle_deg + sign * off_deg) == holds


@pytest.mark.parametrize(
    ("turn_deg", "paper", "released"),
    [(26, 1, 1), (24, 0, 1), (13, 0, 1), (11, 0, 0), (49, 0, 0)],
)
def test_both_tables(turn_deg, paper, released):
    assert Watched(30).turn(turn_deg) == bool(paper)
    assert Watched(30, "released").turn(turn_deg) == bool(released)


@pytest.mark.parametrize(("aside_m", "holds"), [(0.0498, True), (0.0502, False), (0.06, False)])
def test_it_must_stay_where_it_was(aside_m, holds):
    assert Watched(60).turn(60, x_m=aside_m) == holds


def test_or_be_where_it_is_wanted():
    there = (PLACE[0] - 0.2, PLACE[1], 0.0)
    watched = Watched(60, position=there)
    assert not watched.turn(60)
    assert watched.turn(60, 60, x_m=-0.2)
    assert not Watched(60, position=there).turn(0, x_m=-0.2)


def test_held_does_not_count():
    watched = Watched(90)
    assert watched.turn(90)
    body = index(watched.world, 0)
    watched.world.hold(body, watched.world.pose(body))
    assert not watched.look() and float(watched.outcome.reward) < 6.0


def test_toppled_does_not_count():
    watched = Watched(90)
    watched.turn(90)
    for tilt_deg in range(0, 91, 10):
        held = watched.stand(90, tilt_deg=tilt_deg, bottom_z=0.02)
    low = float(watched.world.bottom(index(watched.world, 0)))
    assert not held and not watched.stand(90, tilt_deg=90, bottom_z=0.02 - low)
    assert watched.stand(90)


def test_tilting_in_the_hand_does_not_change_the_count():
    watched = Watched(120)
    for step in range(1, 13):
        watched.stand(10 * step, bottom_z=0.1, tilt_deg=25 * (step % 3 - 1))
    assert watched.stand(120)
    assert watched.turned_deg == pytest.approx(120.0, abs=1e-3)


def test_the_goal_state_alone_has_the_counted_rotation():
    """Looking twice counts nothing twice, and another look from a saved state goes on from it."""
    watched = Watched(-150)
    watched.turn(-100)
    saved = watched.outcome.state
    watched.turn(200, -100)
    watched.outcome = watched.goal.evaluate(watched.world, saved)
    assert not watched.look()
    assert watched.turned_deg == pytest.approx(-160.0, abs=1e-3)  # the nearest to -100


@pytest.mark.parametrize("angle_deg", [-150, 60])
def test_the_reward_rises_with_the_turn(angle_deg):
    watched = Watched(angle_deg)
    body = index(watched.world, 0)
    rewards = []
    for k in range(16):
        at = pose(BRICK, *PLACE, YAW_RAD + radians(angle_deg) * k / 15, 0.06)[None]
        watched.world.hold(body, at)
        watched.look()
        rewards.append(float(watched.outcome.reward))
    assert rewards == sorted(rewards) and len(set(rewards)) > 10
    wrong = Watched(angle_deg)
    wrong.turn(-0.9 * angle_deg, bottom_z=0.06)
    wrong.world.hold(body, wrong.world.pose(body))
    wrong.look()
    assert float(wrong.outcome.reward) < rewards[0] + 1e-6


@pytest.mark.parametrize("angle_deg", ANGLES_DEG)
def test_realized_it_holds(angle_deg):
    watched = Watched(angle_deg)
    watched.goal.realize(watched.world)
    assert watched.look()
    turned = yaw_quaternion(torch.tensor([YAW_RAD + radians(angle_deg)]))
    now = watched.world.orientation(index(watched.world, 0))
    assert float((turned * now).sum().abs()) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize(
    ("angle_deg", "said"),
    [
        (-30, "Rotate {obj:brick} 30 degrees clockwise"),
        (150, "Rotate {obj:brick} 150 degrees anti-clockwise"),
    ],
)
def test_description_has_the_direction(angle_deg, said):
    assert goal_of(start(), angle_deg).describe(start()) == said


def test_clockwise_is_defined_from_above():
    """What points along +x points along -y after a quarter turn clockwise."""
    world = make_world((BRICK,), (pose(BRICK, *PLACE),))
    goal_of(world, -90).realize(world)
    points = world.solids.points[0, 0]
    tip = points[points[:, 0].argmax()]
    moved = world.world_points(index(world, 0))[0][points[:, 0].argmax()]
    assert float(moved[1] - PLACE[1]) == pytest.approx(-float(tip[0]), abs=1e-5)
