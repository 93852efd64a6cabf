"""Placements: stable, free, and inside where that is required."""

from math import pi

import pytest
import torch

from clevrskills.core import geometry
from clevrskills.sim.placement import (
    NEIGHBOUR_GAP_M,
    OVERHANG_M,
    STABLE_MARGIN_M,
    placements,
    put,
)
from tests.support.worlds import (
    AREA,
    CUBE,
    SLAB,
    BodySpec,
    draw_slots,
    index,
    make_world,
    pose,
    row_of_world,
    tabletop,
)

YAWS = torch.tensor([0.0, pi / 4, pi / 2])


def on(lower=SLAB, upper=CUBE, *others):
    """A world with the upper body far away, the lower one in the middle and others on top of it."""
    specs = [(upper, pose(upper, 0.0, 0.45, 0.3)), (lower, pose(lower, -0.1, 0.0, 0.2)), *others]
    names, poses = zip(*specs, strict=True)
    return make_world(names, poses)


def candidates(world, inside=False, yaws=YAWS, **kwargs):
    poses, scores = placements(world, index(world, 0), index(world, 1), yaws, inside, **kwargs)
    return poses[0], scores[0], scores[0] > -1.0


def test_shapes_of_the_answer():
    poses, scores = placements(
        tabletop(3), torch.tensor([0, 1, 2]), torch.tensor([4, 4, 3]), YAWS, False, per_side=5
    )
    assert poses.shape == (3, (5 * 5 + 1) * 3, 7) and scores.shape == (3, 78)
    assert torch.allclose(poses[..., 3:].norm(dim=-1), torch.ones(3, 78), atol=1e-5)


@pytest.mark.parametrize("inside", [False, True])
def test_good_candidates_rest_on_the_lower_body(inside):
    world = on()
    poses, _, good = candidates(world, inside)
    assert good.any()
    body = index(world, 0)
    for at in poses[good]:
        world.set_body_pose(body, at[None])
        assert float(world.bottom(body)) == pytest.approx(0.03, abs=1e-4)
        assert float(world.supports(index(world, 1), body)) == 1.0
        _, margin = world.rest(body, at[None, None], index(world, 1))
        assert float(margin) >= STABLE_MARGIN_M - 1e-6
        if inside:
            assert float(world.overhang(body, index(world, 1))) <= OVERHANG_M + 1e-6


def test_candidates_keep_the_tilt_and_turn_about_world_z():
    world = on()
    poses, _, _ = candidates(world)
    start = world.orientation(index(world, 0))[0]
    turns = geometry.rotation_angle(poses[:, 3:], start.expand(len(poses), 4))
    assert torch.allclose(turns.reshape(-1, 3), YAWS.expand(len(poses) // 3, 3), atol=1e-3)


@pytest.mark.parametrize("upper", ["triangle", "star", "letter L"])
def test_the_best_place_has_one_centre_of_mass_above_the_other(upper):
    """However often that is done: so high stacks stand."""
    world = on(
        upper=BodySpec("upper", upper), lower=BodySpec("lower", "triangle", (0.10, 0.10, 0.05))
    )
    put(world, index(world, 0), index(world, 1), inside=False)
    centers = geometry.to_world(world.body_pose[0], world.solids.center[0, :, None])[:, 0]
    assert torch.allclose(centers[0, :2], centers[1, :2], atol=1e-5)


def test_places_over_the_edge_are_unstable():
    """All that are good have the center of mass over the lower body; some that are not, are bad."""
    world = on()
    poses, _, good = candidates(world, per_side=12)
    local = geometry.to_local(world.pose(index(world, 1))[0], poses[:, :3])
    beyond = local[:, :2].abs().amax(-1) - 0.06
    assert (beyond[good] <= -STABLE_MARGIN_M + 1e-3).all()
    assert (~good).any()


def test_without_a_reason_to_go_to_the_edge_the_middle_is_best():
    world = on()
    poses, scores, _ = candidates(world)
    best = poses[scores.argmax(), :2]
    assert float((best - torch.tensor([-0.1, 0.0])).norm()) < 0.015


def test_inside_prefers_the_side_to_leave_room_for_others():
    world = on(AREA)
    poses, scores, _ = candidates(world, inside=True)
    best = poses[scores.argmax(), :2]
    assert float((best - torch.tensor([-0.1, 0.0])).norm()) > 0.06


def test_a_body_larger_than_the_area_is_never_inside_but_may_be_on_top():
    plank = BodySpec("plank", "cube", (0.16, 0.05, 0.02))
    world = on(SLAB, plank)
    assert candidates(world)[2].any()
    assert not candidates(world, inside=True)[2].any()


def test_neighbours_keep_their_distance():
    neighbour = (CUBE, pose(CUBE, -0.1, 0.0, 0.2, bottom_z=0.01))
    world = on(AREA, CUBE, neighbour)
    poses, _, good = candidates(world, per_side=12)
    assert good.any() and (~good).any()
    body, other = index(world, 0), index(world, 2)
    for at in poses[good]:
        world.set_body_pose(body, at[None])
        gap = world.distance(world.world_points(body))[0, int(other)].min()
        assert float(gap) >= NEIGHBOUR_GAP_M - 1e-4
    for at in poses[~good & (poses[:, :2] - torch.tensor([-0.1, 0.0])).norm(dim=-1).lt(0.02)]:
        world.set_body_pose(body, at[None])
        assert (
            float(world.distance(world.world_points(body))[0, int(other)].min()) < NEIGHBOUR_GAP_M
        )


def test_two_objects_fit_into_an_area_one_after_the_other():
    world = on(AREA, CUBE, (CUBE, pose(CUBE, -0.1, -0.45)))
    put(world, index(world, 0), index(world, 1), inside=True)
    put(world, index(world, 2), index(world, 1), inside=True)
    for slot in (0, 2):
        assert float(world.overhang(index(world, slot), index(world, 1))) <= OVERHANG_M + 1e-6
    gap = world.distance(world.world_points(index(world, 2)))[0, 0].min()
    assert float(gap) >= NEIGHBOUR_GAP_M - 1e-4


def test_no_place_raises_and_moves_nothing():
    ball_top = BodySpec("peg", "cube", (0.008, 0.008, 0.06))  # too thin to carry anything
    world = on(ball_top)
    before = world.body_pose.clone()
    with pytest.raises(ValueError, match="no stable, free place"):
        put(world, index(world, 0), index(world, 1), inside=False)
    assert torch.equal(world.body_pose, before)


def test_put_minds_only_the_environments_it_is_for():
    """In environment 1 there is no place; that matters only if it is asked for."""
    world = tabletop(3)
    upper, lower = torch.tensor([0, 4, 2]), torch.tensor([3, 0, 4])  # an area on a cube cannot be
    before = world.body_pose.clone()
    put(world, upper, lower, True, torch.tensor([True, False, False]))
    assert float(world.bottom(upper)[0]) == pytest.approx(0.03, abs=1e-4)
    assert torch.equal(world.body_pose[1:], before[1:])
    with pytest.raises(ValueError, match="no stable, free place"):
        put(world, upper, lower, True)


@pytest.mark.parametrize("batch", [1, 1000])
def test_a_batch_equals_single_environments(batch):
    world = tabletop(batch)
    upper, lower = draw_slots(world, (0, 2), 3), draw_slots(world, (3, 4), 4)
    poses, scores = placements(world, upper, lower, torch.zeros(1), True, per_side=4)
    for env in sorted({0, 12, batch - 1} & set(range(batch))):
        row = slice(env, env + 1)
        alone, score = placements(
            row_of_world(world, env), upper[row], lower[row], torch.zeros(1), True, per_side=4
        )
        valid = score > -1.0
        assert valid.any() and torch.equal(valid, scores[row] > -1.0)
        assert torch.allclose(poses[row][valid], alone[valid], atol=1e-5)
        assert torch.allclose(scores[row], score, atol=1e-4)


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("size_m", [0.03, 0.06, 0.13])
def test_a_body_is_put_at_the_best_of_all_candidates(inside, size_m):
    """Though those that cannot have the greatest score are not judged."""
    for x, y in ((0.0, 0.0), (0.05, 0.02), (0.09, 0.09)):
        spec = BodySpec("small", "cube", (size_m, size_m, 0.04))
        world = on(SLAB, spec, (CUBE, pose(CUBE, -0.1 + x, y, bottom_z=0.03)))
        poses, scores, good = candidates(world, inside, torch.zeros(1))
        if good.any():
            put(world, index(world, 0), index(world, 1), inside)
            assert torch.equal(world.pose(index(world, 0))[0], poses[scores.argmax()])
        else:
            with pytest.raises(ValueError, match="no stable, free place"):
                put(world, index(world, 0), index(world, 1), inside)
