"""The board on the table as Gymnasium defines environments: numpy arrays in and out."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

from clevrskills.envs.gymnasium_env import GymnasiumEnv
from clevrskills.suites.ivispar.arm.env import GeomsArmEnv
from clevrskills.suites.ivispar.arm.task import KEY


def make(robot: str = "xarm6", criteria: str = "paper", **kwargs: Any) -> gym.Env:
    """What ``gym.make("IVispar/GeomsArm-v1", **kwargs)`` calls; see
    :class:`~clevrskills.envs.environment.ClevrSkillsEnv` for the arguments.

    Raises:
        ClevrSkillsError: A name is unknown (it tells the allowed ones) or the machine cannot do
            what is asked for.
    """
    return GymnasiumEnv(GeomsArmEnv(KEY, robot_name=robot, criteria_name=criteria, **kwargs))
