"""Textures must tile without a visible seam and be easy to distinguish."""

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pytest

from clevrskills.assets import pools, shape, surface_texture, texture, texture_names
from clevrskills.errors import ClevrSkillsError
from clevrskills.sim.render import scene_visuals
from clevrskills.sim.render.offscreen import OffscreenScene, looking_at, render_device

SURFACES = ("table wood", "floor")


def by_name(name: str) -> np.ndarray:
    return surface_texture(name) if name in SURFACES else texture(name)


def test_there_are_enough_textures():
    assert len(texture_names()) >= 76
    assert len(set(texture_names())) == len(texture_names())


@pytest.mark.parametrize("name", texture_names())
def test_format(name):
    image = texture(name)
    assert image.shape == (256, 256, 3) and image.dtype == np.uint8
    assert texture(name) is image
    assert not image.flags.writeable


@pytest.mark.parametrize("name", texture_names() + SURFACES)
@pytest.mark.parametrize("axis", [0, 1])
def test_tiles_without_a_seam(name, axis):
    image = np.moveaxis(by_name(name).astype(float), axis, 0)
    steps = np.abs(np.diff(image, axis=0)).mean(axis=(1, 2))
    seam = np.abs(image[0] - image[-1]).mean()
    assert seam <= steps.max() + 1


def test_any_two_differ():
    images = {name: texture(name)[::2, ::2].astype(np.int16) for name in texture_names()}
    for a, b in combinations(images, 2):
        assert np.abs(images[a] - images[b]).mean() > 6, f"{a} looks like {b}"


@pytest.mark.parametrize("name", [n for n in texture_names() if n.startswith("dark ")])
def test_dark_is_dark(name):
    assert texture(name).mean() < 130
    plain = name.removeprefix("dark ")
    if plain in texture_names():
        assert texture(name).mean() < 0.75 * texture(plain).mean()


@pytest.mark.parametrize(
    ("name", "rgb"),
    [("red", (219, 23, 23)), ("white", (242, 242, 242)), ("yellow", (250, 214, 20))],
)
def test_plain_colors(name, rgb):
    assert np.ptp(texture(name), axis=(0, 1)).max() == 0
    assert np.abs(texture(name)[0, 0].astype(int) - rgb).max() <= 20


def test_polka_dots_have_the_first_colour_as_ground():
    dots = texture("red yellow polka dot").astype(int)
    near = [np.abs(dots - texture(name)[0, 0]).max(axis=2) < 50 for name in ("red", "yellow")]
    assert 0.5 < near[0].mean() < 0.85 and 0.15 < near[1].mean() < 0.5


def test_drawing_again_gives_the_same():
    for name in ("magma", "granite", "dark green swirl"):
        first = texture(name)
        texture.cache_clear()
        assert texture(name) is not first
        assert np.array_equal(texture(name), first)


@pytest.mark.parametrize("name", SURFACES)
def test_surfaces(name):
    assert surface_texture(name).shape == (512, 512, 3)
    assert name not in texture_names()


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(ClevrSkillsError, match="unknown texture 'dark white'.*red swirl"):
        texture("dark white")
    with pytest.raises(ClevrSkillsError, match="unknown surface texture 'lava'.*table wood"):
        surface_texture("lava")


# ---- as rendered ----

LEAST_DIFFERENCE = 15.0
"""Of mean colors, in CIELAB (CIE 1976): about six times what one can just see."""


def lab(light: np.ndarray) -> np.ndarray:
    """CIELAB, under D65, of linear sRGB (3,)."""
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    share = to_xyz @ light / (0.9505, 1.0, 1.089)
    x, y, z = np.where(share > 0.008856, np.cbrt(share), 7.787 * share + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.fixture(scope="module")
def rendered() -> Mapping[str, np.ndarray]:
    """Mean color, in CIELAB, of a plate with each texture on the table, from above."""
    scene = OffscreenScene("soft", render_device())
    camera = scene.add_camera("camera", 64, 64, 2 * np.arctan(0.1))
    camera.entity.set_pose(looking_at((-1e-3, 0.0, 1.0), (0.0, 0.0, 0.0)))
    plate, found = shape("cube", (0.4, 0.4, 0.01)), {}
    for name in texture_names():
        entity = scene.add([scene_visuals.body_visual(plate, name)])
        scene.scene.update_render()
        camera.take_picture()
        image = np.array(camera.get_picture("Color"))[..., :3] / 255.0
        found[name] = lab((image**2.2).mean(axis=(0, 1)))
        scene.scene.remove_entity(entity)
    return found


@pytest.mark.slow
@pytest.mark.render
@pytest.mark.parametrize("split", ["train", "test"])
def test_mean_colors_as_rendered_differ(rendered: Mapping[str, np.ndarray], split: str) -> None:
    for one, other in combinations(pools(split).textures, 2):
        difference = np.linalg.norm(rendered[one] - rendered[other])
        assert difference >= LEAST_DIFFERENCE, (one, other, difference)
