"""``evaluate --until-width`` and ``compare --sequential``."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fabricated import result, write_run
from fake_suite import FROZEN, FakeEpisode, FakeSuite

from clevrskills.cli import main
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.evaluate import EvaluateArgs, evaluate
from clevrskills.evaluation.results import EpisodeResult, open_evaluations, read_results, read_run
from clevrskills.evaluation.rollout import policy_seed
from clevrskills.evaluation.sequential.rounds import (
    BLOCK,
    estimate,
    in_blocks,
    order,
    round_values,
)
from clevrskills.evaluation.sequential.tables import compare_sequentially, sequential_tables
from clevrskills.jobs.pool import InlinePool

N = 60


@pytest.fixture
def inline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything in this process: quick."""
    monkeypatch.setattr("clevrskills.jobs.work.open_pool", lambda _, make, *rest: InlinePool(make))


def args_for(root: Path, **more: object) -> EvaluateArgs:
    given = {"policy": "zero", "tasks": ("reach", "visit"), "split": ("test",), "out": root}
    return EvaluateArgs(**{**given, **more})  # type: ignore[arg-type]


def test_the_order_is_fixed_and_differs_between_tasks() -> None:
    assert sorted(order("pick", N)) == list(range(N))
    assert order("pick", N) == order("pick", N) != order("sort", N)
    found = in_blocks([("a", "test"), ("b", "test")], 7)
    assert [task for task, _, _ in found] == ["a"] * BLOCK + ["b"] * BLOCK + ["a"] * 2 + ["b"] * 2
    assert len({*found}) == 14


def test_a_round_counts_when_it_is_complete() -> None:
    pairs = [("a", "test"), ("b", "test")]
    known = {(*pair, k): result(pair[0], k, pair[0] == "a") for pair in pairs for k in range(9)}
    assert round_values(known, pairs, 9)[0].tolist() == [[1.0, 0.0]] * 9
    del known["b", "test", order("b", 9)[3]]
    assert len(round_values(known, pairs, 9)[0]) == 3


def test_a_restarted_episode_widens_the_interval() -> None:
    pairs = [("a", "test")]
    known = {("a", "test", k): result("a", k, k > 0) for k in range(9)}
    known["a", "test", 0] = replace(known["a", "test", 0], later=True)
    least, most = round_values(known, pairs, 9)
    assert (least.sum(), most.sum()) == (8, 9)
    found, whole = (estimate(np.array(v), 9, 0.1) for v in ((least, most), (most, most)))
    assert found.low < whole.low and found.high == whole.high
    assert found.mean == pytest.approx(8 / 9)


def test_policy_seeds_differ_between_tasks_and_splits() -> None:
    """Else outcomes of a round would depend on each other: all tasks have episodes of one seed."""
    drawn = [
        policy_seed(FakeEpisode(task, split, 1, 101))  # type: ignore[arg-type]
        for task in ("reach", "visit")
        for split in ("train", "test")
    ]
    assert len({*drawn}) == 4


def test_a_run_stops_when_enough_is_known(
    tmp_path: Path, inline: None, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "run"
    assert evaluate(args_for(root, until_width=0.6), FakeSuite()) == 0
    assert "about 10 rounds of 2 tasks at a success rate of 50 %" in capsys.readouterr().err
    results = list(read_results(root))
    assert BLOCK < len(results) <= 2 * BLOCK < 2 * FROZEN
    assert read_run(root).sequential == {"width": 0.6, "population": FROZEN, "tasks": 2}
    before = [r.id for r in results]
    assert evaluate(args_for(root, until_width=0.6), FakeSuite()) == 0
    assert [r.id for r in read_results(root)] == before, "nothing is left to do"
    last = order("visit", FROZEN)[-1]
    lost = replace(results[0], task="visit", index=last, cause="error", error="a server was away")
    (file,) = (root / "results").iterdir()
    with file.open("a") as lines:
        lines.write(lost.to_json() + "\n")
    assert evaluate(args_for(root, until_width=0.6), FakeSuite()) == 0, "it takes no part"
    assert len(list(read_results(root))) == len(before) + 1
    assert evaluate(args_for(root, until_width=0.01), FakeSuite()) == 0
    assert f"there are {FROZEN}, so the width may not be reached" in capsys.readouterr().err
    done = [r.id for r in read_results(root)]
    assert len(done) > len(before), "a narrower one goes on"
    for more in ({"tasks": ("reach",)}, {"split": ("test", "train")}):
        for width in (0.6, None):
            with pytest.raises(ClevrSkillsError, match=f"same tasks and splits, and {root} was"):
                evaluate(args_for(root, until_width=width, episodes=FROZEN, **more), FakeSuite())
    assert [r.id for r in read_results(root)] == done


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"until_width": 0.0}, "allowed: above 0"),
        ({"until_width": 1.0}, "allowed: above 0"),
        ({"seed": 3, "episodes": 2}, "--seed exclude"),
        ({"repeat": 2}, "--repeat exclude"),
        ({"shard": "0/2"}, "--shard exclude"),
        ({"video": ("1",)}, "--video exclude"),
    ],
)
def test_bad_input_is_refused(tmp_path: Path, more: dict, message: str) -> None:
    with pytest.raises(ClevrSkillsError, match=message):
        evaluate(args_for(tmp_path / "run", **{"until_width": 0.2, **more}), FakeSuite())
    assert not (tmp_path / "run").exists()


def episodes(wins: dict[str, set[int]]) -> list[EpisodeResult]:
    """All of N episodes of each task, of which some are won."""
    return [result(task, k, k in won, split="test") for task, won in wins.items() for k in range(N)]


def runs(tmp_path: Path, first: set[int], second: set[int]) -> tuple[Path, Path]:
    drawn = {"sequential": {"width": 0.1, "population": N, "tasks": 2}}
    made = [
        write_run(tmp_path / name, episodes({"pick": won, "push": won}), name, **drawn)
        for name, won in (("a", first), ("b", second))
    ]
    return made[0], made[1]


def test_a_difference_is_found_early(tmp_path: Path) -> None:
    a, b = runs(tmp_path, set(range(10)), set(range(50)))
    found = compare_sequentially(*open_evaluations([a, b]))
    assert (found.tasks, found.rounds, found.of) == (2, N, N)
    assert found.difference == pytest.approx(40 / 60) and found.p_value < 1e-3
    assert 0.4 < found.low < 40 / 60 < found.high < 0.9
    assert found.decided_after is not None and found.decided_after < N / 2
    assert f"decided from round {found.decided_after} on" in found.lines()[0]


def test_no_difference_is_not_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = runs(tmp_path, set(range(0, 60, 2)), set(range(1, 60, 2)))
    assert main(["compare", str(a), str(b), "--sequential", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["decided_after"] is None and found["difference"] == 0.0
    assert found["p_value"] > 0.5 and found["low"] < 0 < found["high"]
    assert found["null"].startswith("equal expected success on new episodes")
    assert main(["compare", str(a), str(b), "--sequential"]) == 0
    assert "(anytime-valid): all episodes used, not decided" in capsys.readouterr().out
    assert main(["compare", str(a), str(b), "--sequential", "--episodes"]) == 2


def test_other_tasks_can_not_be_compared(tmp_path: Path) -> None:
    a, b = runs(tmp_path, {1}, {2})
    c = write_run(tmp_path / "c", episodes({"pick": {1}}), "c")
    with pytest.raises(ClevrSkillsError, match="push, split test, of which the other run has no"):
        compare_sequentially(*open_evaluations([a, c]))


def test_the_table_has_the_number_of_episodes_needed(tmp_path: Path) -> None:
    a, _ = runs(tmp_path, set(range(59)), set())
    (table,) = sequential_tables(open_evaluations([a]))
    row = table.data.iloc[0]
    assert row["decided"] and row["rounds"] < N and row["episodes"] == 2 * row["rounds"]
    assert row["low"] <= 59 / 60 <= row["high"] and row["high"] - row["low"] <= 0.1 + 1e-6
    assert table.texts["narrow enough"][0] == "yes"
    drawn = {"sequential": {"width": 0.1, "population": N, "tasks": 3}}
    begun = write_run(tmp_path / "begun", episodes({"pick": {1}}), "begun", **drawn)
    (table,) = sequential_tables(open_evaluations([begun]))
    assert table.texts["success %"][0] == "-", "some task has no result yet"
    plain = write_run(tmp_path / "plain", episodes({"pick": {1}}), "plain")
    assert sequential_tables(open_evaluations([plain])) == []
