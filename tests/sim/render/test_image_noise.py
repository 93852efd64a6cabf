"""Image noise: what a poor camera does, the same at every run."""

import numpy as np
import pytest

from clevrskills.sim.conditions import ImageNoise
from clevrskills.sim.render.image_noise import NoisyCamera, add_noise

IMAGE = np.tile(np.array([200, 120, 40], np.uint8), (64, 64, 1))
EDGE = np.concatenate([np.zeros((64, 32, 3), np.uint8), np.full((64, 32, 3), 255, np.uint8)], 1)


def test_grain_has_its_strength():
    found = add_noise(IMAGE, ImageNoise(8.0, 0.0, 0, 0.0, 0), np.random.default_rng(0)).astype(
        float
    )
    assert found.std(axis=(0, 1)) == pytest.approx([8, 8, 8], rel=0.1)
    assert found.mean(axis=(0, 1)) == pytest.approx([200, 120, 40], abs=0.5)


def test_blur_softens_edges_and_scales_with_the_image():
    noise = ImageNoise(0.0, 8.0, 0, 0.0, 0)
    soft = add_noise(EDGE, noise, np.random.default_rng(0))[32, :, 0].astype(int)
    assert 0 < soft[31] < soft[32] < 255
    large = np.repeat(np.repeat(EDGE, 2, 0), 2, 1)
    softer = add_noise(large, noise, np.random.default_rng(0))[64, :, 0].astype(int)
    assert ((softer > 5) & (softer < 250)).sum() > 1.5 * ((soft > 5) & (soft < 250)).sum()


def test_compression_loses_something():
    fine = np.sin(np.arange(64) / 2)[:, None, None] * np.sin(np.arange(64) / 3)[None, :, None]
    busy = (127 + 120 * fine * np.ones(3)).astype(np.uint8)
    poor, good = (
        np.abs(
            add_noise(busy, ImageNoise(0, 0, quality, 0, 0), np.random.default_rng(0)).astype(int)
            - busy
        ).mean()
        for quality in (20, 95)
    )
    assert poor > 2 * good > 0


def test_images_that_do_not_arrive_show_the_last_one():
    noise = ImageNoise(0.0, 0.0, 0, 0.4, 5)
    shown = _sequence(noise)
    assert shown[0] == 0 and shown == _sequence(noise)
    lost = [k for k in range(1, 50) if shown[k] != k]
    assert 10 < len(lost) < 30 and all(shown[k] == shown[k - 1] for k in lost)


def _sequence(noise):
    camera = NoisyCamera(noise)
    return [
        int(camera({"base": np.full((4, 4, 3), k, np.uint8)}, k)["base"][0, 0, 0])
        for k in range(50)
    ]
