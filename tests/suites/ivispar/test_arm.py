"""Board on the table: predicates, legal moves, oracle, commands."""

from __future__ import annotations

from dataclasses import replace
from math import cos, radians, sin
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from clevrskills.core.env_config import EnvConfig
from clevrskills.core.episode import FROZEN
from clevrskills.core.goal.predicate import GoalState, from_json
from clevrskills.core.rollout import Rollout
from clevrskills.core.suite import find_interface, load_suite
from clevrskills.errors import ClevrSkillsError
from clevrskills.predicates import predicate_types
from clevrskills.sim.body_geometry import Solids
from clevrskills.sim.tensor_world import TensorWorld
from clevrskills.suites.ivispar.arm.env import GeomsArmEnv
from clevrskills.suites.ivispar.arm.field import HEIGHT_M, PITCH_M, SIZE, cell_at, piece, place_of
from clevrskills.suites.ivispar.arm.predicates import WITHIN_M, Legal, RestsAtCell
from clevrskills.suites.ivispar.arm.task import GeomsArm
from clevrskills.suites.ivispar.board import DIRECTIONS
from clevrskills.suites.ivispar.boards import SHAPES, Puzzle

GEOMS = [("red", "cube"), ("blue", "sphere"), ("green", "pyramid")]
START = (5, 6, 15)


def world_of(cells: tuple[int, ...] = START) -> TensorWorld:
    """Three pieces on cells."""
    bodies = [piece(k, geom, cell) for k, (geom, cell) in enumerate(zip(GEOMS, cells, strict=True))]
    solids = Solids.from_shapes([[body.geometry for body in bodies]], [[False] * 3])
    poses = torch.tensor([[body.pose for body in bodies]], dtype=torch.float32)
    return TensorWorld([body.key for body in bodies], solids, poses)


def put(world: TensorWorld, number: int, x: float, y: float, tilt_deg: float = 0.0) -> None:
    """Put a piece somewhere, tilted about x."""
    pose = world.body_pose[0, number].clone()
    half = radians(tilt_deg) / 2
    pose[:2] = torch.tensor([x, y])
    pose[3:] = torch.tensor([cos(half), sin(half), 0.0, 0.0])
    world.set_body_pose(torch.tensor([number]), pose[None])


def at(cell: int, number: int = 0) -> RestsAtCell:
    """The leaf for a piece and a cell."""
    place = torch.tensor([[*place_of(cell), HEIGHT_M / 2]], dtype=torch.float32)
    return RestsAtCell(torch.tensor([number]), place)


def test_cells_and_positions_are_inverse() -> None:
    places = [place_of(cell) for cell in range(SIZE * SIZE)]
    assert [cell_at(*place) for place in places] == list(range(SIZE * SIZE))
    assert cell_at(places[0][0] + PITCH_M, places[0][1]) is None
    (x0, y0), (x1, y1), (x4, y4) = (places[k] for k in (0, 1, 4))
    assert y1 > y0 and x1 == x0  # columns to the right of the base camera's image
    assert x4 < x0 and y4 == y0  # rows away from it


def test_a_piece_is_on_its_cell_up_to_a_quarter_of_the_pitch_along_each_axis() -> None:
    leaf, world, (x, y) = at(START[0]), world_of(), place_of(START[0])
    assert bool(leaf.evaluate(world, {}).holds[0])
    for right, away, holds in (
        *((0.98, 0.0, True), (0.0, 0.98, True), (0.98, -0.98, True)),
        *((1.02, 0.0, False), (0.0, 1.02, False), (2.0, 0.0, False)),  # 2.0: half on two cells
    ):
        put(world, 0, x + right * WITHIN_M, y + away * WITHIN_M)
        assert bool(leaf.evaluate(world, {}).holds[0]) is holds


@pytest.mark.parametrize(("tilt_deg", "holds"), [(14.0, True), (16.0, False), (90.0, False)])
def test_a_piece_must_stand(tilt_deg: float, holds: bool) -> None:
    from clevrskills.suites.ivispar.arm.predicates import upright

    world = world_of()
    put(world, 0, *place_of(START[0]), tilt_deg=tilt_deg)
    assert bool(upright(world.pose(torch.tensor([0])))[0]) is holds
    if not holds:
        assert not bool(at(START[0]).evaluate(world, {}).holds[0])


def test_a_piece_that_is_held_or_moves_is_not_on_its_cell() -> None:
    leaf, world = at(START[0]), world_of()
    world.body_velocity[0, 0, 0] = 0.5
    world.invalidate()
    assert not bool(leaf.evaluate(world, {}).holds[0])
    world.body_velocity[0, 0, 0] = 0.0
    world._held[:] = 0
    world.invalidate()
    assert not bool(leaf.evaluate(world, {}).holds[0])


def test_realize_describe_and_json_of_the_predicate() -> None:
    leaf, world = at(12), world_of()
    assert not bool(leaf.evaluate(world, {}).holds[0])
    leaf.realize(world)
    assert bool(leaf.evaluate(world, {}).holds[0])
    assert leaf.describe(world) == "Move {obj:piece_0} to A4"
    assert {"rests_at_cell", "legal"} <= set(predicate_types())
    again = from_json(leaf.to_json(), predicate_types())
    assert again.to_json() == leaf.to_json()


def legal(veto: bool = False) -> Legal:
    """The rules for three pieces."""
    return Legal(torch.tensor([[0, 1, 2]]), torch.tensor([veto]))


def counts(state: GoalState) -> tuple[int, int, bool]:
    """Legal moves, illegal moves, whether a piece is lost."""
    return int(state["moves"][0]), int(state["illegal"][0]), bool(state["lost"][0])


def after(cells: tuple[int, ...], veto: bool = False) -> tuple[GoalState, bool]:
    """State of the rules, and whether they hold, after the pieces went to other cells."""
    rules, world = legal(veto), world_of()
    state = rules.initial_state(world)
    for number, cell in enumerate(cells):
        put(world, number, *place_of(cell))
    found = rules.evaluate(world, state)
    return found.state, bool(found.holds[0])


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ((5, 6, 15), (0, 0, False)),  # nothing was moved
        ((4, 6, 15), (1, 0, False)),  # left
        ((9, 6, 15), (1, 0, False)),  # up
        ((8, 6, 15), (0, 1, False)),  # diagonally
        ((13, 6, 15), (0, 1, False)),  # two cells at once
        ((4, 7, 15), (0, 1, False)),  # two pieces
        ((6, 5, 15), (0, 1, False)),  # two pieces that change places
        ((7, 6, 15), (0, 1, False)),  # over another one
    ],
)
def test_moves_of_one_piece_by_one_cell_are_legal(cells: Any, expected: Any) -> None:
    state, holds = after(cells)
    assert counts(state) == expected and holds
    _, holds = after(cells, veto=True)
    assert holds is (expected[1] == 0)


def test_moves_are_evaluated_when_the_board_is_settled() -> None:
    rules, world = legal(veto=True), world_of()
    state = rules.initial_state(world)
    x, y = place_of(5)
    for share in (0.3, 0.6, 1.0):  # held, half on a cell, then over it
        put(world, 0, x, y - share * PITCH_M)
        world._held[:] = 0
        world.invalidate()
        state = rules.evaluate(world, state).state
        assert counts(state) == (0, 0, False)
    world._held[:] = -1
    world.invalidate()
    state = rules.evaluate(world, state).state
    assert counts(state) == (1, 0, False)
    put(world, 0, x, y - 0.5 * PITCH_M)  # let go half on a cell: neither moved nor lost
    state = rules.evaluate(world, state).state
    assert counts(state) == (1, 0, False)
    assert counts(rules.evaluate(world, state).state) == (1, 0, False)  # looking twice


@pytest.mark.parametrize(("x", "tilt_deg"), [(0.30, 0.0), (place_of(5)[0], 90.0)])
def test_a_piece_off_the_board_or_on_its_side_is_lost(x: float, tilt_deg: float) -> None:
    rules, world = legal(veto=True), world_of()
    state = rules.initial_state(world)
    put(world, 0, x, place_of(5)[1], tilt_deg)
    world.body_velocity[0, 0, 0] = 1.0  # it flies
    world.invalidate()
    assert counts(rules.evaluate(world, state).state) == (0, 0, False)
    world.body_velocity[0, 0, 0] = 0.0
    world.invalidate()
    found = rules.evaluate(world, state)
    assert counts(found.state) == (0, 0, True) and not bool(found.holds[0])
    assert bool(rules.unsolvable(found.state)["a move against the rules"][0])
    assert bool(legal().evaluate(world, state).holds[0])


@pytest.mark.slow
def test_boards_are_those_of_geoms_with_at_most_nine_pieces() -> None:
    suite, task = load_suite("ivispar"), GeomsArm()
    for split, number, twin in (("base", 0, 0), ("base", 8, 10), ("base", 99, 123)):
        board = task.board_of(FROZEN.start + number, 0, split)
        frozen = suite.frozen("geoms", split)[twin]
        assert board == Puzzle.from_json(frozen.start["puzzle"])
    crowded, loose = (
        {len(task.board_of(FROZEN.start + n, 0, "interference").geoms) for n in numbers}
        for numbers in ((0, 7, 30, 39), (40, 55, 70, 85, 99))  # some of 40 and of 60: each is slow
    )
    assert crowded == {8, 9} and loose == {5, 6, 7}
    assert task.board_of(7, 0, "train") == task.board_of(7, 0, "train")
    assert task.board_of(7, 0, "train") != task.board_of(7, 1, "train")


@pytest.fixture(scope="module")
def env() -> Any:
    """The environment of drawn boards."""
    made = load_suite("ivispar").make(EnvConfig("geoms_arm", "interference"))
    yield made
    made.close()


@pytest.mark.parametrize("interface", ["text", "index", "delta"])
def test_the_oracle_solves_a_board_in_every_interface(env: GeomsArmEnv, interface: str) -> None:
    suite = load_suite("ivispar")
    env.reset(seed=FROZEN.start + 2)
    acts = find_interface(suite, interface)
    oracle = suite.oracle(env, acts)
    oracle.reset()
    episode = Rollout(env, actuator=acts.begin(env))
    assert episode.run(oracle.act) == ("", "") and episode.success
    c1 = int(env.layouts[0].roles["c1"])
    assert int(env.rules_kept["moves"][0]) == c1
    measures = env.measures()
    assert measures["illegal_transitions"] == measures["lost"] == 0.0
    if interface != "delta":
        assert episode.turns == c1 and episode.steps <= 45 * c1
        assert measures["optimal"] == 1.0 and measures["disturbance_mm"] < 5.0


def test_commands_are_refused_as_on_a_symbolic_board(env: GeomsArmEnv) -> None:
    env.reset(seed=FROZEN.start + 2)
    actuator = find_interface(load_suite("ivispar"), "text").begin(env)
    board, state, name = env.puzzle.board, env.state, env.name_of
    at_edge = [(p, d) for p in range(len(state)) for d in range(4) if board.target(state, p, d) < 0]
    taken = [
        (p, d) for p in range(len(state)) for d in range(4) if board.target(state, p, d) in state
    ]
    for text, code in (
        ("fly", "UNPARSABLE"),
        (f"move {name(at_edge[0][0])} {DIRECTIONS[at_edge[0][1]]}", "OUT_OF_BOUNDS"),
        (f"move {name(taken[0][0])} {DIRECTIONS[taken[0][1]]}", "OCCUPIED"),
    ):
        turn = actuator.act(text)
        assert (turn.ok, turn.code, turn.steps) == (False, code, 0)
    assert env.state == state and env.turns == 3
    assert env.look(("text", "text@goal"))["text"].count("\n") == len(state) - 1


def test_a_number_repeats_a_move_as_on_a_symbolic_board() -> None:
    suite = load_suite("ivispar")
    arm: Any = suite.make(EnvConfig("geoms_arm", "interference", criteria="released"))
    arm.reset(seed=FROZEN.start + 2)
    board: Any = suite.make(EnvConfig("geoms", "base", criteria="released"))
    drawn: Any = suite.draw("geoms", "base", 0)
    puzzle = replace(arm.puzzle, optimal=((0, 0),))
    start = {**drawn.start, "puzzle": puzzle.to_json()}
    board.reset(options={"episode": replace(drawn, start=start)})
    actuator = find_interface(suite, "text").begin(arm)
    for free, code in ((2, "MOVED"), (1, None)):  # the second one is refused after its first move
        number, direction = next(
            (number, direction)
            for number in range(len(board.state))
            for direction in range(len(DIRECTIONS))
            if free_cells(arm.puzzle, board.state, number, direction) == free
        )
        text = f"please move {arm.name_of(number)} {DIRECTIONS[direction]} 2"
        given, turn = board.command(text), actuator.act(text)
        assert arm.state == board.state and (turn.ok, turn.code) == (given.ok, given.code)
        assert (given.code == code) if code else (given.code in ("OCCUPIED", "OUT_OF_BOUNDS"))
    assert arm.turns == board.elapsed_steps == 2
    arm.close()


def free_cells(puzzle: Puzzle, state: tuple[int, ...], number: int, direction: int) -> int:
    """Number of cells that a piece can be moved in a direction."""
    moved = puzzle.board.moved(state, number, direction)
    return 0 if moved is None else 1 + free_cells(puzzle, moved, number, direction)


def test_the_oracle_recovers_from_a_disturbance(env: GeomsArmEnv) -> None:
    suite = load_suite("ivispar")
    env.reset(seed=FROZEN.start + 6)
    free = next(c for c in range(SIZE * SIZE) if c not in env.state and c not in env.puzzle.goal)
    pose = env.world.body_pose[0, 0].clone()
    x, y = place_of(free)
    pose[:2] = torch.tensor([x + 0.03, y + 0.01])  # carried away, half off its cell
    env.world.set_body_pose(torch.tensor([0]), pose[None])
    oracle = suite.oracle(env, find_interface(suite, "delta"))
    episode = Rollout(env)
    assert episode.run(oracle.act) == ("", "")


def test_a_lost_piece_ends_an_episode_of_turns(env: GeomsArmEnv) -> None:
    env.reset(seed=FROZEN.start + 2)
    suite = load_suite("ivispar")
    actuator = find_interface(suite, "text").begin(env)
    pose = env.world.body_pose[0, 0].clone()
    pose[:2] = torch.tensor([0.25, 0.3])
    env.world.set_body_pose(torch.tensor([0]), pose[None])
    for _ in range(10):
        env.step(np.array([0, 0, 0, 0, 0, 0, -1.0]))
    turn = actuator.act("nothing")
    assert turn.ended == "lost piece" and not turn.success


def test_robots_interfaces_and_rules() -> None:
    suite = load_suite("ivispar")
    assert list(suite.tasks["geoms"].robots) == ["none"]
    assert "delta" in suite.tasks["geoms_arm"].interfaces
    assert "delta" not in suite.tasks["geoms"].interfaces
    with pytest.raises(ClevrSkillsError, match="rules='lax'"):
        suite.check(EnvConfig("geoms_arm", task_args={"rules": "lax"}))
    strict = replace(GeomsArm(rules="strict"))
    board = strict.draw(3, 0, "train")[0]
    assert board.roles["turns"] == 20


@pytest.mark.parametrize("shape", SHAPES)
def test_a_piece_has_a_flat_top_for_the_cup(shape: str) -> None:
    body = piece(0, ("red", shape), 0)
    points = np.concatenate(body.geometry.parts)
    top = points[points[:, 2] > HEIGHT_M / 2 - 1e-4][:, :2]
    assert np.ptp(top, axis=0).min() >= 0.027 and body.geometry.half_extents[2] == HEIGHT_M / 2


def test_gymnasium_environment() -> None:
    env = gym.make("IVispar/GeomsArm-v1", obs_mode="state", split="base")
    obs, _ = env.reset(seed=4)
    assert env.observation_space.contains(obs)
    _, _, terminated, truncated, info = env.step(np.zeros(7, np.float32))
    assert not terminated and not truncated and info["success"] is False
    env.close()


def test_frozen_episodes_equal_drawn_ones_and_were_solved_optimally() -> None:
    suite = load_suite("ivispar")
    for split, count in (("base", 100), ("interference", 100), ("val", 50)):
        head, episodes = suite.frozen("geoms_arm", split).header, suite.frozen("geoms_arm", split)
        assert (head.episodes, head.robot, len(episodes)) == (count, "xarm6", count)
        c1 = [int(episode.layout.roles["c1"]) for episode in episodes]
        assert sum(head.oracle_steps) <= 1.05 * sum(c1)
    board = GeomsArm().board_of(episodes[3].seed, 0, "val")
    assert episodes[3].layout.roles["goal"][: len(board.goal)].tolist() == list(board.goal)
    drawn = suite.draw("geoms_arm", "val", episodes[3].seed)
    assert drawn.content_hash == episodes[3].content_hash
