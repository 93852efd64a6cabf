"""Slots of wordings filled by the leaves of a goal: objects, angles, counts, lists of steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from clevrskills.assets.tables import check_table
from clevrskills.core.goal.predicate import Leaf, Predicate
from clevrskills.core.goal.tree import nodes
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.predicates.physical import PhysicalPredicate
from clevrskills.sim.body import Body
from clevrskills.tasks.layout import Layout

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
"""Small numbers in words."""
COUNTS = {1: ("single",), 2: ("both", "pair")}
"""Further words that state a count."""
BODY_FORMS = ("color", "name", "texture")
"""Formats of a body that are the same in all sets of names."""
_TABLE = dict.fromkeys(("each", "first", "between", "last", "one", "several"), str)
_TABLE["reverse"] = bool  # type: ignore[assignment]


def listed(parts: Sequence[str], separator: str = ", ", last: str = " and ") -> str:
    """Join parts to a list such as ``A, B and C``."""
    return last.join(filter(None, (separator.join(parts[:-1]), parts[-1])))


def check_source(where: str, source: Any) -> None:
    """Check the source of a slot, see :func:`leaf_slots`.

    Raises:
        ClevrSkillsError: The source is invalid.
    """
    if isinstance(source, str):
        return
    check_table(where, source, _TABLE, optional=_TABLE)
    if "each" not in source and not {"one", "several"} <= source.keys():
        raise ClevrSkillsError(f"{where} must have the entry each, or one and several")


def leaf_slots(
    sources: Mapping[str, Any], goal: Predicate, layout: Layout
) -> dict[str, str | Body]:
    """Return the words of a goal, B = 1, and the values of the slots that its leaves fill.

    Leaves are those of the environment, in order. Lists and counts include those with the type of
    the first one.

    Args:
        sources: Source of each slot, as in the table ``leaves`` of a bank:

            - ``attribute``: body or phrase (:meth:`~clevrskills.core.goal.predicate.Leaf.phrases`)
              of the first leaf with this attribute; ``2.attribute`` and ``-1.attribute``: of a leaf
              by index; ``attribute.0``: one of several bodies; ``attribute.count``: their number;
              ``attribute:color``: with a format of :data:`BODY_FORMS`;
            - ``count``: number of leaves in words;
            - ``keystep``: image of the scene after the last of them;
            - a table: ``each``, a template for each leaf with the slots above and ``keystep``;
              ``first``, a template for the first leaf in front of them; the separators ``between``,
              by default ``, ``, and ``last``, by default ``between`` or `` and ``; ``reverse`` for
              the reverse order;
            - a table of ``one`` and ``several``, selected by the number of leaves.
        goal: The goal.
        layout: The scene.

    Raises:
        UnknownNameError: A leaf has no such attribute.
    """
    used = [node.predicate for node in nodes(goal) if node.active]
    leaves = used_leaves(goal)
    scene = _SlotScene(leaves, layout, _words(used, leaves))
    return {**scene.words, **{name: scene.filled(source) for name, source in sources.items()}}


def used_leaves(goal: Predicate) -> list[Leaf]:
    """Return the leaves of a goal that environment 0 uses, in order."""
    used = [node.predicate for node in nodes(goal) if node.active]
    return [predicate for predicate in used if isinstance(predicate, Leaf)]


def _words(used: Sequence[Predicate], leaves: Sequence[Leaf]) -> dict[str, str]:
    """Return the goal words of the predicates, and the words of their counts."""
    words = [word for predicate in used for word in predicate.goal_words]
    bodies = {slot for leaf in leaves for name in _bodies(leaf) for slot in _slots(leaf, name)}
    counts = {len(leaves), len(_alike(leaves)), len(bodies)}
    words += [word for n in counts for word in (NUMBERS[n : n + 1] + COUNTS.get(n, ()))]
    return {word: word for word in words}


def _alike(leaves: Sequence[Leaf]) -> list[Leaf]:
    return [leaf for leaf in leaves if type(leaf) is type(leaves[0])]


def _bodies(leaf: Leaf) -> Sequence[str]:
    return leaf.bodies() if isinstance(leaf, PhysicalPredicate) else ()


def _slots(leaf: Leaf, name: str) -> list[int]:
    values: Tensor = getattr(leaf, name)
    return [slot for slot in values[0].reshape(-1).tolist() if slot >= 0]


@dataclass(frozen=True)
class _SlotScene:
    """Leaves of a goal, their scene, and the words of the goal."""

    leaves: Sequence[Leaf]
    layout: Layout
    words: Mapping[str, str]

    def filled(self, source: Any) -> str | Body:
        alike = _alike(self.leaves)
        if source == "count":
            return NUMBERS[len(alike)]
        if source == "keystep":
            return f"{{ks:{len(alike)}}}"
        if isinstance(source, str):
            path, _, form = source.partition(":")
            number, _, name = path.partition(".")
            if number.lstrip("-").isdigit():
                found = self.part(name, self.leaves[int(number)])
            else:
                found = self.part(path, *self.leaves)
            return format(_SlotValue(found), form) if form and isinstance(found, Body) else found
        if "one" in source:
            return str(source["one" if len(alike) == 1 else "several"])
        of = [_Parts(self, leaf, k) for k, leaf in enumerate((alike[0], *alike))]
        parts = [source["each"].format_map(part) for part in of[1:]]
        if "first" in source:
            parts.insert(0, source["first"].format_map(of[0]))
        if source.get("reverse"):
            parts.reverse()
        between = source.get("between", ", ")
        last = source.get("last", source.get("between", " and "))
        return listed(parts, *(text.format_map(self.words) for text in (between, last)))

    def part(self, path: str, *leaves: Leaf) -> str | Body:
        """Return a body or phrase of the first leaf that has it."""
        name, _, which = path.partition(".")
        for leaf in leaves:
            if name in (words := leaf.phrases()):
                return words[name]
            if name in _bodies(leaf):
                slots = _slots(leaf, name)
                if which == "count":
                    return NUMBERS[len(slots)]
                return self.layout.slot(slots[int(which or 0)])
        known = {name for leaf in leaves for name in (*leaf.phrases(), *_bodies(leaf))}
        raise UnknownNameError("attribute of a leaf", name, sorted(known))


@dataclass(frozen=True)
class _Parts:
    """Values of a template's slots for a leaf and its key-step."""

    scene: _SlotScene
    leaf: Leaf
    keystep: int

    def __getitem__(self, name: str) -> str | _SlotValue:
        if name == "keystep":
            return f"{{ks:{self.keystep}}}"
        if name in self.scene.words and name not in _bodies(self.leaf):
            return name
        found = self.scene.part(name, self.leaf)
        return _SlotValue(found) if isinstance(found, Body) else found


@dataclass(frozen=True)
class _SlotValue:
    """A body in a template."""

    body: Body

    def __format__(self, form: str) -> str:
        if form not in ("", *BODY_FORMS):
            raise UnknownNameError("form of a body", form, BODY_FORMS)
        if form in ("color", "name"):
            return str(getattr(self.body, form))
        return f"{{{'tex' if form else 'obj'}:{self.body.key}}}"
