"""Registry of the entry points by which other distributions extend the package.

The groups are ``clevrskills.<kind>``:

==============  ====================================  ============================================
kind            entry                                 value
==============  ====================================  ============================================
``tasks``       ``key = "package.module:Class"``      a task; or a package with one task per file:
                                                      ``own = "package.tasks"``
``predicates``  ``own = "package.predicates"``        a module or a package of modules
``skills``      ``own = "package.skills"``            the same
``suites``      ``name = "package.module:Class"``     a suite
``robots``      ``name = "package.module:ROBOT"``     a ``RobotDescription``
``objects``     ``name = "package.module:function"``  a function that returns a ``Solid``, an
                                                      ``Item`` or the path of a GLB or URDF file
``textures``    ``name = "package.module:function"``  a function that returns an image or its path
``cameras``     ``name = "package.module:CAMERA"``    a ``FixedCamera``
``policies``    ``name = "package.module:Class"``     a policy
==============  ====================================  ============================================

and ``learned_policies`` for ``train --policy NAME``, ``name = "package.module:Class"``.
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
"""Name of this package and of its distribution."""
PROJECT = "pyproject.toml"
EPISODES = "episodes"
"""Folder of frozen episodes in the package of a distribution."""


def others(kind: str, own: Container[str]) -> dict[str, EntryPoint]:
    """Return the entry points of other distributions by name.

    Args:
        kind: ``suites``, ``robots``, ``cameras``, ``policies`` or ``learned_policies``.
        own: Names used by this package.

    Raises:
        NameTakenError: A name is used twice.
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
    """Import the value of an entry point.

    Args:
        entry: The entry point.
        kind: Required type.

    Raises:
        ClevrSkillsError: The value cannot be imported, or has another type.
    """
    with errors_in(described(entry)):
        found = entry.load()
    if kind is not None and not isinstance(found, kind):
        raise ClevrSkillsError(
            f"{described(entry)} is of type {type(found).__name__}; allowed: {kind.__name__}"
        )
    return found


def load_modules(entry: EntryPoint) -> list[ModuleType]:
    """Import the module of an entry point, or the public modules of its package.

    Raises:
        ClevrSkillsError: A module cannot be imported.
    """
    with errors_in(described(entry)):
        first = importlib.import_module(entry.module)
        return [first, *map(importlib.import_module, modules_in(first))]


def modules_in(package: ModuleType) -> Iterator[str]:
    """Yield the names of a package's modules that do not begin with an underscore."""
    for module in pkgutil.iter_modules(getattr(package, "__path__", ())):
        if not module.name.startswith("_"):
            yield f"{package.__name__}.{module.name}"


def is_own(defined: Any) -> bool:
    """Return whether a class or a function is defined in this package."""
    return str(defined.__module__).partition(".")[0] == OWN


def check_new(kind: str, name: str, known: Any, defined: Any) -> None:
    """Check that a name is free; the same class or function may be defined again.

    Raises:
        NameTakenError: The name is used by another one.
    """
    if known is not None and _path(known) != _path(defined):
        first, second = (defined, known) if is_own(defined) else (known, defined)
        raise NameTakenError(kind, name, _path(first), _path(second))


def _path(defined: Any) -> str:
    return f"{defined.__module__}.{defined.__qualname__}"


@dataclass(frozen=True)
class OwnDistribution:
    """Source folder of a distribution with tasks."""

    folder: Path  # folder of its ``pyproject.toml``
    package: Path  # folder of its package
    tasks: tuple[str, ...]  # keys of its tasks

    @property
    def episodes(self) -> Path:
        """Folder of its frozen episodes."""
        return self.package / EPISODES

    def select(self, tasks: Sequence[str]) -> tuple[str, ...]:
        """Return the given tasks, or all if none are given.

        Raises:
            UnknownNameError: The distribution has no such task.
        """
        for name in tasks:
            if name not in self.tasks:
                raise UnknownNameError(f"task of {self.folder}", name, self.tasks)
        return tuple(tasks) or self.tasks

    @classmethod
    def at(cls, folder: Path) -> Self:
        """Return the distribution in a folder.

        Raises:
            ClevrSkillsError: The distribution has no tasks or is not installed.
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
    """Return the entry points of a kind in a folder's ``pyproject.toml``, by name.

    Raises:
        ClevrSkillsError: The file is missing or damaged.
    """
    found = _project(folder).get("entry-points", {}).get(f"{OWN}.{kind}", {})
    return {str(name): str(value) for name, value in found.items()}


def project_name(folder: Path) -> str:
    """Return the name of the distribution in a folder.

    Raises:
        ClevrSkillsError: ``pyproject.toml`` is missing or damaged.
    """
    return str(_project(folder)["name"])


def _project(folder: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = tomllib.loads((folder / PROJECT).read_text("utf-8"))["project"]
        return {"name": found["name"], **found}
    except (OSError, ValueError, KeyError) as error:
        raise ClevrSkillsError(f"{folder / PROJECT} cannot be read: {one_line(error)}") from None


def episodes_of(defined: type) -> Path:
    """Return the folder of frozen episodes of a class's distribution."""
    package = importlib.import_module(defined.__module__.partition(".")[0])
    return Path(package.__file__ or "").parent / EPISODES


def source(entry: EntryPoint) -> str:
    """Return the name of an entry point's distribution."""
    return entry.dist.name if entry.dist else entry.value


def described(entry: EntryPoint) -> str:
    """Return a description of an entry point for errors."""
    return f"{entry.group.partition('.')[2]}: {entry.name} = {entry.value} of {source(entry)}"
