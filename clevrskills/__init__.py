"""ClevrSkills: compositional manipulation skills on ManiSkill 3.

Importing the package registers its tasks with Gymnasium: ``gym.make("ClevrSkills/Sort-v1")``, and
``gym.make_vec("ClevrSkills/Sort-v1", num_envs=16)`` for what ``clevrskills.make_vec`` makes. Tasks
that other installed distributions add are registered too; none of their code is imported for it.
"""

import json
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gymnasium
from gymnasium.envs.registration import WrapperSpec

__all__ = ["env_id", "make_vec", "task_keys"]

__version__ = "0.3.0"


@cache
def additions(kind: str) -> tuple[EntryPoint, ...]:
    """What other distributions add to the package, by name; nothing of it is imported.

    Args:
        kind: What they add: ``tasks``, ``predicates``, ``objects`` and so on; it is the entry
            points of the group ``clevrskills.<kind>``.
    """
    found = entry_points(group=f"{__name__}.{kind}")
    return tuple(sorted(found, key=lambda entry: (entry.name, entry.value)))


def task_keys() -> list[str]:
    """Keys of all tasks: level by level those of the package, where a task is the file
    ``tasks/<level>/<key>.py``, then those that others add.
    """
    files = sorted((Path(__file__).parent / "tasks").glob("l[0-2]/[a-z]*.py"))
    others = (key for entry in additions("tasks") for key in keys_of(entry))
    return list(dict.fromkeys([*(file.stem for file in files), *others]))


def keys_of(entry: EntryPoint) -> Iterator[str]:
    """Keys of the tasks that an entry point names: a class, or a package in which each file is
    one.
    """
    top, *inner = entry.module.split(".")
    spec = None if entry.attr else find_spec(top)
    places = spec.submodule_search_locations if spec else None
    folders = [folder for place in places or () if (folder := Path(place, *inner)).is_dir()]
    if not folders:
        yield entry.name
    for folder in folders:
        yield from (file.stem for file in sorted(folder.glob("[a-z]*.py")))


def env_id(task_key: str, head: str = "ClevrSkills") -> str:
    """Gymnasium id of a task, e.g. ``ClevrSkills/SimpleManipulation-v1``."""
    return f"{head}/{_camel(task_key)}-v1"


def _camel(key: str) -> str:
    return "".join(word.capitalize() for word in key.split("_"))


def batched_id(task_key: str) -> str:
    """The id of the same with ``batched``, for ManiSkill's own scripts, which only take an id."""
    return env_id(task_key).replace("/", "Batched/")


class _Wrappers(tuple[WrapperSpec, ...]):
    """Wrappers for ``gym.make`` alone: ``gym.make_vec``, which asks how many there are, would not
    call an entry point of vector environments where there are some.
    """

    def __len__(self) -> int:
        return 0


_LIMITED = WrapperSpec("limited", "clevrskills.envs.gymnasium_env:limited", {})
_LIMITS = json.loads((Path(__file__).parent / "tasks" / "step_limits.json").read_text("utf-8"))

for _key in task_keys():
    for _id, _kwargs, _vector in (
        (env_id(_key), {"task": _key}, "clevrskills.vector:make_vec"),
        (batched_id(_key), {"task": _key, "batched": True}, None),
    ):
        gymnasium.register(
            id=_id,
            entry_point="clevrskills.envs.gymnasium_env:make",
            vector_entry_point=_vector,
            max_episode_steps=_LIMITS.get(_key),  # those of other distributions tell it once made
            kwargs=_kwargs,
            disable_env_checker=True,
            order_enforce=False,
            additional_wrappers=_Wrappers([_LIMITED]),
        )

_SYMBOLIC = {
    "IVispar": ("ivispar", ("geoms", "tiles", "listing")),
    "AsgardBench": (
        "asgardbench",
        (
            *("coffee", "cook_potato", "cook_egg", "cook_toast", "cook_potato_slice"),
            *("put_away_food", "put_away_dishes", "put_away_silverware", "distribute"),
            *("set_table", "clean_mirror", "turn_on_tv"),
        ),
    ),
}
"""Head of the Gymnasium ids, suite and tasks of each suite of symbols."""

for _head, (_suite, _tasks) in _SYMBOLIC.items():
    for _key in _tasks:
        gymnasium.register(
            id=env_id(_key, _head),
            entry_point="clevrskills.suites.gymnasium_env:make",
            kwargs={"suite": _suite, "task": _key},
        )

gymnasium.register(
    id="IVispar/GeomsArm-v1",
    entry_point="clevrskills.suites.ivispar.arm.gymnasium_env:make",
    disable_env_checker=True,
    order_enforce=False,
    additional_wrappers=_Wrappers([_LIMITED]),
)
_ON_TABLE = {"LoHoRavens": ("lohoravens", "suites/lohoravens/tasks/*/[a-z]*.py")}
"""Head of the Gymnasium ids, suite and files of each suite with an arm; a file that names a key
after itself is a task.
"""

for _head, (_suite, _files) in _ON_TABLE.items():
    for _path in sorted(Path(__file__).parent.glob(_files)):
        if f'    key = "{_path.stem}"' in _path.read_text("utf-8"):
            gymnasium.register(
                id=env_id(_path.stem, _head),
                entry_point="clevrskills.suites.gymnasium_env:make_on_table",
                vector_entry_point="clevrskills.vector:make_vec",
                kwargs={"suite": _suite, "task": _path.stem},
                disable_env_checker=True,
                order_enforce=False,
                additional_wrappers=_Wrappers([_LIMITED]),
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
