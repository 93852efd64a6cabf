"""Commands: the words by which a piece is moved, read strictly or as the original reads them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from clevrskills.core.policy import PolicyError
from clevrskills.suites.ivispar.board import DIRECTIONS
from clevrskills.suites.ivispar.boards import Geom

DRAWN = {
    **{"cube": "square", "sphere": "circle", "pyramid": "triangle", "cylinder": "hexagon"},
    **{"cone": "ring", "prism": "diamond"},
}
"""Outlines of the shapes from above, drawn flat."""
UNPARSABLE, UNKNOWN_WORD, UNKNOWN_OBJECT = "UNPARSABLE", "UNKNOWN_WORD", "UNKNOWN_OBJECT"
_NUMBERS = "one two three four five six seven eight nine ten".split()
_MOVE = re.compile(r"move (\w+) (\w+) (\w+)")
_LISTED = re.compile(r"([a-z]\d+):? (\w+) (\w+)")


@dataclass(frozen=True)
class MoveCommand:
    """Parsed command."""

    piece: int = -1  # number of the piece; -1: there is none
    direction: int = -1  # number of the direction
    times: int = 1  # how often the piece is to be moved
    code: str = ""  # what is wrong with it; empty: nothing
    args: Mapping[str, str] = field(default_factory=dict)  # what the sentence of the code names


def drawn_shape(shape: str) -> str:
    """Return what a shape is called where it is drawn flat."""
    return DRAWN.get(shape, shape)


def canonical(text: str) -> str:
    """Return a move or a listing in lower case, cells in capitals; empty: it is neither."""
    words = " ".join(text.lower().split())
    move = _MOVE.fullmatch(words)
    if move and move[3] in DIRECTIONS:
        return words
    listed = [*map(_LISTED.fullmatch, _entries(words))]
    named = [f"{found[1].upper()} {found[2]} {found[3]}" for found in listed if found]
    return "; ".join(named) if len(named) == len(listed) else ""


def read(
    action: str | int,
    geoms: Sequence[Geom],
    colours: Sequence[str],
    shapes: Sequence[str],
    drawn: bool = False,
    lenient: bool = False,
) -> MoveCommand:
    """Read a command.

    Args:
        action: The command, or a move as a number, 4 piece + direction.
        geoms: The pieces on the board.
        colours: The colors of the set.
        shapes: The shapes of the set.
        drawn: Whether the names of drawn shapes are understood, too.
        lenient: Whether it is read as by the original: the words may stand anywhere, and a number
            repeats the move.

    Raises:
        PolicyError: There is no move of this number.
    """
    if not isinstance(action, str):
        if not 0 <= action < len(DIRECTIONS) * len(geoms):
            most = len(DIRECTIONS) * len(geoms) - 1
            raise PolicyError(f"move {action}; allowed: 0 to {most}")
        return MoveCommand(*divmod(action, len(DIRECTIONS)))
    words = " ".join(action.lower().split())
    known: Mapping[str, str] = _known(shapes, drawn)
    tiles = bool(geoms) and geoms[0][1] == "tile"
    if lenient:
        return _lenient(words, geoms, colours, known, tiles)
    match = _MOVE.fullmatch(words.removesuffix(".").rstrip())
    if match is None:
        return MoveCommand(code=UNPARSABLE)
    first, second, direction = match.groups()
    seconds = known
    if tiles:
        seconds = {second: ""} if second.isdecimal() else {name: "" for name, _ in geoms}
    if args := _unknown(
        (first, ["tile"] if tiles else colours), (second, seconds), (direction, DIRECTIONS)
    ):
        return MoveCommand(code=UNKNOWN_WORD, args=args)
    geom = (second, "tile") if tiles else (first, known[second])
    return _command(geom, f"{first} {second}", geoms, DIRECTIONS.index(direction))


def _unknown(*words: tuple[str, Iterable[str]]) -> dict[str, str]:
    """Return the first word that is none of those that may stand there, and those; nothing: all
    are known.
    """
    for word, known in words:
        if word not in known:
            return {"word": word, "known": ", ".join(known)}
    return {}


def _known(shapes: Sequence[str], drawn: bool) -> dict[str, str]:
    """Return the shape that each word means."""
    known = {shape: shape for shape in shapes}
    return known | {drawn_shape(shape): shape for shape in shapes} if drawn else known


def _lenient(
    text: str, geoms: Sequence[Geom], colours: Sequence[str], known: Mapping[str, str], tiles: bool
) -> MoveCommand:
    """Return the first direction in their order; the word before the first shape is the color."""
    direction = next((k for k, name in enumerate(DIRECTIONS) if name in text), -1)
    if "move" not in text or direction < 0:
        return MoveCommand(code=UNPARSABLE)
    if tiles:
        match = re.search(r"tile (\d+)", text)
        tile, name = ((match[1], "tile"), match[0]) if match else (None, "")
        return _command(tile, name, geoms, direction)
    words = text.split()
    for before, word in zip(words, words[1:], strict=False):
        shape = known.get(word.strip(".,;:!?"))
        if shape is not None:
            geom = (before, shape) if before in colours else None
            return _command(geom, f"{before} {word}", geoms, direction, _times(text))
    return MoveCommand(code=UNPARSABLE)


def _times(text: str) -> int:
    """Return the first number in digits, or else in words."""
    if match := re.search(r"\d+", text):
        return max(1, int(match[0]))
    named = [n for n, name in enumerate(_NUMBERS, 1) if re.search(rf"\b{name}\b", text)]
    return named[0] if named else 1


def _command(
    geom: Geom | None, name: str, geoms: Sequence[Geom], direction: int, times: int = 1
) -> MoveCommand:
    if geom is None:
        return MoveCommand(code=UNPARSABLE)
    if geom not in geoms:
        return MoveCommand(code=UNKNOWN_OBJECT, args={"piece": name})
    return MoveCommand(list(geoms).index(geom), direction, times)


def _entries(text: str) -> list[str]:
    """Return the entries of a listing."""
    parts = (" ".join(part.lower().split()) for part in re.split(r"[;,\n]", text.strip(" .\n")))
    return [part for part in parts if part]


def read_listing(
    text: str, colours: Sequence[str], shapes: Sequence[str], drawn: bool = False
) -> set[tuple[str, str, str]] | MoveCommand:
    """Return the pieces of a listing, ``<cell> <color> <shape>; …``: cell in capitals, color,
    shape; or what is wrong with it.

    Args:
        text: The listing.
        colours: The colors of the set.
        shapes: The shapes of the set.
        drawn: Whether the names of drawn shapes are understood, too.
    """
    found, known = set(), _known(shapes, drawn)
    for entry in _entries(text):
        match = _LISTED.fullmatch(entry)
        if match is None:
            return MoveCommand(code=UNPARSABLE)
        if args := _unknown((match[2], colours), (match[3], known)):
            return MoveCommand(code=UNKNOWN_WORD, args=args)
        found.add((match[1].upper(), match[2], known[match[3]]))
    return found or MoveCommand(code=UNPARSABLE)
