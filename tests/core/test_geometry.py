"""Rotations against scipy, solids against their definition."""

from math import pi, sqrt

import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation

from clevrskills.assets import pools, shape
from clevrskills.core import geometry


def random_rotations(count: int, seed: int = 0) -> tuple[torch.Tensor, Rotation]:
    rotations = Rotation.random(count, random_state=seed)
    xyzw = rotations.as_quat()
    return torch.as_tensor(np.roll(xyzw, 1, axis=1)), rotations


def same_rotation(a: torch.Tensor, b: torch.Tensor) -> bool:
    return bool((geometry.rotation_angle(a, b) < 1e-6).all())


def planes_of(name: str, size=None) -> torch.Tensor:
    """Half-spaces (C, F, 4) of a shape, padded with repeats."""
    parts = shape(name, size).planes
    most = max(len(p) for p in parts)
    return torch.as_tensor(
        np.stack([np.concatenate((p, np.repeat(p[:1], most - len(p), 0))) for p in parts])
    )


def test_rotating_and_multiplying_agree_with_scipy():
    (a, ra), (b, rb) = random_rotations(50, 1), random_rotations(50, 2)
    v = torch.as_tensor(np.random.default_rng(3).normal(size=(50, 3)))
    assert torch.allclose(geometry.rotate(a, v), torch.as_tensor(ra.apply(v.numpy())))
    assert torch.allclose(geometry.rotation_matrix(a), torch.as_tensor(ra.as_matrix()))
    product = geometry.quaternion_multiply(a, b)
    assert torch.allclose(geometry.rotate(product, v), torch.as_tensor((ra * rb).apply(v.numpy())))
    back = geometry.rotate(geometry.quaternion_conjugate(a), geometry.rotate(a, v))
    assert torch.allclose(back, v)


def test_rotation_matrix_keeps_leading_dimensions_and_precision():
    q, rotations = random_rotations(6)
    matrix = geometry.rotation_matrix(q.reshape(2, 3, 4))
    assert matrix.shape == (2, 3, 3, 3) and matrix.dtype == torch.float64
    assert geometry.rotation_matrix(q.float()).dtype == torch.float32
    assert torch.allclose(matrix.reshape(6, 3, 3), torch.as_tensor(rotations.as_matrix()))


def test_rotation_angle_agrees_with_scipy():
    (a, ra), (b, rb) = random_rotations(100, 4), random_rotations(100, 5)
    expected = torch.as_tensor((ra.inv() * rb).magnitude())
    assert torch.allclose(geometry.rotation_angle(a, b), expected, atol=1e-9)
    # q and -q are the same orientation
    assert torch.allclose(geometry.rotation_angle(a, -b), expected, atol=1e-9)
    assert geometry.rotation_angle(a, a).abs().max() < 1e-9


@pytest.mark.parametrize("angle_rad", [1e-4, 1e-3, 0.1, 1.0, pi - 1e-3])
def test_rotation_angle_is_accurate_in_single_precision(angle_rad):
    one = torch.tensor([1.0, 0.0, 0.0, 0.0])
    turned = geometry.yaw_quaternion(torch.tensor(angle_rad))
    assert float(geometry.rotation_angle(one, turned)) == pytest.approx(angle_rad, rel=1e-4)


def test_rotation_vectors_agree_with_scipy_in_both_kinds():
    q, rotations = random_rotations(50, 6)
    vectors = rotations.as_rotvec()
    for sign in (1, -1):
        assert torch.allclose(geometry.rotation_vector(sign * q), torch.as_tensor(vectors))
        singles = [geometry.rotation_vector_np(sign * one) for one in q.numpy()]
        np.testing.assert_allclose(singles, vectors, atol=1e-9)
    upper = torch.where(q[:, :1] < 0, -q, q)
    assert torch.allclose(geometry.rotation_quaternion(torch.as_tensor(vectors)), upper)
    singles = [geometry.rotation_quaternion_np(vector) for vector in vectors]
    np.testing.assert_allclose(singles, upper.numpy(), atol=1e-9)


def test_no_turn_is_a_rotation_vector_too():
    none = np.zeros(3)
    assert geometry.rotation_quaternion_np(none).tolist() == [1.0, 0.0, 0.0, 0.0]
    assert not geometry.rotation_vector_np(np.array([1.0, 0, 0, 0])).any()
    assert geometry.rotation_quaternion(torch.zeros(3)).tolist() == [1.0, 0.0, 0.0, 0.0]


def test_yaw_turns_about_world_z():
    q = geometry.yaw_quaternion(torch.tensor([0.0, pi / 2, -pi / 2], dtype=torch.float64))
    x = torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64).expand(3, 3)
    expected = torch.tensor([[1.0, 0, 0], [0, 1.0, 0], [0, -1.0, 0]], dtype=torch.float64)
    assert torch.allclose(geometry.rotate(q, x), expected, atol=1e-12)


def random_poses(count: int, seed: int) -> torch.Tensor:
    q, _ = random_rotations(count, seed)
    p = torch.as_tensor(np.random.default_rng(seed).normal(size=(count, 3)))
    return torch.cat((p, q), -1)


def test_poses_form_a_group():
    a, b = random_poses(20, 6), random_poses(20, 7)
    points = torch.as_tensor(np.random.default_rng(8).normal(size=(20, 5, 3)))
    both = geometry.to_world(geometry.compose(a, b), points)
    assert torch.allclose(both, geometry.to_world(a, geometry.to_world(b, points)))
    assert torch.allclose(geometry.to_local(a, geometry.to_world(a, points)), points)
    unit = geometry.compose(geometry.invert(a), a)
    assert torch.allclose(unit[:, :3], torch.zeros(20, 3, dtype=torch.float64), atol=1e-12)
    assert same_rotation(
        unit[:, 3:], torch.tensor([1.0, 0, 0, 0], dtype=torch.float64).expand(20, 4)
    )


def test_signed_distance_of_a_box():
    planes = planes_of("cube", (0.2, 0.4, 0.6))
    points = torch.tensor(
        [
            [0.0, 0.0, 0.0],  # in the middle: the nearest face is 0.1 away
            [0.1, 0.0, 0.0],  # on a face
            [0.15, 0.0, 0.0],  # in front of it
            [0.0, 0.0, 0.5],  # above
            [0.0, -0.19, 0.0],  # just inside
        ],
        dtype=torch.float64,
    )
    expected = torch.tensor([-0.1, 0.0, 0.05, 0.2, -0.01], dtype=torch.float64)
    assert torch.allclose(geometry.signed_distance(planes, points), expected, atol=1e-6)


@pytest.mark.parametrize("name", ["cube", "hexagon", "letter R", "bowl"])
def test_signed_distance_never_exceeds_the_true_distance(name):
    """The true distance from a point to the solid is at most that to any point of the solid."""
    item = shape(name)
    rng = np.random.default_rng(0)
    points = rng.uniform(-0.12, 0.12, size=(200, 3))
    weights = [rng.dirichlet(np.ones(len(part)), size=300) for part in item.parts]
    inside = np.concatenate([w @ part for w, part in zip(weights, item.parts, strict=True)])
    nearest = np.linalg.norm(points[:, None] - inside[None], axis=-1).min(1)
    found = geometry.signed_distance(planes_of(name), torch.as_tensor(points)).numpy()
    assert (found <= nearest + 1e-9).all()
    own = geometry.signed_distance(planes_of(name), torch.as_tensor(inside))
    assert float(own.max()) <= 1e-6


def test_padding_is_nowhere_near():
    padding = torch.zeros(1, 5, 4)
    padding[..., 3] = -geometry.PAD
    points = torch.tensor([[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]])
    assert (geometry.signed_distance(padding, points) >= geometry.PAD).all()
    upright = torch.tensor([0.0, 0, 0, 1, 0, 0, 0])
    assert (geometry.surface_height(padding, upright, points[:, :2]) == -geometry.PAD).all()


def test_a_solid_with_padding_is_the_solid():
    planes = planes_of("cube", (0.1, 0.1, 0.1))
    padding = torch.zeros_like(planes)
    padding[..., 3] = -geometry.PAD
    both = torch.cat((planes, padding))
    points = torch.as_tensor(np.random.default_rng(0).uniform(-0.1, 0.1, size=(50, 3)))
    assert torch.equal(
        geometry.signed_distance(both, points), geometry.signed_distance(planes, points)
    )


def test_surface_height_of_a_turned_box():
    planes = planes_of("cube", (0.1, 0.1, 0.1)).float()
    quarter = geometry.yaw_quaternion(torch.tensor(pi / 4))
    pose = torch.cat((torch.tensor([1.0, 2.0, 0.3]), quarter))
    corner = 0.1 / sqrt(2)
    xy = torch.tensor([[1.0, 2.0], [1.0 + corner - 1e-3, 2.0], [1.0 + corner + 1e-3, 2.0]])
    height = geometry.surface_height(planes, pose, xy)
    assert torch.allclose(height[:2], torch.tensor([0.35, 0.35]), atol=1e-5)
    assert float(height[2]) == -geometry.PAD


def test_surface_height_of_a_box_on_its_edge():
    planes = planes_of("cube", (0.1, 0.1, 0.1)).float()
    tilt = torch.tensor([np.cos(pi / 8), np.sin(pi / 8), 0.0, 0.0], dtype=torch.float32)
    pose = torch.cat((torch.zeros(3), tilt))
    xy = torch.tensor([[0.0, 0.0], [0.0, 0.03], [0.0, 0.075]])
    height = geometry.surface_height(planes, pose, xy)
    ridge = 0.1 / sqrt(2)
    assert torch.allclose(height[:2], torch.tensor([ridge, ridge - 0.03]), atol=1e-5)
    assert float(height[2]) == -geometry.PAD


@pytest.mark.parametrize("name", [*pools("train").primitive, "bowl", "mug", "letter R"])
def test_surface_height_is_where_the_solid_begins(name):
    """The height is on the surface, just above it is free, and beside it nothing is."""
    planes = planes_of(name)
    pose = random_poses(1, 9)[0]
    pose[2] = 0.1
    xy = pose[:2] + torch.as_tensor(np.random.default_rng(1).uniform(-0.06, 0.06, size=(300, 2)))
    height = geometry.surface_height(planes, pose, xy)
    hit = height > -1.0
    assert 10 < int(hit.sum()) < 300
    step = torch.tensor([0.0, 0.0, 1e-4], dtype=torch.float64)
    surface = torch.cat((xy[hit], height[hit, None]), -1)
    on, above = (geometry.to_local(pose, surface + s) for s in (0 * step, step))
    assert (geometry.signed_distance(planes, on).abs() <= 1e-9).all()
    assert (geometry.signed_distance(planes, above) >= -1e-9).all()
    ladder = torch.linspace(-0.2, 0.2, 81, dtype=torch.float64)
    column = torch.stack(
        (
            xy[~hit, 0, None].expand(-1, 81),
            xy[~hit, 1, None].expand(-1, 81),
            (pose[2] + ladder).expand(int((~hit).sum()), 81),
        ),
        -1,
    )
    beside = geometry.signed_distance(planes, geometry.to_local(pose, column.reshape(-1, 3)))
    assert (beside >= -1e-9).all()


@pytest.mark.parametrize("solids", [1, 3])
def test_distances_do_not_depend_on_the_number_of_points(solids, monkeypatch):
    generator = torch.Generator().manual_seed(0)
    planes = torch.randn(solids, 2, 6, 4, generator=generator)
    points = torch.randn(solids, 50, 3, generator=generator)
    whole = geometry.signed_distance(planes, points)
    monkeypatch.setattr(geometry, "PAIRS_AT_ONCE", 1)  # in pieces
    assert torch.allclose(geometry.signed_distance(planes, points), whole, atol=1e-6)
    along = (points[:, :, None, None] * planes[:, None, ..., :3]).sum(-1) - planes[:, None, ..., 3]
    assert torch.allclose(whole, along.amax(-1).amin(-1), atol=1e-5)
