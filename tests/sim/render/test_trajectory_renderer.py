"""Rendering of recorded states: geometry, segmentation, independence of earlier images."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import ndimage

from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.sim.body import Body
from clevrskills.sim.cameras import FAR_M, NEAR_M, ROBOT_ID, TABLE_ID, CameraImage, to_buffer
from clevrskills.sim.render.trajectory_renderer import TrajectoryRenderer, camera
from clevrskills.sim.robots.description import robot
from clevrskills.sim.setting import TABLETOP

QPOS = np.array(robot("xarm6").neutral_qpos, np.float32)
CUBE = Body("object_0", "cube", "red", (-0.1, 0.0, 0.025, 1.0, 0.0, 0.0, 0.0))
BALL = Body("object_1", "sphere", "blue", (-0.15, 0.1, 0.05, 1.0, 0.0, 0.0, 0.0), (0.1, 0.1, 0.1))


def scene(*bodies: Body) -> dict:
    return {"bodies": [body.to_json() for body in bodies]}


def poses(*bodies: Body) -> np.ndarray:
    return np.array([body.pose for body in bodies], np.float32).reshape(-1, 7)


def test_cameras_by_name() -> None:
    base = camera("base_camera", "xarm6")
    assert (base.width, base.height) == (256, 256)
    np.testing.assert_allclose(base.intrinsic, [[128, 0, 128], [0, 128, 128], [0, 0, 1]])
    assert camera("render_camera", "xarm6").width == 512
    small = camera("hand_camera", "panda", 64).to_json()
    assert small["width"] == 64 and small["link"] == robot("panda").gripper_link
    with pytest.raises(UnknownNameError, match="unknown camera 'top'"):
        camera("top", "xarm6")
    for size in (8, 33, -2):
        with pytest.raises(ClevrSkillsError, match=f"image size {size}; allowed: even"):
            camera("base_camera", "xarm6", size)


def test_depth_from_the_buffer() -> None:
    depth_m = np.array([[NEAR_M, 0.5, 1.2346, FAR_M]])
    blank = np.zeros((1, 4))
    view = CameraImage(blank, blank, blank, to_buffer(depth_m).astype(np.float32), blank)
    assert to_buffer(depth_m)[0, [0, -1]] == pytest.approx([0.0, 1.0])
    assert view.depth_mm.tolist() == [[10, 500, 1235, 0]]


@pytest.mark.render
@pytest.mark.parametrize(("name", "most"), [("xarm6", 0.12), ("panda", 0.125)])
def test_the_gripper_covers_little_of_the_hand_camera_image(name: str, most: float) -> None:
    film = TrajectoryRenderer(("hand_camera",), name)
    film.open(scene())
    qpos = np.array(robot(name).neutral_qpos, np.float32)
    view = film.render(qpos, poses(), {})["hand_camera"]
    assert 0.05 < (view.segmentation == ROBOT_ID).mean() <= most


@pytest.mark.slow
@pytest.mark.render
def test_positions_of_bodies_in_the_images() -> None:
    """The cube's middle is where the camera's matrices say, at its depth; robot and table too."""
    film = TrajectoryRenderer(("base_camera",))
    meshes = film.open(scene(CUBE, BALL))
    assert [mesh.name for mesh in meshes] == ["cube", "sphere"]
    view = film.render(QPOS, poses(CUBE, BALL), {})["base_camera"]
    assert set(np.unique(view.segmentation)) == {0, 1, 2, TABLE_ID, ROBOT_ID}
    assert view.color.shape == (256, 256, 4) and view.depth_mm.min() > 0
    intrinsic = film.cameras["base_camera"].intrinsic
    for k, body in enumerate((CUBE, BALL)):
        x, y, z = view.extrinsic @ (*body.pose[:3], 1.0)
        column, row = (intrinsic @ (x / z, y / z, 1.0))[:2].astype(int)
        assert view.segmentation[row, column] == 1 + k
        assert 0.0 < z - view.depth_mm[row, column] / 1e3 < 0.06
    alone = film.render(None, poses(CUBE, BALL), {})["base_camera"]
    assert set(np.unique(alone.segmentation)) == {0, 1, 2, TABLE_ID}


@pytest.mark.slow
@pytest.mark.render
def test_images_do_not_depend_on_earlier_videos() -> None:
    fresh, used = (
        TrajectoryRenderer(("base_camera", "hand_camera")),
        TrajectoryRenderer(("base_camera", "hand_camera")),
    )
    used.open(scene(BALL, CUBE, CUBE))
    used.render(QPOS + 0.3, poses(BALL, CUBE, CUBE), {"object_1": "green"})
    for film in (fresh, used):
        film.open(scene(CUBE, BALL))
        film.render(QPOS, poses(CUBE, BALL), {"object_1": "green"})
    one, other = (film.render(QPOS, poses(CUBE, BALL), {}) for film in (fresh, used))
    for name, view in one.items():
        for part in ("color", "depth_mm", "segmentation", "extrinsic"):
            np.testing.assert_array_equal(getattr(view, part), getattr(other[name], part))


@pytest.mark.slow
@pytest.mark.render
def test_repainted_textures_show_at_once_and_go_again() -> None:
    film = TrajectoryRenderer(("base_camera",))
    film.open(scene(CUBE))
    plain, green, again = (
        film.render(QPOS, poses(CUBE), textures)["base_camera"]
        for textures in ({}, {"object_0": "green"}, {})
    )
    seen = plain.segmentation == 1
    assert plain.color[seen][:, 0].mean() > 2 * plain.color[seen][:, 1].mean()
    assert green.color[seen][:, 1].mean() > green.color[seen][:, 0].mean()
    beside = ~ndimage.binary_dilation(seen, np.ones((3, 3)))  # pixels of its rim show some of it
    np.testing.assert_array_equal(green.color[beside], plain.color[beside])
    np.testing.assert_array_equal(again.color, plain.color)
    np.testing.assert_array_equal(again.segmentation, plain.segmentation)


@pytest.mark.slow
@pytest.mark.render
def test_stock_shaders_give_the_same_depth_and_segmentation() -> None:
    views = []
    for look in ("flat", "stock"):
        film = TrajectoryRenderer(("base_camera",), setting=replace(TABLETOP, look=look))
        film.open(scene(CUBE, BALL))
        views.append(film.render(QPOS, poses(CUBE, BALL), {})["base_camera"])
    one, other = views
    assert (one.segmentation != other.segmentation).mean() < 1e-3
    difference = np.abs(one.depth_mm.astype(int) - other.depth_mm)
    assert np.median(difference) <= 1 and (difference > 3).mean() < 1e-2
    assert TABLE_ID in other.segmentation
