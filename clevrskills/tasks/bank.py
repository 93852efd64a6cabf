"""Banks of wordings: sentences for a task in three styles, some of them held out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, zip_longest
from typing import Any

from clevrskills.assets.names import HELD_OUT_NAMES, SEEN_NAMES
from clevrskills.core.goal.predicate import Predicate
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.sim.body import Body
from clevrskills.tasks.layout import Layout
from clevrskills.tasks.leaf_slots import leaf_slots

STYLES = ("terse", "plain", "elaborate")
"""Styles of wordings: minimal; natural; with a reason or context."""

FORMS = ("words", "texture")
"""Formats of a body in a sentence, see :class:`WordingSet`."""

Fields = Mapping[str, "str | Body"]
"""Values of the slots of a sentence."""


@dataclass(frozen=True)
class Wording:
    """Wording of a prompt."""

    text: str  # template with ``{obj:key}``, ``{tex:key}`` and ``{ks:k}`` placeholders
    style: str = "plain"  # one of :data:`STYLES`
    held_out: bool = False  # whether it is held out for testing
    names: int = 0  # set of names of its objects, see :mod:`clevrskills.assets.names`


@dataclass(frozen=True)
class Sentences:
    """Sentences by style, one per line; a backslash continues a line."""

    terse: str = ""
    plain: str = ""
    elaborate: str = ""

    def alternating(self) -> list[tuple[str, str]]:
        """Return styles and sentences, the styles taking turns."""
        by_style = [
            [(style, " ".join(line.split())) for line in getattr(self, style).strip().splitlines()]
            for style in STYLES
        ]
        return [entry for entry in chain(*zip_longest(*by_style)) if entry and entry[1]]


@dataclass(frozen=True)
class WordingSet:
    """Sentences of a task with slots in braces for words and bodies.

    A body ``{object}`` is an image, or its name in text-only prompts; ``{object:words}`` is always
    its name, and ``{object:texture}`` its texture. Words of relation, direction, order and count
    are in braces too, as in ``Put {top} {on} {bottom}``. The goal must contain them.

    Attributes:
        paper: The paper's sentence, wording 0.
        seen: Sentences for any prompt.
        held_out: Sentences held out for testing.
        leaves: Sources of the slots filled by the leaves of the goal, see
            :func:`~clevrskills.tasks.leaf_slots.leaf_slots`; the task fills the others.
    """

    paper: str
    seen: Sentences = field(default_factory=Sentences)
    held_out: Sentences = field(default_factory=Sentences)
    leaves: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def sentences(self) -> list[tuple[str, str, bool]]:
        """Return style, sentence and whether it is held out, the seen ones first."""
        seen = [("plain", self.paper), *self.seen.alternating()]
        return [
            *((style, text, False) for style, text in seen),
            *((style, text, True) for style, text in self.held_out.alternating()),
        ]

    def count(self) -> dict[str, int]:
        """Return the numbers of seen and held-out sentences."""
        held_out = sum(is_held_out for *_, is_held_out in self.sentences())
        return {"seen": len(self.sentences()) - held_out, "held_out": held_out}

    @cached_property
    def templates(self) -> tuple[Wording, ...]:
        """Wordings with empty slots."""
        found = []
        for number, (style, text, held_out) in enumerate(self.sentences()):
            sets = HELD_OUT_NAMES if held_out else SEEN_NAMES
            names = sets[number // len(STYLES) % len(sets)]
            found.append(Wording(text, style, held_out, names))
        return tuple(found)

    def wordings(self, fields: Fields, layout: Layout, goal: Predicate) -> list[Wording]:
        """Return the wordings of an episode.

        Args:
            fields: Values of the slots filled by the task.
            layout: The scene.
            goal: The goal, B = 1, which fills the other slots.

        Raises:
            UnknownNameError: A leaf lacks the source of a slot.
            ClevrSkillsError: A slot has no value.
        """
        bodies = [*filter(None, layout.bodies), *layout.examples]
        filled = {**leaf_slots(self.leaves, goal, layout), **fields}
        bodies_by_slot = {name: value for name, value in filled.items() if isinstance(value, Body)}
        by_names = {
            names: _Filled(
                filled
                | {name: _NamedBody(body, names, bodies) for name, body in bodies_by_slot.items()}
            )
            for names in dict.fromkeys(one.names for one in self.templates)
        }
        wordings: list[Wording] = []
        for one in self.templates:
            try:
                text = one.text.format_map(by_names[one.names])
            except KeyError as error:
                raise ClevrSkillsError(f"slot {error} has no value: {one.text}") from None
            text = text[:1].upper() + text[1:]
            wordings.append(Wording(text, one.style, one.held_out, one.names))
        return wordings


class _Filled(dict[str, Any]):
    """Values of slots; ``{On}`` is ``{on}`` with a capital."""

    def __missing__(self, name: str) -> str:
        lower = name[:1].lower() + name[1:]
        if lower not in self:
            raise KeyError(name)
        words = str(self[lower])
        return words[:1].upper() + words[1:]


@dataclass(frozen=True)
class _NamedBody:
    """A body in a sentence."""

    body: Body
    names: int
    among: Sequence[Body]

    def __format__(self, spec: str) -> str:
        key = self.body.key
        if spec and spec not in FORMS:
            raise UnknownNameError("form of a body", spec, FORMS)
        if spec == "words":
            return f"the {self._called}"
        return f"{{tex:{key}}}" if spec == "texture" else f"{{obj:{key}}}"

    @cached_property
    def _called(self) -> str:
        return self.body.called(self.names, self.among)


def choose_wording(
    key: str, wordings: Sequence[Wording], index: int | None, style: str | None
) -> list[int]:
    """Return the indices of the requested wording, or of all seen wordings of a style.

    Args:
        key: Key of the task.
        wordings: Its wordings, the seen ones first.
        index: Index of the wording; ``None``: any seen one.
        style: Style of the wording; ``None``: any.

    Raises:
        ClevrSkillsError: There is no such wording.
    """
    if index is not None and style is not None:
        raise ClevrSkillsError("prompt_index and prompt_style exclude each other: give one")
    if index is not None:
        if not 0 <= index < len(wordings):
            raise ClevrSkillsError(f"prompt {index} of {key}; allowed: 0 to {len(wordings) - 1}")
        return [index]
    styles = [w.style for w in wordings if not w.held_out]
    if style is not None and style not in styles:
        raise UnknownNameError(f"prompt_style of {key}", style, [s for s in STYLES if s in styles])
    return [k for k, of in enumerate(styles) if style in (None, of)]
