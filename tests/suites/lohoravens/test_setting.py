"""Setting of LoHoRavens: camera views, scale of the map, the arm outside the views."""

import numpy as np
import pytest

from clevrskills.envs.scene_sampling import NeutralPose
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.sim.render.trajectory_renderer import TrajectoryRenderer
from clevrskills.suites.lohoravens.setting import FIELD, FIELD_MIDDLE_M, MAP, PIXEL_M, SETTING
from tests.suites.lohoravens.field import BIG_M, SMALL_M, block, bowl, field, zone

BODIES = (
    block("near_left", "red", -0.30, -0.35),
    block("far_right", "blue", 0.03, 0.35, BIG_M),
    block("low", "green", -0.20, -0.20),
    block("high", "black", -0.20, -0.20, z=SMALL_M + 0.001),
    bowl("bowl", "yellow", -0.10, 0.10),
    zone("zone", "cyan", -0.20, -0.20),
)
SIDES = ("front", "left", "right")


def test_the_field_is_in_every_camera() -> None:
    corners = np.array([(x, y, z) for x in FIELD.x_m for y in FIELD.y_m for z in (0.0, 0.06)])
    assert all(FIELD.contains(x, y) for x, y, _ in corners)  # in reach of the arm
    for name in ("top", *SIDES):
        camera = SETTING.camera(name)
        assert camera is not None and camera.sees(corners, margin=0.0), name
    assert (MAP.size_px, MAP.width_px) == (128, 256) and MAP.orthographic_m == pytest.approx(
        128 * PIXEL_M
    )
    pixels = MAP.pixels(np.array([(FIELD.x_m[0], FIELD.y_m[0], 0.1), (*FIELD_MIDDLE_M, 0.0)]))
    np.testing.assert_allclose(pixels, [(0, 0), (128, 64)], atol=1e-6)


def test_the_arm_starts_beside_the_field() -> None:
    env = field(*BODIES)
    start = SETTING.qpos_at_start("ur5e")
    np.testing.assert_allclose(env.proprioception()["qpos"], start, atol=2e-3)
    tool = env.world.end_effector_pose[0]
    assert tool[0] < FIELD.x_m[0] - 0.05 and tool[2] > 0.4
    drawn = NeutralPose.of("ur5e", SETTING).pose[0]
    assert drawn[:3].numpy() == pytest.approx(tool[:3].numpy(), abs=2e-3)
    assert NeutralPose.of("ur5e").pose[0, 0] > FIELD.x_m[0]


@pytest.mark.render
def test_height_map() -> None:
    env = field(*BODIES, render_backend="cpu", cameras=("map", *SIDES), look="flat")
    heights = env.height_map("map")
    assert heights.shape == (128, 256) and heights.dtype == np.float32
    at = {name: heights[_row(x), _column(y)] for name, x, y in _PLACES}
    heights_m = (SMALL_M, BIG_M, 2 * SMALL_M + 0.001, 0.001, 0.0)
    assert [*at.values()] == pytest.approx(heights_m, abs=5e-4)
    assert heights.max() < 0.082  # nothing of the arm
    rows, columns = np.nonzero(abs(heights[:, 128:] - BIG_M) < 1e-3)
    assert np.ptp(rows) + 1 == pytest.approx(BIG_M / PIXEL_M, abs=1)
    assert np.ptp(columns) + 1 == pytest.approx(BIG_M / PIXEL_M, abs=1)
    with pytest.raises(ClevrSkillsError, match="front is not an orthographic camera"):
        env.height_map("front")
    with pytest.raises(UnknownNameError, match="unknown camera 'top'"):
        env.height_map("top")
    blind = field(*BODIES, cameras=("map",))
    with pytest.raises(ClevrSkillsError, match="rendering is off"):
        blind.height_map("map")


_PLACES = (
    ("near_left", -0.30, -0.35),
    ("far_right", 0.03, 0.35),
    ("tower", -0.20, -0.20),
    ("zone", -0.16, -0.24),
    ("table", 0.0, 0.0),
)


def _row(x: float) -> int:
    return int((x - FIELD.x_m[0]) / PIXEL_M)


def _column(y: float) -> int:
    return int((y - FIELD.y_m[0]) / PIXEL_M)


@pytest.mark.render
def test_images_have_each_cameras_own_size_and_colors_where_bodies_are() -> None:
    env = field(*BODIES, render_backend="cpu", cameras=("top", "map", "front"), look="flat")
    images = env.capture()
    shapes = {name: image.shape for name, image in images.items()}
    assert shapes == {"top": (360, 640, 3), "map": (128, 256, 3), "front": (480, 640, 3)}
    red = images["map"][_row(-0.30), _column(-0.35)].astype(int)
    blue = images["map"][_row(0.03), _column(0.35)].astype(int)
    assert red[0] > 2 * red[2] and blue[2] > 2 * blue[0]
    for name in ("top", "front"):
        column, row = SETTING.cameras[name].pixels(np.array([(-0.30, -0.35, SMALL_M)]))[0]
        seen = images[name][int(row), int(column)].astype(int)
        assert seen[0] > 2 * seen[2], name


@pytest.mark.render
def test_rendered_maps_equal_those_of_the_environment() -> None:
    env = field(*BODIES, render_backend="cpu", cameras=("map",), look="flat")
    film = TrajectoryRenderer(("map",), "ur5e", setting=env.setting)
    film.open(env.scene_description())
    view = film.render(env.proprioception()["qpos"], env.object_poses(), {})["map"]
    heights_mm = 1e3 * (MAP.eye_m[2] - env.height_map("map").astype(float))
    assert np.abs(view.depth_mm - heights_mm).max() <= 1.5
    apart = np.abs(view.color[..., :3].astype(int) - env.capture()["map"])
    assert apart.mean() < 1.0
    assert film.cameras["map"].to_json()["up"] == list(MAP.up)
