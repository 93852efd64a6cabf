"""Registry of what other distributions add to the package, found by their entry points.

A distribution adds to a group ``clevrskills.<kind>``:

==============  ====================================  ============================================
kind            entry                                 what it names
==============  ====================================  ============================================
``tasks``       ``key = "package.module:Class"``      a task; or a package, each file of which is
                                                      one: ``own = "package.tasks"``
``predicates``  ``own = "package.predicates"``        a module or a package of modules
``skills``      ``own = "package.skills"``            the same
``suites``      ``name = "package.module:Class"``     a suite
``robots``      ``name = "package.module:ROBOT"``     a ``RobotDescription``
``objects``     ``name = "package.module:function"``  what builds a ``Solid``, an ``Item`` or the
                                                      path of a GLB or URDF file
``textures``    ``name = "package.module:function"``  what draws an image, or the path of one
``cameras``     ``name = "package.module:CAMERA"``    a ``FixedCamera``
``policies``    ``name = "package.module:Class"``     a policy
==============  ====================================  ============================================

and to ``learned_policies`` what ``train --policy NAME`` trains, ``name = "package.module:Class"``.

Worker processes find the same, as they read the same metadata.
"""

import importlib
import pkgutil
import tomllib
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any, Self

from clevrskills import additions, keys_of
from clevrskills.errors import (
    ClevrSkillsError,
    NameTakenError,
    UnknownNameError,
    errors_in,
    one_line,
)

OWN = "clevrskills"
"""Name of this package, and of its distribution."""
PROJECT = "pyproject.toml"
EPISODES = "episodes"
"""Folder of frozen episodes in the package of another distribution."""


def others(kind: str, own: Container[str]) -> dict[str, EntryPoint]:
    """Return what other distributions add, by name.

    Args:
        kind: ``suites``, ``robots``, ``cameras``, ``policies`` or ``learned_policies``.
        own: Names that the package has itself.

    Raises:
        NameTakenError: A name is the package's own, or two distributions have it.
    """
    found: dict[str, EntryPoint] = {}
    for entry in additions(kind):
        if entry.name in own:
            raise NameTakenError(kind, entry.name, OWN, source(entry))
        if entry.name in found:
            raise NameTakenError(kind, entry.name, source(found[entry.name]), source(entry))
        found[entry.name] = entry
    return found


def load(entry: EntryPoint, kind: type | None = None) -> Any:
    """Import what an entry point names.

    Args:
        entry: The entry point.
        kind: What it must be an instance of.

    Raises:
        ClevrSkillsError: It cannot be imported, or is something else.
    """
    with errors_in(described(entry)):
        found = entry.load()
    if kind is not None and not isinstance(found, kind):
        raise ClevrSkillsError(
            f"{described(entry)} is of type {type(found).__name__}; allowed: {kind.__name__}"
        )
    return found


def load_modules(entry: EntryPoint) -> list[ModuleType]:
    """Import the module that an entry point names, or all of a package but those whose names begin
    with an underscore.

    Raises:
        ClevrSkillsError: One cannot be imported.
    """
    with errors_in(described(entry)):
        first = importlib.import_module(entry.module)
        return [first, *map(importlib.import_module, modules_in(first))]


def modules_in(package: ModuleType) -> Iterator[str]:
    """Yield the names of a package's modules, but those that begin with an underscore."""
    for module in pkgutil.iter_modules(getattr(package, "__path__", ())):
        if not module.name.startswith("_"):
            yield f"{package.__name__}.{module.name}"


def is_own(defined: Any) -> bool:
    """Return whether a class or a function is defined in this package."""
    return str(defined.__module__).partition(".")[0] == OWN


def check_new(kind: str, name: str, known: Any, defined: Any) -> None:
    """Check that a class or function may have a name.

    Raises:
        NameTakenError: Another one has it; the same one, defined again, may keep it.
    """
    if known is not None and _path(known) != _path(defined):
        first, second = (defined, known) if is_own(defined) else (known, defined)
        raise NameTakenError(kind, name, _path(first), _path(second))


def _path(defined: Any) -> str:
    return f"{defined.__module__}.{defined.__qualname__}"


@dataclass(frozen=True)
class OwnDistribution:
    """A distribution in the folder in which it is worked on."""

    folder: Path  # folder of its ``pyproject.toml``
    package: Path  # folder of its package
    tasks: tuple[str, ...]  # keys of its tasks

    @property
    def episodes(self) -> Path:
        """Folder of its frozen episodes."""
        return self.package / EPISODES

    def select(self, tasks: Sequence[str]) -> tuple[str, ...]:
        """Return the tasks that are named, or all.

        Raises:
            UnknownNameError: One is no task of the distribution.
        """
        for name in tasks:
            if name not in self.tasks:
                raise UnknownNameError(f"task of {self.folder}", name, self.tasks)
        return tuple(tasks) or self.tasks

    @classmethod
    def at(cls, folder: Path) -> Self:
        """Return the distribution of a folder.

        Raises:
            ClevrSkillsError: It has no tasks, or is not installed.
        """
        modules = [value.partition(":")[0] for value in entry_points_at(folder, "tasks").values()]
        if not modules:
            raise ClevrSkillsError(f'{folder / PROJECT} has no entry points of "{OWN}.tasks"')
        top = modules[0].partition(".")[0]
        keys = [
            key
            for entry in additions("tasks")
            if entry.module.partition(".")[0] == top
            for key in keys_of(entry)
        ]
        if not keys:
            raise ClevrSkillsError(
                f"{folder} is not installed; run: pip install --no-deps --no-build-isolation -e "
                f"{folder}"
            )
        source = folder / "src" if (folder / "src" / top).is_dir() else folder
        return cls(folder, source / top, tuple(keys))


def entry_points_at(folder: Path, kind: str) -> dict[str, str]:
    """Return the entry points of a kind in the ``pyproject.toml`` of a folder, by name.

    Raises:
        ClevrSkillsError: There is no such file, or it is damaged.
    """
    found = _project(folder).get("entry-points", {}).get(f"{OWN}.{kind}", {})
    return {str(name): str(value) for name, value in found.items()}


def project_name(folder: Path) -> str:
    """Return the name of the distribution of a folder.

    Raises:
        ClevrSkillsError: There is no ``pyproject.toml``, or it is damaged.
    """
    return str(_project(folder)["name"])


def _project(folder: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = tomllib.loads((folder / PROJECT).read_text("utf-8"))["project"]
        return {"name": found["name"], **found}
    except (OSError, ValueError, KeyError) as error:
        raise ClevrSkillsError(f"{folder / PROJECT} cannot be read: {one_line(error)}") from None


def episodes_of(defined: type) -> Path:
    """Return the folder of frozen episodes of the distribution that a class is of."""
    package = importlib.import_module(defined.__module__.partition(".")[0])
    return Path(package.__file__ or "").parent / EPISODES


def source(entry: EntryPoint) -> str:
    """Return the name of the distribution that an entry point is of."""
    return entry.dist.name if entry.dist else entry.value


def described(entry: EntryPoint) -> str:
    """Return an entry point in words, for errors."""
    return f"{entry.group.partition('.')[2]}: {entry.name} = {entry.value} of {source(entry)}"
