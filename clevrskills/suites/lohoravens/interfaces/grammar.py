"""Grammar of instructions in words: what to pick up, and where to place it.

Pick up the [smaller|bigger] {color} {block|box} [hidden|on the {area}|on the top] and place it on
the [smaller|bigger] {color} {block|box|bowl|zone}, the {area}, the {side} side of the {color}
block, or the free area. Or: done. Paraphrases are read too, see :data:`_SAME`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from clevrskills.suites.lohoravens.field import AREAS, KINDS, SIDES
from clevrskills.suites.lohoravens.palette import ALL_COLORS

DONE_COMMAND = "done"
FREE_AREA = "free area"
HIDDEN, ON_TOP = "hidden", "top"
FORMS = (
    "pick up the [smaller|bigger] {color} {block|box} [hidden|on the {area}|on the top] and place "
    "it on the [smaller|bigger] {color} {block|box|bowl|zone}",
    "pick up the … and place it on the {area} area",
    f"pick up the … and place it on the {{{'|'.join(SIDES)}}} side of the {{color}} block",
    "pick up the … and place it on the free area",
    DONE_COMMAND,
)
"""The forms of instructions."""
_AREA = "|".join(AREAS)
_OBJECT = (
    r"(?:(?P<{0}size>smaller|bigger) )?(?P<{0}color>[a-z]+) (?P<{0}kind>" + "|".join(KINDS) + ")"
)
_ANY_OBJECT = re.sub(r"P<[^>]*>", ":", _OBJECT)
_SAME = (
    (r"[^a-z]+|\b(?:please|then|now|down|about|cm)\b|\b(?:that|which) (?:is|lies|are)\b", " "),
    (r"\b(?:an?|this|that|any|some)\b", "the"),
    (r"\b(?:big|biggest|larger?|largest)\b", "bigger"),
    (r"\b(?:small|smallest|little)\b", "smaller"),
    (r"\bgrey\b", "gray"),
    (r"\bcube\b", "block"),
    (r"\b(?:mat|frame)\b", "zone"),
    (r"\bmiddle\b", "center"),
    (r"\bupper (?=left|right)", "top "),
    (r"\blower (?=left|right)", "bottom "),
    (r"\b(?:corner|quadrant|quarter|region)\b", "area"),
    (r"\bfree (?:space|spot|place)\b|\bempty area\b", "free area"),
    (r" of the (?:table|field)\b", ""),
    (r"\b(?:nearer|closer)(?: to)? the robot than\b|\btowards the robot from\b", "near side of"),
    (r"\b(?:farther|further)(?: away)? from the robot than\b", "far side of"),
    (r"\b(?:pick|take|grab|lift)(?: up)?\b", "pick up"),
    (r"\b(?:put|set|stack|lay|drop) it\b", "place it"),
    (r"\bon (?:the )?top of\b|\bonto\b|\binto\b|\bin(?:side)?\b|\bto\b", "on"),
    (r"\bplace it (?=near|far)", "place it on the "),
    (r"\bon top(?= and)", "on the top"),
    (rf"\bhidden ({_ANY_OBJECT})", r"\1 hidden"),
    (rf"(?: hidden)? (?:under|underneath|below|beneath) the {_ANY_OBJECT}", " hidden"),
    (r" +(?:and +)?(?=place it)", " and "),
)
"""Patterns of other words and their replacements in the grammar, applied in turn."""
_PICK = _OBJECT.format("pick_") + (
    rf"(?: (?:(?P<hidden>hidden)|(?:on|from) the (?:(?P<at>{_AREA})(?: area)?|(?P<top>top))))?"
)
_PLACE = (
    rf"(?P<free>free area)|(?P<area>{_AREA})(?: area)?"
    rf"|(?P<side>{'|'.join(SIDES)})(?: side)? of the (?P<of>[a-z]+) (?:block|box)"
    rf"|{_OBJECT.format('place_')}"
)
_SENTENCE = re.compile(rf"pick up the {_PICK} and place it on the (?:{_PLACE})")


class Phrase(NamedTuple):
    """Description of bodies."""

    color: str
    kind: str
    size: str = ""  # ``smaller``, ``bigger`` or empty for any
    at: str = ""  # an area, ``hidden``, ``top``, or empty for anywhere

    def __str__(self) -> str:
        where = {"": "", HIDDEN: " that is hidden", ON_TOP: " on the top"}
        at = where.get(self.at, f" on the {self.at} area")
        return " ".join(filter(None, (self.size, self.color, self.kind))) + at


class Spot(NamedTuple):
    """Description of a place on the table."""

    area: str = ""  # an area or ``free area``; empty for a place beside a block
    side: str = ""  # side of the block
    of: Phrase | None = None  # the block

    def __str__(self) -> str:
        if self.of is None:
            return f"on the {self.area}" + ("" if self.area == FREE_AREA else " area")
        return f"on the {self.side} side of the {self.of}"


class Instruction(NamedTuple):
    """Instruction: the block to pick, and its target."""

    pick: Phrase
    place: Phrase | Spot

    def __str__(self) -> str:
        place = self.place if isinstance(self.place, Spot) else f"on the {self.place}"
        return f"pick up the {self.pick} and place it {place}"


class Refused(Exception):  # noqa: N818 (nothing is in error)
    """An instruction cannot be tried, for a reason given by a code and its arguments."""

    def __init__(self, code: str, **args: str) -> None:
        super().__init__(code)
        self.code, self.args_of_code = code, args


def plain(text: str) -> str:
    """Return a text with known paraphrases replaced by the words of the grammar."""
    words = text.lower()
    for pattern, instead in _SAME:
        words = " ".join(re.sub(pattern, instead, words).split())
    return words


def parse(text: str) -> Instruction | None:
    """Parse an instruction after :func:`plain`.

    Returns:
        ``None`` for ``done``.

    Raises:
        Refused: ``UNPARSABLE`` or ``UNKNOWN_COLOR``.
    """
    words = plain(text)
    if words == DONE_COMMAND:
        return None
    match = _SENTENCE.fullmatch(words)
    if match is None:
        raise Refused("UNPARSABLE")
    found = match.groupdict(default="")
    for word in filter(None, (found["pick_color"], found["of"], found["place_color"])):
        if word not in ALL_COLORS:
            raise Refused("UNKNOWN_COLOR", word=word)
    at = found["at"] or (HIDDEN if found["hidden"] else ON_TOP if found["top"] else "")
    pick = Phrase(found["pick_color"], found["pick_kind"], found["pick_size"], at)
    if found["free"] or found["area"]:
        return Instruction(pick, Spot(area=found["area"] or FREE_AREA))
    if found["side"]:
        return Instruction(pick, Spot(side=found["side"], of=Phrase(found["of"], "block")))
    place = Phrase(found["place_color"], found["place_kind"], found["place_size"])
    return Instruction(pick, place)


def canonical(text: str) -> str:
    """Return an instruction in lower case, or an empty string if it cannot be parsed."""
    try:
        parse(text)
    except Refused as refused:
        if refused.code == "UNPARSABLE":
            return ""
    return " ".join(text.lower().split())
