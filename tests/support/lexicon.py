"""Lexicon of goals: words for objects, relations, directions, order and counts, and idioms.

A word of the lexicon is part of what a goal asks for, unless it is in one of the idioms.
"""

import re

RELATION = (
    "on top of",
    "on top",
    "onto",
    "on",
    "into",
    "in",
    "inside",
    "towards",
    "next to",
    "below",
    "beside",
    "closer",
    "nearer",
    r"(?:at|to|over)(?= \{)",
)
DIRECTION = ("left", "right", "clockwise", "anti-clockwise", "away", "direction")
ORDER = (
    "first",
    "then",
    "afterwards",
    "after",
    "next",
    "second",
    "last",
    "before",
    "finally",
    "followed",
    "later",
    "bottom",
    "top",
    "lowest",
    "highest",
    "reversed?",
    "reverses",
    "backwards",
)
COUNT = ("two", "three", "four", "five", "six", "both", "pair", "single")
COLOR = ("red", "green", "blue", "yellow", "purple", "cyan", "orange", "white", "black", "grey")
WORDS = re.compile(
    rf"(?<![\w{{:-])(?:{'|'.join((*RELATION, *DIRECTION, *ORDER, *COUNT, *COLOR))})(?![\w}}:-])",
    re.IGNORECASE,
)
IDIOMS = re.compile(
    # where things are at the start, and where the gripper moves
    r"\bo(?:n|ff|nto) (?:the|this|its|your) (?:table|way|own|spot|same spot|side in|route)\b|"
    r"\bon (?:the way|its way|its own|which nothing|a round trip|the table)|"
    r"\bflat on the table|\blong way\b|\bthe gripper (?:slowly )?to(?:wards)? \{|\bGo to \{|"
    r"\bmove to \{|\bgripper slowly towards \{|\bslowly towards\b|"
    r"\bin (?:the|your) (?:gripper|hand|air|end|meantime|place\b(?! of)|same way|pose)\b|"
    r"\bin (?:mind|order|place|balance|between|reach|mid-swing|any order|this way|my language)\b|"
    r"\bin (?:its|their|their new) places?\b|\bin a (?:certain|rehearsal)|\bin the right place\b|"
    r"\bin which order\b|\bin (?:these|this) (?:images|order)\b|\bin the (?:reversed )?order\b|"
    r"\bin the place of\b|\bin (?:one|a|each) (?:single )?stacks?\b|\bin which you\b|"
    r"\bin the (?:same|usual) way|\bone in\b|\bin it is\b|\bin \{(?:shown|noun_\d)\}|\bas in\b|"
    r"\b(?:in|to|at|of) \{shown\}|\bAs in\b|\bto \{noun_\d\}|\bat \{noun_\d\}|"
    r"\binto (?:the|that|this) (?:same )?pose\b|\binto (?:stacks|two equal)\b|"
    r"\b(?:go|goes|move|keep|kept|vacuum|looked) on\b|\bgo(?:ing)? on (?:pushing|until)\b|"
    r"\bwhat is below\b|\bwhatever is beside\b|\b(?:tip|knock|bowl)\w* over\b|\bin reversed?\b|"
    r"\bin which(?: direction)?\b|\bwhat comes last in it\b|\bin the place\b(?= \{)|"
    r"\{[^}]*\}|\bover (?=\{to\})|\bto (?=\{(?:green|top|bottom)\})|"
    # manner and time
    r"\bat first\b|\bat the (?:start|end|beginning)\b|\bone after the other\b|\bStop after stop\b|"
    r"\bam after\b|\bafter being thrown\b|\bSafety comes first\b|\bbefore you (?:act|begin)\b|"
    r"\bBefore anything\b|\btextures first\b|\bafter you throw\b|\bdoes afterwards\b|\bnext job\b|"
    r"\bafter the other\b|\bnear the top\b|\bdifferent afterwards\b|"
    r"\bnew names first\b|\bnever heard .* before\b|"
    r"\bthe (?:first|second)(?= and put it| on the second|\.$)|"
    r"\bthen compare\b|\bafter all objects\b|"
    r"\b(?:If|that|new|then a) .*?\bthen (?:put|a new)\b|\blater;|\bfor later\b|"
    r"\bright (?:where|spot|moment|way|place|below)\b|\b(?:is|never|be) left\b|\bfar away\b|"
    r"\bmove away\b|\bin which direction\b|\bin any direction\b|\bany direction\b|"
    # words about words, twins and moves
    r"\b(?:two|three) (?:new )?(?:words|names)\b|\btwo of these words\b|"
    r"\bthe two (?:objects )?on the|"
    r"\bTwo objects on the table are\b|\bcompare the two\b|\btwo (?:halves|moments|moves)\b|"
    r"\bsingle (?:stack|collision)\b|\bthese two up\b|\bthe two together\b|\bBoth where\b",
    re.IGNORECASE,
)


def goal_words_of(text: str) -> list[tuple[int, str]]:
    """Return where words of goals stand in the fixed text of a template, and which these are."""
    idioms = [match.span() for match in IDIOMS.finditer(text)]
    return [
        (match.start(), match[0])
        for match in WORDS.finditer(text)
        if not any(start <= match.start() and match.end() <= end for start, end in idioms)
    ]
