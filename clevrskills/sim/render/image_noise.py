"""Image noise: blur, Gaussian noise, compression and dropped frames."""

import io
from collections.abc import Mapping
from functools import lru_cache
from math import ceil
from zlib import crc32

import numpy as np
from PIL import Image

from clevrskills.sim.conditions import ImageNoise

REFERENCE_PX = 256
"""Image height that the width of the blur refers to."""
GRAIN_SEED = 3
"""Seed of the noise shared by all images."""


class NoisyCamera:
    """Deterministic noise of the camera images of one episode."""

    def __init__(self, noise: ImageNoise) -> None:
        self._noise = noise
        self._shown: dict[str, np.ndarray] = {}

    def __call__(self, images: Mapping[str, np.ndarray], step: int) -> dict[str, np.ndarray]:
        """Return noisy images (H, W, 3) uint8 by camera at a control step."""
        for name, image in images.items():
            generator = np.random.default_rng((self._noise.seed, crc32(name.encode()), step))
            if name not in self._shown or generator.random() >= self._noise.dropped:
                self._shown[name] = add_noise(image, self._noise, generator)
        return {name: self._shown[name] for name in images}


def add_noise(image: np.ndarray, noise: ImageNoise, generator: np.random.Generator) -> np.ndarray:
    """Return a blurred, noisy and compressed image (H, W, 3) uint8."""
    if noise.blur_px:
        image = _blurred(image, noise.blur_px * len(image) / REFERENCE_PX)
    if noise.sigma:
        grain = _grain(noise.sigma, image.size)
        start = int(generator.integers(len(grain) - image.size))
        grain = grain[start : start + image.size].reshape(image.shape)
        image = np.clip(image + grain, 0, 255).astype(np.uint8)
    if noise.quality:
        buffer = io.BytesIO()
        Image.fromarray(image).save(buffer, "JPEG", quality=noise.quality)
        image = np.asarray(Image.open(buffer))
    return image


@lru_cache(maxsize=8)
def _grain(sigma: float, size: int) -> np.ndarray:
    """Return Gaussian noise (N,) int16 from which each image of ``size`` numbers takes a random
    part; sampling per image would dominate the cost.
    """
    drawn = np.random.default_rng(GRAIN_SEED).standard_normal(max(1 << 20, 4 * size), np.float32)
    grain: np.ndarray = np.rint(drawn * np.float32(sigma)).astype(np.int16)
    return grain


def _blurred(image: np.ndarray, sigma_px: float) -> np.ndarray:
    """Return an image (H, W, 3) uint8 after a Gaussian blur in 16-bit integers."""
    weights = _weights(sigma_px)
    reach, blurred = len(weights) - 1, image.astype(np.uint16)
    for axis in (0, 1):
        length = blurred.shape[axis]
        at = np.arange(-reach, length + reach).clip(0, length - 1)
        wide = blurred.take(at, axis)
        if axis:
            wide = wide.swapaxes(0, 1)
        total = weights[0] * wide[reach : reach + length] + np.uint16(128)
        for k in range(1, reach + 1):
            before, after = wide[reach - k :][:length], wide[reach + k :][:length]
            total += weights[k] * (before + after)
        blurred = total >> np.uint16(8)
        if axis:
            blurred = blurred.swapaxes(0, 1)
    return np.ascontiguousarray(blurred.astype(np.uint8))


@lru_cache(maxsize=32)
def _weights(sigma_px: float) -> np.ndarray:
    """Return blur weights (K,) uint16 at distances 0, 1, … pixels; the kernel sums to 256."""
    reach = max(1, ceil(2.5 * sigma_px))
    shares = np.exp(-0.5 * (np.arange(reach + 1) / sigma_px) ** 2)
    sides = np.floor(256 * shares[1:] / (shares[0] + 2 * shares[1:].sum())).astype(int)
    sides = sides[sides > 0]
    return np.array([256 - 2 * sides.sum(), *sides], np.uint16)
