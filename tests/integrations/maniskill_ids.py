"""Plug-in of pytest: ManiSkill's own tests run our batched environments in place of its own."""

import sys
import types

import gymnasium
import mani_skill.envs  # noqa: F401 (registers the ids that are replaced)
import numpy as np
from mani_skill.utils import common
from mani_skill.utils.registration import REGISTERED_ENVS

from clevrskills import env_id

REPLACED = {"PickCube-v1": "pick", "StackCube-v1": "sort"}
"""Ids of their tests, with the tasks that stand for them."""
NAMES = {
    "ENV_IDS": [*REPLACED],
    "STATIONARY_ENV_IDS": [*REPLACED],
    "MULTI_AGENT_ENV_IDS": [],
    "OBS_MODES": ["state_dict", "state", "rgb", "rgbd", "depth+segmentation", "pointcloud"],
    "VENV_OBS_MODES": ["state", "rgbd", "state_dict+rgb"],
    "CONTROL_MODES_STATIONARY_SINGLE_ARM": [
        "pd_joint_delta_pos",
        "pd_joint_pos",
        "pd_ee_delta_pose",
    ],
    "SINGLE_ARM_STATIONARY_ROBOTS": ["panda", "xmate3_robotiq"],
    "LOW_MEM_SIM_CONFIG": {},
}
"""What their module ``tests.utils``, which is not among their files, names for their tests."""
SIZE_PX = 128


def leaves(value):
    """Yield the values of nested dicts."""
    for part in value.values() if isinstance(value, dict) else ():
        yield from leaves(part)
    if not isinstance(value, dict):
        yield value


def assert_isinstance(value, types):
    """Check the values of nested dicts."""
    types = tuple(types) if isinstance(types, list) else types
    assert all(isinstance(leaf, types) for leaf in leaves(value)), value


def assert_obs_equal(one, other, **_):
    """Compare observations. A link's pose that is set differs from one that was simulated by
    rounding (1e-7 m), which can change single pixels at edges.
    """
    for first, second in zip(leaves(one), leaves(other), strict=True):
        first, second = common.to_numpy(first), common.to_numpy(second)
        if first.dtype == np.uint8:
            assert np.mean(abs(first.astype(int) - second.astype(int)) > 1) < 1e-3
        else:
            np.testing.assert_allclose(first.astype(float), second.astype(float), atol=1e-4)


def pytest_configure() -> None:
    """Put ours into the registries, and give their tests the names that they import."""
    for name, task in REPLACED.items():
        spec = gymnasium.spec(env_id(task, "ClevrSkillsBatched"))
        spec.id, spec.kwargs = (
            name,
            {**spec.kwargs, "sensor_configs": {"width": SIZE_PX, "height": SIZE_PX}},
        )
        spec.name, spec.namespace = name.removesuffix("-v1"), None
        gymnasium.registry[name] = spec
        REGISTERED_ENVS.pop(name, None)
    module = types.ModuleType("tests.utils")
    vars(module).update(
        NAMES, assert_isinstance=assert_isinstance, assert_obs_equal=assert_obs_equal
    )
    sys.modules[module.__name__] = module
