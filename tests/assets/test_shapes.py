"""Every object must be a sound rigid body that stands still and that a suction cup can lift."""

import numpy as np
import pytest
from scipy.spatial import ConvexHull, cKDTree

from clevrskills.assets import Shape, pools, sealable_places, shape, shape_names
from clevrskills.assets.meshes import render_mesh
from clevrskills.assets.objects import catalogue
from clevrskills.assets.topside import CUP_RADIUS_M, heights
from clevrskills.errors import ClevrSkillsError

pytestmark = pytest.mark.filterwarnings("error")

PRIMITIVES = pools("train").primitive + pools("test").primitive
every_shape = pytest.mark.parametrize("name", shape_names())


def depth_outside(item: Shape, points: np.ndarray) -> np.ndarray:
    """How far points (n, 3) are outside the collision parts, at least; negative inside."""
    return np.min([(points @ p[:, :3].T - p[:, 3]).max(axis=1) for p in item.planes], axis=0)


def points_on_surface(item: Shape, per_face: int = 12) -> np.ndarray:
    weights = np.random.default_rng(0).dirichlet([1, 1, 1], (len(item.faces), per_face))
    corners = item.vertices.astype(float)[item.faces]
    return np.einsum("fkc,fcd->fkd", weights, corners).reshape(-1, 3)


def test_there_are_enough_shapes():
    assert len(shape_names()) >= 59
    assert len(set(shape_names())) == len(shape_names())


@every_shape
def test_mesh_is_well_formed(name):
    item = shape(name)
    count = len(item.vertices)
    assert item.vertices.shape == item.normals.shape == (count, 3)
    assert item.uvs.shape == (count, 2)
    assert {a.dtype for a in (item.vertices, item.normals, item.uvs)} == {np.dtype(np.float32)}
    assert item.faces.dtype == np.uint32 and item.faces.max() == count - 1
    assert len(item.faces) <= 1500
    assert np.isfinite(item.vertices).all() and np.isfinite(item.uvs).all()
    assert np.linalg.norm(item.normals, axis=1) == pytest.approx(1, abs=1e-4)


@every_shape
def test_faces_wind_outwards(name):
    item = shape(name)
    corners = item.vertices.astype(float)[item.faces]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    shaded = item.normals[item.faces].mean(axis=1)
    assert (np.einsum("fd,fd->f", normal, shaded) > 0).all()
    # the volume that the surface encloses (details on it add a little) is that of the parts
    enclosed = np.linalg.det(corners).sum() / 6
    assert enclosed == pytest.approx(item.mass_kg / item.density, rel=0.1)


@every_shape
def test_texture_is_not_distorted(name):
    """On faces that look up, a texture covers 0.1 m; nowhere is it stretched beyond reason."""
    item = shape(name)
    corners, uvs = item.vertices.astype(float)[item.faces], item.uvs.astype(float)[item.faces]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.linalg.norm(normal, axis=1) / 2
    edges = uvs[:, 1:] - uvs[:, :1]
    uv_area = np.abs(np.linalg.det(edges)) / 2 * 0.1**2
    up = normal[:, 2] / (2 * area) > 0.99
    assert uv_area[up] == pytest.approx(area[up], rel=0.05, abs=1e-8)
    assert uv_area.sum() == pytest.approx(area.sum(), rel=0.5)


@every_shape
def test_parts_are_small_convex_and_apart(name):
    item = shape(name)
    assert len(item.parts) <= 16
    low, high = item.vertices.min(axis=0), item.vertices.max(axis=0)
    points = low + np.random.default_rng(0).random((4000, 3)) * (high - low)
    inside = np.zeros(len(points), dtype=int)
    for part, planes in zip(item.parts, item.planes, strict=True):
        assert len(ConvexHull(part).vertices) == len(part) <= 32
        assert (part @ planes[:, :3].T <= planes[:, 3] + 1e-6).all()
        inside += (points @ planes[:, :3].T - planes[:, 3]).max(axis=1) < -1e-4
    assert (inside > 1).sum() <= 0.005 * (inside > 0).sum()


@every_shape
def test_visuals_match_collisions(name):
    item = shape(name)
    assert depth_outside(item, points_on_surface(item)).max() < 0.002
    # and nothing invisible does: straight above a point inside the parts there is some surface
    corners = np.concatenate(item.parts)
    distance, _ = cKDTree(points_on_surface(item, 200)).query(corners)
    assert distance.max() < 0.012


@every_shape
def test_origin_is_the_center_of_the_bounding_box(name):
    item = shape(name)
    assert item.vertices.max(axis=0) == pytest.approx(item.half_extents, abs=1e-6)
    assert item.vertices.min(axis=0) == pytest.approx(-np.array(item.half_extents), abs=1e-6)
    bottom = min(part[:, 2].min() for part in item.parts)
    assert bottom == pytest.approx(-item.half_extents[2], abs=1e-6)


@every_shape
def test_mass_and_size_suit_the_gripper(name):
    item = shape(name)
    assert 0.03 <= item.mass_kg <= 0.6
    assert max(item.half_extents[:2]) <= 0.09
    assert 0.008 <= item.half_extents[2] <= 0.06


@every_shape
def test_stands_upright(name):
    """The center of mass is at least 8 mm inside the support polygon."""
    item = shape(name)
    corners = np.concatenate(item.parts)
    foot = corners[corners[:, 2] < -item.half_extents[2] + 1e-5, :2]
    sides = ConvexHull(foot).equations
    assert (sides[:, :2] @ item.center_of_mass[:2] + sides[:, 2]).max() < -0.008


@every_shape
def test_suction_cup_seals_near_the_centre_of_mass(name):
    item = shape(name)
    places = sealable_places(item)
    away = np.linalg.norm(places[:, :2] - item.center_of_mass[:2], axis=1)
    assert (np.diff(away) >= -1e-9).all()
    assert away[0] < 0.031
    assert heights(item, places[:, :2]) == pytest.approx(places[:, 2])
    # at least one place tolerates 2 mm of inaccuracy in any direction
    offsets = 0.002 * np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]])
    near, _ = cKDTree(places[:, :2]).query(places[:, None, :2] + offsets)
    assert (near.max(axis=1) < 1e-6).any()


@pytest.mark.parametrize("name", PRIMITIVES)
def test_prisms_stand_and_are_lifted_at_their_sizes_of_tasks(name):
    lifted = shape(name, (0.1, 0.1, 0.05))
    places = sealable_places(lifted)
    assert np.linalg.norm(places[0, :2] - lifted.center_of_mass[:2]) < 0.003
    assert len(lifted.parts) <= 8 and lifted.support_room_m > 0.028
    assert shape(name, (0.05, 0.05, 0.25)).support_room_m > 0.014


def test_suction_cup_does_not_seal_over_holes_and_edges():
    places = sealable_places(shape("cube"))
    assert np.abs(places[:, :2]).max() <= 0.025 - CUP_RADIUS_M + 1e-9
    hole = np.linalg.norm(sealable_places(shape("ring"))[:, :2], axis=1)
    assert hole.min() >= 0.0145 + CUP_RADIUS_M


def test_heights_of_a_bowl():
    bowl = shape("bowl")
    floor, rim = heights(bowl, np.array([[0.0, 0.0], [0.0775, 0.0]]))
    assert floor == pytest.approx(-0.002, abs=1e-4)
    assert rim == pytest.approx(0.014, abs=1e-3)
    assert heights(bowl, np.array([[0.2, 0.0]]))[0] == -np.inf


@pytest.mark.parametrize("name", [*PRIMITIVES, "mug"])
def test_size_stretches_everything(name):
    size = (0.3, 0.2, 0.01)
    item, own = shape(name, size), shape(name)
    assert 2 * np.array(item.half_extents) == pytest.approx(size)
    assert np.ptp(item.vertices, axis=0) == pytest.approx(size, abs=1e-6)
    stretch = np.prod(np.array(item.half_extents) / np.array(own.half_extents))
    assert item.mass_kg == pytest.approx(own.mass_kg * stretch, rel=1e-6)
    assert np.linalg.norm(item.normals, axis=1) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize(
    ("name", "order"),
    [("cube", 4), ("cylinder", 0), ("bowl", 0), ("hexagon", 6), ("octagon", 8), ("plus", 4)]
    + [("foam brick", 2), ("letter S", 2), ("letter R", 1), ("tray", 4), ("letter H", 2)],
)
def test_symmetry(name, order):
    assert shape(name).symmetry == order


def test_symmetry_follows_the_stretch():
    assert shape("cube", (0.2, 0.1, 0.05)).symmetry == 2
    assert shape("cylinder", (0.2, 0.1, 0.05)).symmetry == 2


def in_box(points, box):
    """Points in the frame of a box, as shares of its half size."""
    c, s = np.cos(box.turn_rad), np.sin(box.turn_rad)
    return (points - box.center) @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) / (box.size / 2)


@pytest.mark.parametrize("name", shape_names())
def test_boxes_enclose_their_parts_tightly(name):
    own = shape(name)
    whole = [(np.concatenate(own.parts), own.box)]
    for points, box in [*whole, *zip(own.parts, own.boxes, strict=True)]:
        assert np.abs(in_box(points, box)).max(axis=0) == pytest.approx(1.0, abs=1e-4)


def test_box_is_that_of_least_area():
    own = shape("diamond")
    length, width, _ = own.box.size
    assert length * width < 0.6 * 4 * own.half_extents[0] * own.half_extents[1]
    assert np.degrees(own.box.turn_rad) % 90 == pytest.approx(45, abs=1)


def test_boxes_of_parts_leave_the_inside_of_a_tray_free():
    own = shape("tray")
    inside = np.array([0.0, 0.0, 0.8 * own.half_extents[2]])
    assert (np.abs(in_box(inside, own.box)) < 1).all()
    assert all((np.abs(in_box(inside, box)) > 1).any() for box in own.boxes)


def test_center_of_mass_of_a_known_solid():
    triangle = shape("triangle")  # a third of its height, from the base
    extent = 2 * triangle.half_extents[0]
    assert abs(triangle.center_of_mass[0]) == pytest.approx(extent / 2 - extent / 3)
    assert triangle.center_of_mass[1:] == pytest.approx([0, 0], abs=1e-9)


def test_shapes_are_shared_and_read_only():
    item = shape("letter R")
    assert shape("letter R", None) is item
    for array in (item.vertices, item.parts[0], item.planes[0], item.center_of_mass):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_building_again_gives_the_same():
    first, second = catalogue()["scissors"].build(), catalogue()["scissors"].build()
    assert all(map(np.array_equal, first.parts, second.parts))
    assert all(map(np.array_equal, render_mesh(first), render_mesh(second)))


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(ClevrSkillsError, match="unknown shape 'teapot'.*letter R"):
        shape("teapot")


@pytest.mark.parametrize("size", [(0.1, 0.1), (0.1, 0.1, 0.0), (0.1, -0.1, 0.1)])
def test_bad_size_is_refused(size):
    with pytest.raises(ValueError, match="three positive lengths"):
        shape("cube", size)


@pytest.mark.slow
@every_shape
def test_comes_to_rest_upright(name):
    """Dropped from 2 mm, an object is at rest after a second where it was put."""
    sapien = pytest.importorskip("sapien")
    item = shape(name)
    scene = sapien.Scene([sapien.physx.PhysxCpuSystem()])
    scene.set_timestep(0.01)
    material = sapien.physx.PhysxMaterial(0.6, 0.6, 0.0)
    ground = sapien.physx.PhysxRigidStaticComponent()
    ground.attach(sapien.physx.PhysxCollisionShapeBox([1, 1, 0.1], material))
    body = sapien.physx.PhysxRigidDynamicComponent()
    for part in item.parts:
        piece = sapien.physx.PhysxCollisionShapeConvexMesh(
            part.astype(np.float32), [1, 1, 1], material
        )
        piece.density = item.density
        body.attach(piece)
    for component, z in ((ground, -0.1), (body, item.half_extents[2] + 0.002)):
        entity = sapien.Entity()
        entity.add_component(component)
        entity.set_pose(sapien.Pose([0, 0, z]))
        scene.add_entity(entity)
    for _ in range(100):
        scene.step()
    pose = body.entity.pose
    assert pose.p == pytest.approx([0, 0, item.half_extents[2]], abs=0.0015)
    assert 2 * np.arccos(min(1.0, abs(pose.q[0]))) < np.radians(2)
    assert np.linalg.norm(body.linear_velocity) < 1e-3
    assert body.mass == pytest.approx(item.mass_kg, rel=0.02)
