"""Noise of a run: on what policies are shown, on where they act, and on what the gripper holds."""

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
    """Noise of a run; never in the state, never in demonstrations.

    Raises:
        ClevrSkillsError: A number is out of range.
    """

    pixel: float = 0.0  # standard deviation of each colour of an image, of 255
    depth_mm: float = 0.0  # that of heights, in millimetres
    # that of x and of y of picks and places, in millimetres; 7.8 are 2.5 pixels of the map
    action_mm: float = 0.0
    drop: float = 0.0  # probability with which what is held is lost in a second of simulated time

    def __post_init__(self) -> None:
        for part in fields(self):
            value, most = getattr(self, part.name), 1.0 if part.name == "drop" else 255.0
            if not isfinite(value) or not 0.0 <= value <= most:
                raise ClevrSkillsError(f"noise {part.name}={value:g}; allowed: 0 to {most:g}")

    @property
    def drop_per_step(self) -> float:
        """Probability with which what is held is lost in a control step."""
        return 1.0 - (1.0 - self.drop) ** (1.0 / CONTROL_HZ)

    def on_image(self, image: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Return an image (H, W, 3) uint8 with noise."""
        if not self.pixel:
            return image
        noisy = image + generator.normal(0.0, self.pixel, image.shape)
        return np.clip(np.rint(noisy), 0, 255).astype(np.uint8)

    def on_heights(self, heights: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Return heights (H, W) in metres with noise."""
        if not self.depth_mm:
            return heights
        noisy = heights + generator.normal(0.0, 1e-3 * self.depth_mm, heights.shape)
        return noisy.astype(heights.dtype)

    def on_places(self, generator: np.random.Generator) -> np.ndarray:
        """Return the offsets of x and y of pick and place, (2, 2), metres."""
        return generator.normal(0.0, 1e-3 * self.action_mm, (2, 2))


CLEAN = Noise()
NOISES: Mapping[str, Noise] = {
    "clean": CLEAN,
    "p40": Noise(pixel=3.0, depth_mm=3.0, action_mm=7.8),
    "p10": Noise(pixel=3.0, depth_mm=3.0, action_mm=7.8, drop=0.1),
}
"""Noise as in the papers: of the forty tasks, and of the workshop's ten, where blocks are lost; how
often, it does not say."""


def read_noise(text: str) -> Noise:
    """Return noise by name, or as ``pixel=3,depth_mm=3,action_mm=7.8,drop=0.1``; what is left out
    is 0.

    Raises:
        UnknownNameError: There is no such noise.
        ClevrSkillsError: A number is none, or out of range.
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
    """Return the generator of noise at a moment of the episode of a seed."""
    words = (crc32(word.encode()) if isinstance(word, str) else word for word in moment)
    return np.random.default_rng(np.random.SeedSequence((seed, crc32(b"noise"), *words)))
