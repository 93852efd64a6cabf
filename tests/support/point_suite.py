"""The fake suite of the evaluation's tests, with proprioception as in the demonstrations."""

from __future__ import annotations

import numpy as np
from fake_suite import FakeEnv, FakeSuite

from clevrskills.core.env_config import EnvConfig


class PointEnv(FakeEnv):
    def proprioception(self) -> dict[str, np.ndarray]:
        return {
            "qpos": np.array([*self.point, 0.0], np.float32),
            "ee_pose": np.array([*self.point, 0, 1, 0, 0, 0], np.float32),
            "vacuum_on": np.array([float(self.reached > 0)], np.float32),
            "holding": np.array([float(self.reached > 1)], np.float32),
        }


class PointSuite(FakeSuite):
    def make(self, config: EnvConfig) -> PointEnv:
        return PointEnv(config, self.broken)
