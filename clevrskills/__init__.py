"""ClevrSkills: compositional manipulation skills on ManiSkill 3.

Importing the package registers its tasks with Gymnasium: ``gym.make("ClevrSkills/Sort-v1")``, and
``gym.make_vec("ClevrSkills/Sort-v1", num_envs=16)`` for what ``clevrskills.make_vec`` makes.
"""

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import gymnasium

__version__ = "0.1.0"


def task_keys() -> list[str]:
    """Keys of all tasks, level by level; a task is the file ``tasks/<level>/<key>.py``."""
    files = sorted((Path(__file__).parent / "tasks").glob("l[0-2]/[a-z]*.py"))
    return [file.stem for file in files]


def env_id(task_key: str) -> str:
    """Gymnasium id of a task, e.g. ``ClevrSkills/SimpleManipulation-v1``."""
    return "ClevrSkills/" + "".join(word.capitalize() for word in task_key.split("_")) + "-v1"


for _key in task_keys():
    gymnasium.register(
        id=env_id(_key),
        entry_point="clevrskills.envs.gymnasium_env:make",
        vector_entry_point="clevrskills.vector:make_vec",
        kwargs={"task": _key},
        disable_env_checker=True,
        order_enforce=False,
    )


def __getattr__(name: str) -> Any:
    """:func:`clevrskills.vector.make_vec`, which imports the simulator, when it is first used."""
    if name == "make_vec":
        return import_module("clevrskills.vector").make_vec
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class _MovedModules:
    """Finds modules by the paths that they had before; asked only where no other finder has any."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if not name.startswith(f"{__name__}."):
            return None
        found: ModuleSpec | None = import_module("clevrskills.core.moved").spec_of(name)
        return found


sys.meta_path.append(_MovedModules)
