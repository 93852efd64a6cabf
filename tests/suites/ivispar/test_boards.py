"""Frozen puzzles and their parameters; drawing from seeds."""

from collections import Counter
from itertools import product

import numpy as np
import pytest

from clevrskills.core.episode import FROZEN
from clevrskills.core.suite import all_levels, load_suite
from clevrskills.suites.ivispar.board import State
from clevrskills.suites.ivispar.boards import LIMIT, Puzzle, draw, palette
from clevrskills.suites.ivispar.search import Move, solve

SUITE = load_suite("ivispar")
FILES = [
    (task, split)
    for task, level in all_levels(SUITE).items()
    for split in SUITE.tasks[task].splits
    if split != "train" and level != "arm"
]
COUNTS = {"val": 50, "base": 300, "interference": 140, "sizes": 120, "pilot": 21}


def puzzles(task: str, split: str) -> list[Puzzle]:
    return [Puzzle.from_json(e.start["puzzle"]) for e in SUITE.frozen(task, split)]


def played(puzzle: Puzzle, moves: list[Move] | tuple[Move, ...]) -> State:
    state = puzzle.start
    for piece, direction in moves:
        after = puzzle.board.moved(state, piece, direction)
        assert after is not None
        state = after
    return state


@pytest.mark.parametrize(("task", "split"), FILES)
def test_frozen_episodes(task: str, split: str) -> None:
    episodes = SUITE.frozen(task, split)
    assert len(episodes) == (100 if (task, split) == ("tiles", "base") else COUNTS[split])
    seen = set()
    for episode in episodes:
        puzzle = Puzzle.from_json(episode.start["puzzle"])
        of, k, c1 = episode.start["set"], len(puzzle.geoms), puzzle.c1
        assert played(puzzle, puzzle.optimal) == puzzle.goal
        assert len(solve(puzzle.board, puzzle.start, puzzle.goal) or ()) == c1
        played(puzzle, puzzle.random_valid)
        assert len(puzzle.random_valid) == len(puzzle.random_any) == 100
        assert len(set(puzzle.start)) == len(set(puzzle.goal)) == len(set(puzzle.geoms)) == k
        assert (c1 - puzzle.board.bound(puzzle.start, puzzle.goal)) % 2 == 0
        assert episode.tags == {"k": k, "c1": c1, "c2": puzzle.c2, "n": puzzle.size, "set": of}
        expected = 1 if task == "listing" else LIMIT if of == "base" else max(2 * c1, c1 + 4)
        assert episode.limit == expected
        if task != "tiles":
            assert set(puzzle.geoms) <= set(product(*palette(of)))
        seen.add((puzzle.start, puzzle.goal))
    assert len(seen) == len(episodes)
    assert len({episode.content_hash for episode in episodes}) == len(episodes)


def test_bins() -> None:
    base = [(p.c1, len(p.geoms), p.c2) for p in puzzles("geoms", "base")]
    assert base == [(c1, k, 0) for _ in range(3) for c1 in range(2, 12) for k in range(2, 12)]
    bins = Counter((len(p.geoms), p.c2) for p in puzzles("geoms", "interference"))
    assert bins == dict.fromkeys(product(range(8, 15), (1, 2)), 10)
    sizes = puzzles("geoms", "sizes")
    assert Counter(p.size for p in sizes) == {3: 40, 5: 40, 6: 40}
    assert {len(p.geoms) for p in sizes if p.size == 6} == set(range(6, 21))
    assert all(4 <= p.c1 <= 14 for p in sizes)
    pilot = [(p.c1, len(p.geoms), p.c2) for p in puzzles("geoms", "pilot")]
    assert sorted(pilot) == [(c1, k, 0) for c1 in range(6, 13) for k in range(4, 7)]
    tiles = puzzles("tiles", "base")
    assert Counter(p.size for p in tiles) == {3: 50, 4: 50}
    assert {p.c1 for p in tiles if p.size == 3} == set(range(2, 21))
    assert {p.c1 for p in tiles if p.size == 4} == set(range(2, 15))


def test_splits_are_disjoint_and_listing_uses_the_boards_of_geoms() -> None:
    pairs = [{(p.start, p.goal) for p in puzzles("geoms", split)} for split in ("base", "val")]
    assert not pairs[0] & pairs[1]
    same = [[(p.geoms, p.start) for p in puzzles(task, "base")] for task in ("geoms", "listing")]
    assert same[0] == same[1]


@pytest.mark.parametrize("task", ["geoms", "tiles", "listing"])
def test_drawing_is_deterministic(task: str) -> None:
    seeds = [0, 7, FROZEN.start + 12]
    drawn = [SUITE.draw(task, "train", seed) for seed in seeds]
    assert [e.to_json() for e in drawn] == [SUITE.draw(task, "train", s).to_json() for s in seeds]
    assert len({e.content_hash for e in drawn}) == len(seeds)
    frozen = SUITE.frozen(task, "val")[3]
    again = SUITE.draw(task, "val", frozen.seed, frozen.index)
    assert SUITE.read_episode(again.to_json()).content_hash == frozen.content_hash


def test_drawn_boards_of_other_sets() -> None:
    puzzle = Puzzle.from_json(SUITE.draw("geoms", "sizes", FROZEN.start + 5000).start["puzzle"])
    assert len(solve(puzzle.board, puzzle.start, puzzle.goal) or ()) == puzzle.c1
    puzzle = draw("interference", FROZEN.start + 3, np.random.default_rng(0))
    assert (len(puzzle.geoms), puzzle.c2) == (9, 2)
