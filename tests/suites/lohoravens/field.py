"""A small field for tests: blocks, a bowl and a zone at known places."""

from collections.abc import Callable
from unittest.mock import patch

import numpy as np

from clevrskills.core.interface import Turn
from clevrskills.predicates import OnTop, Predicate
from clevrskills.sim.body import Body
from clevrskills.suites.lohoravens.env import LoHoRavensEnv
from clevrskills.suites.lohoravens.interfaces.numbers import PICK_PLACE
from clevrskills.suites.lohoravens.setting import SETTING
from clevrskills.tasks import Layout
from tests.support.envs import Bench

SMALL_M, BIG_M = 0.04, 0.06


class FieldBench(Bench):
    """Known bodies on the field, the first of which is to be put on another one; not registered."""

    robots, setting = ("ur5e",), SETTING

    def __init__(self, bodies: tuple[Body, ...], onto: int) -> None:
        super().__init__(bodies)
        self._onto = onto

    def layout(self, draw):
        roles = {"top": np.array(0), "bottom": np.array(self._onto), "n_min": np.array(2)}
        return Layout(self.bodies, roles)

    def goal(self, roles) -> Predicate:
        return OnTop(roles["top"], roles["bottom"])


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


def field(*bodies: Body, onto: int = 1, **kwargs) -> LoHoRavensEnv:
    """An environment with some bodies on the field, just reset."""
    options = {"obs_mode": "none", "render_backend": "none"} | kwargs
    with patch("clevrskills.envs.environment.task", lambda key: FieldBench(bodies, onto)):
        env = LoHoRavensEnv("bench", **options)
    env.reset(seed=0)
    return env


def turns(env: LoHoRavensEnv) -> Callable[..., Turn]:
    """Takes picks and places, six numbers each, from now on."""
    actuator = PICK_PLACE.begin(env)
    return lambda *numbers: actuator.act(PICK_PLACE.read(numbers)[0])


def place_of(env: LoHoRavensEnv, slot: int) -> np.ndarray:
    """World position of a body, (3,)."""
    return env.world.body_pose[0, slot, :3].double().numpy()
