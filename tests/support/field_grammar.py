"""Grammar of sentences of LoHoRavens: what they ask for, as leaves over the bodies of a scene.

It knows no template and no task. A reading takes what it understands out of a sentence; one in
which a word of :data:`MEANING` is left is not read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import dist

from clevrskills.sim.body import Body
from clevrskills.tasks.layout import Layout

COLORS = (
    *("blue", "red", "green", "yellow", "brown", "gray", "cyan", "indigo"),
    *("violet", "black", "orange", "purple", "pink", "white", "gold", "silver"),
)
C = rf"(?:{'|'.join(COLORS)})"
CATEGORIES: Mapping[str, Sequence[str]] = {
    "cool": ("blue", "green", "cyan", "purple", "gray", "indigo", "violet"),
    "warm": ("red", "yellow", "orange", "brown", "pink", "gold"),
    "primary": ("red", "yellow", "blue"),
    "secondary": ("orange", "green", "purple"),
}
RAINBOW = ("red", "orange", "yellow", "green", "cyan", "blue", "purple")
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
NUMBER = "|".join(NUMBERS[2:])
SIDES = {
    "to the left of": (0.0, -1.0),
    "to the right of": (0.0, 1.0),
    "nearer the robot than": (-1.0, 0.0),
    "farther from the robot than": (1.0, 0.0),
}
SIDE = "|".join(SIDES)
AREA = r"\b(?:(?:top|bottom) (?:left|right)|center)\b"
BIG_M = 0.05
MIDDLE_M, CORNERS_M, CENTER_M = (-0.13, 0.0), ((-0.33, -0.40), (0.07, 0.40)), 0.04
E = "<[^>]*>"
WHAT = (
    rf"(?P<size>smaller |bigger )?(?:(?P<category>\w+)-colored )?blocks"
    rf"(?: of (?P<colors>\w+(?: and \w+)?) colors)?"
    rf"(?: in the (?P<area>(?:top|bottom) (?:left|right)) area)?"
    rf"(?: (?P<side>{SIDE}) the (?P<mark>{E}))?"
)
"""Words that distinguish blocks."""
STACKED = (
    r"\b(?:stack\w*|tower\w*|pile[sd]?|piling|column\w*|heap\w*|"
    r"stand on each other|"
    r"on (?:top of )?each other|begin with one of|set the rest of them on it|start a column)\b"
)
MEANING = re.compile(
    rf"<|^but\b|\b(?:left|right|top|bottom|center|upper|lower|lowest|highest|under\w*|below|"
    rf"beneath|above|"
    r"atop|off|near\w*|farther|further|first|last|middle|small\w*|big|bigg\w*|large\w*|great\w*|"
    r"increas\w*|decreas\w*|grow\w*|shrink\w*|rising|rise|falling|ascending|descending|odd|even|"
    r"clockwise|counter|hidden|covered|foot|inside|outside|inner|outer|around|within|"
    r"no|not|never|none|nothing|neither|nor|without|cannot|unless|same|others?|another|different|"
    rf"else|match\w*|mismatch\w*|most|least|more|alternat\w*|cool\w*|warm\w*|primary|secondary|"
    rf"longer|"
    rf"robot|starts?|end|among|ignore|matter|mixed|former|rarer|sight|one(?:-layer|"
    rf" (?:\w+ )?(?:rows|rings|"
    rf"circles|strokes|towers|blocks|colors|sizes|columns|stacks))|{NUMBER}|{C})\b"
)
"""Words that must be understood."""
SAME = (
    r"(?<!after )(?<!after the )(?<!each )\b(?:(?:with |has )?(?:the |this |"
    r"that )?same(?:[- ]colored| colors?)?|match(?:ing|es|ed)?|"
    r"(?:its|their|his) own(?: colors?| zones?)?|(?:its|their) (?:colors?|zones?)|every color|"
    r"equal colors|shar(?:es?|ing)|like it|like them|"
    r"too|looks the same|color by color|by colors?|by their colors|its color|their colors?|"
    r"th(?:at|is|eir) color|the colors?|whose color|its bowl|one color|a color|each color|"
    r"these colors|(?:the|its) color of the zone|per color|zone that has it)\b"
)
OTHER = (
    r"\b(?:other colors?|another(?: color| one)?|others|different(?: colors?| one)?|mismatch\w*|"
    r"wrong colors|colors crossed|mix up the colors|differ(?: from theirs)?)\b"
)
NOT = r"\b(?:not|no|none|never|neither|nor|apart)\b"
IDIOMS = (
    r"touch nothing else|without touching anything else|and nothing else(?: is (?:there|"
    r"to be moved))?",
    r"and of nothing else|nothing but|leave the (?:rest|others)(?: as it is| alone| off it|"
    r" off the "
    r"zones)?|leave the blocks of the other areas alone|ignore the blocks that are not asked for",
    r"all other objects may stay where they are|(?:from )?middle to middle|between their middles",
    r"\bends? up\b|in the end|come to rest|wrong place|when you are done|out of its present place",
    r"and the rest stays off the zones|(?:the order|the colors of the blocks) do(?:es)? not matter",
    r"it does not matter which blocks you choose|whatever its color|in any order",
    r"and no other block (?:there|is on a zone)|and no others?\b|until (?:no block|none) is left",
    r"no block (?:should be|is) left(?: on the table| elsewhere)?|"
    r"without a single block of another color",
    r"look at the color of each (?:smaller )?block",
    r"(?:set|and set) all the others on it|the rest of the table",
    r"is not among the|stays off the(?= <)|and start|one by one|(?:seen )?from above",
    r"\bone (?:\w+ )?after the other|from block to block|all over the table|is missing",
    r"\bfirst(?= pick|,? find| count)|\blower it\b|it does not matter\b",
)
"""Words that add nothing to the goal."""

Leaf = tuple[object, ...]
Meaning = Callable[["Field"], "frozenset[Leaf] | None"]


@dataclass(frozen=True)
class FieldBody:
    """A body of a scene."""

    slot: int
    kind: str
    color: str
    side_m: float
    xyz: tuple[float, float, float]
    movable: bool


class Field:
    """What lies where."""

    def __init__(self, layout: Layout) -> None:
        self.bodies = [_item(k, body) for k, body in enumerate(layout.bodies) if body]
        self.blocks = [item for item in self.bodies if item.movable]
        self.big = {item for item in self.blocks if item.side_m > BIG_M}
        self.on = {(a, b) for a in self.blocks for b in self.blocks if _rests(a, b)}
        self.covered = {lower for _, lower in self.on}
        self.lowest = self.covered - {upper for upper, _ in self.on}

    def of(self, color: str, kind: str = "block") -> list[FieldBody]:
        return [t for t in self.bodies if (t.color, t.kind) == (color, kind)]

    def colors(self, kind: str = "block") -> Counter[str]:
        """Return how many there are of each color."""
        return Counter(t.color for t in self.bodies if t.kind == kind)

    def one(self, name: str) -> FieldBody | None:
        """Return the only body that words fit, such as ``<bigger red block>``."""
        *size, color, kind = name.strip("<>").split()
        found = [
            t for t in self.of(color, kind) if not size or (t in self.big) == (size[0] == "bigger")
        ]
        return found[0] if len(found) == 1 else None

    def height(self, lower: FieldBody) -> int:
        """Return how many blocks a tower has."""
        return 1 + max((self.height(a) for a, b in self.on if b == lower), default=0)


def _item(slot: int, body: Body) -> FieldBody:
    kind, side_m = body.noun or body.shape, 2 * float(body.geometry.half_extents[0])
    movable = body.movable and not body.ghost
    return FieldBody(slot, kind, body.color, round(side_m, 4), body.pose[:3], movable)


def _rests(upper: FieldBody, lower: FieldBody) -> bool:
    wide_m = (upper.side_m + lower.side_m) / 2
    near = dist(upper.xyz[:2], lower.xyz[:2]) < wide_m
    return near and abs(upper.xyz[2] - lower.xyz[2] - wide_m) < 0.005


def bounds_m(area: str) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the least and the greatest x and y of an area."""
    (x, y), ((x0, y0), (x1, y1)) = MIDDLE_M, CORNERS_M
    if area == "center":
        return (x - CENTER_M, y - CENTER_M), (x + CENTER_M, y + CENTER_M)
    rows, columns = {"top": (x0, x), "bottom": (x, x1)}, {"left": (y0, y), "right": (y, y1)}
    row, column = area.split()
    return (rows[row][0], columns[column][0]), (rows[row][1], columns[column][1])


def lies_in(item: FieldBody, area: str) -> bool:
    low, high = bounds_m(area)
    return all(a < v < b for a, v, b in zip(low, item.xyz, high, strict=False))


class Rectangle(tuple[float, ...]):
    """Least x and y, greatest x and y, equal to others to a millimeter."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rectangle) and all(
            abs(a - b) < 1e-3 for a, b in zip(self, other, strict=True)
        )

    def __hash__(self) -> int:
        return 0


def in_area(item: FieldBody, low: Sequence[float], high: Sequence[float]) -> Leaf:
    """Return the leaf that a block is in a rectangle."""
    return ("area", item.slot, Rectangle((*low, *high)))


def put(item: FieldBody, onto: FieldBody) -> Leaf:
    """Return the leaf that a block is on or in something."""
    if onto.kind == "bowl":
        return ("bowl", item.slot, frozenset({onto.slot}))
    return ("zone" if onto.kind == "zone" else "on", item.slot, onto.slot)


class Words:
    """A sentence, less what has been understood of it."""

    def __init__(self, text: str) -> None:
        self.text = re.sub(
            rf"\b((?:smaller |bigger )?{C} (?:block|box|bowl|zone|line))\b|\b({C}) one\b",
            lambda m: f"<{m[1] or f'{m[2]} block'}>",
            text.lower(),
        )

    def take(self, *patterns: str) -> list[re.Match[str]]:
        """Take what matches out, and return the matches."""
        found = list[re.Match[str]]()
        for pattern in patterns:
            found += re.finditer(pattern, self.text)
            self.text = " ".join(re.sub(pattern, " ~ ", self.text).split())
        return found

    def only(self, *patterns: str) -> str:
        """Take what matches out, and return it; empty: it differs, or nothing does."""
        found = {next(filter(None, m.groups()), m[0]).strip() for m in self.take(*patterns)}
        return found.pop() if len(found) == 1 else ""

    def agrees(self) -> int:
        """Return 1 if colors are to be the same, -1 if they are to differ, 0 if unstated."""
        said, parts = set(), re.split(r"([.;:,?]| but | so )", self.text)
        for k, part in enumerate(parts):
            clause = Words(part)
            other, same = clause.take(OTHER), clause.take(SAME)
            if other or same:
                said.add((-1 if other else 1) * (-1) ** len(clause.take(NOT)))
                parts[k] = clause.text
        self.text = "".join(parts)
        return said.pop() if len(said) == 1 else 0


# ---- topics: what is asked for, as a function of the scene ----


def primitive(words: Words) -> Meaning | None:
    """A block is put on something, in an area or beside another block."""
    if re.search(SIDE, words.text):
        return _beside(words)
    if re.search(AREA, words.text):
        return _to_area(words)
    words.text = re.sub(rf"destination of the ({E}): the ({E})", r"\1 on the \2", words.text)
    onto = words.only(rf"\b(?:on(?:to)?|to|target|look for|there is an?) (?:the )?({E})")
    item = words.only(f"({E})")
    if not onto or not item:
        return None

    def leaves(field: Field) -> frozenset[Leaf] | None:
        one, other = field.one(item), field.one(onto)
        return frozenset({put(one, other)}) if one and other and one.movable else None

    return leaves


def _beside(words: Words) -> Meaning | None:
    cm = words.only(r"\b(\d+) cm\b")
    found = words.take(rf"\b({SIDE}) (?:the )?({E}|it\b|that(?: block)?\b)")
    sides, others = {m[1] for m in found}, {m[2] for m in found if m[2][0] == "<"}
    words.take(r"the two blocks apart|\bends? up\b|\boff\b|\baway\b")
    others |= {m[1] for m in words.take(rf"\b(?:look for|to|keep|leave|from) the ({E})")}
    if len(sides) != 1 or len(others) != 1 or not cm:
        return None
    (side,), (other,) = sides, others
    words.take(re.escape(other))
    item = words.only(f"({E})")

    def leaves(field: Field) -> frozenset[Leaf] | None:
        one, mark = field.one(item), field.one(other)
        if one is None or mark is None:
            return None
        middle = [v + int(cm) / 100 * way for v, way in zip(mark.xyz, SIDES[side], strict=False)]
        return frozenset({in_area(one, [v - 0.04 for v in middle], [v + 0.04 for v in middle])})

    return leaves if item else None


def _to_area(words: Words) -> Meaning | None:
    source = words.only(
        rf"\bfrom (?:the )?({AREA})",
        rf"\bno longer be on the ({AREA}) but",
        rf"\bgo to the ({AREA})",
    )
    areas = [m[0] for m in words.take(AREA)]
    source, target = source or (areas[0] if len(areas) > 1 else ""), areas[-1] if areas else ""
    item = words.only(f"({E})")
    if not target or not item or {*areas} - {source, target}:
        return None

    def leaves(field: Field) -> frozenset[Leaf] | None:
        one = field.one(item)
        if one is None or (source and not lies_in(one, source)):
            return None
        return frozenset({in_area(one, *bounds_m(target))})

    return leaves


def sort(words: Words) -> Meaning | None:
    """Blocks go into bowls of the same colors, or of others."""
    if not (alike := words.agrees()):
        return None

    def leaves(field: Field) -> frozenset[Leaf]:
        bowls = [t for t in field.bodies if t.kind == "bowl"]
        return frozenset(
            (
                "bowl",
                t.slot,
                frozenset(b.slot for b in bowls if (b.color == t.color) == (alike > 0)),
            )
            for t in field.blocks
        )

    return leaves


NOT_WANTED = (
    r"it is not (?:a block|the (?:upper )?blocks)(?: in sight)? that (?:is|"
    r"are) wanted in (?:a bowl|the"
    r" bowls), but|not (?:the ones in the middle|the upper three), only|"
    r"you cannot see(?= the block)",
    r"the (?:blocks on top|two upper blocks of each tower|three upper blocks) may go anywhere",
    r"\bfirst take (?:away |the )?|, from the top down|lift off(?: what is above it)?",
    r"someone has|must not|the remaining|only the",
)
UNDER = (
    rf"({E}) off, the block under it",
    rf"({E}), then bring the block that was under it",
    rf"({E}) has to give way, wherever it goes but into a bowl, so that the block below can",
    rf"free the block of the ({E}) on it",
    rf"concealed block, ({E}) above",
    rf"put the ({E}) on another one; uncover that one",
    rf"the one with the ({E}) on it",
    rf"hidden block, lift the ({E}) off it",
    rf"(?:hidden |hides |covered |out of sight )?\b(?:under|below|beneath|by) the ({E})"
    r"(?: there is another one)?(?:: the hidden block|, the hidden block)?",
    rf"that the ({E}) (?:covers|conceals)|what the ({E}) stands on",
)
LOWEST = (
    r"\b(three) lowest\b",
    r"\b(?:at the )?(?:very )?(?:bottom|lowest|lower|undermost)(?! may go|"
    r" blocks of the towers hide)(?: row| (three)(?= of)| (three)\b)?",
    r"the (three) (?=blocks that carry| ~)|\bfoot\b|\b(?:that |on which |what )?(?:the [a-z~-]+ "
    r"(?:towers )?stands? on|carr(?:y|ies)(?: (two) others)?|the pyramid stands|stands on)\b",
    r"below the two upper (?:blocks of each tower|rows of the pyramid) there is a third one",
    r"the third one|the (three) below them|row that lies on the table|has (three) blocks",
    r"below the two blocks on top of each tower|put two blocks on a third one, twice",
    r"the top of the pyramid and the row below it|six blocks as",
)
COVERED = (
    r"(?:under|below) the upper block of each tower there is another one",
    r"\b(?:under|below|beneath) (?:the (?:upper|big) (?:blocks?|ones)|others|"
    r"the block on top of each)",
    r"those below them|covered by another one|are covered now|"
    r"what the upper blocks of the towers hide",
    r"\b(?:hidden|hides?|covered|concealed|conceals|"
    r"out of sight)(?: some blocks with bigger ones)?\b",
)


def uncover(words: Words) -> Meaning | None:
    """Blocks that something is on go into the bowls of their colors."""
    words.take(*NOT_WANTED)
    layers = words.only(rf"\b(one|{NUMBER})-layer\b", rf"\btowers? of (one|{NUMBER})\b")
    above = words.only(rf"\bthe (one|{NUMBER}) above it\b")
    pyramid = "pyramid" in words.text
    tops = {next(filter(None, m.groups())) for m in words.take(*UNDER)}
    if tops:
        words.take(r"\bhidden\b|" + "|".join(map(re.escape, tops)))
    found = words.take(*LOWEST) if not tops else []
    lowest = bool(found)
    threes = any("three" in m.groups() for m in found)
    covered = words.take(*COVERED) if not tops else []
    if words.agrees() < 1 or len(tops) > 1 or not (tops or lowest or covered):
        return None

    def leaves(field: Field) -> frozenset[Leaf] | None:
        wanted = field.lowest if lowest else field.covered
        heights = {field.height(t) for t in field.lowest}
        for top in tops:
            wanted = {lower for upper, lower in field.on if upper == field.one(top)}
        if above and heights != {NUMBERS.index(above) + 1}:
            return None
        if layers and heights != {NUMBERS.index(layers)} or pyramid and threes and len(wanted) != 3:
            return None
        if not wanted or any(len(field.of(t.color, "bowl")) != 1 for t in wanted):
            return None
        return frozenset(
            ("bowl", t.slot, frozenset({field.of(t.color, "bowl")[0].slot})) for t in wanted
        )

    return leaves


def count(words: Words) -> Meaning | None:
    """Blocks of each color go to its zone, by how many there are."""
    leftover = words.take(
        r"take one off if the count is (odd|even)",
        r"if a color has an (odd|"
        r"even) number of blocks, one of them stays outside, and all the others",
    )
    one_less = {"odd": "even", "even": "odd"}[leftover[0][1]] if leftover else ""
    pairs = words.take(r"\b(?:whole |all the )?pairs(?: only)?\b")
    most = pairs + leftover
    most += words.take(
        r"\b(?:largest|greatest|highest)\b(?: possible)?|\bas (?:many|large|great)\b"
    )
    parity = words.only(r"\b(odd|even)(?:-numbered|s)?\b") or one_less or ("even" if pairs else "")
    if one_less not in ("", parity):
        return None
    stacked, big_below = bool(words.take(STACKED)), _big_below(words)
    words.take(
        r"\b(?:left over|outside|a single one that remains elsewhere)\b|some do not: the former"
    )
    words.take(
        r"\byou leave out\b|\bunless(?= the number)|a block without a partner stays off the zones"
    )
    if words.agrees() < 1 or not parity or (stacked != big_below):
        return None
    rest = {"even": 0, "odd": 1}[parity]

    def leaves(field: Field) -> frozenset[Leaf]:
        found = list[Leaf]()
        for color, number in field.colors().items():
            own = [t.slot for t in field.of(color)]
            zones = field.of(color, "zone")
            if stacked and zones:
                levels = number - (number % 2 != rest)
                found.append(("tower", frozenset(own), zones[0].slot, levels, "big below"))
            elif most and zones:
                levels = number - (number % 2 != rest)
                found.append(("exactly", frozenset(own), zones[0].slot, levels))
            elif not most and number % 2 == rest:
                found += [("zone", slot, zones[0].slot) for slot in own]
        return frozenset(found)

    return leaves


def _big_below(words: Words) -> bool:
    """Return whether big blocks are to be below small ones, and take that out."""
    return bool(
        words.take(
            r"(?:the )?\bbig(?:ger)? (?:ones|blocks?) (?:are )?(?:below|first|at the bottom)"
            r"(?: (?:the )?small ones)?|\bbig(?: ones)? (?:below|at the)(?: small| bottom)?\b",
            r"\b(?:from )?big to small\b|sizes falling(?: towards the top)?|small ones on top",
            r"no big (?:one|block) (?:on|above) a small one|big blocks down before small ones",
        )
    )


def frequent(words: Words) -> Meaning | None:
    """The blocks of the most frequent color are stacked on a zone."""
    words.take(r"blocks of rarer colors are not needed")
    asked = words.take(
        r"no color prevails over the one in question",
        r"\b(?:most|more) (?:frequent|common|blocks|often|of)(?: than any other)?\b|\bcommonest\b",
        r"\b(?:largest|greatest|highest) (?:number|count|total)\b|\bprevailing\b|"
        r"\bmajority\b|\blead(?:s|ing)\b|\bwinner\b|\bthat most\b",
    )
    words.take(r"\bfirst(?= count)|the others off it")
    stacked, zone = words.take(STACKED), words.only(f"({E})")
    if not asked or not stacked or "zone" not in zone:
        return None

    def leaves(field: Field) -> frozenset[Leaf] | None:
        ((color, number), (_, second), *_), base = field.colors().most_common(2), field.one(zone)
        if base is None or number == second:
            return None
        own = frozenset(t.slot for t in field.of(color))
        return frozenset({("tower", own, base.slot, number, "")})

    return leaves


def alternate(words: Words) -> Meaning | None:
    """All blocks become a tower on a zone, the colors by turns, a named one lowest."""
    turns = words.take(
        r"\bno two (?:blocks )?of the same color on each other",
        r"\btwo blocks of the same color must not touch",
        r"\b(?:alternat\w+|take turns|striped?s?|in turn|by turns|switch\w*|the other color)\b",
        r"\bchange ~|\bchange\b",
    )
    words.take(
        r"\b(?:the )?two colors\b(?: of blocks)?|\bto the top\b|at each level|\babove it\b", STACKED
    )
    zone = words.only(rf"(<{C} zone>)")
    first = words.only(rf"<?({C})(?: block>)?")
    lowest = words.take(
        r"\b(?:lowest|first|at the bottom|foot|start\w*|begin\w*|and so on)\b",
        r"\bfrom ~|\bput an? ~ on\b",
    )
    if not (zone and first and lowest and turns):
        return None

    def leaves(field: Field) -> frozenset[Leaf] | None:
        base, colors, all_blocks = (
            field.one(zone),
            field.colors(),
            frozenset(t.slot for t in field.blocks),
        )
        others = [color for color in colors if color != first]
        if base is None or len(others) != 1 or colors[first] - colors[others[0]] not in (0, 1):
            return None
        levels = tuple((first, others[0])[k % 2] for k in range(len(field.blocks)))
        return frozenset({("tower", all_blocks, base.slot, len(levels), levels)})

    return leaves


def by_size(words: Words) -> Meaning | None:
    """The bigger blocks become a tower on one zone, the smaller ones on another."""
    stacked = words.take(r"\btwo (?:stacks|towers|columns)\b", STACKED)
    words.take(r"\btwo sizes of blocks\b|\bsizes must not be mixed\b")
    found = words.take(rf"\b(big|small)\w*|<?({C})(?: zone>)?|\b(else)\b")
    said = [next(filter(None, m.groups())) for m in found]
    said = [
        {"big": "small", "small": "big"}[said[k - 1]] if word == "else" else word
        for k, word in enumerate(said)
    ]
    words.take(r"\bthen\b")
    pairs = [{*pair} for pair in zip(said[::2], said[1::2], strict=False)]
    zones = {size: (pair - {size}) for pair in pairs for size in ("big", "small") if size in pair}
    if (
        not stacked
        or len(said) != 4
        or any(len(of) != 1 for of in zones.values())
        or len(zones) != 2
    ):
        return None

    def leaves(field: Field) -> frozenset[Leaf] | None:
        found = set[Leaf]()
        for size, (color,) in zones.items():
            own = frozenset(t.slot for t in field.blocks if (t in field.big) == (size == "big"))
            (base,) = field.of(color, "zone") or (None,)
            if base is None:
                return None
            found.add(("tower", own, base.slot, len(own), ""))
        return frozenset(found)

    return leaves


SMALL_ON_BIG = (
    r"\bS has, transfer it to the top of the B\b|\bB of its color and, atop it, the S\b",
    r"S(?: [a-z~]+){0,6}?,? (?:on|onto|atop|on top of|to the top of|crowns)(?: the| each| a)* B\b",
    r"\bB (?:is |has to be )?(?:below|lowest|first|at the bottom)\b|\bB, then the S\b|\bB, S\b",
    r"\bS (?:of the same color |of that color |should be |goes )?(?:on top|atop|on it|on each|"
    r"at (?:the|its) top)\b",
    r"\b[Aa]top the B with the same color is where each S\b|\bB tell by \w+ \w+ which (?:S|"
    r"of the S) is to be set on\b",
    r"\bB (?:[a-z~]+ ){0,9}to carry the S\b|"
    r"\bB (?:[a-z~]+ ){0,9}on their zones and atop it the S\b",
    r"\bS atop that\b|\bB [a-z ]+(?:and,? )?(?:the )?S(?: ones| one)? (?:atop|on it)\b",
)
"""Relations of smaller blocks S and bigger ones B."""


def on_pairs(words: Words) -> Meaning | None:
    """A smaller block is on the bigger one of each color, in the zone of that color or anywhere."""
    for size, letter in (("small", "S"), ("big", "B")):
        words.text = re.sub(rf"\b{size}\w*(?: (?:ones?|blocks?))?(?!\w)", letter, words.text)
    swapped = words.text.translate(str.maketrans("SB", "BS"))
    right, wrong = (
        [m[0] for pattern in SMALL_ON_BIG for m in re.finditer(pattern, text)]
        for text in (words.text, swapped)
    )
    zoned, alike = bool(re.search(r"\bzones?\b", words.text)), words.agrees()
    words.take(
        r"\b(?:below|lowest|first|atop|two sizes|two blocks|at the bottom|on top|at (?:its|"
        r"the) top)\b"
    )
    words.take(
        STACKED, r"to the top|\b(?:colors must not|neither colors nor sizes may) be mixed(?: up)?"
    )
    if not right or wrong or alike < 1:
        return None

    def leaves(field: Field) -> frozenset[Leaf] | None:
        found = set[Leaf]()
        for color in field.colors():
            own, zones = field.of(color), field.of(color, "zone")
            if len(own) == 2 and (zoned and zones):
                found.add(("tower", frozenset(t.slot for t in own), zones[0].slot, 2, "big below"))
            elif len(own) == 2 and not zoned:
                top, bottom = sorted(own, key=lambda t: t in field.big)
                found.add(("on", top.slot, bottom.slot))
        return frozenset(found)

    return leaves


def stack(words: Words) -> Meaning | None:
    """Some blocks become one tower, on a zone or in an area, or one of each color on its zone."""
    order = bool(words.take(r",? big ones below small ones"))
    zone = words.only(rf"(<{C} zone>)")
    area = "" if zone else words.only(rf"({AREA})")
    what = words.take(WHAT)
    if not words.take(STACKED):
        return None
    words.take(r"\bno block\b|\bsingle\b|\bon each\b")
    if not zone and not area:
        if words.agrees() < 1:
            return None

        def by_color(field: Field) -> frozenset[Leaf]:
            zones = {color: field.of(color, "zone") for color in field.colors()}
            return frozenset(
                ("tower", frozenset(t.slot for t in field.of(color)), of[0].slot, n, "")
                for color, n in field.colors().items()
                if (of := zones[color])
            )

        return by_color
    kinds = {m.groups() for m in what} - {(None,) * 6}
    if len(kinds) > 1:
        return None
    one = next((m for m in what if any(m.groups())), None)

    def leaves(field: Field) -> frozenset[Leaf] | None:
        own = selected(one, field)
        if own is None:
            return None
        slots = frozenset(t.slot for t in own)
        if area:
            return frozenset({("tower in area", slots, area)})
        base = field.one(zone)
        given = "big below" if order else ""
        return frozenset({("tower", slots, base.slot, len(slots), given)}) if base else None

    return leaves


def selected(what: re.Match[str] | None, field: Field) -> list[FieldBody] | None:
    """Return the blocks that words as of :data:`WHAT` mean; ``None``: something is not there."""
    found, said = field.blocks, what.groupdict() if what else {}
    if size := said.get("size"):
        found = [t for t in found if (t in field.big) == (size.strip() == "bigger")]
    if said.get("category") or said.get("colors"):
        named = (said.get("category") or said["colors"]).split(" and ")
        if not {*named} <= {*CATEGORIES}:
            return None
        found = [t for t in found if any(t.color in CATEGORIES[name] for name in named)]
    if area := said.get("area"):
        found = [t for t in found if lies_in(t, area)]
    if side := said.get("side"):
        mark, (x, y) = field.one(said["mark"]), SIDES[side]
        if mark is None:
            return None
        ahead = {t: x * (t.xyz[0] - mark.xyz[0]) + y * (t.xyz[1] - mark.xyz[1]) for t in found}
        found = [t for t in found if ahead[t] > 0 and t != mark]
    return found


def move(words: Words) -> Meaning | None:
    """Some blocks of one area go to another."""
    first = words.take(
        rf"\binto the ({AREA}) with", rf"the ({AREA}) is where", rf"room in the ({AREA})"
    )
    areas = list(dict.fromkeys(m[1] for m in words.take(rf"({AREA})(?: area)?")))
    what = words.take(WHAT)
    words.take(r"\bnone of the ~ is left\b")
    kinds = {m.groups() for m in what}
    source, target = (areas[0], first[0][1]) if first and areas else [*areas, "", ""][:2]
    if not source or not target or len(kinds) != 1:
        return None

    def leaves(field: Field) -> frozenset[Leaf] | None:
        own = selected(what[0], field)
        if own is None:
            return None
        return frozenset(in_area(t, *bounds_m(target)) for t in own if lies_in(t, source))

    return leaves


START = (
    r"(?:small|smallest|red|first)(?: (?:one|box|end|side|color))*,? (?:on |at |towards )?(?:the |"
    r"its )?(left|right)\b",
    r"(?:begins|starting|beginning|from|neighbor|and from)(?: on| at| to)? (?:the |its )?(left|"
    r"right)(?: on)?\b",
    r"bigger than the one on its (left|right)|comes first on the (left|right)",
)
OPPOSITE = {"left": "right", "right": "left"}
END = (
    r"(?:biggest|big|purple|increasing|follow|boxes|it)(?: box| end| ones)*,?(?: on| at| to|"
    r" towards)* (?:the |its )?(left|right)\b",
    r"\bto the (left|right)\b",
)
GROWING = (
    r"\b(?:from (?:the )?)?small(?:est)?(?: box)?(?: (?:at|on) (?:the |"
    r"its )?~)? to (?:the )?big(?:gest)?\b",
    r"\bsmallest (?:box|one)?(?: and ending with the biggest(?: box)?)?|"
    r"\bending with the biggest(?: box)?",
    r"\b(?:get|become|growing|becomes?|ever|be|are|each|one|next)(?: is)? bigger(?: and bigger)?\b|"
    r"\bbigger and bigger\b|\b(?:a bit )?bigger than\b|\bbigger ones? follow\b|\bbigger one\b",
    r"\b(?:increas\w+|grow\w*|rising|rises?|ascending)\b|\bstaircase\b|\bby (?:their )?size\b",
)


def line(words: Words) -> Meaning | None:
    """Boxes are in order on a drawn line, evenly spaced."""
    evenly, drawn = words.take(r"\bevenly spaced\b"), words.only(rf"(<{C} line>)")
    by_size = bool(re.search(r"\b(?:size|small|big|ascend|increas|staircase|gr[eo]w)", words.text))
    by_color = bool(words.take(r"\brainbow\w*|\bspectrum\b"))
    words.take(
        r"follow each other|\bthe other boxes\b|no two boxes have the same size|beginning with red"
    )
    words.take(r"\bcolor comes first in\b|the same one")
    ends = words.take(
        r"\b(?:from )?(?:the |its )?(left|right)(?: end)? to (?:the |its )?(left|right)(?: one)?\b"
    )
    starts = {m[1] for m in ends} | {OPPOSITE[m[2]] for m in ends}
    starts |= {next(filter(None, m.groups())) for m in words.take(*START)}
    starts |= {OPPOSITE[m[1]] for m in words.take(*END)}
    words.take(*GROWING)
    if not evenly or not drawn or len(starts) != 1 or by_color == by_size:
        return None

    def leaves(field: Field) -> frozenset[Leaf] | None:
        base = field.one(drawn)
        order = sorted(field.blocks, key=lambda t: RAINBOW.index(t.color) if by_color else t.side_m)
        slots = [t.slot for t in order]
        return (
            frozenset({("line", base.slot, *(slots if "left" in starts else slots[::-1]))})
            if base
            else None
        )

    return leaves


def ring(words: Words) -> Meaning | None:
    """Boxes are in order on the drawn circle, evenly spaced."""
    evenly, way = words.take(r"\bevenly spaced\b"), words.take(r"\bcounter-clockwise\b")
    words.take(r"no two boxes have the same size|\b(?:all )?around\b")
    if not evenly or not way or not words.take(*GROWING):
        return None

    def leaves(field: Field) -> frozenset[Leaf]:
        return frozenset(
            {("ring", *(t.slot for t in sorted(field.blocks, key=lambda t: t.side_m)))}
        )

    return leaves


def circle(words: Words) -> Meaning | None:
    """Blocks of one color are evenly spaced around one of another color."""
    words.text = re.sub(
        rf"one <({C}) block>|({C}) (?:ring|to the circle)", r"\1\2 blocks in a ring", words.text
    )
    evenly = words.take(r"\bevenly spaced\b")
    middle = words.only(rf"<({C}) block>|({C}) (?:center|to its middle)")
    around = words.only(rf"({C}) (?:blocks|ones)\b")
    asked = words.take(
        r"\b(?:the same distance|all around|in a ring|middle|center|around|round|surround|"
        r"encircled|circle|orbit|others)\b"
    )
    words.take(r"\bhow large\b|\bthe color decides\b|\bafter the other\b")
    if not (evenly and middle and around and asked):
        return None

    def leaves(field: Field) -> frozenset[Leaf] | None:
        if {middle, around} != {*field.colors()} or len(field.of(middle)) != 1:
            return None
        parts = (frozenset(t.slot for t in field.of(c)) for c in (middle, around))
        return frozenset({("circle", *parts)})

    return leaves


OUTER_FIRST = (
    rf"({C}) blocks surround the ({C})",
    rf"({C}) blocks in a circle around the middle of a circle of ({C})",
)
INNER_FIRST = (
    rf"({C}) circle should lie in the middle of the ({C}) circle",
    rf"({C}) blocks within a ring of ({C})",
    rf"({C}) blocks, and then enclose it with a circle of the ({C})",
    rf"({C}) blocks,? (?:and )?around (?:it|its middle),?(?: ~ with the same middle, one of the|"
    rf" with the"
    rf" same middle, one of the| a circle of) ({C})",
)
IN = r"inside|inner|small(?:er)?|nearer|near|in(?=,)"
OUT = r"outside|outer|larger?|farther|further out|out(?=\.)"


def circles(words: Words) -> Meaning | None:
    """Blocks of two colors form an inner and an outer circle, each evenly spaced."""
    evenly = words.take(r"\bthe blocks of each evenly spaced\b")
    words.take(
        r"\btwo (?:such |concentric |round )?(?:circles|rings)\b|\btwo round rings\b|"
        r"\bthe color decides\b"
    )
    numbers = {m[2]: m[1] for m in words.take(rf"\b({NUMBER})(?= ({C}) blocks)")}
    words.text = re.sub(" +~ +", " ", words.text)
    found = [(m[2], m[1]) for m in words.take(*OUTER_FIRST)] + [
        m.groups() for m in words.take(*INNER_FIRST)
    ]
    if not found:
        roles = re.findall(rf"\b(?:({IN})|({OUT})|({C}))\b", words.text)
        colors = list(dict.fromkeys(c for _, _, c in roles if c))
        sides = ["in" if one else "out" for one, other, _ in roles if one or other]
        if len(colors) == 2 and sides:
            inner_first = sides[0] == "in" if len({*sides}) == 2 else sides[0] == "out"
            found = [tuple(colors if inner_first else colors[::-1])]
    words.take(
        rf"\b(?:{IN}|{OUT}|{C})\b|\b(?:same )?middle\b|\b(?:the )?same (?:point|distance)\b|"
        rf"\baround\b"
    )
    if len({*found}) != 1 or not evenly:
        return None
    inner, outer = found[0]

    def leaves(field: Field) -> frozenset[Leaf] | None:
        counts = field.colors()
        if {inner, outer} != {*counts} or any(NUMBERS[counts[c]] != n for c, n in numbers.items()):
            return None
        parts = (frozenset(t.slot for t in field.of(c)) for c in (inner, outer))
        return frozenset({("circles", *parts)})

    return leaves


def letter(words: Words) -> Meaning | None:
    """Blocks form a letter, its top towards the robot."""
    name = words.only(r"(?<![\w'])([b-hj-z])(?![\w'])")
    upright = words.take(r"\bits top towards the robot\b")
    evenly = words.take(r"\bwith a block at each end of a stroke and one halfway along it\b")
    words.take(r"two upright strokes, and between them two that meet in the middle|\blarge\b")
    if not (name and upright and evenly):
        return None
    return lambda field: frozenset({(f"letter_{name}", frozenset(t.slot for t in field.blocks))})


def rectangle(words: Words) -> Meaning | None:
    """Blocks form the outline of a rectangle on a zone."""
    evenly = words.take(
        r"\bwith a block at each corner and the others evenly spaced along its sides, as many on"
        r" opposite ones\b"
    )
    zone = words.only(rf"(<{C} zone>)")
    words.take(r"\b(?:with)?in(?:side)? (?:the ~|its border)|at right angles")
    if not evenly or not zone:
        return None

    def leaves(field: Field) -> frozenset[Leaf] | None:
        base = field.one(zone)
        slots = frozenset(t.slot for t in field.blocks)
        return frozenset({("rectangle", slots, base.slot)}) if base else None

    return leaves


TOPICS: Sequence[tuple[str, Callable[[Words], Meaning | None]]] = (
    (rf"(?=.*(?:{SIDE}))(?=.*\d cm)", primitive),
    (r".*(?:\brainbow|\bspectrum|\bline\b|line>)", line),
    (r".*(?:\bletter\b|\bcapital\b|(?<![\w'])[b-hj-z](?![\w']))", letter),
    (r".*(?:rectang|right angles|picture frame)", rectangle),
    (r"(?=.*\b(?:box|size))(?=.*\bcircle\b)", ring),
    (rf"(?=.*<{C} block>)(?=.*(?:circle|\bring\b|orbit|petals|surround|distance))", circle),
    (rf".*(?:{C} center|to its middle)", circle),
    (r".*(?:circles?\b|\brings?\b)", circles),
    (
        r"(?=.*\bbowls?\b(?!>))(?=.*(?:hid|under|below|beneath|bottom|lowe|cover|pyramid|tower|"
        r"sight|"
        r"conceal|stands on|on it\b|two others|row that))",
        uncover,
    ),
    (r".*\bbowls?\b(?!>)", sort),
    (r".*(?:\bodd\b|\beven\b|\bpairs\b)", count),
    (
        r".*(?:\b(?:most|more) (?:frequent|common|often|blocks|of\b)|commonest|prevail|majority|"
        r"\blead|"
        r"highest total|winner|largest number|greatest count|color that most)",
        frequent,
    ),
    (
        r".*(?:alternat|take turns|striped|stripes|in turn\b|by turns|switch|change ~|"
        r"\bother color\b"
        r"|same color must not touch|same color on each other)",
        alternate,
    ),
    (rf"(?=.*\bbig)(?=.*<{C} zone>.*<{C} zone>)|.*(?:on|to) {C}\b", by_size),
    (rf"(?!.*(?:<|{AREA}))(?=.*\b(?:small|big))(?!.*big ones below small ones)", on_pairs),
    (rf".*{STACKED}", stack),
    (rf"(?=.*blocks)(?=.*{AREA}.*{AREA})", move),
    (rf".*{E}", primitive),
)
"""What sentences may be about, by the words that tell, the first one that fits."""
LEAD = re.compile(
    r"(?:step by step|the steps are these|do it like this|one after the other): (?=pick up)", re.I
)
STEP = re.compile(
    r"pick up the ([^.]+?)( hidden)?(?: on the ([a-z]+ [a-z]+) area)? and place it on the "
    r"([^.]+)\.",
    re.I,
)


@lru_cache(maxsize=100_000)
def read(sentence: str) -> Meaning | None:
    """Return what a sentence asks for, a function of the scene; ``None``: it is not understood."""
    if re.search(
        r"\bone (?:towers|stacks|columns|circles|rings)\b|\boutside it\b.*\bsmaller", sentence
    ):
        return None
    words = Words(sentence)
    for idiom in IDIOMS:
        words.take(idiom)
    topic = next((act for pattern, act in TOPICS if re.match(pattern, words.text)), None)
    found = topic(words) if topic else None
    return None if MEANING.search(words.text) else found


def steps_of(sentence: str) -> tuple[str, list[tuple[str, bool, str, str]]]:
    """Return what a sentence asks for, and its steps: what is picked, whether it is hidden, its
    area and what it is put on.
    """
    said, *steps = LEAD.split(sentence)
    found = STEP.findall(steps[0]) if steps else []
    return said.strip(), [(pick, bool(hidden), at, place) for pick, hidden, at, place in found]


def step_leaves(field: Field, step: tuple[str, bool, str, str]) -> frozenset[Leaf]:
    """Return the leaves that a step may mean, one of each block that its words fit."""
    pick, hidden, at, place = (part.lower() if isinstance(part, str) else part for part in step)
    color, kind = str(pick).split()
    found = [t for t in field.of(color, kind) if (t in field.covered) == hidden or not hidden]
    found = [t for t in found if not at or lies_in(t, str(at))]
    if area := re.fullmatch(rf"({AREA}) area", str(place)):
        return frozenset(in_area(t, *bounds_m(area[1])) for t in found)
    onto = field.one(f"<{place}>")
    return frozenset(put(t, onto) for t in found) if onto else frozenset()
