"""Commands: which texts are read, strictly and as the original reads them."""

from dataclasses import replace

import pytest

from clevrskills.suites.ivispar.board import DIRECTIONS
from clevrskills.suites.ivispar.boards import COLORS, SHAPES
from clevrskills.suites.ivispar.commands import MoveCommand, read, read_listing

GEOMS = [("red", "cube"), ("blue", "sphere"), ("yellow", "pyramid"), ("green", "cylinder")]
TILES = [(str(k), "tile") for k in range(1, 9)]
NO, WORD, UNKNOWN = "UNPARSABLE", "UNKNOWN_WORD", "UNKNOWN_OBJECT"
LEFT, RIGHT, UP, DOWN = range(4)

# text -> strict and lenient: a code, or piece and direction, or these and how often
TABLE: dict[str, tuple[object, object]] = {
    "move red cube left": ((0, LEFT), (0, LEFT)),
    "move red cube right": ((0, RIGHT), (0, RIGHT)),
    "move red cube up": ((0, UP), (0, UP)),
    "move red cube down": ((0, DOWN), (0, DOWN)),
    "move blue sphere up": ((1, UP), (1, UP)),
    "move yellow pyramid down": ((2, DOWN), (2, DOWN)),
    "move green cylinder right": ((3, RIGHT), (3, RIGHT)),
    "Move Red Cube Left": ((0, LEFT), (0, LEFT)),
    "MOVE BLUE SPHERE UP": ((1, UP), (1, UP)),
    "  move   red\tcube  left  ": ((0, LEFT), (0, LEFT)),
    "move red cube left.": ((0, LEFT), (0, LEFT)),
    "move red cube left .": ((0, LEFT), (0, LEFT)),
    "move red cube left..": (NO, (0, LEFT)),
    "move red cube left!": (NO, (0, LEFT)),
    "move red cube, left": (NO, (0, LEFT)),
    "move the red cube left": (NO, (0, LEFT)),
    "move red cube to the left": (NO, (0, LEFT)),
    "please move red cube left": (NO, (0, LEFT)),
    "move red cube left please": (NO, (0, LEFT)),
    "move red cube left 2": (NO, (0, LEFT, 2)),
    "move red cube left two": (NO, (0, LEFT, 2)),
    "move red cube left ten times": (NO, (0, LEFT, 10)),
    "move red cube left 3 or four": (NO, (0, LEFT, 3)),
    "move red cube B2 left": (NO, (0, LEFT, 2)),
    "move red cube from B2 to B3, up": (NO, (0, UP, 2)),
    "move red cube left 0": (NO, (0, LEFT)),
    "move red cube up left": (NO, (0, LEFT)),
    "move red cube down right": (NO, (0, RIGHT)),
    "move red cube down up": (NO, (0, UP)),
    "move red cube upwards": (WORD, (0, UP)),
    "move red cube leftward": (WORD, (0, LEFT)),
    "move red cube": (NO, NO),
    "move red left": (NO, NO),
    "move cube left": (NO, NO),
    "move left": (NO, NO),
    "move": (NO, NO),
    "": (NO, NO),
    "   ": (NO, NO),
    "left": (NO, NO),
    "red cube left": (NO, NO),
    "slide red cube left": (NO, NO),
    "remove red cube left": (NO, (0, LEFT)),
    "move red cube north": (WORD, NO),
    "move red cube forward": (WORD, NO),
    "move red cube l": (WORD, NO),
    "move cube red left": (WORD, NO),
    "move red sphere left": (UNKNOWN, UNKNOWN),
    "move blue cube left": (UNKNOWN, UNKNOWN),
    "move yellow cylinder up": (UNKNOWN, UNKNOWN),
    "move orange cube left": (UNKNOWN, UNKNOWN),
    "move purple prism down": (UNKNOWN, UNKNOWN),
    "move pink cube left": (WORD, NO),
    "move red ball left": (WORD, NO),
    "move red square left": (WORD, NO),
    "move red circle left": (WORD, NO),
    "move red cubes left": (WORD, NO),
    "move redcube left": (NO, NO),
    "move red-cube left": (NO, NO),
    "move tile 3 left": (WORD, NO),
    "move red cube left; move red cube up": (NO, (0, LEFT)),
    "move red cube left, move blue sphere up": (NO, (0, LEFT)),
    "action: move red cube left": (NO, (0, LEFT)),
    "done": (NO, NO),
    "start": (NO, NO),
    "move red cube left\n": ((0, LEFT), (0, LEFT)),
    "move red cube left\nbecause": (NO, (0, LEFT)),
}


def expected(entry: object) -> MoveCommand:
    return MoveCommand(code=entry) if isinstance(entry, str) else MoveCommand(*entry)  # type: ignore[misc]


def test_unknown_words_are_reported() -> None:
    said = read("move red ball left", GEOMS, COLORS, SHAPES[:2])
    assert said.args == {"word": "ball", "known": ", ".join(SHAPES[:2])}
    assert read("move red cube north", GEOMS, COLORS, SHAPES).args["word"] == "north"
    assert read("move tile x left", TILES, COLORS, SHAPES).args["word"] == "x"
    listed = read_listing("A1 red cube; B2 pink cube", COLORS, SHAPES)
    assert isinstance(listed, MoveCommand) and listed.args["word"] == "pink"


@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize("text", TABLE)
def test_geoms(text: str, lenient: bool) -> None:
    said = read(text, GEOMS, COLORS, SHAPES, lenient=lenient)
    assert bool(said.args) == (said.code in (WORD, UNKNOWN))
    assert replace(said, args={}) == expected(TABLE[text][lenient])


def test_names_of_drawn_shapes() -> None:
    for shape, piece in (("square", 0), ("circle", 1), ("triangle", 2), ("hexagon", 3)):
        text = f"move {GEOMS[piece][0]} {shape} up"
        for lenient in (False, True):
            command = read(text, GEOMS, COLORS, SHAPES, drawn=True, lenient=lenient)
            assert command == MoveCommand(piece, UP)
        assert read(text, GEOMS, COLORS, SHAPES).code == WORD
    assert read("move red cube up", GEOMS, COLORS, SHAPES, drawn=True) == MoveCommand(0, UP)
    listing, found = "A1 red square; B2 blue sphere", {("A1", "red", "cube")}
    assert isinstance(read_listing(listing, COLORS, SHAPES), MoveCommand)
    found |= {("B2", "blue", "sphere")}
    assert read_listing(listing, COLORS, SHAPES, drawn=True) == found


def test_words_outside_the_set_are_unknown() -> None:
    assert read("move orange cube left", GEOMS, COLORS[:4], SHAPES[:4]).code == WORD


def test_tiles() -> None:
    for lenient in (False, True):
        for k, way in enumerate(DIRECTIONS):
            command = read(f"move tile 5 {way}", TILES, COLORS, SHAPES, lenient=lenient)
            assert command == MoveCommand(4, k)
        assert read("move tile 9 left", TILES, COLORS, SHAPES, lenient=lenient).code == UNKNOWN
        wrong = NO if lenient else WORD
        assert read("move red cube left", TILES, COLORS, SHAPES, lenient=lenient).code == wrong
        assert read("move tile five left", TILES, COLORS, SHAPES, lenient=lenient).code == wrong
    # a number names a tile, and repeats nothing
    assert read("move tile 5 left 2", TILES, COLORS, SHAPES, lenient=True) == MoveCommand(4, LEFT)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A1 red cube", {("A1", "red", "cube")}),
        (" a1 Red cube ; B2 blue sphere.", {("A1", "red", "cube"), ("B2", "blue", "sphere")}),
        ("A1 red cube\nB2 blue sphere\n", {("A1", "red", "cube"), ("B2", "blue", "sphere")}),
        ("A1 red cube;", {("A1", "red", "cube")}),
        ("A1: red cube, B2 blue sphere", {("A1", "red", "cube"), ("B2", "blue", "sphere")}),
        ("", NO),
        (";", NO),
        ("red cube A1", NO),
        ("A1 red", NO),
        ("A1 red cube; and so on", NO),
        ("A1 pink cube", WORD),
        ("A1 red ball", WORD),
    ],
)
def test_listings(text: str, found: set | str) -> None:
    said = read_listing(text, COLORS, SHAPES)
    assert (said.code if isinstance(said, MoveCommand) else said) == found
