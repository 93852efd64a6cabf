"""Where cups seal: on flat patches under the whole rim, near enough."""

from math import pi

import pytest
import torch

from clevrskills.assets import pools, shape
from clevrskills.sim.robots.description import ROBOTS, robot
from clevrskills.sim.suction import (
    CENTER_GAP_M,
    CUP_RADIUS_M,
    DEPTH_M,
    RIM_GAP_M,
    RIM_POINTS,
    cup_samples,
    pose_in_gripper,
    sealable_spot,
    sealed_cups,
)
from tests.support.worlds import (
    AREA,
    CUBE,
    SLAB,
    BodySpec,
    draw_slots,
    index,
    make_world,
    move_gripper,
    pose,
    row_of_world,
    tabletop,
)

ONE_CUP = cup_samples(torch.zeros(1, 3), CUP_RADIUS_M)
DESCRIPTION = robot("xarm6")
ALL_CUPS = cup_samples(
    torch.tensor([(x, y, 0.0) for x, y in DESCRIPTION.cup_centers]), DESCRIPTION.cup_radius
)


def cube_at_origin(spec=CUBE):
    return make_world([spec], [pose(spec, 0.0, 0.0)])


def seals(world, position, samples=ONE_CUP, body=0):
    move_gripper(world, position)
    return sealed_cups(world, samples)[0][0, body].tolist()


def test_samples_are_the_centre_and_the_rim():
    assert ALL_CUPS.shape == (5, 1 + RIM_POINTS, 3)
    offset = ALL_CUPS - ALL_CUPS[:, :1]
    assert torch.allclose(offset[:, 1:].norm(dim=-1), torch.tensor(DESCRIPTION.cup_radius))
    assert (offset[..., 2] == 0).all()
    assert torch.allclose(offset[:, 1:].sum(1), torch.zeros(5, 3), atol=1e-6)  # all around


def test_the_smallest_cups_decide_where_scenes_can_be_solved():
    assert CUP_RADIUS_M == min(r.cup_radius for r in ROBOTS.values())


@pytest.mark.parametrize(
    ("gap", "sealed"),
    [
        (CENTER_GAP_M + 2e-4, False),
        (CENTER_GAP_M - 2e-4, True),
        (0.0, True),
        (2e-4 - DEPTH_M, True),
        (-DEPTH_M - 2e-4, False),
        (5e-3, False),
    ],
)
def test_a_cup_seals_only_where_it_touches(gap, sealed):
    assert seals(cube_at_origin(), (0.0, 0.0, 0.05 + gap)) == [sealed]


@pytest.mark.parametrize(
    ("over_m", "sealed"), [(-5e-4, True), (RIM_GAP_M - 5e-4, True), (RIM_GAP_M + 5e-4, False)]
)
def test_the_rim_may_reach_over_the_edge_no_further_than_its_compliance(over_m, sealed):
    center = 0.025 - CUP_RADIUS_M + over_m
    assert seals(cube_at_origin(), (center, 0.0, 0.05)) == [sealed]
    assert seals(cube_at_origin(), (0.0, -center, 0.05)) == [sealed]


def test_a_ball_does_not_fill_a_cup_that_touches_beside_its_top():
    ball = BodySpec("ball", "ball", (0.04, 0.04, 0.04))
    assert seals(make_world([ball], [pose(ball, 0.0, 0.0)]), (0.014, 0.0, 0.034)) == [False]


def test_cups_count_one_by_one():
    wide, narrow = (make_world([t], [pose(t, 0.0, 0.0)]) for t in (SLAB, CUBE))
    assert seals(wide, (0.0, 0.0, 0.03), ALL_CUPS) == [True] * 5
    middle = DESCRIPTION.cup_centers.index((0.0, 0.0))
    expected = [k == middle for k in range(5)]  # the others hang over the edge
    assert seals(narrow, (0.0, 0.0, 0.05), ALL_CUPS) == expected
    assert not any(seals(wide, (0.3, 0.0, 0.03), ALL_CUPS))


def test_a_tilted_gripper_does_not_seal():
    world = cube_at_origin(SLAB)
    tilt = torch.tensor([[0.0, 0.0, 0.03, 0.0, 0.9659, 0.0, 0.2588]])  # 30 degrees
    world._end_effector_pose = tilt
    assert not sealed_cups(world, ONE_CUP)[0].any()


def test_each_body_has_its_own_cups():
    world = make_world([CUBE, SLAB], [pose(CUBE, 0.0, 0.0, bottom_z=0.03), pose(SLAB, 0.0, 0.0)])
    move_gripper(world, (0.0, 0.0, 0.08))
    assert sealed_cups(world, ONE_CUP)[0][0, :, 0].tolist() == [True, False]


def test_the_spot_of_a_cube_is_its_middle():
    world = make_world([CUBE], [pose(CUBE, 0.1, -0.2, 0.4)])
    spot = sealable_spot(world, index(world, 0))
    assert torch.allclose(spot, torch.tensor([[0.1, -0.2, 0.05]]), atol=4e-3)


@pytest.mark.parametrize("split", ["train", "test"])
def test_every_shape_that_is_picked_has_a_spot_where_a_cup_seals(split):
    names = pools(split)
    for name in dict.fromkeys(names.top + names.random + names.primitive):
        world = make_world([BodySpec("it", name)], [pose(shape(name), 0.1, -0.2, 0.4)])
        spot = sealable_spot(world, index(world, 0))[0]
        assert seals(world, spot) == [True], name


def test_the_spot_of_a_ring_is_beside_its_hole():
    ring = BodySpec("ring", "ring")
    world = make_world([ring], [pose(ring, 0.0, 0.0)])
    spot = sealable_spot(world, index(world, 0))[0]
    assert float(spot[:2].norm()) > CUP_RADIUS_M
    assert float(spot[2]) == pytest.approx(2 * ring.geometry.half_extents[2], abs=2e-3)


def test_a_body_on_its_edge_has_no_spot():
    tilted = torch.tensor([0.0, 0.0, 0.1, 0.9238795, 0.3826834, 0.0, 0.0])
    world = make_world([CUBE], [tilted])
    with pytest.raises(ValueError, match="no flat spot"):
        sealable_spot(world, index(world, 0))


@pytest.mark.parametrize("tip_z", [0.0, 0.0011])
def test_a_body_in_the_gripper_is_where_a_cup_seals(tip_z):
    world = make_world([CUBE, SLAB], [pose(CUBE, 0.1, -0.2, 0.4), pose(SLAB, 0.3, 0.3)])
    world.cup_tips = torch.tensor([[0.0, 0.0, tip_z]])
    cube = index(world, 0)
    before = world.orientation(cube)
    at = pose_in_gripper(world, cube)
    world.hold(cube, at)
    samples = ONE_CUP + torch.tensor([0.0, 0.0, tip_z])
    assert sealed_cups(world, samples)[0][0, :, 0].tolist() == [True, False]
    assert torch.equal(world.orientation(cube), before)
    assert float(world.gripper_distance(cube)) == pytest.approx(0.0, abs=1e-4)
    assert world.clearance(cube).item() > 0.1


@pytest.mark.parametrize("batch", [1, 1000])
def test_a_batch_equals_single_environments(batch):
    world = tabletop(batch)
    body = draw_slots(world, (0, 1, 2, 3, 4), 5)
    spot = sealable_spot(world, body)
    world._end_effector_pose = torch.cat(
        (spot, torch.tensor([0.0, 1.0, 0.0, 0.0]).expand(batch, 4)), -1
    )
    world.invalidate()
    sealed = sealed_cups(world, ONE_CUP)[0][..., 0]
    assert torch.equal(sealed, torch.nn.functional.one_hot(body, len(world.keys)).bool())
    held = pose_in_gripper(world, body)
    for env in sorted({0, 5, 77, batch - 1} & set(range(batch))):
        row = slice(env, env + 1)
        alone = row_of_world(world, env)
        assert torch.allclose(sealable_spot(alone, body[row]), spot[row], atol=1e-5)
        assert torch.allclose(pose_in_gripper(alone, body[row]), held[row], atol=1e-5)


def test_the_turn_of_the_gripper_decides_which_cups_seal():
    """The outer cups form a rectangle: it fits along a bar, not across it."""
    bar = BodySpec("bar", "cube", (0.12, 0.066, 0.03))
    world = make_world([bar, AREA], [pose(bar, 0.0, 0.0), pose(AREA, 0.5, 0.0)])
    counts = []
    for yaw in (0.0, pi / 2):
        tip = torch.tensor([[0.0, 0.0, 0.03, 0.0, 0.0, 0.0, 0.0]])
        tip[0, 4], tip[0, 5] = torch.cos(torch.tensor(yaw / 2)), torch.sin(torch.tensor(yaw / 2))
        world._end_effector_pose = tip
        world.invalidate()
        counts.append(int(sealed_cups(world, ALL_CUPS)[0][0, 0].sum()))
    assert counts[0] < 5 and counts[1] == 5


@pytest.mark.parametrize("gap", [-0.003, 0.0, 0.01])
def test_the_distance_to_the_cups_is_given_for_every_body(gap):
    world = make_world([CUBE, SLAB], [pose(CUBE, 0.0, 0.0), pose(SLAB, 0.5, 0.0)])
    move_gripper(world, (0.0, 0.0, 0.05 + gap))
    distance = sealed_cups(world, ONE_CUP)[1]
    assert distance.shape == (1, 2)
    assert float(distance[0, 0]) == pytest.approx(gap, abs=1e-5)
    assert float(distance[0, 1]) > 0.3
