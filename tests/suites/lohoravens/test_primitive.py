"""Pick-and-place primitive: outcomes, towers, the way home, determinism."""

from collections.abc import Iterator
from math import pi

import numpy as np
import pytest
from sapien import Pose

from clevrskills.solvers.motion import Actions, PlanFailed
from clevrskills.suites.lohoravens.interfaces import actuator
from clevrskills.suites.lohoravens.noise import Noise
from clevrskills.suites.lohoravens.primitive import SEARCHES, PrimitiveArm, _move_to_any
from clevrskills.suites.lohoravens.setting import FIELD, SETTING
from tests.suites.lohoravens.field import (
    BIG_M,
    SMALL_M,
    block,
    bowl,
    field,
    place_of,
    turns,
    zone,
)

pytest.importorskip("fcl")
A, B = (-0.25, -0.30), (0.00, 0.30)


def state(env) -> np.ndarray:
    return env.get_state().numpy()


def test_a_tower_of_five_on_a_zone() -> None:
    starts = [(-0.25, -0.30), (-0.05, -0.25), (0.02, 0.30), (-0.28, 0.20), (-0.12, 0.05)]
    blocks = [block(f"block_{k}", "red", *place) for k, place in enumerate(starts)]
    env = field(*blocks, zone("zone", "cyan", -0.10, -0.10))
    act = turns(env)
    for k, start in enumerate(starts):
        turn = act(*start, 0.7 * k, -0.10, -0.10, 0.7 * k)
        assert (turn.code, turn.ok) == ("PLACED", True) and 40 < turn.steps < 120
    places = np.array([place_of(env, k) for k in range(5)])
    np.testing.assert_allclose(places[:, :2], -0.10, atol=3e-3)
    np.testing.assert_allclose(places[:, 2], 0.021 + SMALL_M * np.arange(5), atol=2e-3)
    start = SETTING.qpos_at_start("ur5e")
    np.testing.assert_allclose(env.proprioception()["qpos"], start, atol=0.02)


def test_a_picked_block_turns_by_the_difference_of_the_yaws() -> None:
    env = field(block("one", "red", *A), block("other", "blue", *B, BIG_M))
    assert turns(env)(*A, 0.4, -0.10, 0.0, 0.4 + pi / 6).code == "PLACED"
    w, _, _, z = env.world.body_pose[0, 0, 3:].tolist()
    assert 2 * np.arctan2(z, w) % (pi / 2) == pytest.approx(pi / 6, abs=0.03)
    np.testing.assert_allclose(place_of(env, 0), (-0.10, 0.0, SMALL_M / 2), atol=3e-3)


def test_a_turn_that_cannot_be_tried_costs_nothing() -> None:
    tight = [block("low", "red", -0.13, 0.0)]
    tight += [block(f"wall_{k}", "blue", -0.13, 0.051 * k, BIG_M) for k in (-1, 1)]
    tight += [block(f"wall_{k}", "blue", -0.13 + 0.026 * k, 0.0, BIG_M) for k in (-2, 2)]
    env = field(*tight)
    before, act = state(env), turns(env)
    for numbers, code in (
        ((10.0, 10.0, 0.0, 10.0, 10.0, 0.0), "OUT_OF_FIELD"),
        ((*A, 0.0, 0.07 + 0.021, 0.0, 0.0), "OUT_OF_FIELD"),
        ((-0.13, 0.0, 0.3, *B, 0.0), "UNREACHABLE"),
    ):
        turn = act(*numbers)
        assert (turn.code, turn.ok, turn.steps, turn.reward) == (code, False, 0, 0.0)
        np.testing.assert_array_equal(state(env), before)
    assert env.turns == 3 and env.account.codes == {"OUT_OF_FIELD": 2, "UNREACHABLE": 1}


def test_nothing_is_picked_where_nothing_can_be_taken() -> None:
    env = field(block("one", "red", *A), bowl("bowl", "yellow", -0.10, 0.10), zone("z", "cyan", *B))
    before, act = place_of(env, 0), turns(env)
    for place in ((-0.10, -0.10), (-0.10, 0.10), B):
        turn = act(*place, 0.0, 0.0, -0.30, 0.0)
        assert (turn.code, turn.ok) == ("NOTHING_PICKED", False) and turn.steps > 10
    np.testing.assert_allclose(place_of(env, 0), before, atol=1e-4)
    missed = act(A[0] + 0.012, A[1], 0.0, -0.10, -0.05, 0.0)
    assert missed.code in ("NOTHING_PICKED", "PLACED")


def test_into_a_bowl() -> None:
    env = field(block("one", "red", *A), bowl("bowl", "yellow", -0.10, 0.10))
    assert turns(env)(*A, 0.0, -0.10, 0.10, 0.0).code == "PLACED"
    x, y, z = place_of(env, 0)
    assert np.hypot(x + 0.10, y - 0.10) < 0.01 and z - SMALL_M / 2 < 0.018


def test_a_block_lost_on_the_way_is_dropped() -> None:
    env = field(block("one", "red", *A), block("other", "blue", *B), noise=Noise(drop=1.0))
    turn = turns(env)(*A, 0.0, -0.10, 0.0, 0.0)
    assert (turn.code, turn.ok) == ("DROPPED", False)
    assert np.hypot(*(place_of(env, 0)[:2] - A)) < 0.03
    start = SETTING.qpos_at_start("ur5e")
    np.testing.assert_allclose(env.proprioception()["qpos"], start, atol=0.02)


def test_a_block_is_put_back_if_its_target_is_unreachable(monkeypatch) -> None:
    env = field(block("one", "red", *A), block("other", "blue", *B))
    before, move, moves = place_of(env, 0), PrimitiveArm.move, []

    def blocked(arm: PrimitiveArm, *args) -> Actions:
        moves.append(args)
        target = args[0].p[:2]
        if np.linalg.norm(target - np.array((-0.10, 0.0))) < 0.08:  # no way to above the place
            raise PlanFailed("no path")
        return move(arm, *args)

    monkeypatch.setattr(PrimitiveArm, "move", blocked)
    turn = turns(env)(*A, 0.0, -0.10, 0.0, 0.0)
    assert (turn.code, turn.ok) == ("UNREACHABLE", False) and turn.steps > 0 and len(moves) > 3
    assert int(env.world.held[0]) == -1
    np.testing.assert_allclose(place_of(env, 0), before, atol=2e-3)


def test_a_turn_that_takes_too_long_and_the_one_after_it(monkeypatch) -> None:
    env = field(block("one", "red", *A), block("other", "blue", *B, BIG_M))
    act = turns(env)
    with monkeypatch.context() as patched:
        patched.setattr(actuator, "MOST_STEPS", 35)
        turn = act(*A, 0.0, *B, 0.0)
        assert (turn.code, turn.steps) == ("TIMED_OUT", 35)
        assert int(env.world.held[0]) == 0  # on its way
    assert act(10.0, 10.0, 0.0, 10.0, 10.0, 0.0).code == "OUT_OF_FIELD"
    assert int(env.world.held[0]) == 0
    assert act(-0.10, -0.20, 0.0, *B, 0.0).code != "TIMED_OUT"
    assert int(env.world.held[0]) == -1


def _gap_m(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """Gap between the outlines of two blocks: x, y, side of each."""
    apart = max(abs(one[0] - other[0]), abs(one[1] - other[1]))
    return apart - 0.55 * (one[2] + other[2])


def _somewhere(rng: np.random.Generator, side_m: float, others) -> tuple[float, float, float]:
    """A free place in the field for a block, as far from others as at the start of an episode."""
    while True:
        half = side_m / 2
        x, y = (rng.uniform(low + half, high - half) for low, high in (FIELD.x_m, FIELD.y_m))
        here = (x, y, side_m)
        if all(_gap_m(here, o) >= (0.015 if o[2] == side_m else 0.03) for o in others):
            return here


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_blocks_in_a_crowd_go_where_they_should(seed: int) -> None:
    rng = np.random.default_rng(seed)
    items: list[tuple[float, float, float]] = []
    for side_m in (SMALL_M,) * 6 + (BIG_M,) * 3:
        items.append(_somewhere(rng, side_m, items))
    env = field(*(block(f"block_{k}", "red", *item) for k, item in enumerate(items)))
    act = turns(env)
    for k in rng.permutation(len(items))[:6].tolist():
        others = items[:k] + items[k + 1 :]
        target = _somewhere(rng, items[k][2], others)
        turn = act(*items[k][:2], 0.0, *target[:2], 0.0)
        assert turn.code == "PLACED", (k, items[k], target)
        np.testing.assert_allclose(place_of(env, k)[:2], target[:2], atol=3e-3)
        items[k] = target
        for j, item in enumerate(items):  # nothing else was touched
            np.testing.assert_allclose(place_of(env, j)[:2], item[:2], atol=3e-3)


@pytest.mark.slow
def test_the_same_actions_lead_to_the_same_state() -> None:
    bodies = (block("one", "red", *A), block("other", "blue", *B, BIG_M))
    noise = Noise(pixel=3.0, action_mm=7.8, drop=0.1)
    found = []
    for cameras in ((), (), ("map",)):
        backend = "cpu" if cameras else "none"
        env = field(*bodies, noise=noise, cameras=cameras, render_backend=backend)
        act, states = turns(env), []
        for numbers in ((*A, 0.0, *B, 0.0), (*B, 0.2, -0.10, 0.0, 0.0)):
            turn = act(*numbers)
            states.append((turn.code, turn.steps, state(env).tobytes()))
        found.append(states)
    assert found[0] == found[1] == found[2]


class LuckyArm:
    """An arm that finds a way at one of several searches."""

    def __init__(self, failures: int) -> None:
        self.failures, self.tried = failures, 0

    def move(self, pose: object) -> Iterator[np.ndarray]:
        self.tried += 1
        if self.tried <= self.failures:
            raise PlanFailed("no way")
        yield np.zeros(7)


def test_a_path_is_planned_several_times_before_giving_up() -> None:
    assert len([*_move_to_any(LuckyArm(SEARCHES - 1), [Pose()])]) == 1
    assert len([*_move_to_any(LuckyArm(2 * SEARCHES - 1), [Pose(), Pose()])]) == 1
    with pytest.raises(PlanFailed):
        next(_move_to_any(LuckyArm(SEARCHES), [Pose()]))
