"""Every physical predicate in simulation: realized it holds, past each tolerance it does not."""

from math import cos, pi, sin

import pytest
import torch

from clevrskills.core.geometry import quaternion_multiply, yaw_quaternion
from clevrskills.core.registry import is_own
from clevrskills.predicates import (
    CRITERIA,
    AtPose,
    AtPoseOnTop,
    AtPosition,
    Balanced,
    EndEffectorAtPose,
    EndEffectorAtPosition,
    Inside,
    OnTop,
    PhysicalPredicate,
    Picked,
    SameStack,
    Traced,
    predicate_types,
)
from clevrskills.sim.body import Body
from tests.predicates.examples import EXAMPLES
from tests.support.envs import base, bench, body, go_to, put, stay
from tests.support.worlds import AREA, BRICK, CUBE, SLAB, TWIN, tabletop
from tests.support.worlds import pose as stand

CUBE_SLOT, SLAB_SLOT, AREA_SLOT, BRICK_SLOT, GHOST_SLOT, TWIN_SLOT = range(6)
SLAB_XY, AREA_XY, BRICK_XY = (-0.08, 0.22), (-0.2, -0.25), (0.0, -0.14)
TARGET = (-0.25, 0.22, 0.0)
YAW = yaw_quaternion(torch.tensor([0.5]))
AIM = (-0.2, -0.15, 0.25)
TILTED = torch.tensor([[cos(pi / 3), sin(pi / 3), 0.0, 0.0]])
GHOST = Body(
    "ghost", "sphere", "green", (*AIM, 1.0, 0.0, 0.0, 0.0), (0.1, 0.1, 0.1), static=True, ghost=True
)


def slot(k):
    return torch.tensor([k])


GOALS = {
    "picked": Picked(slot(CUBE_SLOT)),
    "on_top": OnTop(slot(CUBE_SLOT), slot(SLAB_SLOT)),
    "inside": Inside(slot(CUBE_SLOT), slot(AREA_SLOT)),
    "at_position": AtPosition(slot(CUBE_SLOT), torch.tensor([TARGET])),
    "at_pose": AtPose(slot(CUBE_SLOT), torch.tensor([TARGET]), YAW),
    "at_pose_on_top": AtPoseOnTop(
        slot(CUBE_SLOT), torch.tensor([[*SLAB_XY, 0.0]]), YAW, slot(SLAB_SLOT)
    ),
    "same_stack": SameStack(torch.tensor([[SLAB_SLOT, CUBE_SLOT, -1]])),
    "balanced": Balanced(  # the slab and the brick stand for plates that are always level
        slot(SLAB_SLOT),
        torch.tensor([[SLAB_SLOT, BRICK_SLOT]]),
        torch.tensor([[CUBE_SLOT, -1, TWIN_SLOT]]),
        torch.stack([stand(SLAB, *SLAB_XY), stand(SLAB, *SLAB_XY), stand(BRICK, *BRICK_XY)])[None],
    ),
    "end_effector_at_position": EndEffectorAtPosition(torch.tensor([AIM])),
    "end_effector_at_pose": EndEffectorAtPose(torch.tensor([AIM]), TILTED),
    "traced": Traced(slot(GHOST_SLOT)),
}
PUT_DOWN = [
    "on_top",
    "inside",
    "at_position",
    "at_pose",
    "at_pose_on_top",
    "same_stack",
    "balanced",
]


@pytest.fixture(scope="module")
def shared():
    made = bench(
        body(CUBE, -0.22, 0.05),
        body(SLAB, *SLAB_XY),
        body(AREA, *AREA_XY),
        body(BRICK, *BRICK_XY),
        GHOST,
        body(TWIN, -0.36, -0.05),
    )
    yield made
    made.close()


@pytest.fixture
def env(shared):
    shared.reset(seed=0)
    return shared


def holds(env, goal, criteria="paper"):
    goal = goal.with_criteria(CRITERIA[criteria])
    outcome = goal.evaluate(base(env).world, goal.initial_state(base(env).world))
    assert bool(outcome.holds) == (float(outcome.progress) == 1.0)
    assert not outcome.holds or float(outcome.reward) == goal.max_reward
    return bool(outcome.holds)


def realize(env, goal):
    goal.realize(base(env).world)
    stay(env, 25)
    assert holds(env, goal)


def shift(env, x=0.0, y=0.0, z=0.0, yaw=0.0):
    """Move the cube by hand and let it come to rest."""
    world = base(env).world
    pose = world.pose(slot(CUBE_SLOT)).clone()
    pose[0, :3] += torch.tensor([x, y, z])
    turn = yaw_quaternion(torch.tensor([yaw]))
    pose[:, 3:] = quaternion_multiply(turn, pose[:, 3:])
    world.set_body_pose(slot(CUBE_SLOT), pose)
    stay(env, 25)


def test_every_physical_predicate_that_remembers_nothing_is_here():
    types = {
        name: cls
        for name, cls in predicate_types().items()
        if is_own(cls) and ".suites." not in cls.__module__  # those test their own
    }
    kinds = {name for name, cls in types.items() if issubclass(cls, PhysicalPredicate)}
    world = tabletop()
    assert set(GOALS) == {n for n in kinds if not EXAMPLES[n](world).initial_state(world)}


@pytest.mark.parametrize("name", GOALS)
def test_realized_it_holds(env, name):
    for criteria in CRITERIA:
        assert not holds(env, GOALS[name], criteria)
    realize(env, GOALS[name])
    assert holds(env, GOALS[name], "released")
    stay(env, 20)
    assert holds(env, GOALS[name])


@pytest.mark.parametrize("name", PUT_DOWN)
def test_held_in_place_it_does_not_hold(env, name):
    """Put there, but not let go."""
    goal = GOALS[name]
    realize(env, goal)
    x, y, _ = base(env).world.position(slot(CUBE_SLOT))[0].tolist()
    top = float(base(env).world.top(slot(CUBE_SLOT)))
    tip = base(env).agent.description.cup_tip_z
    go_to(env, (x, y, top + 0.05))
    assert holds(env, goal)
    go_to(env, (x, y, top + tip), speed_m=0.005)
    stay(env, 10, on=False)
    assert not holds(env, goal)  # the cups still touch it
    assert holds(env, goal, "released")
    stay(env, 10, on=True)
    assert int(base(env).world.held[0]) == CUBE_SLOT
    assert not holds(env, goal) and not holds(env, goal, "released")
    stay(env, 3, on=False)
    go_to(env, (x, y, top + 0.05))
    stay(env, 10)
    assert holds(env, goal)


@pytest.mark.parametrize("name", PUT_DOWN)
def test_while_it_moves_it_does_not_hold(env, name):
    goal = GOALS[name]
    realize(env, goal)
    world = base(env).world
    component = world.simulations[0].components[CUBE_SLOT]
    for linear, angular in (((0.004, 0.0, 0.0), (0.0, 0.0, 0.0)), ((0.0,) * 3, (0.0, 0.0, 0.04))):
        component.linear_velocity, component.angular_velocity = linear, angular
        world.invalidate()
        assert not holds(env, goal) and not holds(env, goal, "released")
    component.linear_velocity = component.angular_velocity = [0.0, 0.0, 0.0]
    world.invalidate()
    assert holds(env, goal)


def test_picked_ends_where_the_clearance_does(env):
    goal = GOALS["picked"]
    realize(env, goal)
    x, y, z = base(env).world.end_effector_pose[0, :3].tolist()
    low = z - float(base(env).world.bottom(slot(CUBE_SLOT)))
    for gap, picked in ((0.03, True), (0.015, False), (0.03, True)):
        go_to(env, (x, y, low + gap), on=True)
        stay(env, 5, on=True)
        assert holds(env, goal) == picked, gap
    stay(env, 5, on=False)
    assert not holds(env, goal)


def test_on_top_ends_beside_it(env):
    goal = GOALS["on_top"]
    realize(env, goal)
    shift(env, x=0.02)
    assert holds(env, goal)
    put(env, CUBE_SLOT, SLAB_XY[0] + 0.12, SLAB_XY[1])
    stay(env, 25)
    assert not holds(env, goal)


def test_on_top_of_something_on_top_is_not_on_top(env):
    """The cube stands on the brick, the brick on the slab."""
    put(env, BRICK_SLOT, *SLAB_XY, bottom_z=0.03)
    put(env, CUBE_SLOT, *SLAB_XY, bottom_z=0.06)
    stay(env, 25)
    assert not holds(env, GOALS["on_top"])
    assert holds(env, OnTop(slot(CUBE_SLOT), slot(BRICK_SLOT)))
    assert holds(env, OnTop(slot(BRICK_SLOT), slot(SLAB_SLOT)))


def test_leaning_on_it_is_not_on_top(env):
    """One edge on the slab, the other on the table."""
    world = base(env).world
    pose = world.pose(slot(BRICK_SLOT)).clone()
    tilt = torch.tensor([[0.9659258, 0.0, 0.258819, 0.0]])  # 30 degrees about y
    pose[0, :3] = torch.tensor([SLAB_XY[0] + 0.092, SLAB_XY[1], 0.03])
    pose[:, 3:] = tilt
    world.set_body_pose(slot(BRICK_SLOT), pose)
    stay(env, 40)
    goal = OnTop(slot(BRICK_SLOT), slot(SLAB_SLOT))
    assert world.on_table(slot(BRICK_SLOT))
    assert not holds(env, goal) and not holds(env, goal, "released")


@pytest.mark.parametrize(("over_m", "inside"), [(0.005, True), (0.015, False)])
def test_inside_ends_past_the_overhang(env, over_m, inside):
    put(env, CUBE_SLOT, AREA_XY[0] + 0.12 - 0.025 + over_m, AREA_XY[1], bottom_z=0.01)
    stay(env, 25)
    assert holds(env, GOALS["inside"]) == inside
    assert holds(env, GOALS["inside"], "released")


@pytest.mark.parametrize("name", ["at_position", "at_pose"])
@pytest.mark.parametrize(("aside_m", "there"), [(0.045, True), (0.055, False)])
def test_a_position_ends_past_its_distance(env, name, aside_m, there):
    realize(env, GOALS[name])
    shift(env, x=0.6 * aside_m, y=0.8 * aside_m)
    assert holds(env, GOALS[name]) == there
    assert holds(env, GOALS[name], "released") == there


@pytest.mark.parametrize(("turn_deg", "paper", "released"), [(4, 1, 1), (6, 0, 1), (20, 0, 0)])
def test_a_pose_ends_past_its_angle(env, turn_deg, paper, released):
    goal = GOALS["at_pose"]
    realize(env, goal)
    shift(env, yaw=float(torch.deg2rad(torch.tensor(float(turn_deg)))))
    assert holds(env, goal) == bool(paper)
    assert holds(env, goal, "released") == bool(released)
    assert holds(env, GOALS["at_position"])


@pytest.mark.parametrize("name", ["at_position", "at_pose"])
def test_on_something_at_the_place_is_not_at_the_place(env, name):
    put(env, SLAB_SLOT, *TARGET[:2])
    realize_at = base(env).world.pose(slot(CUBE_SLOT)).clone()
    realize_at[0, :3] = torch.tensor([*TARGET[:2], 0.03 + 0.025])
    realize_at[:, 3:] = YAW
    base(env).world.set_body_pose(slot(CUBE_SLOT), realize_at)
    stay(env, 25)
    assert not holds(env, GOALS[name]) and not holds(env, GOALS[name], "released")
    assert holds(env, GOALS["on_top"])
