"""Semantic axes: textures and language."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from math import ceil, dist

import numpy as np

from clevrskills.assets import pools, texture
from clevrskills.assets.names import vocabulary
from clevrskills.assets.palettes import lab
from clevrskills.envs.perturbations.axis import Draft, PerturbationError, Range, TabletopAxis
from clevrskills.sim.body import Body

APART = 15.0
"""Smallest distance in CIELAB between the mean colors of two textures of a scene."""
TRIES = 40
_WORD = re.compile(r"\{[^}]*\}|[A-Za-z]+")
SHORT = 4
"""Words below this length are not misspelt."""
MEANT = (
    "left right front back behind above below over under between beside around inside outside "
    "towards toward away near north south east west clockwise counterclockwise counter degrees "
    "first second third last then after before once twice one two three four five six next "
    "smaller bigger larger taller smallest biggest same other another different opposite "
    "without touching until every each none both"
)
"""Words that carry the meaning of an instruction."""


@cache
def mean_lab(name: str) -> tuple[float, float, float]:
    """Return the mean color of a texture in CIELAB."""
    return lab(texture(name).reshape(-1, 3).mean(axis=0))


def looks_apart(one: str, other: str) -> bool:
    """Return whether two textures are distinguishable."""
    return dist(mean_lab(one), mean_lab(other)) >= APART


def draw_texture(draft: Draft, most: Range, generator: np.random.Generator) -> None:
    """Replace some textures consistently by textures unseen in training.

    Raises:
        PerturbationError: No textures are distinguishable.
    """
    bodies = [*filter(None, draft.layout.bodies), *draft.layout.examples]
    worn = list(dict.fromkeys(body.texture for body in bodies if body.texture))
    pool = [name for name in pools("test").textures if name not in worn]
    chosen = generator.permutation(worn).tolist()[: ceil(len(worn) * most["share_%"] / 100)]
    for _ in range(TRIES):
        swap: dict[str, str] = {}
        for old in chosen:
            kept = [swap.get(name, name) for name in worn if name != old]
            for new in generator.permutation(pool).tolist():
                if new not in swap.values() and all(looks_apart(new, name) for name in kept):
                    swap[old] = new
                    break
        if len(swap) == len(chosen):
            break
    else:
        raise PerturbationError("no distinguishable textures")

    def worn_now(body: Body) -> Body:
        return replace(body, texture=swap.get(body.texture or "", body.texture))

    draft.layout = replace(
        draft.layout,
        bodies=tuple(worn_now(body) if body else None for body in draft.layout.bodies),
        examples=tuple(map(worn_now, draft.layout.examples)),
    )


def draw_language(draft: Draft, most: Range, generator: np.random.Generator) -> None:
    """Sample another wording, at high levels held out and misspelt.

    Raises:
        PerturbationError: The task has no other wording.
    """
    wordings = draft.task.wordings(draft.layout)
    styles = ("terse", "plain") if most["plain"] else ("terse", "plain", "elaborate")
    held_out = bool(most["held_out"])
    own = draft.clean.prompt.text
    found = [
        k
        for k, one in enumerate(wordings)
        if one.held_out == held_out and one.style in styles and one.text != own
    ]
    if not found:
        raise PerturbationError("the task has no other wording")
    draft.wording = found[int(generator.uniform() * len(found))]
    if most["misspelt"]:
        draft.misspell = misspeller(int(most["misspelt"]), generator)


def misspeller(count: int, generator: np.random.Generator) -> Callable[[str], str]:
    """Return a function that misspells ``count`` words of a text, except names, directions and
    numbers.
    """

    def misspell(text: str) -> str:
        words = [
            match
            for match in _WORD.finditer(text)
            if not match[0].startswith("{")
            and len(match[0]) >= SHORT
            and match[0].lower() not in _protected()
        ]
        order = generator.permutation(len(words))[:count]
        for k in sorted(order, reverse=True):
            start, end = words[k].span()
            text = text[:start] + _wrong(text[start:end], generator) + text[end:]
        return text

    return misspell


def _wrong(word: str, generator: np.random.Generator) -> str:
    """Return a word with two letters swapped, or one dropped or doubled, after the first."""
    k = int(generator.integers(1, len(word) - 1))
    kind = int(generator.integers(3))
    if kind == 0 and word[k] != word[k + 1]:
        return word[:k] + word[k + 1] + word[k] + word[k + 2 :]
    return word[:k] + word[k] * (2 if kind == 1 else 0) + word[k + 1 :]


@cache
def _protected() -> frozenset[str]:
    """Return the words that must not be misspelt."""
    return frozenset(MEANT.split()) | vocabulary()


TEXTURE = TabletopAxis(
    "texture",
    tuple({"share_%": share} for share in (20.0, 40.0, 60.0, 80.0, 100.0)),
    visual=True,
    physical=False,
    draw=draw_texture,
)
LANGUAGE = TabletopAxis(
    "language",
    tuple(
        {"plain": plain, "held_out": held_out, "misspelt": misspelt}
        for plain, held_out, misspelt in ((1, 0, 0), (0, 0, 0), (0, 1, 0), (0, 1, 1), (0, 1, 3))
    ),
    visual=False,
    physical=False,
    draw=draw_language,
)
