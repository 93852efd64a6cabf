"""Text commands of boards, parsed strictly or leniently as in iVISPAR's code."""

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
"""Names of the shapes in schematic drawings."""
UNPARSABLE, UNKNOWN_WORD, UNKNOWN_OBJECT = "UNPARSABLE", "UNKNOWN_WORD", "UNKNOWN_OBJECT"
_NUMBERS = "one two three four five six seven eight nine ten".split()
_MOVE = re.compile(r"move (\w+) (\w+) (\w+)")
_LISTED = re.compile(r"([a-z]\d+):? (\w+) (\w+)")


@dataclass(frozen=True)
class MoveCommand:
    """Parsed command."""

    piece: int = -1  # number of the piece; -1: none
    direction: int = -1  # number of the direction
    times: int = 1  # number of moves
    code: str = ""  # error code; empty: valid
    args: Mapping[str, str] = field(default_factory=dict)  # arguments of the code's message


def drawn_shape(shape: str) -> str:
    """Return the name of a shape in schematic drawings."""
    return DRAWN.get(shape, shape)


def canonical(text: str) -> str:
    """Return a move or a listing in lower case, with cells in capitals; empty if it is neither."""
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
    colors: Sequence[str],
    shapes: Sequence[str],
    drawn: bool = False,
    lenient: bool = False,
) -> MoveCommand:
    """Parse a command.

    Args:
        action: The command, or a move as a number, 4 piece + direction.
        geoms: Pieces on the board.
        colors: Colors of the set.
        shapes: Shapes of the set.
        drawn: Whether to accept the names of drawn shapes as well.
        lenient: Whether to parse as iVISPAR's code: the words may be anywhere, and a number repeats
            the move.

    Raises:
        PolicyError: The number is out of range.
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
        return _lenient(words, geoms, colors, known, tiles)
    match = _MOVE.fullmatch(words.removesuffix(".").rstrip())
    if match is None:
        return MoveCommand(code=UNPARSABLE)
    first, second, direction = match.groups()
    seconds = known
    if tiles:
        seconds = {second: ""} if second.isdecimal() else {name: "" for name, _ in geoms}
    if args := _unknown(
        (first, ["tile"] if tiles else colors), (second, seconds), (direction, DIRECTIONS)
    ):
        return MoveCommand(code=UNKNOWN_WORD, args=args)
    geom = (second, "tile") if tiles else (first, known[second])
    return _command(geom, f"{first} {second}", geoms, DIRECTIONS.index(direction))


def _unknown(*words: tuple[str, Iterable[str]]) -> dict[str, str]:
    """Return the first unknown word and the allowed ones; empty if all words are known."""
    for word, known in words:
        if word not in known:
            return {"word": word, "known": ", ".join(known)}
    return {}


def _known(shapes: Sequence[str], drawn: bool) -> dict[str, str]:
    """Return the shape of each allowed word."""
    known = {shape: shape for shape in shapes}
    return known | {drawn_shape(shape): shape for shape in shapes} if drawn else known


def _lenient(
    text: str, geoms: Sequence[Geom], colors: Sequence[str], known: Mapping[str, str], tiles: bool
) -> MoveCommand:
    """Parse leniently: take the first direction in order, and the color before the first shape."""
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
            geom = (before, shape) if before in colors else None
            return _command(geom, f"{before} {word}", geoms, direction, _times(text))
    return MoveCommand(code=UNPARSABLE)


def _times(text: str) -> int:
    """Return the first number in digits, else in words."""
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
    """Split a listing into entries."""
    parts = (" ".join(part.lower().split()) for part in re.split(r"[;,\n]", text.strip(" .\n")))
    return [part for part in parts if part]


def read_listing(
    text: str, colors: Sequence[str], shapes: Sequence[str], drawn: bool = False
) -> set[tuple[str, str, str]] | MoveCommand:
    """Parse a listing, ``<cell> <color> <shape>; …``.

    Args:
        text: The listing.
        colors: Colors of the set.
        shapes: Shapes of the set.
        drawn: Whether to accept the names of drawn shapes as well.

    Returns:
        Cell in capitals, color and shape of each piece, or a command with an error code.
    """
    found, known = set(), _known(shapes, drawn)
    for entry in _entries(text):
        match = _LISTED.fullmatch(entry)
        if match is None:
            return MoveCommand(code=UNPARSABLE)
        if args := _unknown((match[2], colors), (match[3], known)):
            return MoveCommand(code=UNKNOWN_WORD, args=args)
        found.add((match[1].upper(), match[2], known[match[3]]))
    return found or MoveCommand(code=UNPARSABLE)
