"""Textures must tile without a visible seam and be told apart at a glance."""

from itertools import combinations

import numpy as np
import pytest

from clevrskills.assets import surface_texture, texture, texture_names
from clevrskills.errors import ClevrSkillsError

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
    images = {name: texture(name).astype(np.int16) for name in texture_names()}
    for a, b in combinations(images, 2):
        assert np.abs(images[a] - images[b]).mean() > 6, f"{a} looks like {b}"


@pytest.mark.parametrize("name", [n for n in texture_names() if n.startswith("dark ")])
def test_dark_is_dark(name):
    assert texture(name).mean() < 110
    plain = name.removeprefix("dark ")
    if plain in texture_names():
        assert texture(name).mean() == pytest.approx(texture(plain).mean() / 2, abs=1)


@pytest.mark.parametrize(
    ("name", "rgb"),
    [("red", (219, 23, 23)), ("white", (242, 242, 242)), ("yellow", (250, 214, 20))],
)
def test_plain_colours(name, rgb):
    assert (texture(name) == rgb).all()


def test_polka_dots_have_the_first_colour_as_ground():
    dots = texture("red yellow polka dot")
    assert 0.5 < (dots == texture("red")).all(axis=2).mean() < 0.8
    assert 0.2 < (dots == texture("yellow")).all(axis=2).mean() < 0.5


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
