"""Looks of images: shadows, edges and contacts, as pixels of small scenes."""

from dataclasses import replace

import numpy as np
import pytest

from clevrskills import assets
from clevrskills.envs.environment import ClevrSkillsEnv
from clevrskills.errors import UnknownNameError
from clevrskills.sim.prompt_images import prompt_renderer
from clevrskills.sim.render import scene_visuals
from clevrskills.sim.render.offscreen import OffscreenScene, looking_at, render_device
from clevrskills.sim.setting import TABLETOP

pytestmark = pytest.mark.render
SIZE_PX = 256
OWN = ("soft", "flat")
UPRIGHT = (1.0, 0.0, 0.0, 0.0)
WIDTH_M = 0.6
"""What the camera sees of the table, which is under it."""


def seen(look: str, *cubes_m: tuple[float, float, float], textured: bool = False) -> np.ndarray:
    """The table from above with grey cubes, their bottoms at some heights: (256, 256) of light."""
    scene = OffscreenScene(look, render_device())
    camera = scene.add_camera("camera", SIZE_PX, SIZE_PX, 2 * np.arctan(WIDTH_M / 2 / 1.0))
    camera.entity.set_pose(looking_at((-1e-3, 0.0, 1.0), (0.0, 0.0, 0.0)))
    if textured:
        scene.add(scene_visuals.table_visuals())
    else:
        plate = assets.shape("cube", (1.4, 1.4, 0.01))
        scene.add([scene_visuals.body_visual(plate, None)], (0, 0, -0.005, *UPRIGHT))
    cube = assets.shape("cube", (0.06, 0.06, 0.06))
    for x, y, bottom in cubes_m:
        scene.add([scene_visuals.body_visual(cube, None)], (x, y, bottom + 0.03, *UPRIGHT))
    scene.scene.update_render()
    camera.take_picture()
    image = np.array(camera.get_picture("Color"))[..., :3] / 255.0
    return (image**2.2).mean(axis=-1)


def pixel(x_m: float, y_m: float) -> tuple[int, int]:
    """Row and column that show a place on the table: up is along x, left along y."""
    scale = SIZE_PX / WIDTH_M
    return round(SIZE_PX / 2 - x_m * scale), round(SIZE_PX / 2 - y_m * scale)


def shadow_of(height_m: float) -> tuple[float, float]:
    """Where the shadow of something above the origin falls."""
    x, y, z = scene_visuals.LIGHTS["soft"][0][0]
    return -x * height_m / z, -y * height_m / z


def test_a_shadow_lies_where_the_light_is_taken_and_takes_less_than_half_of_it():
    row, column = pixel(*shadow_of(0.28))
    lit, shaded = (seen("soft", *cubes)[row, column] for cubes in ((), ((0, 0, 0.25),)))
    assert 0.5 < shaded / lit < 0.75
    assert seen("flat", (0, 0, 0.25))[row, column] == pytest.approx(seen("flat")[row, column])


def test_the_edge_of_a_shadow_is_soft():
    row, column = pixel(*shadow_of(0.28))
    ratio = seen("soft", (0, 0, 0.25))[row, column:] / seen("soft")[row, column:]
    fades = ratio[(ratio > 0.62) & (ratio < 0.97)]
    assert 2 <= len(fades) <= 12 and (np.diff(ratio[:40]) > -0.03).all()


def test_it_is_darker_where_bodies_meet_and_nowhere_else():
    table, image = seen("soft"), seen("soft", (0.0, 0.0, 0.0))
    beside = [image[pixel(-0.03 - away, 0.0)] / table[pixel(-0.03 - away, 0.0)] for away in AWAY_M]
    assert beside[0] < 0.95 and beside[-1] == pytest.approx(1.0, abs=0.01)
    assert (np.diff(beside) > -0.01).all()
    alone = table[8:-8, 8:-8]
    assert np.ptp(alone) < 0.02  # a plane stays even


def test_digest_of_lights_covers_the_shadow_map(monkeypatch):
    before = {look: scene_visuals.lights_digest(look) for look in OWN}
    monkeypatch.setattr(scene_visuals, "SHADOW_MAP_PX", 64)
    changed = {look for look in OWN if scene_visuals.lights_digest(look) != before[look]}
    assert changed == {"soft"} and len(set(before.values())) == 2


AWAY_M = (0.006, 0.012, 0.02, 0.03, 0.05)


def test_edges_are_smooth_and_textures_as_sharp_as_before():
    """A cube high above the table, turned by nothing: its outline crosses few pixels in full."""
    steps = {}
    for look in OWN:
        outline = seen(look, (0.1, 0.2, 0.2))
        top = outline[pixel(0.12, 0.24)]
        table = seen(look)[pixel(-0.2, -0.2)]
        between = np.abs(outline - top) > 0.02
        between &= np.abs(outline - table) > 0.02
        steps[look] = between[:100, :100].sum()
    assert steps["soft"] > steps["flat"]
    wood = [seen(look, textured=True)[64:192, 64:192] for look in OWN]
    contrast = [np.abs(np.diff(w, axis=1)).mean() / w.mean() for w in wood]
    assert contrast[0] == pytest.approx(contrast[1], rel=0.05)


def test_images_repeat_to_the_last_bit():
    cubes = (0.0, 0.0, 0.0), (0.1, 0.1, 0.1)
    np.testing.assert_array_equal(seen("soft", *cubes), seen("soft", *cubes))


@pytest.mark.slow
def test_an_environment_draws_all_in_its_look():
    images = {}
    for look in OWN:
        env = ClevrSkillsEnv("stack", obs_mode="rgb", look=look)
        observation, _ = env.reset(seed=0)
        prompt = env.prompt
        assert prompt.setting == replace(TABLETOP, look=look)
        images[look] = [
            *(camera["rgb"].numpy() for camera in observation["sensor_data"].values()),
            env.scenes[0].keysteps()[-1].image(prompt_renderer(prompt.setting)),
        ]
        env.close()
    for soft, flat in zip(images["soft"], images["flat"], strict=True):
        assert np.abs(soft.astype(int) - flat).mean() > 1.0


def test_unknown_looks_are_refused():
    with pytest.raises(UnknownNameError, match="unknown look 'bright'; allowed: soft, flat, stock"):
        ClevrSkillsEnv("pick", look="bright")
