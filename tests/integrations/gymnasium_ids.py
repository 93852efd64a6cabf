"""Plug-in of pytest: Gymnasium's own tests run our environments in place of its examples."""

import sys
import types

import gymnasium
from gymnasium.envs.registration import EnvSpec

import clevrskills  # noqa: F401 (registers the ids)

REPLACED = {"CartPole-v1": "ClevrSkills/Pick-v1", "Pendulum-v1": "ClevrSkills/Touch-v1"}
"""Ids that their tests make environments by, with what stands for them."""
CHECKED = (
    ("ClevrSkills/Pick-v1", {"obs_mode": "state"}),
    ("ClevrSkills/Pick-v1", {"obs_mode": "rgb"}),
    ("ClevrSkills/Sort-v1", {"obs_mode": "rgb"}),
    ("LoHoRavens/BowlsMatching-v1", {"obs_mode": "state"}),
    ("IVispar/Geoms-v1", {"views": ("schematic", "text")}),
    ("AsgardBench/Coffee-v1", {}),
)
"""Ids, with arguments, that the tests of all environments run."""


def as_spec(name: str, of: str, **arguments) -> EnvSpec:
    """Return the specification of an id of ours under another name."""
    spec = gymnasium.spec(of)
    taken = ("entry_point", "vector_entry_point", "max_episode_steps", "order_enforce")
    same = {field: getattr(spec, field) for field in taken}
    return EnvSpec(name, **same, kwargs={**spec.kwargs, **arguments})


def pytest_configure() -> None:
    """Put ours into the registry, and name the environments that all of their tests run."""
    registry = gymnasium.registry
    registry.update({name: as_spec(name, of, obs_mode="state") for name, of in REPLACED.items()})
    specs = [as_spec(f"Ours{k}-v1", name, **options) for k, (name, options) in enumerate(CHECKED)]
    registry.update({spec.id: spec for spec in specs})
    made = types.ModuleType("tests.envs.utils")
    made.all_testing_env_specs = made.gym_testing_env_specs = specs
    made.all_testing_initialised_envs = [spec.make().unwrapped for spec in specs]
    made.mujoco_testing_env_specs = []
    sys.modules[made.__name__] = made
