"""Objects, a texture, a camera, a robot and a policy of the tasks about tea."""

from dataclasses import replace
from math import pi
from pathlib import Path

import numpy as np

from clevrskills.assets.solids import Solid, lathe
from clevrskills.sim.cameras import FixedCamera
from clevrskills.sim.robots.description import ROBOTS

CADDY = Path(__file__).with_name("caddy.urdf")
SIDE_CAMERA = FixedCamera((0.0, 0.6, 0.4), (-0.15, 0.0, 0.0), pi / 3, 128)
LOW_PANDA = replace(ROBOTS["panda"], name="low_panda")


def saucer() -> Solid:
    """A round plate, 120 mm wide."""
    return lathe([(42, 0), (60, 12), (60, 18)])


def linen(size_px: int) -> np.ndarray:
    """Crossing threads."""
    wave = 0.5 + 0.5 * np.sin(np.linspace(0.0, 64 * pi, size_px))
    return np.stack([0.7 + 0.2 * wave[:, None] * wave] * 3, axis=-1)


class Waiter:
    """A policy that waits."""

    def reset(self, prompt: object) -> None:
        """Nothing to prepare."""

    def act(self, observation: object) -> np.ndarray:
        """Zeros."""
        return np.zeros(7, np.float32)
