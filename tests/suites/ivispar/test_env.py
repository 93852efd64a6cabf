"""Board environments: turns, their classes, measures."""

import numpy as np
import pytest

from clevrskills.core.env_config import EnvConfig
from clevrskills.core.policy import PolicyError
from clevrskills.core.suite import find_interface, load_suite
from clevrskills.suites.ivispar.board import DIRECTIONS
from clevrskills.suites.ivispar.boards import Puzzle
from clevrskills.suites.ivispar.env import BoardEnv
from clevrskills.suites.symbolic import SymbolicEpisode

SUITE = load_suite("ivispar")
LEFT, RIGHT, UP, DOWN = range(4)
GEOMS = [("red", "cube"), ("blue", "sphere"), ("green", "pyramid")]


def episode(start: tuple, goal: tuple, task: str = "geoms", limit: int = 20) -> SymbolicEpisode:
    from clevrskills.suites.ivispar.search import solve

    puzzle = Puzzle(4, GEOMS[: len(start)], start, goal)
    optimal = solve(puzzle.board, start, goal) or []
    puzzle = Puzzle(4, puzzle.geoms, start, goal, optimal)
    return SymbolicEpisode(
        task, "base", 0, 0, "", {"set": "base", "puzzle": puzzle.to_json()}, limit
    )


def started(what: SymbolicEpisode, criteria: str = "paper", cameras: tuple = ()) -> BoardEnv:
    env = SUITE.make(EnvConfig(what.task, "base", "none", criteria, cameras))
    env.reset(options={"episode": what})
    return env


# red cube A1 -> C1, blue sphere B1 stays, green pyramid D4 -> D3: c1 = 2 + 1 + a detour of 2
DETOUR = episode((0, 1, 15), (2, 1, 11))


def test_turns_and_their_classes() -> None:
    env = started(DETOUR)
    assert env.puzzle.c1 == 5 and env.puzzle.c2 == 1
    expected = [
        ("move red cube right", "OCCUPIED", 5),
        ("move red cube down", "OUT_OF_BOUNDS", 5),
        ("move yellow cube up", "UNKNOWN_OBJECT", 5),
        ("go away", "UNPARSABLE", 5),
        ("move green pyramid down", "MOVED", 4),
        ("move green pyramid up", "MOVED", 5),
        ("move green pyramid down", "MOVED", 4),
        ("move red cube up", "MOVED", 3),
    ]
    for text, code, distance in expected:
        before = env.get_state().tolist()
        turn = env.command(text)
        assert (turn.code, turn.ok) == (code, code == "MOVED")
        assert env.distances[-1] == distance
        assert (env.get_state().tolist() == before) == (code != "MOVED")
        assert turn.progress == pytest.approx(max(0, 1 - distance / 5)) and not turn.success
    counts = {name: env.measures()[name] for name in ("effective", "ineffective", "occupied")}
    assert counts == {"effective": 3, "ineffective": 1, "occupied": 1}
    refused = ("out_of_bounds", "illegal", "unknown_geom")
    assert all(env.measures()[name] == 1 for name in refused)
    for _ in range(3):
        turn = env.command(env.solve())
    assert turn.success and turn.terminated and turn.progress == 1
    measures = env.measures()
    # after 5 turns it was 4 away; solved after 11, the shortest would have been 5
    assert (measures["d_opt"], measures["min_d"], measures["r_end"]) == (4, 0, 6)
    assert (measures["optimal"], measures["solved_tight"], measures["progress_end"]) == (0, 0, 100)
    regret = env.curves()["regret"]
    assert len(regret) == 21 and regret[:5] == [0, 1, 2, 3, 4] and set(regret[11:]) == {6}


def test_the_oracle_is_optimal_from_any_state() -> None:
    env = started(DETOUR)
    for way in ("move blue sphere up", "move blue sphere right"):
        env.command(way)
    left = env.distances[-1]
    for made in range(left):
        assert env.distances[-1] == left - made
        env.command(env.solve())
    assert bool(env.outcome.holds[0])
    env = started(DETOUR)
    while not env.command(env.solve()).success:
        pass
    measures = env.measures()
    assert (measures["optimal"], measures["solved_tight"], measures["d_opt"]) == (1, 1, 0)
    assert set(env.curves()["regret"]) == {0}


def test_reward_and_credit() -> None:
    env = started(episode((0, 5), (2, 5)))
    assert [leaf.weight for leaf in env.goal.leaves()] == [2.0, 0.0]  # the other is at home
    rewards = [env.command("move red cube right").reward for _ in range(2)]
    assert rewards == pytest.approx([3, 3])
    away = env.command("move blue sphere up")
    assert away.reward == pytest.approx(-3) and not away.success
    assert env.goal.describe(env.world).count("Move the red cube to C1") == 1


def test_lenient_commands() -> None:
    env = started(episode((0, 9), (3, 9)), "released")
    assert env.command("please move red cube right 2").code == "MOVED"
    assert env.state[0] == 2 and len(env.distances) == 2
    turn = env.command("move red cube right 5")
    assert turn.code == "OUT_OF_BOUNDS" and not turn.ok and env.state[0] == 3


def test_moves_by_number() -> None:
    env = started(DETOUR)
    actuator = find_interface(SUITE, "index").begin(env)
    assert actuator.act(4 * 2 + DOWN).code == "MOVED"
    assert actuator.act(4 * 0 + RIGHT).code == "OCCUPIED"
    with pytest.raises(PolicyError, match="move 12; allowed: 0 to 11"):
        actuator.act(12)
    read = find_interface(SUITE, "index").read
    assert read(3) == read(np.int64(3)) == read(np.array([3])) == [3]
    for wrong in (-1, 1.5, "3", [1, 2], None):
        with pytest.raises(PolicyError, match="allowed: whole numbers from 0 on"):
            read(wrong)


def test_listing() -> None:
    what = episode((0, 5), (2, 5), "listing", 1)
    cases = {
        "A1 red cube; B2 blue sphere": ("LISTED", 1.0, 1.0, 1.0),
        "B2 blue sphere; A1 red cube": ("LISTED", 1.0, 1.0, 1.0),
        "A1 red cube; C2 blue sphere": ("LISTED", 0.5, 0.5, 0.0),
        "A1 red cube; B2 blue sphere; C1 green cube": ("LISTED", pytest.approx(2 / 3), 1.0, 0.0),
        "I see a red cube": ("UNPARSABLE", 0.0, 0.0, 0.0),
        "A1 red cube; B2 pink ball": ("UNKNOWN_WORD", 0.0, 0.0, 0.0),
    }
    env = started(what)
    for text, (code, precision, recall, exact) in cases.items():
        env.reset(options={"episode": what})  # nothing is left of the episode before
        assert env.measures() == {"precision": 0, "recall": 0, "exact": 0}
        turn = env.command(text)
        assert (turn.code, turn.success) == (code, exact) and (turn.truncated or exact)
        assert env.measures() == {"precision": precision, "recall": recall, "exact": exact}
        assert (turn.progress == 1) == bool(exact)
    env = started(what)
    assert env.command(env.solve()).success


def test_views() -> None:
    env = started(DETOUR, cameras=("schematic",))
    shown = env.look(["text", "text@goal"])
    assert shown["text"] == "A1 red cube\nB1 blue sphere\nD4 green pyramid"
    assert shown["text@goal"] == "C1 red cube\nB1 blue sphere\nD3 green pyramid"
    (image,) = env.capture().values()
    assert image.shape == (900, 1200, 3) and image.dtype == np.uint8
    env.command("move green pyramid down")
    assert env.look(["text"])["text"].endswith("D3 green pyramid")
    assert not np.array_equal(env.capture()["schematic"], image)
    assert env.prompt.text == "" and DIRECTIONS[0] == "left"


@pytest.mark.parametrize(
    "camera, cube, pyramid", [("view3d", "cube", "pyramid"), ("schematic", "square", "triangle")]
)
def test_names_of_pieces_follow_the_view(camera: str, cube: str, pyramid: str) -> None:
    pieces = (0, 15), (2, 11)  # red cube, blue sphere
    env = started(episode(*pieces), cameras=(camera,))
    said = env.solve()
    assert said in (f"move red {cube} right", f"move {env.name_of(1)} down")
    turn = env.command(said)
    assert turn.ok and turn.args["piece"] in said
    assert env.command(f"move red {cube} down").args["piece"] == f"red {cube}"
    drawn_only = started(episode(*pieces), cameras=(camera,)).command("move red square up")
    assert drawn_only.code == ("MOVED" if cube == "square" else "UNKNOWN_WORD")
    listing = started(episode((0, 1, 15), (2, 1, 11), "listing", 1), cameras=(camera,))
    listed = listing.solve()
    assert listed.startswith(f"A1 red {cube};") and listed.endswith(f"D4 green {pyramid}")
    assert listing.command(listed).success


def test_numbered_tiles_keep_their_name_in_drawings() -> None:
    tiles = SUITE.frozen("tiles", "base")[0]
    assert started(tiles, cameras=("schematic",)).solve().startswith("move tile ")
