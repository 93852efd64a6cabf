"""Noise of a run: of observations, actions and grip."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import isfinite
from zlib import crc32

import numpy as np

from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.sim.robots.delta_action import CONTROL_HZ


@dataclass(frozen=True)
class Noise:
    """Noise of a run; the state and demonstrations have none.

    Raises:
        ClevrSkillsError: A number is out of range.
    """

    pixel: float = 0.0  # standard deviation of each color value of an image, out of 255
    depth_mm: float = 0.0  # standard deviation of heights
    # standard deviation of x and of y of picks and places; 7.8 mm are 2.5 pixels of the map
    action_mm: float = 0.0
    drop: float = 0.0  # probability of losing a held body, per second of simulated time

    def __post_init__(self) -> None:
        for part in fields(self):
            value, most = getattr(self, part.name), 1.0 if part.name == "drop" else 255.0
            if not isfinite(value) or not 0.0 <= value <= most:
                raise ClevrSkillsError(f"noise {part.name}={value:g}; allowed: 0 to {most:g}")

    @property
    def drop_per_step(self) -> float:
        """Probability of losing a held body in a control step."""
        return 1.0 - (1.0 - self.drop) ** (1.0 / CONTROL_HZ)

    def on_image(self, image: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Return a noisy image (H, W, 3) uint8."""
        if not self.pixel:
            return image
        noisy = image + generator.normal(0.0, self.pixel, image.shape)
        return np.clip(np.rint(noisy), 0, 255).astype(np.uint8)

    def on_heights(self, heights: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Return noisy heights (H, W) in meters."""
        if not self.depth_mm:
            return heights
        noisy = heights + generator.normal(0.0, 1e-3 * self.depth_mm, heights.shape)
        return noisy.astype(heights.dtype)

    def on_places(self, generator: np.random.Generator) -> np.ndarray:
        """Return offsets of x and y of pick and place, (2, 2) m."""
        return generator.normal(0.0, 1e-3 * self.action_mm, (2, 2))


CLEAN = Noise()
NOISES: Mapping[str, Noise] = {
    "clean": CLEAN,
    "p40": Noise(pixel=3.0, depth_mm=3.0, action_mm=7.8),
    "p10": Noise(pixel=3.0, depth_mm=3.0, action_mm=7.8, drop=0.1),
}
"""Noise of the papers: of the forty tasks, and of the ten tasks of the workshop, where blocks are
lost with an unpublished probability."""


def read_noise(text: str) -> Noise:
    """Return noise by name, or by values such as ``pixel=3,depth_mm=3,action_mm=7.8,drop=0.1``.

    Raises:
        UnknownNameError: There is no such noise.
        ClevrSkillsError: A value is not a number or out of range.
    """
    if text in NOISES:
        return NOISES[text]
    known, values = [part.name for part in fields(Noise)], dict[str, float]()
    for entry in text.split(","):
        name, _, value = entry.strip().partition("=")
        if name not in known:
            raise UnknownNameError("noise", name, [*NOISES, *(f"{k}=" for k in known)])
        try:
            values[name] = float(value)
        except ValueError:
            raise ClevrSkillsError(f"noise {name}={value}: {value!r} is no number") from None
    return Noise(**values)


def noise_generator(seed: int, *moment: int | str) -> np.random.Generator:
    """Return the generator of noise for an episode, by its seed, at a moment."""
    words = (crc32(word.encode()) if isinstance(word, str) else word for word in moment)
    return np.random.default_rng(np.random.SeedSequence((seed, crc32(b"noise"), *words)))
