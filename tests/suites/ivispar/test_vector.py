"""The vector environment: the same board as the others, many at once."""

import numpy as np
import pytest

from clevrskills.errors import ClevrSkillsError
from clevrskills.suites.ivispar.board import Board
from clevrskills.suites.ivispar.vector import BoardVectorEnv


def check_planes(env: BoardVectorEnv, planes: np.ndarray) -> None:
    k, n = env.pieces, env.size
    assert planes.shape == (env.num_envs, 2 * k, n, n)
    flat = planes.reshape(env.num_envs, 2 * k, -1)
    assert (flat.sum(-1) == 1).all()
    np.testing.assert_array_equal(flat[:, :k].argmax(-1), env.cells)
    np.testing.assert_array_equal(flat[:, k:].argmax(-1), env.goals)


@pytest.mark.parametrize(("size", "pieces"), [(3, 8), (4, 5), (5, 1), (4, 15)])
def test_moves_are_those_of_the_board(size: int, pieces: int) -> None:
    env, board = BoardVectorEnv(7, pieces, size, turns=9, seed=1), Board(size)
    generator = np.random.default_rng(2)
    check_planes(env, env.reset())
    ended = 0
    for _ in range(60):
        before, goals = env.cells.copy(), env.goals.copy()
        ages = env._age.copy()
        actions = generator.integers(env.num_actions, size=7)
        planes, reward, solved, over, info = env.step(actions)
        check_planes(env, planes)
        for row in range(7):
            state, goal = tuple(before[row].tolist()), tuple(goals[row].tolist())
            after = board.moved(state, *divmod(int(actions[row]), 4))
            assert info["moved"][row] == (after is not None)
            now = state if after is None else after
            assert reward[row] == board.bound(state, goal) - board.bound(now, goal)
            assert solved[row] == (now == goal)
            assert over[row] == (ages[row] + 1 >= 9 and now != goal)
            if not (solved[row] or over[row]):
                assert tuple(env.cells[row].tolist()) == now
            else:
                assert env._age[row] == 0 and (env.cells[row] != env.goals[row]).any()
                ended += 1
    assert ended > 30


def test_given_starts_come_in_turn() -> None:
    starts, goals = np.array([[0, 1], [2, 3], [4, 5]]), np.array([[1, 0], [3, 2], [5, 4]])
    env = BoardVectorEnv(2, 2, turns=1, starts=(starts, goals))
    env.reset()
    np.testing.assert_array_equal(env.cells, starts[:2])
    env.step(np.array([0, 0]))
    np.testing.assert_array_equal(env.cells, starts[[2, 0]])


def test_the_same_seed_the_same_boards() -> None:
    one, two, other = (BoardVectorEnv(64, 6, seed=seed) for seed in (5, 5, 6))
    for env in (one, two, other):
        env.reset()
        for k in range(50):
            env.step(np.full(64, k % 24))
    np.testing.assert_array_equal(one.cells, two.cells)
    assert not np.array_equal(one.cells, other.cells)


def test_no_room() -> None:
    with pytest.raises(ClevrSkillsError, match="3 x 3 cells have room for 1 to 8"):
        BoardVectorEnv(2, 9, 3)
