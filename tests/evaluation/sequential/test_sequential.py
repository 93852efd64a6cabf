"""``evaluate --until-width`` and ``compare --sequential``."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from fabricated import result, write_run
from fake_suite import FROZEN, FakeSuite

from clevrskills.cli import main
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.evaluate import EvaluateArgs, evaluate
from clevrskills.evaluation.results import EpisodeResult, open_evaluations, read_results, read_run
from clevrskills.evaluation.sequential.rounds import BLOCK, in_blocks, order, round_means
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
    assert sorted(order("pick", "test", N)) == list(range(N))
    assert order("pick", "test", N) == order("pick", "test", N)
    assert order("pick", "test", N) != order("sort", "test", N) != order("sort", "train", N)
    found = in_blocks([("a", "test"), ("b", "test")], 7)
    assert [task for task, _, _ in found] == ["a"] * BLOCK + ["b"] * BLOCK + ["a"] * 2 + ["b"] * 2
    assert len({*found}) == 14


def test_a_round_counts_when_it_is_complete() -> None:
    pairs = [("a", "test"), ("b", "test")]
    known = {(*pair, k): result(pair[0], k, pair[0] == "a") for pair in pairs for k in range(9)}
    assert round_means(known, pairs, 9, lambda r: r.success_once).tolist() == [0.5] * 9
    del known["b", "test", order("b", "test", 9)[3]]
    assert len(round_means(known, pairs, 9, lambda r: r.success_once)) == 3


def test_a_run_stops_when_enough_is_known(tmp_path: Path, inline: None) -> None:
    root = tmp_path / "run"
    assert evaluate(args_for(root, until_width=0.6), FakeSuite()) == 0
    results = list(read_results(root))
    assert BLOCK < len(results) <= 2 * BLOCK < 2 * FROZEN
    assert read_run(root).sequential == {"width": 0.6, "population": FROZEN, "tasks": 2}
    before = [r.id for r in results]
    assert evaluate(args_for(root, until_width=0.6), FakeSuite()) == 0
    assert [r.id for r in read_results(root)] == before, "nothing is left to do"
    last = order("visit", "test", FROZEN)[-1]
    lost = replace(results[0], task="visit", index=last, cause="error", error="a server was away")
    (file,) = (root / "results").iterdir()
    with file.open("a") as lines:
        lines.write(lost.to_json() + "\n")
    assert evaluate(args_for(root, until_width=0.6), FakeSuite()) == 0, "it takes no part"
    assert len(list(read_results(root))) == len(before) + 1
    assert evaluate(args_for(root, until_width=0.01), FakeSuite()) == 0
    done = [r.id for r in read_results(root)]
    assert len(done) > len(before), "a narrower one goes on"
    for more in ({"tasks": ("reach",)}, {"split": ("test", "train")}):
        for width in (0.6, None):
            with pytest.raises(ClevrSkillsError, match=f"same tasks and splits, and {root} was"):
                evaluate(args_for(root, until_width=width, episodes=FROZEN, **more), FakeSuite())
    assert [r.id for r in read_results(root)] == done


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"until_width": 0.0}, "allowed: above 0"),
        ({"until_width": 1.0}, "allowed: above 0"),
        ({"seed": 3, "episodes": 2}, "--seed exclude"),
        ({"repeat": 2}, "--repeat exclude"),
        ({"shard": "0/2"}, "--shard exclude"),
        ({"videos": 1}, "--videos exclude"),
    ],
)
def test_what_is_refused(tmp_path: Path, more: dict, told: str) -> None:
    with pytest.raises(ClevrSkillsError, match=told):
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
    assert found.low == pytest.approx(found.high) == pytest.approx(40 / 60)
    assert found.significant_after is not None and found.significant_after < N / 2


def test_no_difference_is_not_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = runs(tmp_path, set(range(0, 60, 2)), set(range(1, 60, 2)))
    assert main(["compare", str(a), str(b), "--sequential", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["significant_after"] is None and found["difference"] == 0.0
    assert main(["compare", str(a), str(b), "--sequential"]) == 0
    assert "no significant difference so far" in capsys.readouterr().out
    assert main(["compare", str(a), str(b), "--sequential", "--at-end"]) == 2


def test_other_tasks_can_not_be_compared(tmp_path: Path) -> None:
    a, b = runs(tmp_path, {1}, {2})
    c = write_run(tmp_path / "c", episodes({"pick": {1}}), "c")
    with pytest.raises(ClevrSkillsError, match="push, split test, of which the other run has no"):
        compare_sequentially(*open_evaluations([a, c]))


def test_the_table_tells_how_many_episodes_were_needed(tmp_path: Path) -> None:
    a, _ = runs(tmp_path, set(range(59)), set())
    (table,) = sequential_tables(open_evaluations([a]))
    row = table.data.iloc[0]
    assert row["decided"] and row["rounds"] < N and row["episodes"] == 2 * row["rounds"]
    assert row["low"] <= 59 / 60 <= row["high"] and row["high"] - row["low"] <= 0.1 + 1e-6
    assert table.texts["narrow enough"][0] == "yes"
    plain = write_run(tmp_path / "plain", episodes({"pick": {1}}), "plain")
    assert sequential_tables(open_evaluations([plain])) == []
