"""Reader: plans from the text of a request alone, as a test of prompts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from clevrskills.core.policy import Message
from clevrskills.errors import ClevrSkillsError
from clevrskills.suites.lohoravens.field import AREAS
from clevrskills.suites.lohoravens.prompts.prompter import DONE, GOAL, INSTRUCTION

_LINE = re.compile(
    r"^The (?P<size>smaller|bigger)? ?(?P<color>\w+) (?P<kind>block|box|bowl|zone) is "
    r"in the (?P<area>[a-z ]+?) area(?:, (?P<rest>.+))?\.$",
    re.MULTILINE,
)
_IN_BOWL = re.compile(r"in the (\w+) bowl")


@dataclass(frozen=True)
class _Seen:
    """A body as a caption tells of it; ``bowl``: the color of the bowl that it is in."""

    color: str
    kind: str
    area: str
    bowl: str


def reply(messages: Sequence[Message]) -> str:
    """A reply with the next instruction, for goals about bowls and about moves between areas.

    Raises:
        ClevrSkillsError: The goal is another one, or nothing is told of the table in words.
    """
    asked = "\n".join(part for part in messages[-1].parts if isinstance(part, str))
    found = re.search(rf"^{GOAL}: (.+)$", asked, re.MULTILINE)
    seen = [*_bodies(asked)]
    if found is None or not seen:
        raise ClevrSkillsError("the reader needs to be told in words: --view caption_positions")
    goal = found[1].lower()
    areas = re.findall("|".join(AREAS[:4]), goal)
    if "mismatch" in goal:
        said = _into_other_bowls(seen)
    elif "bowl" in goal and "match" in goal:
        said = _into_bowls(seen)
    elif goal.startswith("move all the blocks in the") and len(areas) == 2:
        said = _between(seen, *areas)
    else:
        raise ClevrSkillsError(f"the reader knows no way to {found[1]!r}")
    return f"{INSTRUCTION} {said}" if said else DONE


def _bodies(text: str) -> Iterator[_Seen]:
    for match in _LINE.finditer(text):
        bowl = _IN_BOWL.search(match["rest"] or "")
        yield _Seen(match["color"], match["kind"], match["area"], bowl[1] if bowl else "")


def _into_bowls(seen: Sequence[_Seen]) -> str:
    bowls = {body.color for body in seen if body.kind == "bowl"}
    for body in seen:
        if body.kind == "block" and body.color in bowls and body.bowl != body.color:
            return _put(body.color, f"{body.color} bowl")
    return ""


def _into_other_bowls(seen: Sequence[_Seen]) -> str:
    """The next block into an empty bowl, so that there is one for each of the others."""
    blocks = [body for body in seen if body.kind == "block"]
    taken = {body.bowl for body in blocks}
    empty = [t.color for t in seen if t.kind == "bowl" and t.color not in taken]
    wrong = [body.color for body in blocks if not body.bowl or body.bowl == body.color]
    pairs = _paired(wrong, empty)
    return _put(wrong[0], f"{pairs[wrong[0]]} bowl") if pairs else ""


def _paired(blocks: Sequence[str], bowls: Sequence[str]) -> Mapping[str, str]:
    """A bowl of another color for each block, each bowl for one; nothing: there is none."""
    if not blocks:
        return {}
    for bowl in bowls:
        if bowl != blocks[0]:
            left = [other for other in bowls if other != bowl]
            others = _paired(blocks[1:], left)
            if others or len(blocks) == 1:
                return {blocks[0]: bowl, **others}
    return {}


def _between(seen: Sequence[_Seen], source: str, target: str) -> str:
    for body in seen:
        if body.kind == "block" and body.area == source:
            return _put(f"{body.color} block on the {source}", f"{target} area", noun="")
    return ""


def _put(what: str, where: str, noun: str = " block") -> str:
    return f"pick up the {what}{noun} and place it on the {where}"
