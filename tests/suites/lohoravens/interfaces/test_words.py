"""Interface of words: grammar, meaning of instructions in a scene, turns."""

import numpy as np
import pytest

from clevrskills.core.interface import turn_message
from clevrskills.core.policy import PolicyError
from clevrskills.suites.lohoravens.env import LoHoRavensEnv
from clevrskills.suites.lohoravens.field import AREAS
from clevrskills.suites.lohoravens.interfaces.actuator import CODES
from clevrskills.suites.lohoravens.interfaces.grammar import (
    Instruction,
    Phrase,
    Refused,
    Spot,
    parse,
)
from clevrskills.suites.lohoravens.interfaces.words import PICK_PLACE_TEXT, ground
from tests.suites.lohoravens.field import BIG_M, SMALL_M, block, bowl, field, place_of, zone

RED = Phrase("red", "block")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("pick up the red block and place it on the blue zone", (RED, Phrase("blue", "zone"))),
        (
            "Pick up the  bigger red box and place it in the grey bowl.",
            (Phrase("red", "box", "bigger"), Phrase("gray", "bowl")),
        ),
        (
            "pick up the red block on the top left area and place it on the smaller gray block",
            (Phrase("red", "block", at="top left"), Phrase("gray", "block", "smaller")),
        ),
        (
            "pick up the red block hidden and place it into the red bowl",
            (Phrase("red", "block", at="hidden"), Phrase("red", "bowl")),
        ),
        (
            "pick up the red block on the top and place it on the free area",
            (Phrase("red", "block", at="top"), Spot("free area")),
        ),
        ("pick up the red block and place it on the center", (RED, Spot("center"))),
        (
            "pick up the red block and place it on the bottom right area",
            (RED, Spot("bottom right")),
        ),
        (
            "pick up the red block and place it on the left of the pink block",
            (RED, Spot(side="left", of=Phrase("pink", "block"))),
        ),
        (
            "pick up the red block and place it on the near side of the pink block",
            (RED, Spot(side="near", of=Phrase("pink", "block"))),
        ),
        (
            "Take a red cube, put it about 16 cm closer to the robot than the pink block",
            (RED, Spot(side="near", of=Phrase("pink", "block"))),
        ),
        (
            "pick up the red block and place it to the right of the pink block",
            (RED, Spot(side="right", of=Phrase("pink", "block"))),
        ),
        (
            "pick up the red block, and place it on the top of the pink block",
            (RED, Phrase("pink", "block")),
        ),
        (
            "pick up the red block and place it in the top-left corner of the table",
            (RED, Spot("top left")),
        ),
        (
            "please grab the hidden red block and then put it onto the larger pink block",
            (Phrase("red", "block", at="hidden"), Phrase("pink", "block", "bigger")),
        ),
        (
            "lift the small red block underneath the big blue block and drop it in the red bowl",
            (Phrase("red", "block", "smaller", "hidden"), Phrase("red", "bowl")),
        ),
    ],
)
def test_meaning_of_instructions(text: str, meant: tuple) -> None:
    assert parse(text) == parse(text.upper()) == Instruction(*meant)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "UNPARSABLE"),
        ("pick up the red block", "UNPARSABLE"),
        ("pick up the red ball and place it on the blue zone", "UNPARSABLE"),
        ("pick up the red block and place it on the left area", "UNPARSABLE"),
        ("pick up the red block and place it on the bottom side of the blue block", "UNPARSABLE"),
        ("pick up the huge red block and place it on the blue zone", "UNPARSABLE"),
        ("pick up the red block and place it on the blue zone; done", "UNPARSABLE"),
        ("pick up the mauve block and place it on the blue zone", "UNKNOWN_COLOR"),
        ("pick up the red block and place it on the left of the mauve block", "UNKNOWN_COLOR"),
    ],
)
def test_unreadable_videos(text: str, code: str) -> None:
    with pytest.raises(Refused) as caught:
        parse(text)
    assert caught.value.code == code and code in CODES


def test_done() -> None:
    assert parse("Done.") is None


@pytest.fixture(scope="module")
def env() -> LoHoRavensEnv:
    return field(
        block("red", "red", -0.25, -0.30),
        block("big_red", "red", -0.25, 0.30, BIG_M),
        block("hidden", "green", 0.00, 0.20),
        block("upper", "blue", 0.00, 0.20, BIG_M, z=SMALL_M),
        block("blue", "blue", 0.00, -0.30),
        bowl("bowl", "yellow", -0.20, 0.10),
        zone("zone", "cyan", -0.05, -0.15, 0.15),
    )


def asked(env: LoHoRavensEnv, pick: str, place: str):
    return ground(f"pick up the {pick} and place it on the {place}", env)


@pytest.mark.parametrize(
    ("pick", "place", "code"),
    [
        ("white block", "cyan zone", "NO_SUCH_OBJECT"),
        ("red box", "cyan zone", "NO_SUCH_OBJECT"),
        ("bigger green block", "cyan zone", "NO_SUCH_OBJECT"),
        ("red block on the bottom left area", "cyan zone", "NO_SUCH_OBJECT"),
        ("red block on the top", "cyan zone", "NO_SUCH_OBJECT"),
        ("green block", "cyan zone", "COVERED"),
        ("green block hidden", "cyan zone", "COVERED"),
        ("yellow bowl", "cyan zone", "NOT_MOVABLE"),
        ("cyan zone", "center", "NOT_MOVABLE"),
        ("smaller red block", "green block", "COVERED"),
        ("smaller red block", "smaller red block", "NO_SUCH_OBJECT"),
        ("smaller red block", "cyan bowl", "NO_SUCH_OBJECT"),
        ("smaller red block", "left of the white block", "NO_SUCH_OBJECT"),
        ("smaller red block", "far side of the blue block", "NO_ROOM"),
    ],
)
def test_impossible_instructions(env: LoHoRavensEnv, pick: str, place: str, code: str) -> None:
    request = asked(env, pick, place)
    assert request.move is None and request.code == code
    sentence = CODES[code][0].format(**request.args)
    assert sentence.endswith(".") and "{" not in sentence


def test_which_thing_is_meant(env: LoHoRavensEnv) -> None:
    def pick(what: str, place: str) -> tuple[float, float]:
        move = asked(env, what, place).move
        return tuple(np.round(move.pick[:2], 2))

    assert pick("smaller red block", "cyan zone") == (-0.25, -0.30)
    assert pick("bigger red block", "cyan zone") == (-0.25, 0.30)
    assert pick("red block", "cyan zone") == (-0.25, 0.30)  # the one farther away
    assert pick("red block", "yellow bowl") == (-0.25, -0.30)
    assert pick("red block on the top left area", "cyan zone") == (-0.25, -0.30)
    assert pick("blue block on the top", "cyan zone") == (0.00, 0.20)


def test_where_it_goes(env: LoHoRavensEnv) -> None:
    def place(what: str, where: str) -> tuple[float, float]:
        move = asked(env, what, where).move
        return tuple(np.round(move.place[:2], 3))

    assert place("smaller red block", "yellow bowl") == pytest.approx((-0.20, 0.10), abs=2e-3)
    assert place("smaller red block", "cyan zone") == pytest.approx((-0.05, -0.15), abs=2e-3)
    # the highest one of two
    assert place("smaller red block", "blue block") == pytest.approx((0.00, 0.20), abs=2e-3)
    assert place("smaller red block", "bigger red block") == pytest.approx((-0.25, 0.30), abs=2e-3)
    # never onto itself: of two red ones the one that is left
    assert place("smaller red block", "red block") == pytest.approx((-0.25, 0.30), abs=2e-3)
    assert place("smaller red block", "center") == pytest.approx((-0.13, 0.0), abs=2e-3)
    x, y = place("smaller red block", "left of the red block")
    assert (x, y) == pytest.approx((-0.25, 0.14), abs=0.041)
    x, y = place("smaller red block", "free area")
    clear = [np.hypot(x - a, y - b) > 0.08 for a, b in ((-0.20, 0.10), (-0.05, -0.15))]
    assert all(clear)


def test_every_word_of_the_grammar_is_parsed() -> None:
    generator = np.random.default_rng(0)
    said = [PICK_PLACE_TEXT.random(generator) for _ in range(300)]
    for text in (*said, *PICK_PLACE_TEXT.spec["examples"]):
        parse(text)
    assert all(any(f"the {area} area" in text for text in said) for area in AREAS)
    assert PICK_PLACE_TEXT.read(" done ") == ["done"]
    with pytest.raises(PolicyError, match="allowed: str"):
        PICK_PLACE_TEXT.read([1.0] * 6)


def test_turns_in_words() -> None:
    pytest.importorskip("fcl")
    env = field(
        block("one", "red", -0.25, -0.30),
        block("other", "blue", 0.00, 0.30, BIG_M),
        zone("zone", "cyan", -0.10, 0.00),
    )
    act = PICK_PLACE_TEXT.begin(env).act
    before = env.get_state().numpy()
    nonsense = act(PICK_PLACE_TEXT.none())
    assert (nonsense.code, nonsense.ok, nonsense.steps) == ("UNPARSABLE", False, 0)
    np.testing.assert_array_equal(env.get_state().numpy(), before)
    assert act("pick up the blue block and place it on the cyan zone").code == "PLACED"
    np.testing.assert_allclose(place_of(env, 1)[:2], (-0.10, 0.0), atol=3e-3)
    turn = act("Pick up the red block and place it on the blue block.")
    assert (turn.code, turn.ok, turn.success) == ("PLACED", True, True)
    meant = "pick up the red block and place it on the bottom left area"
    for text, given in (
        (meant, ""),
        ("Take a red cube, put it in the lower left corner of the table", meant),
    ):
        sentence = turn_message(PICK_PLACE_TEXT, act(text))
        assert sentence.startswith(f"Understood: {meant}. " if given else "It was"), sentence
    stop = act("done")
    assert (stop.code, stop.ok, stop.ended) == ("DONE", False, "stopped") and env.turns == 6


def test_of_equally_far_blocks_the_lowest_is_taken() -> None:
    env = field(
        block("block_0", "ravens/green", -0.2, -0.2, z=SMALL_M),
        block("block_1", "ravens/red", -0.2, -0.2),
        block("block_2", "ravens/green", -0.2, 0.2),
        onto=2,
    )
    move = ground("pick up the green block and place it on the green block", env).move
    assert move is not None and (move.slot, move.onto) == (2, 0)
