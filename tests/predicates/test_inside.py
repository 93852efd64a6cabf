"""Inside: on top, and within the outline from above."""

from math import pi

import pytest
import torch

from clevrskills.core.geometry import rotate, yaw_quaternion
from clevrskills.predicates import CRITERIA, Inside, OnTop
from tests.support.worlds import AREA, CUBE, TWIN, BodySpec, index, make_world, move_gripper, pose

LIMIT_M = CRITERIA["paper"].inside_overhang_m


def world_with(cube, yaw=0.0, area=AREA):
    world = make_world([CUBE, area], [cube, pose(area, 0.0, 0.0, yaw)])
    move_gripper(world, (-0.1, 0.0, 0.4))
    return world


def holds(world, criteria="paper", kind=Inside):
    goal = kind(index(world, 0), index(world, 1)).with_criteria(CRITERIA[criteria])
    return bool(goal.evaluate(world, {}).holds)


def overhanging(over_m, direction, yaw=0.0):
    """A cube, turned like the area, that reaches over its edge."""
    along = torch.tensor([*direction, 0.0]) * (0.12 - 0.025 + over_m)
    x, y, _ = rotate(yaw_quaternion(torch.tensor(yaw)), along).tolist()
    return pose(CUBE, x, y, yaw, bottom_z=0.01)


@pytest.mark.parametrize("direction", [(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1)])
@pytest.mark.parametrize("yaw", [0.0, 0.7])
@pytest.mark.parametrize(("off_m", "inside"), [(-5e-4, True), (5e-4, False)])
def test_overhang_boundary(direction, yaw, off_m, inside):
    assert LIMIT_M == 0.01
    world = world_with(overhanging(LIMIT_M + off_m, direction, yaw), yaw)
    assert holds(world) == inside
    # the released code has no such limit, nor has on top
    assert holds(world, "released") and holds(world, kind=OnTop)


@pytest.mark.parametrize("turn", [0.0, 0.3, pi / 4])
def test_the_corners_count_not_the_centre(turn):
    """Turned by 45 degrees a cube at the edge reaches further."""
    reach = 0.025 * (abs(torch.tensor(turn).cos()) + abs(torch.tensor(turn).sin()))
    for off, inside in ((-5e-4, True), (5e-4, False)):
        at = pose(CUBE, 0.12 - float(reach) + LIMIT_M + off, 0.0, turn, bottom_z=0.01)
        assert holds(world_with(at)) == inside


@pytest.mark.parametrize("criteria", CRITERIA)
def test_on_the_table_beside_it_or_above_it(criteria):
    assert not holds(world_with(pose(CUBE, 0.2, 0.0)), criteria)
    assert not holds(world_with(pose(CUBE, 0.0, 0.0, bottom_z=0.02)), criteria)


def test_held_moving_or_touched():
    world = world_with(pose(CUBE, 0.0, 0.0, bottom_z=0.01))
    assert holds(world)
    move_gripper(world, (0.0, 0.0, 0.0605))
    assert not holds(world) and holds(world, "released")
    move_gripper(world, (-0.1, 0.0, 0.4))
    world.set_body_velocity(index(world, 0), torch.tensor([[0.004, 0, 0, 0, 0, 0]]))
    assert not holds(world)
    world.set_body_velocity(index(world, 0), torch.zeros(1, 6))
    assert holds(world)
    world.hold(index(world, 0), world.pose(index(world, 0)))
    assert not holds(world)


def test_the_outline_is_that_of_the_shape_not_its_box():
    """A corner of the box of a hexagon lies outside the hexagon."""
    tile = BodySpec("tile", "hexagon", (0.24, 0.24, 0.01))
    corner = pose(CUBE, 0.085, 0.085, bottom_z=0.01)
    assert holds(world_with(corner))
    assert not holds(world_with(corner, area=tile))
    assert holds(world_with(pose(CUBE, 0.0, 0.0, bottom_z=0.01), area=tile))


# ---- on others that are in it ----


def heap(upper=None, lower=None):
    """A cube on another one in the area, at poses (7,)."""
    lower = pose(TWIN, 0.0, 0.0, bottom_z=0.01) if lower is None else lower
    upper = pose(CUBE, 0.0, 0.0, bottom_z=0.06) if upper is None else upper
    world = make_world([CUBE, AREA, TWIN], [upper, pose(AREA, 0.0, 0.0), lower])
    move_gripper(world, (-0.1, 0.0, 0.4))
    return world


def test_on_another_body_in_the_area_it_is_inside():
    for criteria in CRITERIA:
        assert holds(heap(), criteria)
    assert not holds(heap(), kind=OnTop)


def test_on_another_body_beside_the_area_it_is_not():
    assert not holds(heap(pose(CUBE, 0.3, 0.0, bottom_z=0.05), pose(TWIN, 0.3, 0.0)))


@pytest.mark.parametrize(("off_m", "inside"), [(-5e-4, True), (5e-4, False)])
def test_the_upper_one_stays_within_the_outline(off_m, inside):
    edge = 0.12 - 0.025 + LIMIT_M
    lower = pose(TWIN, edge - 0.02, 0.0, bottom_z=0.01)
    assert holds(heap(pose(CUBE, edge + off_m, 0.0, bottom_z=0.06), lower)) == inside


def test_the_support_must_be_released_and_at_rest():
    world = heap()
    world.hold(index(world, 2), world.pose(index(world, 2)))
    assert not holds(world)
    world = heap()
    world.set_body_velocity(index(world, 0), torch.tensor([[0.004, 0, 0, 0, 0, 0]]))
    assert not holds(world)
    assert not holds(heap(pose(CUBE, 0.0, 0.0, bottom_z=0.07)))
