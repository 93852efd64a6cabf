"""Grammar of instructions in words: what to pick up, and where to place it.

Pick up the [smaller|bigger] {color} {block|box} [hidden|on the {area}|on the top] and place it on
the [smaller|bigger] {color} {block|box|bowl|zone}, the {area}, the {side} of the {color} block, or
the free area. Or: done.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from clevrskills.suites.lohoravens.palette import ALL_COLORS
from clevrskills.suites.lohoravens.things import AREAS, KINDS, SAME_COLORS, SIDES

DONE_COMMAND = "done"
FREE_AREA = "free area"
SIZES = ("smaller", "bigger")
HIDDEN, ON_TOP = "hidden", "top"
FORMS = (
    "pick up the [smaller|bigger] {color} {block|box} [hidden|on the {area}|on the top] and place "
    "it on the [smaller|bigger] {color} {block|box|bowl|zone}",
    "pick up the … and place it on the {area} area",
    "pick up the … and place it on the {left|right|top|bottom} side of the {color} block",
    "pick up the … and place it on the free area",
    DONE_COMMAND,
)
"""The forms of instructions."""
_AREA = "|".join(AREAS)
_OBJECT = (
    r"(?:(?P<{0}size>smaller|bigger) )?(?P<{0}color>[a-z]+) (?P<{0}kind>" + "|".join(KINDS) + ")"
)
_PICK = _OBJECT.format("pick_") + (
    rf"(?: (?:(?P<hidden>hidden)|(?:on|in|from) the (?:(?P<at>{_AREA})(?: area)?|(?P<top>top))))?"
)
_PLACE = (
    rf"(?P<free>free area)|(?P<area>{_AREA})(?: area)?"
    rf"|(?P<side>{'|'.join(SIDES)})(?: side)? of the (?P<of>[a-z]+) (?:block|box)"
    rf"|{_OBJECT.format('place_')}"
)
_SENTENCE = re.compile(
    rf"pick up the {_PICK} and (?:place|put) it (?:on|in|into|onto|to) the (?:{_PLACE})"
)


@dataclass(frozen=True)
class Phrase:
    """Words that stand for things.

    Attributes:
        color: Their colour.
        kind: What they are.
        size: ``smaller``, ``bigger`` or empty: any.
        at: Where they are: an area, ``hidden``, ``top``, or empty: anywhere.
    """

    color: str
    kind: str
    size: str = ""
    at: str = ""

    def __str__(self) -> str:
        where = {"": "", HIDDEN: " that is hidden", ON_TOP: " on the top"}
        at = where.get(self.at, f" on the {self.at} area")
        return " ".join(filter(None, (self.size, self.color, self.kind))) + at


@dataclass(frozen=True)
class Spot:
    """Words that stand for a place of the table.

    Attributes:
        area: An area, or ``free area``; empty: beside a block.
        side: On which side of it.
        of: The block.
    """

    area: str = ""
    side: str = ""
    of: Phrase | None = None

    def __str__(self) -> str:
        if self.of is None:
            return f"on the {self.area}" + ("" if self.area == FREE_AREA else " area")
        return f"on the {self.side} of the {self.of}"


@dataclass(frozen=True)
class Instruction:
    """What an instruction says: what to pick, and onto what or where to place it."""

    pick: Phrase
    place: Phrase | Spot


class Refused(Exception):  # noqa: N818 (nothing is in error)
    """An instruction cannot be tried: its code, and what the sentence of that names."""

    def __init__(self, code: str, **args: str) -> None:
        super().__init__(code)
        self.code, self.args_of_code = code, args


def parse(text: str) -> Instruction | None:
    """Read an instruction; upper and lower case, blanks and a full stop at the end are free.

    Returns:
        ``None`` if it says that all is done.

    Raises:
        Refused: ``UNPARSABLE`` or ``UNKNOWN_COLOR``.
    """
    words = " ".join(text.lower().split()).removesuffix(".").rstrip()
    if words == DONE_COMMAND:
        return None
    match = _SENTENCE.fullmatch(words)
    if match is None:
        raise Refused("UNPARSABLE")
    found = match.groupdict(default="")
    at = found["at"] or (HIDDEN if found["hidden"] else ON_TOP if found["top"] else "")
    pick = Phrase(_color(found["pick_color"]), found["pick_kind"], found["pick_size"], at)
    if found["free"] or found["area"]:
        return Instruction(pick, Spot(area=found["area"] or FREE_AREA))
    if found["side"]:
        return Instruction(pick, Spot(side=found["side"], of=Phrase(_color(found["of"]), "block")))
    place = Phrase(_color(found["place_color"]), found["place_kind"], found["place_size"])
    return Instruction(pick, place)


def canonical(text: str) -> str:
    """Return an instruction in lower case; empty: it has none of the forms."""
    try:
        parse(text)
    except Refused as refused:
        if refused.code == "UNPARSABLE":
            return ""
    return " ".join(text.lower().split())


def _color(word: str) -> str:
    """A colour by its name.

    Raises:
        Refused: ``UNKNOWN_COLOR``.
    """
    color = SAME_COLORS.get(word, word)
    if color not in ALL_COLORS:
        raise Refused("UNKNOWN_COLOR", word=word)
    return color
