"""ClevrSkills: compositional manipulation skills on ManiSkill 3.

Importing the package registers its tasks with Gymnasium: ``gym.make("ClevrSkills/Sort-v1")``, and
``gym.make_vec("ClevrSkills/Sort-v1", num_envs=16)`` for the environment of ``clevrskills.make_vec``
with Gymnasium's autoreset mode. Tasks of other distributions are registered too, without importing
their code. Suites of other distributions are registered when they are loaded.
"""

import json
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gymnasium
from gymnasium.envs.registration import WrapperSpec

from clevrskills.suites import asgardbench, ivispar, lohoravens
from clevrskills.suites import clevrskills as own

__all__ = ["env_id", "make_vec"]

__version__ = "1.0.0rc1"

BATCHED = "ClevrSkillsBatched"
"""Namespace of the ids of batched environments, for ManiSkill's scripts, which require an id."""


@cache
def additions(kind: str) -> tuple[EntryPoint, ...]:
    """Return the entry points of the group ``clevrskills.<kind>`` by name, without importing them.

    Args:
        kind: Kind of additions by other distributions, e.g. ``tasks`` or ``predicates``.
    """
    found = entry_points(group=f"{__name__}.{kind}")
    return tuple(sorted(found, key=lambda entry: (entry.name, entry.value)))


def task_keys() -> list[str]:
    """Return the keys of all ClevrSkills tasks: those of the package by level, then others."""
    others = (key for entry in additions("tasks") for key in keys_of(entry))
    return list(dict.fromkeys([*own.TASKS, *others]))


def keys_of(entry: EntryPoint) -> Iterator[str]:
    """Yield the task keys of an entry point: of a class, or of each file of a package."""
    top, *inner = entry.module.split(".")
    spec = None if entry.attr else find_spec(top)
    places = spec.submodule_search_locations if spec else None
    folders = [folder for place in places or () if (folder := Path(place, *inner)).is_dir()]
    if not folders:
        yield entry.name
    for folder in folders:
        yield from (file.stem for file in sorted(folder.glob("[a-z]*.py")))


def env_id(task_key: str, namespace: str = "ClevrSkills") -> str:
    """Return the Gymnasium id of a task, e.g. ``ClevrSkills/SimpleManipulation-v1``."""
    return f"{namespace}/{''.join(map(str.capitalize, task_key.split('_')))}-v1"


def register_task(
    namespace: str,
    suite: str,
    task: str,
    *,
    arm: bool,
    limit: int | None = None,
    vector: str | None = None,
    **arguments: Any,
) -> None:
    """Register the Gymnasium id of a task, unless it is registered.

    Args:
        namespace: Namespace of the id.
        suite: Name of the suite, or ``module:Class``.
        task: Key of the task.
        arm: Whether an arm acts, by control steps.
        limit: Step limit; ``None``: set by the environment.
        vector: Factory of vector environments, ``module:function``; ``None``:
            :func:`clevrskills.vector.env.make_gymnasium_vec` with an arm, else none.
        arguments: Other arguments of the environment.
    """
    name = env_id(task, namespace)
    if name in gymnasium.registry:
        return
    with_arm = "clevrskills.envs.gymnasium_env:GymnasiumEnv"
    symbolic = "clevrskills.suites.gymnasium_env:SymbolicGymnasiumEnv"
    gymnasium.register(
        id=name,
        entry_point=with_arm if arm else symbolic,
        vector_entry_point=vector or ("clevrskills.vector.env:make_gymnasium_vec" if arm else None),
        max_episode_steps=limit,
        kwargs={"suite": suite, "task": task, **arguments},
        disable_env_checker=arm,
        order_enforce=not arm,
    )


def _register_batched(task: str, limit: int | None) -> None:
    """Register the id of a task's batched environment in the way of ManiSkill."""
    wrapper = "mani_skill.utils.registration:TimeLimitWrapper"
    gymnasium.register(
        id=env_id(task, BATCHED),
        entry_point="clevrskills.envs.environment:ClevrSkillsEnv",
        max_episode_steps=limit,
        kwargs={"task_key": task},
        disable_env_checker=True,
        order_enforce=False,
        additional_wrappers=(WrapperSpec("MSTimeLimit", wrapper, {"max_episode_steps": limit}),)
        if limit
        else (),
    )


def _register() -> None:
    limits = json.loads((Path(__file__).parent / "tasks" / "step_limits.json").read_text("utf-8"))
    for task in task_keys():
        register_task("ClevrSkills", "clevrskills", task, arm=True, limit=limits.get(task))
        _register_batched(task, limits.get(task))
    for task in lohoravens.TASKS:
        cameras = ("base_camera", "hand_camera")
        register_task("LoHoRavens", "lohoravens", task, arm=True, cameras=cameras)
    for task in ivispar.TASKS:
        vector = ivispar.VECTOR_ENVS.get(task)
        register_task("IVispar", "ivispar", task, arm=task == ivispar.ARM, vector=vector)
    for task in asgardbench.TASKS:
        register_task("AsgardBench", "asgardbench", task, arm=False)


_register()


def __getattr__(name: str) -> Any:
    """Import :func:`clevrskills.vector.make_vec` and the simulator on first use."""
    if name == "make_vec":
        return import_module("clevrskills.vector").make_vec
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
