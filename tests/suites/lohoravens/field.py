"""A small field for tests: blocks, a bowl and a zone at known places, on which nothing is asked."""

from unittest.mock import patch

from clevrskills.envs.environment import ClevrSkillsEnv
from clevrskills.sim.body import Body
from clevrskills.suites.lohoravens.setting import SETTING
from tests.support.envs import Bench

SMALL_M, BIG_M = 0.04, 0.06


class FieldBench(Bench):
    """Known bodies on the field; not registered."""

    setting = SETTING


def block(
    key: str, color: str, x: float, y: float, side_m: float = SMALL_M, z: float = 0.0
) -> Body:
    pose = (x, y, z + side_m / 2, 1.0, 0.0, 0.0, 0.0)
    return Body(key, "cube", color, pose, (side_m,) * 3, density=600.0, noun="block")


def zone(key: str, color: str, x: float, y: float, side_m: float = 0.10) -> Body:
    pose = (x, y, 0.0005, 1.0, 0.0, 0.0, 0.0)
    return Body(key, "cube", color, pose, (side_m, side_m, 0.001), static=True, noun="zone")


def bowl(key: str, color: str, x: float, y: float) -> Body:
    size = (0.116, 0.116, 0.036)
    return Body(key, "bowl", color, (x, y, 0.018, 1.0, 0.0, 0.0, 0.0), size, static=True)


def field(*bodies: Body, kind: type[ClevrSkillsEnv] = ClevrSkillsEnv, **kwargs) -> ClevrSkillsEnv:
    """An environment with some bodies on the field, just reset."""
    options = {"obs_mode": "none", "render_backend": "none", "robot_name": "ur5e"} | kwargs
    with patch("clevrskills.envs.environment.task", lambda key: FieldBench(bodies)):
        env = kind("bench", **options)
    env.reset(seed=0)
    return env
