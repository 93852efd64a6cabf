"""Touched, touched and pushed, touched and toppled: conditions of each."""

from math import exp, pi, radians

import pytest
import torch

from clevrskills.core import geometry
from clevrskills.predicates import CRITERIA, Touched, TouchedPushed, TouchedToppled
from clevrskills.predicates.touched import tilt
from clevrskills.sim.tensor_world import TensorWorld
from clevrskills.sim.world import CONTACT_TOLERANCE_M
from tests.support.worlds import CUBE, SLAB, BodySpec, index, make_world, move_gripper, pose

TOWER = BodySpec("tower", "cube", (0.05, 0.05, 0.20))
HOME = (-0.2, 0.0)
ABOVE_M = 0.1


def stage(spec=CUBE):
    """A spec beside a slab, and the state at the start."""
    world = make_world([spec, SLAB], [pose(spec, *HOME), pose(SLAB, -0.2, 0.3)])
    move_gripper(world, (*HOME, 2 * spec.geometry.half_extents[2] + ABOVE_M))
    return world


def touch(world):
    """Lower the cups onto the first body, and lift them again; the state that is left."""
    x, y, z = world.position(index(world, 0))[0].tolist()
    del z
    move_gripper(world, (x, y, float(world.top(index(world, 0)))))


def leave(world):
    x, y, _ = world.position(index(world, 0))[0].tolist()
    move_gripper(world, (x, y, float(world.top(index(world, 0))) + ABOVE_M))


def move(world, x=0.0, y=0.0, z=0.0, turn=None):
    place = world.pose(index(world, 0)).clone()
    place[0, :3] += torch.tensor([x, y, z])
    if turn is not None:
        axis, angle = turn
        half = torch.tensor(angle / 2)
        spin = torch.cat((half.cos()[None], half.sin() * torch.tensor(axis)))[None]
        place[:, 3:] = geometry.quaternion_multiply(spin, place[:, 3:])
    world.set_body_pose(index(world, 0), place)
    place[:, 2] -= world.bottom(index(world, 0))
    world.set_body_pose(index(world, 0), place)


def hold(world):
    world.hold(index(world, 0), world.pose(index(world, 0)))


def episode(kind, world, *events, criteria="paper"):
    """Look at the world at the start and after each event; the last outcome."""
    goal = kind(index(world, 0)).with_criteria(CRITERIA[criteria])
    outcome = goal.evaluate(world, goal.initial_state(world))
    for event in events:
        event(world)
        outcome = goal.evaluate(world, outcome.state)
        assert bool(outcome.holds) == (float(outcome.progress) == 1.0)
        assert bool(outcome.holds) == (float(outcome.reward) == goal.max_reward)
    return outcome


def moved(**kwargs):
    return lambda world: move(world, **kwargs)


def lay_down(world):
    move(world, x=0.12, turn=((0.0, 1.0, 0.0), pi / 2))


def at_speed(event, speed_m_per_s):
    def happens(world):
        world._end_effector_speed[:] = speed_m_per_s
        event(world)

    return happens


LIMIT = CRITERIA["paper"].touch_speed_m_per_s


@pytest.mark.parametrize("kind", [Touched, TouchedPushed, TouchedToppled])
@pytest.mark.parametrize(("share", "spoiled"), [(0.99, False), (1.01, True)])
def test_a_strike_spoils_the_goal(kind, share, spoiled):
    spec = TOWER if kind is TouchedToppled else CUBE
    done = {Touched: leave, TouchedPushed: moved(x=0.12), TouchedToppled: lay_down}[kind]
    events = at_speed(touch, share * LIMIT), at_speed(leave, 0.0), done
    outcome = episode(kind, stage(spec), *events)
    assert bool(outcome.holds) != spoiled
    assert (float(outcome.reward) == 0.0) == spoiled
    assert bool(episode(kind, stage(spec), *events, criteria="released").holds)


def test_a_touched_object_may_be_left_fast():
    assert episode(Touched, stage(), at_speed(touch, 0.0), at_speed(leave, 2.0)).holds


@pytest.mark.parametrize("kind", [Touched, TouchedPushed, TouchedToppled])
def test_a_strike_after_a_gentle_touch_spoils_the_goal(kind):
    """Flung or whipped, the contact kept."""
    spec = TOWER if kind is TouchedToppled else CUBE
    done = {Touched: leave, TouchedPushed: moved(x=0.12), TouchedToppled: lay_down}[kind]
    for speed, spoiled in ((0.99 * LIMIT, False), (1.01 * LIMIT, True)):
        events = at_speed(touch, 0.0), at_speed(touch, speed), at_speed(leave, 0.0), done
        outcome = episode(kind, stage(spec), *events)
        assert bool(outcome.holds) != spoiled
        goal = kind(torch.tensor([0]))
        assert [bool(v) for v in goal.unsolvable(outcome.state).values()] == [spoiled]


# ---- touched ----


def test_a_touch_is_remembered():
    assert episode(Touched, stage(), touch).holds
    assert episode(Touched, stage(), touch, leave).holds
    assert not episode(Touched, stage()).holds


@pytest.mark.parametrize(("gap_m", "touches"), [(0.0, True), (0.0019, True), (0.005, False)])
def test_hovering_is_no_touch(gap_m, touches):
    assert gap_m != CONTACT_TOLERANCE_M
    world = stage()
    hover = (*HOME, 0.05 + gap_m)
    assert bool(episode(Touched, world, lambda w: move_gripper(w, hover)).holds) == touches


@pytest.mark.parametrize("kind", [Touched, TouchedPushed, TouchedToppled])
def test_touching_another_body_is_no_touch(kind):
    world = stage()
    events = {TouchedPushed: moved(x=0.2), TouchedToppled: lay_down}.get(kind, leave)
    outcome = episode(kind, world, lambda w: move_gripper(w, (-0.2, 0.3, 0.03)), events)
    assert not outcome.holds


@pytest.mark.parametrize(
    ("criteria", "limit_m"), [("paper", 0.03), ("released", 0.10)], ids=["paper", "released"]
)
def test_a_touch_that_moves_it_too_far_fails(criteria, limit_m):
    for off_m, holds in ((-1e-4, True), (1e-4, False)):
        outcome = episode(Touched, stage(), touch, moved(x=limit_m + off_m), criteria=criteria)
        assert bool(outcome.holds) == holds
        assert CRITERIA[criteria].touch_displacement_m == limit_m


def test_touched_hard_and_brought_back_it_counts():
    assert episode(Touched, stage(), touch, moved(y=0.04), moved(y=-0.04)).holds


@pytest.mark.parametrize("criteria", CRITERIA)
@pytest.mark.parametrize(("turn_deg", "holds"), [(17.0, True), (19.0, False)])
def test_it_may_turn_by_18_degrees(criteria, turn_deg, holds):
    spin = moved(turn=((0.0, 0.0, 1.0), radians(turn_deg)))
    assert bool(episode(Touched, stage(), touch, spin, criteria=criteria).holds) == holds


@pytest.mark.parametrize("kind", [Touched, TouchedPushed, TouchedToppled])
def test_holding_the_object_makes_the_goal_unsolvable(kind):
    events = {TouchedPushed: moved(x=0.2), TouchedToppled: lay_down}.get(kind, leave)
    assert episode(kind, stage(), touch, events).holds
    outcome = episode(kind, stage(), touch, hold, events, leave)
    assert not outcome.holds and float(outcome.reward) == 0.0
    world = stage()
    hold(world)
    goal = kind(index(world, 0))
    assert bool(goal.initial_state(world)["spoiled"])


@pytest.mark.parametrize("kind", [Touched, TouchedPushed, TouchedToppled])
def test_it_must_be_at_rest(kind):
    events = {TouchedPushed: moved(x=0.2), TouchedToppled: lay_down}.get(kind, leave)

    def slide(world):
        world.set_body_velocity(index(world, 0), torch.tensor([[0.01, 0.0, 0, 0, 0, 0]]))

    outcome = episode(kind, stage(), touch, events, slide)
    assert not outcome.holds and float(outcome.progress) <= 0.95


def test_reward_of_reaching_is_the_published_one():
    outcome = episode(Touched, stage())
    assert float(outcome.reward) == pytest.approx(exp(-5 * ABOVE_M) + 1.0, abs=1e-4)
    outcome = episode(TouchedPushed, stage())
    assert float(outcome.reward) == pytest.approx(exp(-5 * ABOVE_M) + 1.0, abs=1e-4)
    outcome = episode(TouchedToppled, stage())
    assert float(outcome.reward) == pytest.approx(exp(-5 * ABOVE_M), abs=1e-4)


def test_progress_is_lost_with_the_place():
    def progress(*events):
        return float(episode(Touched, stage(), *events).progress)

    def near(world):
        move_gripper(world, (*HOME, 0.06))

    assert progress() < progress(near) < 0.5
    assert progress(near, touch, leave) == 1.0
    assert progress(near, lambda w: move(w, x=0.05)) == 0.0
    assert progress(near, hold) == 0.0


# ---- pushed ----


@pytest.mark.parametrize("criteria", CRITERIA)
@pytest.mark.parametrize(("way_m", "holds"), [(0.0999, False), (0.1001, True), (0.3, True)])
def test_a_push_is_10_cm_long(criteria, way_m, holds):
    push = moved(x=-0.6 * way_m, y=0.8 * way_m)
    assert bool(episode(TouchedPushed, stage(), touch, push, criteria=criteria).holds) == holds
    assert not episode(TouchedPushed, stage(), push, criteria=criteria).holds  # not touched


def test_lifting_is_no_push():
    world = stage()

    def lift(world):
        place = world.pose(index(world, 0)).clone()
        place[:, 2] += 0.2
        world.set_body_pose(index(world, 0), place)

    assert not episode(TouchedPushed, world, touch, lift).holds


@pytest.mark.parametrize(("tilt_deg", "upright"), [(44.5, True), (45.5, False), (180.0, False)])
def test_an_object_that_falls_over_is_toppled_and_not_pushed(tilt_deg, upright):
    for spec in (CUBE, TOWER):
        fall = moved(x=0.15, turn=((1.0, 0.0, 0.0), radians(tilt_deg)))
        assert bool(episode(TouchedPushed, stage(spec), touch, fall).holds) == upright
        for criteria in CRITERIA:
            outcome = episode(TouchedToppled, stage(spec), touch, fall, criteria=criteria)
            assert bool(outcome.holds) != upright


def beside(world, slab=True):
    """Put the slab so that it touches the first body, or away."""
    x, y, _ = world.position(index(world, 0))[0].tolist()
    away = CUBE.size[0] / 2 + SLAB.size[0] / 2
    place = (x - away, y) if slab else (-0.2, 0.35)
    world.set_body_pose(index(world, 1), pose(SLAB, *place)[None])


def shoved(x=0.12, steps=6):
    """The slab shoves the body along."""

    def happens(world):
        move(world, x=x / steps)
        beside(world)

    return (beside, *[happens] * steps)


def parted(world):
    beside(world, False)


def test_motion_by_another_body_is_no_push():
    gripper = touch, leave
    assert not episode(TouchedPushed, stage(), *shoved(), parted, *gripper).holds
    assert not episode(TouchedPushed, stage(), *gripper, *shoved(), parted).holds
    # what the gripper moves it by afterwards is
    own = touch, moved(x=0.11), leave
    assert episode(TouchedPushed, stage(), *shoved(), parted, *own).holds
    assert not episode(TouchedPushed, stage(), *shoved(), parted, touch, moved(x=0.09), leave).holds
    # and what it slides on by, without another one
    assert episode(TouchedPushed, stage(), touch, leave, moved(x=0.11)).holds


def test_sweeping_with_the_arm_is_no_push(monkeypatch):
    near = []

    def sweep(world):
        near[:] = [True]
        move(world, x=0.06)

    def gone(world):
        near.clear()

    def by_robot(world, body):
        return world.gripper_touches(body) | bool(near)

    monkeypatch.setattr(TensorWorld, "robot_touches", by_robot)
    gripper = touch, leave
    assert not episode(TouchedPushed, stage(), *gripper, sweep, sweep, gone).holds
    assert not episode(TouchedPushed, stage(), sweep, moved(x=0.06), gone, *gripper).holds
    own = touch, moved(x=0.11), leave  # what the gripper moves it by afterwards counts
    assert episode(TouchedPushed, stage(), sweep, gone, *own).holds


def test_pushing_with_a_held_object_is_no_push():
    def hold_slab(world):
        world.hold(index(world, 1), world.pose(index(world, 1)))

    def with_slab(world):
        move(world, x=0.02)
        beside(world)
        hold_slab(world)

    events = touch, beside, hold_slab, *[with_slab] * 6
    assert not episode(TouchedPushed, stage(), *events, parted, leave).holds


def test_pushed_on_into_another_body_it_counts():
    def on(world):
        touch(world)
        move(world, x=0.06)
        touch(world)

    def with_slab(world):
        on(world)
        beside(world)

    assert episode(TouchedPushed, stage(), on, beside, with_slab, leave).holds


# ---- toppled ----


def test_toppled_and_set_upright_again_it_does_not_hold():
    def upright(world):
        move(world, turn=((0.0, 1.0, 0.0), -pi / 2))

    assert episode(TouchedToppled, stage(TOWER), touch, lay_down).holds
    assert not episode(TouchedToppled, stage(TOWER), touch, lay_down, upright).holds


def test_it_may_be_touched_when_it_lies():
    assert episode(TouchedToppled, stage(TOWER), lay_down, touch).holds
    assert not episode(TouchedToppled, stage(TOWER), lay_down).holds


def test_the_released_criteria_ask_for_a_way_too():
    fall = moved(x=0.05, turn=((0.0, 1.0, 0.0), pi / 2))
    assert episode(TouchedToppled, stage(), touch, fall).holds
    assert not episode(TouchedToppled, stage(), touch, fall, criteria="released").holds


@pytest.mark.parametrize("start_rad", [0.0, pi / 2, 2.0])
@pytest.mark.parametrize("angle_rad", [0.0, 0.3, pi / 2, 3.0, pi])
def test_tilt_is_measured_from_the_start_after_any_turn(start_rad, angle_rad):
    def about_x(angle):
        half = torch.tensor(angle / 2)
        return torch.stack((half.cos(), half.sin(), half * 0, half * 0))[None]

    start = about_x(start_rad)
    now = geometry.quaternion_multiply(geometry.yaw_quaternion(torch.tensor([1.1])), about_x(0.0))
    now = geometry.quaternion_multiply(
        geometry.quaternion_multiply(now, about_x(angle_rad)), about_x(start_rad)
    )
    assert float(tilt(start, now)) == pytest.approx(angle_rad, abs=1e-3)


# ---- looks ----


@pytest.mark.parametrize("kind", [Touched, TouchedPushed, TouchedToppled])
def test_realized_it_holds_and_no_other_body_is_in_the_way(kind):
    world = stage(TOWER)
    goal = kind(index(world, 0))
    state = goal.initial_state(world)
    before = TensorWorld.snapshot(world)
    goal.realize(world)
    assert goal.evaluate(world, state).holds
    assert torch.equal(world.pose(index(world, 1)), before.pose(index(world, 1)))
    assert float(world.distance(world.world_points(index(world, 0)))[0, 1].min()) > 0.0


def test_no_room_to_realize_it_raises():
    world = make_world([TOWER, BodySpec("big", "cube", (0.9, 0.9, 0.01))], [pose(TOWER, 0, 0)] * 2)
    with pytest.raises(ValueError, match="no free place"):
        TouchedToppled(index(world, 0)).realize(world)


def test_sentences():
    world = stage()
    said = [
        kind(index(world, 0)).describe(world) for kind in (Touched, TouchedPushed, TouchedToppled)
    ]
    assert said == ["Touch {obj:cube}", "Touch and push {obj:cube}", "Touch and topple {obj:cube}"]
