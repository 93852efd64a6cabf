"""Noise: its options, magnitude and reproducibility."""

import numpy as np
import pytest

from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.suites.lohoravens.noise import CLEAN, NOISES, Noise, noise_generator, read_noise


def test_by_name_and_by_numbers() -> None:
    assert read_noise("clean") == CLEAN == Noise()
    assert read_noise("p40") == Noise(3.0, 3.0, 7.8, 0.0)
    assert read_noise("p10") == Noise(3.0, 3.0, 7.8, 0.1) == NOISES["p10"]
    assert read_noise("action_mm=5, drop=0.5") == Noise(action_mm=5.0, drop=0.5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("p20", "unknown noise 'p20'; allowed: clean, p40, p10, pixel="),
        ("", "unknown noise ''"),
        ("drop=a", "noise drop=a: 'a' is no number"),
        ("drop=1.5", "noise drop=1.5; allowed: 0 to 1"),
        ("pixel=-1", "noise pixel=-1; allowed: 0 to 255"),
        ("depth_mm=nan", "noise depth_mm=nan"),
    ],
)
def test_bad_noise(text: str, message: str) -> None:
    with pytest.raises((ClevrSkillsError, UnknownNameError), match=message):
        read_noise(text)


def test_images_stay_images() -> None:
    image = np.full((100, 100, 3), 128, np.uint8)
    noisy = Noise(pixel=3.0).on_image(image, noise_generator(1, "map", 0))
    assert noisy.dtype == np.uint8 and noisy.shape == image.shape
    assert (noisy.astype(float) - 128).std() == pytest.approx(3.0, rel=0.05)
    white = Noise(pixel=50.0).on_image(np.full_like(image, 255), noise_generator(1, 0))
    assert white.max() == 255 and white.min() > 20  # cut off, not wrapped around
    assert CLEAN.on_image(image, noise_generator(1, 0)) is image


def test_heights_and_places() -> None:
    heights = np.zeros((128, 256), np.float32)
    noisy = Noise(depth_mm=3.0).on_heights(heights, noise_generator(2, 0))
    assert noisy.dtype == np.float32 and noisy.std() == pytest.approx(3e-3, rel=0.05)
    assert CLEAN.on_heights(heights, noise_generator(2, 0)) is heights
    generator = noise_generator(3, 0)
    places = np.array([Noise(action_mm=7.8).on_places(generator) for _ in range(2000)])
    assert places.shape == (2000, 2, 2) and places.std() == pytest.approx(7.8e-3, rel=0.05)


def test_a_drop_rate_is_by_the_second() -> None:
    assert (1 - Noise(drop=0.1).drop_per_step) ** 20 == pytest.approx(0.9)
    assert CLEAN.drop_per_step == 0.0 and Noise(drop=1.0).drop_per_step == 1.0


def test_it_repeats_with_seed_and_moment_only() -> None:
    draws = [noise_generator(*m).random() for m in ((1, "map", 0), (1, "map", 0), (1, "map", 1))]
    assert draws[0] == draws[1] != draws[2]
    assert (
        noise_generator(2, "map", 0).random() != draws[0] != noise_generator(1, "top", 0).random()
    )
