"""Reader of the sentences of the household by the words in them, without their wordings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

WORDS: Mapping[str, str] = {
    "mug": "mugs?",
    "coffee": "coffee",
    "cabinet": "cabinets?",
    "potato": "potato(?:es)?",
    "egg": "eggs?",
    "bread": "bread|toast(?:ed)?",
    "slice": r"slic\w+|pieces?|cut|chop|portion|shared? out",
    "bowl": "bowls?",
    "plate": "plates?",
    "pan": "pan",
    "whole": "whole",
    "other": "pots?|cups?|oven|tea|two|boil",
    "stove": "stove|fry|fried|fries",
    "toaster": "toaster",
    "microwave": r"microwav\w+|zap",
    "table": "dining table",
    "fridge": "fridge",
    "drawer": "drawers?",
    "television": "television|tv",
    "mirror": "mirror",
    "clean": r"clean\w*|wash\w*|rinse|spotless|dirt\w*|sponge|ready for use|polish|shine|smears?",
}
"""Patterns of the words for what a sentence is about."""
NOT_SO = re.compile(
    r"the (?:stove|microwave) is not needed today|do not (?:cut|boil)", re.IGNORECASE
)
"""Negations in a sentence."""
MEALS: Mapping[
    str, tuple[str, str]
] = {  # the words that a sentence has, and those that it may have
    "coffee": ("mug coffee clean", "cabinet"),
    "cook_potato": ("potato bowl", "microwave whole"),
    "cook_egg": ("egg plate", "pan stove"),
    "cook_toast": ("bread plate", "slice toaster"),
    "cook_potato_slice": ("potato slice plate", "pan stove"),
    "set_table": ("table coffee bread plate", "mug slice clean"),
    "clean_mirror": ("mirror", "clean"),
    "turn_on_tv": ("television", ""),
}
LISTS: Mapping[str, tuple[str, str]] = {
    "put_away_food": ("", "fridge"),
    "put_away_silverware": ("", "drawer"),
    "put_away_dishes": ("clean", ""),
    "distribute": ("slice", "clean"),
}
"""The same of sentences with a list of objects."""

Meaning = tuple[str, tuple[str, ...], str]
"""Family, the listed types, and the sliced type."""


def read(text: str, kinds: Mapping[str, Sequence[str]]) -> Meaning | None:
    """Return what a sentence asks for; ``None``: it says nothing of the kind.

    Args:
        text: The sentence.
        kinds: Types of each kind of items: ``food``, ``silverware`` and ``dishes``.
    """
    said = _said(NOT_SO.sub(" ", text))
    for name, (must, may) in MEALS.items():
        if {*must.split()} <= said <= {*must.split(), *may.split()}:
            return name, (), ""
    types = "|".join(sorted({t for some in kinds.values() for t in some}, key=len, reverse=True))
    lists = [*re.finditer(rf"\b(?:{types})\b(?:, (?:{types})\b)*", text)]
    if not lists:
        return None
    listed, foods = tuple(lists[-1][0].split(", ")), [found[0] for found in lists[:-1]]
    said = _said(text[: lists[-1].start()] + text[lists[-1].end() :])
    for name, (must, may) in LISTS.items():
        fits = {*must.split()} <= said <= {*must.split(), *may.split()}
        if name == "distribute" and fits and len(foods) == 1 and foods[0] in kinds["food"]:
            return name, listed, foods[0]
        if fits and not foods and {*listed} <= {*kinds.get(name.removeprefix("put_away_"), ())}:
            return name, listed, ""
    return None


def _said(text: str) -> set[str]:
    return {name for name, word in WORDS.items() if re.search(rf"\b(?:{word})\b", text, re.I)}
