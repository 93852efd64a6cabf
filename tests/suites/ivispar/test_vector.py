"""Vector environments: rules, draws, observations, autoreset."""

import gymnasium as gym
import numpy as np
import pytest

from clevrskills.core.suite import load_suite
from clevrskills.errors import ClevrSkillsError
from clevrskills.suites.ivispar.board import Board
from clevrskills.suites.ivispar.boards import Puzzle
from clevrskills.suites.ivispar.vector import (
    SOLVED_REWARD,
    BoardVectorEnv,
    CellVectorEnv,
    observe_cells,
)


@pytest.mark.parametrize(("size", "pieces"), [(3, 8), (4, 5), (5, 1), (4, 15)])
def test_moves_are_those_of_the_board(size: int, pieces: int) -> None:
    env, board = BoardVectorEnv(7, pieces, size, turns=9, seed=1), Board(size)
    generator = np.random.default_rng(2)
    env.reset()
    ended = 0
    for _ in range(60):
        before, goals = env.cells.copy(), env.goals.copy()
        ages = env._age.copy()
        actions = generator.integers(env.num_actions, size=7)
        reward, solved, over, moved = env.step(actions)
        for row in range(7):
            state, goal = tuple(before[row].tolist()), tuple(goals[row].tolist())
            after = board.moved(state, *divmod(int(actions[row]), 4))
            assert moved[row] == (after is not None)
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


def test_boards_depend_on_the_seed_only() -> None:
    one, two, other = (BoardVectorEnv(64, 6, seed=seed) for seed in (5, 5, 6))
    for env in (one, two, other):
        env.reset()
        for k in range(50):
            env.step(np.full(64, k % 24))
    np.testing.assert_array_equal(one.cells, two.cells)
    assert not np.array_equal(one.cells, other.cells)


def test_invalid_numbers() -> None:
    with pytest.raises(ClevrSkillsError, match="3 x 3 cells have room for 1 to 8"):
        BoardVectorEnv(2, 9, 3)
    with pytest.raises(ClevrSkillsError, match="num_envs is 6; allowed: 7 or more"):
        CellVectorEnv(6)


def test_boards_to_avoid_are_not_drawn() -> None:
    all_starts = BoardVectorEnv(256, 1, 2, seed=3)
    all_starts.reset()
    drawn = set(zip(all_starts.cells[:, 0].tolist(), all_starts.goals[:, 0].tolist(), strict=True))
    assert len(drawn) == 12  # a piece on 4 cells, its goal on the 3 others
    env = BoardVectorEnv(256, 1, 2, seed=3, avoid=[((0,), (1,)), ((2,), (3,))])
    env.reset()
    left = set(zip(env.cells[:, 0].tolist(), env.goals[:, 0].tolist(), strict=True))
    assert drawn - left == {(0, 1), (2, 3)}


def test_boards_to_avoid_are_recognized_in_any_order_of_pieces() -> None:
    every = BoardVectorEnv(512, 2, 2, seed=4)
    every.reset()
    first = (every.cells[0].tolist(), every.goals[0].tolist())
    turned = (first[0][::-1], first[1][::-1])
    env = BoardVectorEnv(512, 2, 2, seed=4, avoid=[turned])
    env.reset()
    for cells, goals in zip(env.cells.tolist(), env.goals.tolist(), strict=True):
        assert (cells, goals) not in (first, turned)


def test_observations_do_not_depend_on_the_order_of_pieces() -> None:
    cells, goals = np.array([[0, 5, 6]]), np.array([[3, 5, 10]])
    seen = observe_cells(cells, goals, 4)
    assert seen.shape == (1, 16 * 30 + 64)
    np.testing.assert_array_equal(seen, observe_cells(cells[:, ::-1], goals[:, ::-1], 4))
    places, possible = seen[0, :480].reshape(16, 30), seen[0, 480:].reshape(16, 4)
    # the piece in A1 has its goal 3 cells to the right in its row; nothing has its goal there
    assert places[0].nonzero()[0].tolist() == [0, 1 + 6, 8 + 3]
    # D1 is wanted by it, and empty
    assert places[3].nonzero()[0].tolist() == [15, 16 + 6, 23 + 3]
    assert not places[15].any()
    board = Board(4)
    made = {(cells[0, piece], to) for piece, to, _ in board.moves(tuple(cells[0].tolist()))}
    assert set(zip(*(part.tolist() for part in possible.nonzero()), strict=True)) == made


def test_moves_by_cell_are_those_by_piece() -> None:
    env = CellVectorEnv(21, seed=1, turns=3)
    seen, _ = env.reset(seed=2)
    assert seen.shape == env.observation_space.shape
    assert [part.pieces for part in env._parts] == list(range(8, 15))
    generator = np.random.default_rng(0)
    for turn in range(3):
        before = [part.cells.copy() for part in env._parts]
        possible = seen[:, -64:]
        assert possible.any(1).all()
        moves = np.array([generator.choice(row.nonzero()[0]) for row in possible])
        seen, reward, ended, truncated, infos = env.step(moves)
        assert not truncated.any()
        if turn < 2:
            for cells, part, mine, over in zip(
                before, env._parts, moves.reshape(7, 3), ended.reshape(7, 3), strict=True
            ):
                moved = (cells != part.cells).sum(1)
                assert (moved[~over] == 1).all()  # one piece, and it could
                for row in (~over).nonzero()[0]:
                    assert mine[row] // 4 in cells[row] and mine[row] // 4 not in part.cells[row]
    assert ended.sum() >= 15  # the turns of all that were not solved before are over
    given = infos["final_info"]["episode"]
    assert (given["length"][ended] <= 3).all()
    solved = given["success_once"][ended] == 1
    assert (given["return"][ended][solved] >= SOLVED_REWARD).all()


def test_next_step_autoreset() -> None:
    wait = CellVectorEnv(7, turns=2, autoreset_mode="NextStep")
    same = CellVectorEnv(7, turns=2)
    np.testing.assert_array_equal(wait.reset(seed=2)[0], same.reset(seed=2)[0])
    for turn in range(6):
        moves = np.arange(7) * 9 + turn % 2
        begins, before = turn % 3 == 2, [part.goals.copy() for part in wait._parts]
        seen, reward, ended, _, infos = wait.step(moves)
        assert ended.all() == (turn % 3 == 1) and ("final_info" in infos) == (turn % 3 == 1)
        if turn % 3 == 1:
            assert infos["final_info"]["episode"]["length"].tolist() == [2.0] * 7
            cells = np.concatenate([part.cells for part in wait._parts[:1]])
            np.testing.assert_array_equal(seen[:1], observe_cells(cells, before[0], 4))
        goals = [part.goals for part in wait._parts]
        kept = [np.array_equal(*pair) for pair in zip(before, goals, strict=True)]
        assert not any(kept) if begins else all(kept)
        assert not begins or not reward.any()
        if turn == 0:
            for mine, others in zip((seen, reward), same.step(moves)[:2], strict=True):
                np.testing.assert_array_equal(mine, others)


def test_default_autoreset_mode_suits_observation_wrappers() -> None:
    env = gym.wrappers.vector.NormalizeObservation(gym.make_vec("IVispar/Geoms-v1", num_envs=7))
    assert env.reset(seed=0)[0].shape == env.step(np.zeros(7, int))[0].shape
    with pytest.raises(ClevrSkillsError, match="'Disabled'; allowed: SameStep, NextStep"):
        gym.make_vec("IVispar/Geoms-v1", num_envs=7, autoreset_mode="Disabled")


def test_make_vec() -> None:
    env, again = (gym.make_vec("IVispar/Geoms-v1", num_envs=14, seed=3) for _ in range(2))
    assert isinstance(env, CellVectorEnv) and env.num_envs == 14
    for episode in load_suite("ivispar").frozen("geoms", "base"):
        board = Puzzle.from_json(episode.start["puzzle"])
        assert (board.start, board.goal) in env._avoid
    assert np.array_equal(env.reset()[0], again.reset()[0])
    assert gym.spec("IVispar/Tiles-v1").vector_entry_point is None
