"""Fixed cameras: which points they see, and where; perspective, oblong and orthographic ones."""

import numpy as np
import pytest

from clevrskills.sim.cameras import (
    FAR_M,
    NEAR_M,
    Camera,
    FixedCamera,
    orthographic_depth_m,
    to_buffer,
)
from clevrskills.sim.setting import TABLETOP

ABOVE, AWAY = (0.0, 0.0, 1.0), (-1.0, 0.0, 0.0)
MAP = FixedCamera(ABOVE, (0.0, 0.0, 0.0), 1.0, 100, 200, AWAY, orthographic_m=0.5)
OBLONG = FixedCamera(ABOVE, (0.0, 0.0, 0.0), np.pi / 2, 100, 200, AWAY)


def test_rows_of_a_map_go_along_x_and_columns_along_y_at_any_height() -> None:
    points = np.array([(-0.25, -0.5, 0.0), (0.25, 0.5, 0.0), (0.0, 0.0, 0.4), (0.1, -0.2, 0.4)])
    expected = [(0, 0), (200, 100), (100, 50), (60, 70)]
    np.testing.assert_allclose(MAP.pixels(points), expected, atol=1e-9)


def test_view_of_an_oblong_camera() -> None:
    on_edge = np.array([(-1.0, -2.0, 0.0), (1.0, 2.0, 0.0)])
    np.testing.assert_allclose(OBLONG.pixels(on_edge), [(0, 0), (200, 100)], atol=1e-9)
    assert OBLONG.sees(0.99 * on_edge, margin=0.0) and not OBLONG.sees(0.99 * on_edge)
    assert not OBLONG.sees(np.array([(0.0, 2.01, 0.0)]), margin=0.0)
    assert not OBLONG.sees(np.array([(1.01, 0.0, 0.0)]), margin=0.0)


def test_a_map_has_equal_range_above_and_on_the_table() -> None:
    edge = np.array([(0.249, 0.499, 0.0)])
    assert MAP.sees(edge, margin=0.0) and MAP.sees(edge + (0.0, 0.0, 0.9), margin=0.0)
    assert not MAP.sees(edge + (0.002, 0.0, 0.0), margin=0.0)
    assert not MAP.sees(np.array([(0.0, 0.0, 1.1)]), margin=0.0)


def test_sizes_of_images() -> None:
    assert OBLONG.height_of(None) == 100 and OBLONG.width_of(100) == 200
    assert OBLONG.height_of(64) == 64 and OBLONG.width_of(64) == 128
    assert MAP.height_of(64) == 100  # its scale matters
    assert FixedCamera(ABOVE, AWAY, 1.0, 360, 640).width_of(96) == 170  # videos want even sizes
    main = TABLETOP.main_camera
    assert main.height_of(None) == 256 and main.width_of(64) == 64


def test_the_lens_of_an_orthographic_camera() -> None:
    lens = Camera("map", 200, 100, 1.0, {"eye_m": list(ABOVE)}, 0.5)
    x, y, _ = lens.intrinsic @ (0.1, -0.2, 1.0)
    assert (x, y) == pytest.approx((100 + 20, 50 - 40))
    assert lens.to_json()["orthographic_m"] == 0.5
    assert "orthographic_m" not in Camera("base", 8, 8, 1.0, {}).to_json()


def test_depth_of_an_orthographic_camera() -> None:
    depth_m = np.array([NEAR_M, 0.5, FAR_M])
    buffer = (depth_m - NEAR_M) / (FAR_M - NEAR_M)
    np.testing.assert_allclose(orthographic_depth_m(buffer), depth_m)
    assert to_buffer(orthographic_depth_m(buffer)) == pytest.approx(to_buffer(depth_m))
