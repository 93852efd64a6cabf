"""What a world answers, for one and for many environments, on plain tensors."""

from math import pi, sqrt

import pytest
import torch

from clevrskills.assets import shape
from clevrskills.core import geometry
from clevrskills.core.goal.context import any_true
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.sim.tensor_world import TensorWorld
from clevrskills.sim.world import (
    CONTACT_TOLERANCE_M,
    STATIC_SPEED_M_PER_S,
    STATIC_SPIN_RAD_PER_S,
    Solids,
    World,
)
from tests.support.worlds import (
    AREA,
    BODIES,
    BRICK,
    CUBE,
    MOVABLE,
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

CUBE_SLOT, BRICK_SLOT, HEXAGON_SLOT, SLAB_SLOT, AREA_SLOT = range(5)


def single(*specs_and_poses):
    specs, poses = zip(*specs_and_poses, strict=True)
    return make_world(specs, poses)


# ---- solids ----


def test_solids_of_shapes():
    world = tabletop()
    solids = world.solids
    assert solids.mass[0].tolist() == pytest.approx([t.geometry.mass_kg for t in BODIES])
    assert solids.movable[0].tolist() == [not t.static for t in BODIES]
    assert solids.present[0].all()
    for k, spec in enumerate(BODIES):
        half = torch.tensor(spec.geometry.half_extents)
        points = solids.points[0, k]
        assert torch.allclose(points.amax(0), half, atol=1e-5)
        assert torch.allclose(points.amin(0), -half, atol=1e-5)
        on = geometry.signed_distance(solids.planes[0, k], points).abs()
        assert float(on.max()) < 1e-4  # they lie on the surface


def test_points_cover_the_upper_and_lower_side():
    """So that the middle of an area, far from its corners, is included."""
    world = single((AREA, pose(AREA, 0.0, 0.0)))
    points = world.world_points(index(world, 0))[0]
    for z in (0.0, 0.01):
        side = points[(points[:, 2] - z).abs() < 1e-5]
        assert float(side[:, :2].norm(dim=-1).min()) < 0.02
        assert len(side) >= 49


def test_a_hollow_shape_has_points_at_the_bottom_of_its_hollow():
    bowl = shape("bowl")
    world = single((BodySpec("bowl", "bowl"), pose(bowl, 0.0, 0.0)))
    points = world.world_points(index(world, 0))[0]
    middle = points[points[:, :2].norm(dim=-1) < 0.02]
    assert float(middle[:, 2].max()) < 0.02 < 2 * bowl.half_extents[2]


def test_empty_slots_are_nowhere_and_do_not_disturb():
    full = single((CUBE, pose(CUBE, 0.0, 0.0)), (SLAB, pose(SLAB, 0.2, 0.0)))
    with_gap = single((CUBE, pose(CUBE, 0.0, 0.0)), (SLAB, pose(SLAB, 0.2, 0.0)), (None, None))
    assert with_gap.solids.present[0].tolist() == [True, True, False]
    assert not with_gap.solids.movable[0, 2]
    points = torch.tensor([[[0.0, 0.0, 0.3], [0.2, 0.0, 0.1]]])
    assert torch.equal(with_gap.distance(points)[:, :2], full.distance(points))
    assert (with_gap.distance(points)[:, 2] > 1.0).all()
    cube = index(full, 0)
    assert torch.equal(full.clearance(cube), with_gap.clearance(cube))


def test_stacking_solids_of_one_environment_each():
    row = [CUBE, SLAB, None]
    each = [
        Solids.from_shapes([[t.geometry if t else None for t in order]], [[False] * 3])
        for order in (row, [SLAB, CUBE, None])
    ]
    both = Solids.stack(each)
    assert both.mass.shape == (2, 3)
    assert torch.equal(both.mass[0, :2], both.mass[1, :2].flip(0))
    assert Solids.stack(each[:1]) is each[0]


# ---- bodies ----


def test_an_unknown_body_raises_and_names_the_known_ones():
    with pytest.raises(UnknownNameError, match="unknown body 'sphere'.*cube.*area") as error:
        tabletop().index("sphere")
    assert isinstance(error.value, ClevrSkillsError) and isinstance(error.value, KeyError)
    assert tabletop(3).index("slab").tolist() == [3, 3, 3]


def test_pose_top_and_bottom():
    world = single((BRICK, pose(BRICK, 0.1, -0.2, 0.3, bottom_z=0.05)))
    body = index(world, 0)
    assert torch.allclose(world.position(body), torch.tensor([[0.1, -0.2, 0.065]]))
    assert world.orientation(body).shape == (1, 4)
    assert float(world.bottom(body)) == pytest.approx(0.05, abs=1e-6)
    assert float(world.top(body)) == pytest.approx(0.08, abs=1e-6)


def test_top_of_a_body_on_its_edge():
    tilt = torch.tensor([0.0, 0.0, 0.2, 0.9238795, 0.3826834, 0.0, 0.0])  # 45 degrees about x
    world = single((CUBE, tilt))
    assert float(world.top(index(world, 0))) == pytest.approx(0.2 + 0.05 / sqrt(2), abs=1e-5)


@pytest.mark.parametrize("axis", range(6))
@pytest.mark.parametrize(("factor", "still"), [(0.99, True), (1.01, False), (-1.01, False)])
def test_rest_ends_at_the_speed_limit(axis, factor, still):
    world = tabletop(2)
    limit = STATIC_SPEED_M_PER_S if axis < 3 else STATIC_SPIN_RAD_PER_S
    velocity = torch.zeros(2, 6)
    velocity[1, axis] = factor * limit
    world.set_body_velocity(index(world, CUBE_SLOT), velocity)
    assert world.is_static(index(world, CUBE_SLOT)).tolist() == [True, still]
    assert world.is_static(index(world, SLAB_SLOT)).all()


def test_distance_to_every_body():
    world = single((CUBE, pose(CUBE, 0.0, 0.0)), (SLAB, pose(SLAB, 0.2, 0.0)))
    points = torch.tensor([[[0.0, 0.0, 0.075], [0.2, 0.0, 0.015]]])  # above the cube; in the slab
    distance = world.distance(points)
    assert distance.shape == (1, 2, 2)
    assert float(distance[0, 0, 0]) == pytest.approx(0.025, abs=1e-5)
    assert float(distance[0, 1, 1]) == pytest.approx(-0.015, abs=1e-5)


@pytest.mark.parametrize("gap", [0.005, 0.02, 0.03])
def test_clearance_to_the_table_and_to_another_body(gap):
    world = single((CUBE, pose(CUBE, 0.0, 0.0, 0.4, bottom_z=gap)))
    assert float(world.clearance(index(world, 0))) == pytest.approx(gap, abs=1e-5)
    over = pose(CUBE, 0.21, 0.01, bottom_z=0.03 + gap)
    world = single((CUBE, over), (SLAB, pose(SLAB, 0.2, 0.0)))
    assert float(world.clearance(index(world, 0))) == pytest.approx(gap, abs=1e-5)
    assert float(world.clearance(index(world, 1))) == pytest.approx(0.0, abs=1e-5)  # the table


def test_clearance_to_a_pole_that_stands_under_the_middle():
    """The pole touches no corner of the tray above it: the points on its underside must notice."""
    pole = BodySpec("pole", "cube", (0.012, 0.012, 0.10))
    tray = BodySpec("tray", "cube", (0.20, 0.20, 0.01))
    world = single((tray, pose(tray, 0.013, 0.01, bottom_z=0.105)), (pole, pose(pole, 0.0, 0.0)))
    assert float(world.clearance(index(world, 0))) <= 0.02


@pytest.mark.parametrize("yaw", [0.0, 0.5, pi / 4])
@pytest.mark.parametrize("direction", [(1.0, 0.0), (0.0, -1.0)])
def test_overhang_is_measured_in_the_frame_of_the_lower_body(yaw, direction):
    turn = geometry.rotate(
        geometry.yaw_quaternion(torch.tensor(yaw)), torch.tensor([*direction, 0.0])
    )
    for over in (-0.03, 0.0, 0.01):
        at = (0.12 - 0.025 + over) * turn
        small = pose(CUBE, float(at[0]), float(at[1]), yaw, bottom_z=0.01)
        world = single((CUBE, small), (AREA, pose(AREA, 0.0, 0.0, yaw)))
        found = world.overhang(index(world, 0), index(world, 1))
        assert float(found) == pytest.approx(over, abs=1e-5)


def test_overhang_ignores_height():
    low, high = (pose(CUBE, 0.0, 0.0, bottom_z=z) for z in (0.01, 0.3))
    values = [
        float(
            single((CUBE, p), (AREA, pose(AREA, 0.0, 0.0))).overhang(*map(torch.tensor, ([0], [1])))
        )
        for p in (low, high)
    ]
    assert values[0] == pytest.approx(values[1], abs=1e-6)


def scattered(names, batch, seed):
    """Shapes near the origin, some upright, some turned anyhow."""
    generator = torch.Generator().manual_seed(seed)
    shapes = [[shape(name) for name in names]] * batch
    where = torch.rand(batch, len(names), 7, generator=generator) - 0.5
    where[..., :3] *= 0.3
    where[: batch // 2, :, 4:6] = 0.0
    where[..., 3:] = torch.nn.functional.normalize(where[..., 3:], dim=-1)
    solids = Solids.from_shapes(shapes, [[False] * len(names)] * batch)
    return TensorWorld(names, solids, where)


@pytest.mark.parametrize("upper", ["cube", "mug", "banana", "ring", "letter K", "ball"])
def test_within_is_that_the_overhang_is_small(upper):
    """However both lie; at margins about those at which it matters."""
    for lower in ("cutting board", "plate", "arrow"):
        world = scattered((upper, lower), 200, seed=3)
        bodies = index(world, 0), index(world, 1)
        overhang = world.overhang(*bodies)
        for share in (0.1, 0.5, 0.9):
            margin = float(overhang.quantile(share))
            inside = world.within(*bodies, margin)
            assert torch.equal(inside, overhang <= margin) and inside.any() and not inside.all()
        assert world.within(*bodies, torch.inf).all()
        assert not world.within(*bodies, -torch.inf).any()


# ---- coming to rest ----


def rest(world, at, upper=0, lower=1):
    height, margin = world.rest(index(world, upper), at[None, None], index(world, lower))
    return float(height), float(margin)


def test_rest_on_the_middle_of_a_slab():
    world = single((CUBE, pose(CUBE, 0.3, 0.0)), (SLAB, pose(SLAB, 0.0, 0.0)))
    height, margin = rest(world, pose(CUBE, 0.0, 0.0, bottom_z=0.5))
    assert height == pytest.approx(0.03 + 0.025, abs=1e-5)
    assert margin == pytest.approx(0.025, abs=1e-3)  # half the cube's width


@pytest.mark.parametrize(("beyond", "stable"), [(-0.01, True), (0.01, False)])
def test_rest_tips_once_the_centre_is_over_the_edge(beyond, stable):
    world = single((CUBE, pose(CUBE, 0.3, 0.0)), (SLAB, pose(SLAB, 0.0, 0.0)))
    _, margin = rest(world, pose(CUBE, 0.06 + beyond, 0.0))
    assert (margin > 0) == stable


def test_rest_beside_the_lower_body_has_no_height():
    world = single((CUBE, pose(CUBE, 0.3, 0.0)), (SLAB, pose(SLAB, 0.0, 0.0)))
    assert rest(world, pose(CUBE, 0.2, 0.2))[0] < -1.0


def test_rest_in_a_bowl_is_below_its_rim():
    bowl = shape("bowl")
    small = BodySpec("dice", "cube", (0.03, 0.03, 0.03))
    world = single((small, pose(small, 0.3, 0.0)), (BodySpec("bowl", "bowl"), pose(bowl, 0.0, 0.0)))
    height, margin = rest(world, pose(small, 0.0, 0.0))
    assert height - 0.015 < 2 * bowl.half_extents[2] - 0.01
    assert margin > 0.006


# ---- tensor worlds ----


def test_support_and_table_contact_up_to_the_tolerance():
    for gap, touches in (
        (0.0, True),
        (CONTACT_TOLERANCE_M - 1e-4, True),
        (CONTACT_TOLERANCE_M + 1e-4, False),
    ):
        on_slab = pose(CUBE, 0.0, 0.0, bottom_z=0.03 + gap)
        world = single((CUBE, on_slab), (SLAB, pose(SLAB, 0.0, 0.0)))
        cube, slab = index(world, 0), index(world, 1)
        assert float(world.supports(slab, cube)) == float(touches)
        assert not bool(world.on_table(cube))
        world = single((CUBE, pose(CUBE, 0.0, 0.0, bottom_z=gap)))
        assert bool(world.on_table(index(world, 0))) == touches


def test_support_is_from_below():
    on_slab = pose(CUBE, 0.0, 0.0, bottom_z=0.03)
    beside = pose(CUBE, 0.085, 0.0)  # touches the slab's side
    for at, carried in ((on_slab, 1.0), (beside, 0.0)):
        world = single((CUBE, at), (SLAB, pose(SLAB, 0.0, 0.0)))
        cube, slab = index(world, 0), index(world, 1)
        assert float(world.supports(slab, cube)) == carried
        assert float(world.supports(cube, slab)) == 0.0


def test_setting_poses_only_where_asked():
    world = tabletop(4)
    before = world.body_pose.clone()
    body = torch.tensor([0, 1, 2, 3])
    target = pose(CUBE, 0.2, 0.3, bottom_z=0.4).expand(4, 7)
    world.set_body_velocity(body, torch.ones(4, 6))
    world.set_body_pose(body, target, torch.tensor([True, False, False, True]))
    for env, slot in enumerate(body.tolist()):
        for k in range(5):
            moved = k == slot and env in (0, 3)
            expected = target[env] if moved else before[env, k]
            assert torch.equal(world.body_pose[env, k], expected)
    assert world.is_static(body).tolist() == [True, False, False, True]
    assert world.position(body)[0].tolist() == pytest.approx([0.2, 0.3, 0.425])


def test_values_derived_from_poses_are_invalidated_when_they_change():
    world = tabletop(2)
    cube = index(world, CUBE_SLOT)
    first = world.top(cube), world.bottom(cube), world.gripper_distance(cube)
    at = world.pose(cube).clone()
    at[:, 2] += 0.1
    world.set_body_pose(cube, at)
    assert torch.allclose(world.top(cube), first[0] + 0.1)
    assert torch.allclose(world.bottom(cube), first[1] + 0.1)
    assert (world.gripper_distance(cube) < first[2]).all()


def test_surfaces_of_unmoved_bodies_are_kept():
    world = single((SLAB, pose(SLAB, 0.0, 0.0)), (CUBE, pose(CUBE, 0.3, 0.0)))
    slab, cube = index(world, 0), index(world, 1)
    before = [world.surface(body) for body in (slab, cube)]
    both = torch.tensor([0, 1])
    world.repeat(2).surface(both)
    for moved in (world, TensorWorld.snapshot(world)):
        moved.set_body_pose(cube, moved.pose(cube) + torch.tensor([[0.1, 0, 0, 0, 0, 0, 0]]))
        place = moved.position(cube)[:, None, :2]
        assert moved.surface(slab) is before[0]
        several = moved.repeat(2).surface(both).height(place.expand(2, 1, 2))
        assert several[1].tolist() == [pytest.approx(float(moved.top(cube)))]
        assert float(before[1].height(place)) == -geometry.PAD
        assert float(moved.surface(cube).height(place)) == pytest.approx(float(moved.top(cube)))


def test_holding_and_letting_go():
    world = tabletop(3)
    cube, slab = index(world, CUBE_SLOT), index(world, SLAB_SLOT)
    assert world.held.tolist() == [-1, -1, -1]
    at = pose(CUBE, 0.0, 0.0, bottom_z=0.2).expand(3, 7)
    world.hold(cube, at, torch.tensor([True, True, False]))
    assert world.is_held(cube).tolist() == [True, True, False]
    assert not world.is_held(slab).any()
    world.hold(slab, at, torch.tensor([True, False, False]))  # one thing at a time
    assert world.held.tolist() == [SLAB_SLOT, CUBE_SLOT, -1]
    world.set_body_pose(cube, at)  # what is put somewhere is no longer held
    assert world.held.tolist() == [SLAB_SLOT, -1, -1]


def test_gripper_distance_is_that_of_the_nearest_cup():
    world = single((CUBE, pose(CUBE, 0.0, 0.0)), (SLAB, pose(SLAB, 0.3, 0.0)))
    cube = index(world, 0)
    move_gripper(world, (0.0, 0.0, 0.08))
    assert float(world.gripper_distance(cube)) == pytest.approx(0.03, abs=1e-5)
    world.cup_tips = torch.tensor([[0.2, 0.0, 0.0], [0.0, 0.0, 0.01]])  # the second is nearer
    world.invalidate()
    assert float(world.gripper_distance(cube)) == pytest.approx(0.02, abs=1e-5)


@pytest.mark.parametrize("name", ["cube", "mug", "ring", "bowl", "cake stand", "pear"])
def test_the_gripper_is_clear_of_a_body_from_a_distance_on(name):
    """As far as the solid's planes tell; where bounding spheres already keep it, always."""
    world = scattered((name,), 400, seed=5)
    world.cup_tips = torch.tensor([[0.02, 0.0, 0.0], [-0.02, 0.0, 0.0], [0.0, 0.0, 0.001]])
    tip = torch.rand(400, 3, generator=torch.Generator().manual_seed(6)) - 0.5
    move_gripper(world, world.position(index(world, 0)) + 0.3 * tip)
    body = index(world, 0)
    tips = geometry.to_world(world.end_effector_pose, world.cup_tips.expand(400, 3, 3))
    furthest = world.solids.points[:, 0].norm(dim=-1).amax(-1)
    spheres = (tips - world.position(body)[:, None]).norm(dim=-1).amin(-1) - furthest
    distance = world.gripper_distance(body)
    for least in (0.0, 0.002, 0.02):
        clear = world.gripper_clear(body, least)
        assert clear.any() and not clear.all()
        assert torch.equal(clear | (spheres > least), (distance > least) | (spheres > least))
        assert clear[spheres > least + 0.04].all()  # by the size of the gripper at most
    assert world.gripper_clear(body, -torch.inf).all()


@pytest.mark.parametrize(("gap", "clear"), [(0.0019, False), (0.0021, True)])
def test_the_gripper_lets_go_at_the_very_distance(gap, clear):
    world = single((CUBE, pose(CUBE, 0.0, 0.0)), (SLAB, pose(SLAB, 0.3, 0.0)))
    world.cup_tips = torch.tensor([[0.0, 0.0, 0.0], [0.01, 0.0, 0.001]])  # the second is lower
    move_gripper(world, (0.0, 0.0, 0.05 + 0.001 + gap))
    assert bool(world.gripper_clear(index(world, 0), 0.002)) is clear


def test_a_supported_body_rests_on_its_support_and_not_on_the_table():
    world = tabletop(3)
    cube, slab = index(world, CUBE_SLOT), index(world, SLAB_SLOT)
    on_slab = world.pose(slab).clone()
    on_slab[:, 2] += torch.tensor([0.04, 0.2, -0.005])  # on it, above it, through it
    world.set_body_pose(cube, on_slab)
    assert world.carries(slab, cube, 0.5).tolist() == [True, False, False]
    assert not world.carries(slab, cube, 1.1).any()  # no more than all of its weight


@pytest.mark.parametrize(("gap", "touches"), [(0.9, True), (1.1, False)])
def test_bodies_touch_up_to_the_tolerance(gap, touches):
    beside = pose(CUBE, 0.05 + gap * CONTACT_TOLERANCE_M, 0.0)
    other = BodySpec("other", "cube", (0.05, 0.05, 0.05))
    world = single((CUBE, pose(CUBE, 0.0, 0.0)), (other, beside), (SLAB, pose(SLAB, 0.4, 0.0)))
    cube, near, far = (index(world, k) for k in range(3))
    assert bool(world.touches(cube, near)) == bool(world.touches(near, cube)) == touches
    assert not world.touches(cube, far)
    move_gripper(world, (0.0, 0.0, 0.05 + gap * CONTACT_TOLERANCE_M))
    assert bool(world.gripper_touches(cube)) == bool(world.robot_touches(cube)) == touches


def test_contacts_agree_with_the_distances_of_all_points():
    names = ("star", "cube", "leaf", "triangle")
    world = scattered(names, 300, seed=5)
    slots = [index(world, k) for k in range(len(names))]
    apart = torch.stack([world.distance(world.world_points(slot)).amin(-1) for slot in slots], 1)
    touching = torch.minimum(apart, apart.mT) <= CONTACT_TOLERANCE_M  # (B, K, K)
    for i, one in enumerate(slots):
        for k, other in enumerate(slots):
            assert torch.equal(world.touches(one, other), touching[:, i, k])
        others = touching[:, i].clone()
        others[:, i] = False
        assert torch.equal(world.touches_body(one), others.any(-1))
    assert 0.02 < touching.float().mean() < 0.98


def test_nothing_is_piled_where_no_two_bodies_meet():
    lower, upper = pose(CUBE, 0.0, 0.0), pose(CUBE, 0.0, 0.0, bottom_z=0.05)
    other = BodySpec("other", "cube", (0.05, 0.05, 0.05))
    assert not single((CUBE, lower), (other, pose(other, 0.3, 0.0))).piled
    assert single((CUBE, lower), (other, upper)).piled


def test_placing_the_arm_moves_the_held_body_and_nothing_else():
    world = tabletop(3)
    cube, slab = index(world, CUBE_SLOT), index(world, SLAB_SLOT)
    world.hold(cube, pose(CUBE, -0.09, 0.0, bottom_z=0.3).expand(3, 7))
    before, slab_before = world.position(cube).clone(), world.pose(slab).clone()
    target = world.end_effector_pose.clone()
    target[:, 0] += 0.1
    where = torch.tensor([True, False, True])
    world.set_end_effector_pose(target, where)
    moved = world.position(cube) - before
    assert torch.allclose(moved, where[:, None] * torch.tensor([0.1, 0.0, 0.0]), atol=1e-6)
    assert torch.equal(world.pose(slab), slab_before)
    assert torch.equal(world.end_effector_pose[where], target[where])


def test_an_arm_that_does_not_reach_raises_and_stays():
    world = tabletop(2)
    world._reaches = lambda pose: bool(pose[0] < 0.5)
    far = world.end_effector_pose.clone()
    before = far.clone()
    far[1, 0] = 0.6
    with pytest.raises(ValueError, match="does not reach"):
        world.set_end_effector_pose(far)
    assert torch.equal(world.end_effector_pose, before)
    world.set_end_effector_pose(far, torch.tensor([True, False]))


def test_a_snapshot_is_independent():
    world = tabletop(2)
    cube = index(world, CUBE_SLOT)
    world.cup_tips = torch.tensor([[0.01, 0.0, 0.0]])
    world.hold(cube, world.pose(cube))
    copy = TensorWorld.snapshot(world)
    assert copy.held.tolist() == [0, 0] and torch.equal(copy.cup_tips, world.cup_tips)
    copy.set_body_pose(cube, pose(CUBE, 0.0, 0.0, bottom_z=0.5).expand(2, 7))
    assert world.held.tolist() == [0, 0]
    assert float(world.top(cube).max()) < 0.1


# ---- many environments ----

QUERIES = {
    "position": lambda w, b, o, p: w.position(b),
    "orientation": lambda w, b, o, p: w.orientation(b),
    "velocity": lambda w, b, o, p: w.velocity(b),
    "end effector": lambda w, b, o, p: w.end_effector_pose,
    "end effector's speed": lambda w, b, o, p: w.end_effector_speed,
    "held": lambda w, b, o, p: w.held,
    "is_held": lambda w, b, o, p: w.is_held(b),
    "is_static": lambda w, b, o, p: w.is_static(b),
    "gripper_distance": lambda w, b, o, p: w.gripper_distance(b),
    "points": lambda w, b, o, p: w.world_points(b),
    "top": lambda w, b, o, p: w.top(b),
    "bottom": lambda w, b, o, p: w.bottom(b),
    "distance": lambda w, b, o, p: w.distance(w.world_points(b)),
    "clearance": lambda w, b, o, p: w.clearance(b),
    "overhang": lambda w, b, o, p: w.overhang(b, o),
    "supports": lambda w, b, o, p: w.supports(o, b),
    "on_table": lambda w, b, o, p: w.on_table(b),
    "touches": lambda w, b, o, p: w.touches(b, o),
    "touches_before": lambda w, b, o, p: w.touches_before(b, o),
    "gripper_touches": lambda w, b, o, p: w.gripper_touches(b),
    "robot_touches": lambda w, b, o, p: w.robot_touches(b),
    "rest height": lambda w, b, o, p: w.rest(b, p[:, None], o)[0],
    "rest margin": lambda w, b, o, p: w.rest(b, p[:, None], o)[1],
}


@pytest.mark.parametrize("batch", [1, 1000])
def test_every_answer_is_that_of_each_environment_alone(batch):
    """Different poses and different bodies in each environment."""
    world = tabletop(batch)
    body, other = draw_slots(world, (0, 1, 2, 3), 1), draw_slots(world, (4,), 2)
    velocity = torch.linspace(0.0, 0.01, batch)[:, None].expand(batch, 6)
    world.set_body_velocity(body, velocity)
    at = world.pose(other).clone()
    at[:, 2] += 0.05
    sample = sorted({0, 7, 333, batch - 1} & set(range(batch)))
    for name, ask in QUERIES.items():
        answer = ask(world, body, other, at)
        assert answer.shape[0] == batch, name
        for env in sample:
            row = slice(env, env + 1)
            alone = ask(row_of_world(world, env), body[row], other[row], at[row])
            assert torch.allclose(answer[row].float(), alone.float(), atol=1e-5), (name, env)


@pytest.mark.parametrize("batch", [5, 200])
@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_costly_questions_are_asked_only_where_they_matter(batch, share):
    world = tabletop(batch)
    where = torch.arange(batch) < share * batch
    body = draw_slots(world, MOVABLE, 7)
    otherwise, asked = torch.full((batch,), -1.0), []

    def ask(part, about, number):
        asked.append(part.num_envs)
        assert about.shape == number.shape == (part.num_envs,)
        return part.top(about) + number

    given = world.evaluate_where(where, otherwise, ask, body, torch.arange(batch))
    expected = torch.where(where, world.top(body) + torch.arange(batch), otherwise)
    assert torch.equal(given, expected)
    assert asked == ([int(where.sum())] if where.any() else [])
    assert (otherwise == -1.0).all()
    assert any_true(where) == bool(where.any())


def test_questions_about_some_of_some_environments():
    world = tabletop(6)
    some = world.select(torch.tensor([4, 1, 5])).select(torch.tensor([2, 0]))
    body = torch.tensor([0, 3])
    expected = torch.stack((world.body_pose[5, 0], world.body_pose[4, 3]))
    assert torch.equal(some.pose(body), expected)
    twice = some.repeat(2)
    assert torch.equal(
        twice.pose(torch.tensor([0, 3, 0, 3])).view(2, 2, 7),
        world.body_pose[[5, 4]][:, [0, 3]],
    )


def test_a_repeated_world_answers_about_several_bodies_at_once():
    world = tabletop(5)
    cube = index(world, 0)
    on_slab = world.pose(index(world, SLAB_SLOT)).clone()  # the cube touches it in some of them
    on_slab[:, 2] += torch.tensor([0.04, 0.2, 0.04, 0.2, 0.04])
    world.set_body_pose(cube, on_slab)
    world.set_body_velocity(cube, torch.linspace(0.0, 0.01, 5)[:, None].expand(5, 6))
    world.hold(index(world, BRICK_SLOT), world.pose(index(world, BRICK_SLOT)), torch.arange(5) > 2)
    pairs = [(0, SLAB_SLOT), (BRICK_SLOT, AREA_SLOT), (SLAB_SLOT, 0)]
    bodies, others = ([index(world, pair[i]) for pair in pairs] for i in (0, 1))
    at = [world.pose(other) for other in others]

    def one_by_one(values):
        return torch.stack(values, dim=1).flatten(0, 1)

    together = (one_by_one(bodies), one_by_one(others), one_by_one(at))
    for name, ask in QUERIES.items():
        alone = [ask(world, *asked) for asked in zip(bodies, others, at, strict=True)]
        found = ask(world.repeat(3), *together)
        assert torch.allclose(found.float(), one_by_one(alone).float()), name
    assert torch.equal(
        world.touches(cube, others[0]), torch.tensor([True, False, True, False, True])
    )


def test_questions_take_several_bodies_of_an_environment():
    world = tabletop(5)
    cube, slab, brick = (index(world, slot) for slot in (0, SLAB_SLOT, BRICK_SLOT))
    on_slab = world.pose(slab).clone()
    on_slab[:, 2] += torch.tensor([0.04, 0.2, 0.04, 0.2, 0.04])
    world.set_body_pose(cube, on_slab)
    world.hold(brick, world.pose(brick), torch.arange(5) > 2)
    asked = {
        "position": World.position,
        "is_static": World.is_static,
        "is_held": World.is_held,
        "top": World.top,
        "bottom": World.bottom,
        "on_table": TensorWorld.on_table,
        "gripper_distance": World.gripper_distance,
        "gripper_clear": lambda w, b: w.gripper_clear(b, 0.35),
        "gripper_touches": TensorWorld.gripper_touches,
        "robot_touches": TensorWorld.robot_touches,
    }
    for part in (world, world.select(torch.tensor([3, 1, 1]))):
        bodies = torch.stack([each[: part.num_envs] for each in (cube, slab, brick)], dim=-1)
        for name, ask in asked.items():
            alone = torch.stack([ask(part, body) for body in bodies.unbind(-1)], dim=1)
            assert torch.allclose(ask(part, bodies).float(), alone.float()), name
        for name in ("supports", "touches"):
            ask = getattr(part, name)
            pairs = ask(bodies[:, None], bodies[:, :, None])  # (B, upper, lower)
            for upper, lower in ((0, 1), (1, 0), (2, 0), (1, 1)):
                alone = ask(bodies[:, lower], bodies[:, upper])
                assert torch.equal(pairs[:, upper, lower], alone), (name, upper, lower)
        carried = part.carries(bodies[:, None], bodies[:, :, None], 0.5)
        assert torch.equal(carried, (part.supports(bodies[:, None], bodies[:, :, None]) >= 0.5))
