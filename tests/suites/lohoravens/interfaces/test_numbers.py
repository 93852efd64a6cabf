"""Interfaces of numbers: what they read, pixels of the map, turns in an environment."""

from math import pi

import numpy as np
import pytest

from clevrskills.core.interface import check_spec, turn_feedback
from clevrskills.core.policy import PolicyError
from clevrskills.core.rollout import Rollout
from clevrskills.evaluation.play.command import actions_of
from clevrskills.suites.lohoravens.interfaces.numbers import (
    PICK_PLACE,
    PICK_PLACE_PIXELS,
    pixel_of,
)
from clevrskills.suites.lohoravens.primitive import in_field
from clevrskills.suites.lohoravens.setting import FIELD, PIXEL_M
from tests.suites.lohoravens.field import BIG_M, block, field

A, B = (-0.25, -0.30), (0.00, 0.30)


@pytest.mark.parametrize("interface", [PICK_PLACE, PICK_PLACE_PIXELS])
def test_reading(interface) -> None:
    assert interface.read(np.arange(6)).tolist() == [[0, 1, 2, 3, 4, 5]]
    assert interface.read([[0] * 6, [1000] * 6]).shape == (2, 6)  # nothing is clipped
    assert actions_of(interface, "1 2 3 4 5 -600")[0].tolist() == [1, 2, 3, 4, 5, -600]
    for bad in ([1, 2], "1 2 3", "a b c d e f", None, [[0] * 7], [float("nan")] * 6, np.inf):
        with pytest.raises(PolicyError):
            interface.read(bad)
    check_spec(interface.spec, {"shape": [6], "frame": interface.spec["frame"]}, "mine")


def test_pixels_are_whole() -> None:
    with pytest.raises(PolicyError, match="no whole number|not a whole number"):
        PICK_PLACE_PIXELS.read([0.5, 0, 0, 0, 0, 0])
    assert PICK_PLACE.read([0.5, 0, 0, 0, 0, 0])[0, 0] == 0.5


def test_pixels_are_places() -> None:
    move = PICK_PLACE_PIXELS.request(np.array([0, 255, 9, 127, 0, 45]), None).move
    half = PIXEL_M / 2
    assert move.pick == pytest.approx((FIELD.x_m[0] + half, FIELD.y_m[1] - half, pi / 2))
    assert move.place == pytest.approx((FIELD.x_m[1] - half, FIELD.y_m[0] + half, pi / 2))
    generator = np.random.default_rng(0)
    for _ in range(100):
        pixel = PICK_PLACE_PIXELS.random(generator)
        move = PICK_PLACE_PIXELS.request(pixel, None).move
        assert (*pixel_of(move.pick), *pixel_of(move.place)) == tuple(pixel)


@pytest.mark.parametrize("interface", [PICK_PLACE, PICK_PLACE_PIXELS])
def test_doing_nothing_is_outside_and_anything_inside_the_field(interface) -> None:
    def asked(action):
        (read,) = interface.read(action)
        return interface.request(read, None).move

    assert not in_field(asked(interface.none()))
    generator = np.random.default_rng(0)
    moves = [asked(interface.random(generator)) for _ in range(200)]
    assert all(map(in_field, moves))
    picks = np.array([move.pick[:2] for move in moves])
    assert (np.ptp(picks, axis=0) > (0.37, 0.75)).all()


class Watched(Rollout):
    """A rollout whose control steps are watched."""

    watches = True


def test_a_rollout_succeeds_by_one_turn_and_records_it() -> None:
    pytest.importorskip("fcl")
    env = field(block("one", "red", *A), block("other", "blue", *B, BIG_M))
    rollout, steps = Watched(env, actuator=PICK_PLACE_PIXELS.begin(env)), []
    assert rollout.limit == env.turn_limit == 8
    rollout.on_control_step = steps.append
    missed = rollout.step(PICK_PLACE_PIXELS.none())
    assert (missed.code, missed.success, rollout.ended) == ("OUT_OF_FIELD", False, False)
    (action,) = PICK_PLACE_PIXELS.read([*pixel_of((*A, 0)), *pixel_of((*B, 0))])
    turn = rollout.step(action)
    assert (turn.code, turn.ok, turn.success, turn.progress) == ("PLACED", True, True, 1.0)
    assert rollout.ended and rollout.turns == 2 and len(steps) == turn.steps == rollout.steps
    assert turn.reward == steps[-1].reward == 6.0
    assert turn_feedback(PICK_PLACE, turn, "detailed") == "Success. It was picked and placed."
    assert (
        turn_feedback(PICK_PLACE, missed, "simple") == "Failure."
        and turn_feedback(PICK_PLACE, missed, "none") == ""
    )
    assert PICK_PLACE.codes[missed.code][1] == "out of field"
    assert env.look(("caption_change",))["caption_change"].endswith(
        "The smaller red block has moved: it was in the top left area and is now in the bottom "
        "right area, on the bigger blue block."
    )
