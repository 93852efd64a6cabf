"""Areas have the room for objects that tasks count on."""

import numpy as np
import pytest
from scipy import ndimage

from clevrskills.assets import pools, shape
from clevrskills.assets.topside import heights
from clevrskills.tasks.layout import ROOMY
from clevrskills.tasks.sorting import AREA_SIZE_M

OBJECT_RADIUS_M = 0.057
"""Of a disc about as large as a sorted object."""
STEP_M = 0.002


def room_for_two(name: str) -> bool:
    """Whether two discs lie side by side on an area, neither over its edge."""
    half = AREA_SIZE_M[0] / 2 + 2 * STEP_M
    ticks = np.arange(-half, half + STEP_M / 2, STEP_M)
    grid = np.stack(np.meshgrid(ticks, ticks), axis=-1)
    inside = np.isfinite(heights(shape(name, AREA_SIZE_M), grid.reshape(-1, 2)))
    to_edge_m = ndimage.distance_transform_edt(inside.reshape(grid.shape[:2])) * STEP_M
    centers = grid[to_edge_m >= OBJECT_RADIUS_M]
    apart_m = np.linalg.norm(centers[:, None] - centers[None], axis=-1)
    return bool(apart_m.size and apart_m.max() >= 2 * OBJECT_RADIUS_M)


@pytest.mark.parametrize("name", dict.fromkeys(pools("train").primitive + pools("test").primitive))
def test_areas_have_the_room_that_tasks_count_on(name):
    assert room_for_two(name) == (name in ROOMY)
