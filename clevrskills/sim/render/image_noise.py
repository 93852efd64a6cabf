"""Image noise: what a poor camera does to the images of an episode."""

import io
from collections.abc import Mapping
from zlib import crc32

import numpy as np
from PIL import Image, ImageFilter

from clevrskills.sim.conditions import ImageNoise

REFERENCE_PX = 256
"""Height of the images in whose pixels blur is given."""


class NoisyCamera:
    """Spoils the images of one episode, the same for the same control step.

    Args:
        noise: What is done to them.
    """

    def __init__(self, noise: ImageNoise) -> None:
        self._noise = noise
        self._shown: dict[str, np.ndarray] = {}

    def __call__(self, images: Mapping[str, np.ndarray], step: int) -> dict[str, np.ndarray]:
        """Images (H, W, 3) uint8 as they arrive at a control step, by camera."""
        for name, image in images.items():
            generator = np.random.default_rng((self._noise.seed, crc32(name.encode()), step))
            if name not in self._shown or generator.random() >= self._noise.dropped:
                self._shown[name] = spoil(image, self._noise, generator)
        return {name: self._shown[name] for name in images}


def spoil(image: np.ndarray, noise: ImageNoise, generator: np.random.Generator) -> np.ndarray:
    """An image (H, W, 3) uint8, blurred, noisy and compressed, in this order."""
    if noise.blur_px:
        radius = noise.blur_px * len(image) / REFERENCE_PX
        image = np.asarray(Image.fromarray(image).filter(ImageFilter.GaussianBlur(radius)))
    if noise.sigma:
        grain = generator.standard_normal(image.shape, np.float32) * np.float32(noise.sigma)
        image = np.rint(image + grain).clip(0, 255).astype(np.uint8)
    if noise.quality:
        buffer = io.BytesIO()
        Image.fromarray(image).save(buffer, "JPEG", quality=noise.quality)
        image = np.asarray(Image.open(buffer))
    return image
