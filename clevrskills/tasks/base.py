"""What a task is: a layout, a goal, prompts."""

from __future__ import annotations

import importlib
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from clevrskills import env_id
from clevrskills.errors import UnknownNameError
from clevrskills.predicates import Predicate
from clevrskills.tasks.layout import Draw, Layout, LayoutError

LEVELS = ("L0", "L1", "L2")

_TASKS: dict[str, type[Task]] = {}


class Task(ABC):
    """A task: what is on the table, what is to be achieved, how it is said.

    A task is one file below ``clevrskills/tasks``; nothing else is edited. Class attributes:

    Attributes:
        key: Name of the task, e.g. ``sort``.
        level: ``L0``, ``L1`` or ``L2``.
        sentence: What it asks for, in words, for tables of tasks.
        slots: Keys of the body slots; a layout fills them or leaves them empty.
        max_steps: Control steps after which an episode is cut off.
    """

    key: ClassVar[str]
    level: ClassVar[str]
    sentence: ClassVar[str]
    slots: ClassVar[tuple[str, ...]]
    max_steps: ClassVar[int] = 300

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "key" in cls.__dict__:
            if cls.level not in LEVELS:
                raise UnknownNameError("level", cls.level, LEVELS)
            _TASKS[cls.key] = cls

    @abstractmethod
    def layout(self, draw: Draw) -> Layout:
        """Draw one environment's scene.

        Raises:
            LayoutError: The draw does not fit on the table; the caller draws again.
        """

    @abstractmethod
    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        """The goal of ``B`` environments from their stacked roles, each (B, ...)."""

    @abstractmethod
    def prompts(self, layout: Layout) -> Sequence[str]:
        """The ways to say it: templates with ``{obj:key}``, ``{tex:key}`` and ``{ks:k}``
        placeholders.

        Key-step ``k`` is the scene after the ``k``-th part of the goal, from 1; 0 is the scene at
        the start.
        """

    def describe(self) -> dict[str, Any]:
        """The task as JSON data: key, level, Gymnasium id, sentence, types of its predicates."""
        layout = next(filter(None, (self._attempt(i) for i in range(100))))
        goal = self.goal(stack_roles([layout]))
        return {
            "key": self.key,
            "level": self.level,
            "id": env_id(self.key),
            "sentence": self.sentence,
            "predicates": list(dict.fromkeys(_names(goal.to_json()))),
            "max_steps": self.max_steps,
        }

    def _attempt(self, index: int) -> Layout | None:
        try:
            return self.layout(Draw(0, self.key, index, "train"))
        except LayoutError:
            return None


def _names(goal: Mapping[str, Any]) -> Iterator[str]:
    """Types of a goal tree in JSON form."""
    yield goal["predicate"]
    for part in [*goal.get("children", []), *([goal["child"]] if "child" in goal else [])]:
        yield from _names(part)


def stack_roles(layouts: Sequence[Layout], device: torch.device | str = "cpu") -> dict[str, Tensor]:
    """Stack the roles of B layouts to tensors (B, ...); floats become float32."""
    stacked = {}
    for name in layouts[0].roles:
        array = np.stack([np.asarray(layout.roles[name]) for layout in layouts])
        kind = torch.float32 if array.dtype.kind == "f" else None
        stacked[name] = torch.as_tensor(array, dtype=kind, device=device)
    return stacked


def tasks() -> dict[str, type[Task]]:
    """All tasks by key, level by level; every module below ``clevrskills.tasks`` is looked at."""
    for level in LEVELS:
        package = importlib.import_module(f"clevrskills.tasks.{level.lower()}")
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{package.__name__}.{module.name}")
    return dict(sorted(_TASKS.items(), key=lambda item: (item[1].level, item[0])))


def task(key: str) -> Task:
    """Make a task.

    Raises:
        UnknownNameError: No task has this key.
    """
    known = tasks()
    if key not in known:
        raise UnknownNameError("task", key, tuple(known))
    return known[key]()
