"""Base of tasks: layout, goal and prompts."""

from __future__ import annotations

import importlib
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from clevrskills import additions, env_id
from clevrskills.assets import SPLITS
from clevrskills.core.registry import check_new, described, is_own, load, load_modules
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.predicates import Outcome, Predicate
from clevrskills.sim.robots.description import other_robots
from clevrskills.sim.setting import TABLETOP, Setting
from clevrskills.tasks.arguments import Count, allowed_arguments
from clevrskills.tasks.bank import Fields, Wording, WordingSet
from clevrskills.tasks.bank_files import read_banks
from clevrskills.tasks.layout import EpisodeRng, Layout, LayoutError

LEVELS = ("L0", "L1", "L2")
"""Levels of tasks: skills, compositions, compositions of compositions."""

BASIC_SPLITS = ("train", "val", "test", "paper_test")
"""Splits that every task has."""
LAYOUTS = 100
"""Maximum number of sampled layouts to count the wordings of a task without a bank."""

_TASKS: dict[str, type[Task]] = {}


@dataclass(kw_only=True, eq=False)
class Task(ABC):
    """Task: scene layout, goal and prompts.

    A task is one file in ``clevrskills/tasks``. Its fields, made with
    :func:`~clevrskills.tasks.arguments.count`, :func:`~clevrskills.tasks.arguments.choice` and
    :func:`~clevrskills.tasks.arguments.switch`, are its arguments.

    Args:
        variant: Assignment of roles to bodies in the same scene; 0 is that of the sampled scene.

    Attributes:
        key: Name of the task, e.g. ``sort``.
        suite: Name of its suite, which imports it.
        level: ``L0``, ``L1`` or ``L2``.
        sentence: Description of its goal in tables of tasks.
        predicates: Predicate types of its goal, each once, in the order of the tree.
        slots: Keys of the body slots; a layout may leave some empty.
        parts: Roles that name slots. Bodies are shuffled among the slots of their kind, so that
            their order does not reveal their roles.
        composition: Its compositional splits except ``counts``.
        count_argument: Argument that the split ``counts`` increases by one; empty: no such split.
        extra_slot: Key of the additional slot for this.
        max_steps: Step limit.
        robots: Robots that can do the task.
        shows_robot: Whether images of key-steps show the arm.
        setting: Cameras, table and workspace.
        bank_folder: Folder of the suite's banks of wordings.

    Raises:
        ClevrSkillsError: An argument is not allowed.
    """

    key: ClassVar[str]
    suite: ClassVar[str] = "clevrskills"
    level: ClassVar[str]
    sentence: ClassVar[str]
    predicates: ClassVar[tuple[type[Predicate], ...]] = ()
    slots: ClassVar[tuple[str, ...]]
    parts: ClassVar[tuple[str, ...]] = ()
    composition: ClassVar[tuple[str, ...]] = ()
    count_argument: ClassVar[str] = ""
    extra_slot: ClassVar[str] = ""
    max_steps: ClassVar[int] = 300
    robots: ClassVar[tuple[str, ...]] = ("xarm6", "panda")
    shows_robot: ClassVar[bool] = False
    setting: ClassVar[Setting] = TABLETOP
    bank_folder: ClassVar[Path] = Path(__file__).parent / "wordings"

    variant: int = 0

    def __post_init__(self) -> None:
        for name, allowed in allowed_arguments(self).items():
            setattr(self, name, allowed.read(f"{self.key}: {name}", getattr(self, name)))
        if not isinstance(self.variant, int) or self.variant < 0:
            raise ClevrSkillsError(f"{self.key}: variant={self.variant!r}; allowed: 0, 1, 2, ...")
        if self.extra_slot and getattr(self, self.count_argument)[1] > self._usual_count()[1]:
            kind = self.extra_slot.rpartition("_")[0]
            end = 1 + max(k for k, slot in enumerate(self.slots) if slot.startswith(kind))
            vars(self)["slots"] = (*self.slots[:end], self.extra_slot, *self.slots[end:])

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "key" in cls.__dict__:
            if cls.suite == Task.suite and cls.level not in LEVELS:
                raise UnknownNameError("level", cls.level, LEVELS)
            check_new("task", cls.key, _TASKS.get(cls.key), cls)
            _TASKS[cls.key] = cls

    @property
    def package(self) -> str:
        """Name of its package."""
        return type(self).__module__.partition(".")[0]

    @property
    def bank(self) -> WordingSet | None:
        """Bank of wordings with its key or that of a base class; ``None`` for a task with its own
        :meth:`prompts`.

        Raises:
            ClevrSkillsError: A file of banks is invalid.
        """
        banks = read_banks(self.bank_folder)
        keys = (vars(cls).get("key", "") for cls in type(self).__mro__)
        return next((banks[key] for key in keys if key in banks), None)

    @property
    def all_robots(self) -> tuple[str, ...]:
        """Robots that can do the task, including those of other distributions."""
        return (*self.robots, *other_robots())

    @classmethod
    def splits(cls) -> tuple[str, ...]:
        """Return the names of its splits."""
        own = (*BASIC_SPLITS, *cls.composition, *(("counts",) if cls.count_argument else ()))
        return tuple(name for name in SPLITS if name in own)

    def in_split(self, name: str) -> Self:
        """Return the task of a split: ``counts`` has one more object, area or visit, unless an
        argument gives their number.

        Raises:
            UnknownNameError: The task has no such split.
        """
        if name not in self.splits():
            raise UnknownNameError(f"split of {self.key}", name, self.splits())
        if not SPLITS[name].one_more or getattr(self, self.count_argument) != self._usual_count():
            return self
        return replace(self, **{self.count_argument: self._usual_count()[1] + 1})

    def _usual_count(self) -> Count:
        """Return the default range of the count argument."""
        defaults: dict[str, Any] = {f.name: f.default for f in fields(self)}
        low, high = defaults[self.count_argument]
        return low, high

    def rng(self, seed: int, attempt: int, split: str) -> EpisodeRng:
        """Return the random generators of an episode for an attempt to sample its layout."""
        return EpisodeRng(seed, self.key, attempt, split, self.variant, self.package, self.setting)

    def draw(self, seed: int, attempt: int, split: str) -> tuple[Layout, EpisodeRng]:
        """Sample the layout of an episode; returns also the generators for further choices.

        Raises:
            LayoutError: The layout does not fit on the table; the next attempt may.
        """
        rng = self.rng(seed, attempt, split)
        layout = self.layout(rng)
        return layout.shuffled(self.parts, rng.order) if self.parts else layout, rng

    @abstractmethod
    def layout(self, rng: EpisodeRng) -> Layout:
        """Sample the scene of one environment.

        Raises:
            LayoutError: The layout does not fit on the table; the caller samples again.
        """

    @abstractmethod
    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        """Return the goal of ``B`` environments from their stacked roles, each (B, ...)."""

    def prompts(self, layout: Layout) -> Sequence[str]:
        """Return the prompts: templates with ``{obj:key}``, ``{tex:key}`` and ``{ks:k}``
        placeholders, by default the seen wordings of the :attr:`bank`.

        Key-step ``k`` is the scene after the ``k``-th step of the goal; 0 is the initial scene.
        """
        return [wording.text for wording in self.wordings(layout) if not wording.held_out]

    def wordings(self, layout: Layout, goal: Predicate | None = None) -> Sequence[Wording]:
        """Return all wordings for a layout and its goal, the held-out ones last."""
        if self.bank is not None:
            goal = goal or self.goal(stack_roles([layout]))
            return self.bank.wordings(self.fields(layout), layout, goal)
        if type(self).prompts is Task.prompts:
            raise NotImplementedError(f"{self.key} has neither prompts nor a bank of wordings")
        return [Wording(text) for text in self.prompts(layout)]

    def fields(self, layout: Layout) -> Fields:
        """Return the values of slots that the goal does not fill, such as invented words."""
        del layout
        return {}

    def textures(self, layout: Layout, outcome: Outcome, env: int = 0) -> Mapping[str, str]:
        """Return the textures of slots that currently differ from those of the layout, such as
        those of goals already reached.
        """
        del layout, outcome, env
        return {}

    def describe(self) -> dict[str, Any]:
        """Return the description of the task as JSON data."""
        return {
            "key": self.key,
            "level": self.level,
            "id": env_id(self.key),
            "sentence": self.sentence,
            "predicates": [predicate.name for predicate in self.predicates],
            "max_steps": self.max_steps,
            "robots": list(self.robots),
            "splits": list(self.splits()),
            "arguments": {
                name: {"default": _plain(getattr(self, name)), "allowed": str(allowed)}
                for name, allowed in allowed_arguments(self).items()
            },
            "wordings": self.count_wordings(),
        }

    def count_wordings(self) -> dict[str, int]:
        """Return the numbers of seen and held-out wordings."""
        if self.bank is not None:
            return self.bank.count()
        for attempt in range(LAYOUTS):
            try:
                layout = self.layout(self.rng(0, attempt, "train"))
            except LayoutError:
                continue
            held_out = [wording.held_out for wording in self.wordings(layout)]
            return {"seen": held_out.count(False), "held_out": held_out.count(True)}
        return {"seen": 0, "held_out": 0}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def stack_roles(layouts: Sequence[Layout], device: torch.device | str = "cpu") -> dict[str, Tensor]:
    """Stack the roles of B layouts to tensors (B, ...), floats as float32."""
    stacked = {}
    for name in layouts[0].roles:
        array = np.stack([np.asarray(layout.roles[name]) for layout in layouts])
        kind = torch.float32 if array.dtype.kind == "f" else None
        stacked[name] = torch.as_tensor(array, dtype=kind, device=device)
    return stacked


def tasks() -> dict[str, type[Task]]:
    """Return the tasks of the ClevrSkills suite by key, in order of levels, those of this package
    before those of other distributions.

    Raises:
        ClevrSkillsError: A task of another distribution cannot be imported, or its key is taken.
    """
    _load()
    ours = {key: cls for key, cls in _TASKS.items() if cls.suite == Task.suite}
    order = {key: (not is_own(cls), cls.level, key) for key, cls in ours.items()}
    return {key: ours[key] for key in sorted(ours, key=order.__getitem__)}


@cache
def _load() -> None:
    for level in LEVELS:
        package = importlib.import_module(f"clevrskills.tasks.{level.lower()}")
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{package.__name__}.{module.name}")
    for entry in additions("tasks"):
        if entry.attr:
            named = {entry.name: load(entry)}
        else:
            package, *modules = load_modules(entry)
            keys = [module.__name__.rpartition(".")[2] for module in modules]
            named = {key: _TASKS.get(key) for key in keys if hasattr(package, "__path__")}
        for key, cls in named.items():
            if not (isinstance(cls, type) and issubclass(cls, Task)) or _TASKS.get(key) != cls:
                raise ClevrSkillsError(
                    f"{described(entry)}: {key!r} is not a task; name the entry point or, in a "
                    "package of tasks, the file after its key; names of other files begin with _"
                )


def task(key: str, **arguments: Any) -> Task:
    """Make a task of this suite, or of another one whose tasks are imported.

    Args:
        key: Key of the task.
        arguments: Its arguments, such as ``num_objects=3`` or ``num_objects=(2, 3)``.

    Raises:
        UnknownNameError: There is no such task or argument.
        ClevrSkillsError: The value of an argument is not allowed.
    """
    _load()
    kind = _TASKS.get(key)
    if kind is None:
        raise UnknownNameError("task", key, tuple(tasks()))
    names = ("variant", *allowed_arguments(kind))
    for name in arguments:
        if name not in names:
            raise UnknownNameError(f"argument of {key}", name, names)
    return kind(**arguments)
