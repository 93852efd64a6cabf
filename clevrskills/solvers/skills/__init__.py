"""Skills: solvers of predicates, one file for each kind."""

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import Any

from clevrskills import additions
from clevrskills.core.registry import check_new, load_modules
from clevrskills.predicates import Predicate
from clevrskills.solvers.motion import Actions, Arm, SkillFailed

__all__ = ["solves"]

Skill = Callable[[Arm, Any], Actions]
"""Generator of actions for a predicate; raises :class:`SkillFailed` with the reason."""
_SKILLS: dict[type[Predicate], Skill] = {}


def solves(predicate: type[Predicate]) -> Callable[[Skill], Skill]:
    """Register a skill for a type of predicate and its subclasses."""

    def register(skill: Skill) -> Skill:
        check_new("skill for", predicate.name, _SKILLS.get(predicate), skill)
        _SKILLS[predicate] = skill
        return skill

    return register


def skill_for(predicate: Predicate) -> Skill:
    """Return the skill for a predicate.

    Raises:
        SkillFailed: There is none.
        ClevrSkillsError: A skill of another distribution cannot be imported or exists already.
    """
    _load_all()
    for kind in type(predicate).__mro__:
        if kind in _SKILLS:
            return _SKILLS[kind]
    raise SkillFailed(f"no skill for {predicate.name}")


@cache
def _load_all() -> None:
    """Import the skills of the package, then those of other distributions."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    for entry in additions("skills"):
        load_modules(entry)
