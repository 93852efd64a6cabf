"""Names of shapes and textures in sentences, for training and held out."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import chain
from pathlib import Path

from clevrskills.assets.palettes import bare_name, palette_color
from clevrskills.assets.tables import read_rows
from clevrskills.assets.textures import COLORS

SEEN_NAMES, HELD_OUT_NAMES = (0, 1, 2), (3, 4)
"""Indices of the sets of names in all sentences, and in held-out sentences only. Set 0 is used in
tables."""

LETTERS = ("letter {}", "capital {}", "character {}", "{}-shaped piece", "alphabet piece {}")

DARK = ("dark", "dark", "dark", "deep", "dim")
PLAIN = ("{}", "plain {}", "solid {}", "uniform {}", "unpatterned {}")
"""Names of plain colors."""
ALL_COLORS = "multicolored"
"""Name of a swirl of all colors next to one of a single color."""


def shape_words(shape: str, names: int = 0, others: Iterable[str] = ()) -> str:
    """Return the name of a shape in a set of names, distinct from other shapes in the scene.

    Next to a ``puzzle cube``, a ``cube`` is a ``cuboid``. Shapes of other distributions have only
    one name.

    Args:
        shape: Name of the shape.
        names: Index of the set.
        others: Names of the other shapes.
    """
    if names == 0 and any(set(shape.split()) < set(other.split()) for other in others):
        names = 1
    letter = shape.removeprefix("letter ")
    if letter != shape:
        return LETTERS[names].format(letter)
    known = _names("shape")
    return known[shape][names] if shape in known else shape


def texture_words(texture: str, names: int = 0, others: Iterable[str] = ()) -> str:
    """Return the name of a texture in a set of names, distinct from other textures in the scene.

    Next to ``red swirl``, ``red`` is ``plain red``; next to ``dark red swirl``, ``red swirl`` is
    ``bright red swirl``.

    Args:
        texture: Name of the texture.
        names: Index of the set.
        others: Names of the other textures.
    """
    if palette_color(texture) is not None:
        return bare_name(texture)
    bright = texture.removeprefix("dark ")
    families = _names("texture")
    kind = next((kind for kind in families if bright.endswith(kind)), "")
    colors = bright.removesuffix(kind).split()
    if not kind and texture not in COLORS:
        return texture
    pattern = (families[kind] if kind else PLAIN)[names]
    if kind in ("polka dot", "stripe") and names:
        colors = [" and ".join(colors)]
    words = " ".join(pattern.format(" ".join(colors)).split())
    if bright != texture:
        return f"{DARK[names]} {words}"
    if any(set(texture.split()) < set(other.split()) for other in others):
        if not kind:
            return words if names else f"plain {words}"
        return f"{'bright' if colors else ALL_COLORS} {words}"
    return words


@cache
def _names(of: str) -> Mapping[str, tuple[str, ...]]:
    """Return the names of each shape, or of each texture or pattern, by set."""
    path = Path(__file__).with_name(f"{of}_names.toml")
    return read_rows(path, str, len(SEEN_NAMES + HELD_OUT_NAMES))


def vocabulary() -> frozenset[str]:
    """Return all words in names of shapes and textures, in lower case."""
    tables = (_names(of).values() for of in ("shape", "texture"))
    sets = (*chain(*tables), LETTERS, DARK, PLAIN)
    names = " ".join(name for names in sets for name in names)
    return frozenset(re.findall(r"[a-z]+", names.lower())) | {*COLORS, ALL_COLORS}
