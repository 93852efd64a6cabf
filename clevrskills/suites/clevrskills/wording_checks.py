"""Checks of wordings: grammar, and phrases that identify their objects."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from clevrskills.errors import ClevrSkillsError
from clevrskills.sim.body import Body
from clevrskills.sim.prompt import Keystep, Prompt
from clevrskills.tasks import Layout, LayoutError, Task
from clevrskills.tasks.bank import STYLES, Wording

ATTEMPTS = 300
"""Maximum number of attempts to sample a layout."""
SEEN, HELD_OUT = 20, 10
"""Least numbers of seen and held-out wordings of a task."""
KEYSTEPS = (Keystep(()),) * 20
"""Stand-ins for the key-steps of any goal."""
PLURAL = re.compile(r"\b(?:objects|pair) with $")
"""Words before a texture of several objects."""
_PLACEHOLDER = re.compile(r"\{(obj|tex):(\w+)\}")
FAULTS = {
    "begins in lower case": re.compile(r"^[a-z]"),
    "no full stop": re.compile(r"[^.?!]$"),
    "blanks": re.compile(r"  | [,.;:?!]|^ | $"),
    "a word twice": re.compile(r"\b(\w+) \1\b"),
    "article": re.compile(
        r"\b(?:a (?!uni|one\b|use)[aeiou]|an (?!(?:[AEFHILMNORSX]\b|[aeiou]))|"
        r"(?:the|an?) (?:the|an?) )"
    ),
    "punctuation": re.compile(r"[.,;:?!]{2}|[{}]|\bNone (?!of)"),
    "no letter after a stop": re.compile(r"[.?!] (?![A-Z0-9])"),
}
"""Patterns of faults in sentences."""


def draw_layout(made: Task, seed: int, split: str) -> Layout:
    """Sample a layout without checking that its scene is fair.

    Raises:
        ClevrSkillsError: No layout fits.
    """
    for attempt in range(ATTEMPTS):
        try:
            return made.draw(seed, attempt, split)[0]
        except LayoutError:
            continue
    raise ClevrSkillsError(f"{made.key}, seed {seed}, split {split}: no layout")


def wording_faults(made: Task, layout: Layout) -> Iterator[str]:
    """Yield the faults of the wordings of a layout."""
    bodies = [body for body in layout.bodies if body and not body.ghost]
    shown = (*filter(None, layout.bodies), *layout.examples)
    for number, wording in enumerate(made.wordings(layout)):
        if wording.style not in STYLES:
            yield f"wording {number}: style {wording.style!r}"
        plain = Prompt(wording.text, shown, KEYSTEPS, names=(wording.names,)).plain()
        for fault, pattern in FAULTS.items():
            if pattern.search(plain):
                yield f"wording {number}: {fault}: {plain}"
        for fault in _mistakable(wording, bodies, shown):
            yield f"wording {number}: {fault}: {plain}"
        for body in layout.examples:
            if body.key == "thing" and f"{layout.words[0]} {{obj:thing}}" not in wording.text:
                yield f"wording {number}: it does not distinguish the twins: {plain}"


def _mistakable(wording: Wording, bodies: Sequence[Body], shown: Sequence[Body]) -> Iterator[str]:
    """Yield phrases that also fit another body of the scene."""

    def words(body: Body) -> set[str]:
        return set(body.called(wording.names, shown).split())

    by_key = {body.key: body for body in bodies}
    for match in _PLACEHOLDER.finditer(wording.text):
        kind, meant = match[1], by_key.get(match[2])
        if meant is None:  # only the prompt shows it
            continue
        if kind == "tex" and not meant.texture:
            yield f"{meant.key} has no texture"
        several = kind == "tex" and PLURAL.search(wording.text[: match.start()])
        phrase = meant.texture_called(wording.names, shown)
        named = words(meant) if kind == "obj" else set(phrase.split())
        fitting = [body.key for body in bodies if named <= words(body)]
        if (len(fitting) < 2) if several else (fitting != [meant.key]):
            yield f"{match[0]} fits {fitting}"
    for body in bodies:
        name = f"the {body.called(wording.names, shown)}"
        fitting = [other.key for other in bodies if words(body) <= words(other)]
        if re.search(rf"\b{re.escape(name)}\b", wording.text, re.IGNORECASE) and len(fitting) > 1:
            yield f"{name} fits {fitting}"
