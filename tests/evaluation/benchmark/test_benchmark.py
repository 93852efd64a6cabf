"""``clevrskills benchmark`` on a fake suite, its numbers by hand, and the suites' protocols."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from fabricated import outcomes, write_run
from fake_policies import Wanderer
from fake_suite import PROTOCOL, FakeSuite, PooledSuite, ProtocolSuite

from clevrskills.cli import main
from clevrskills.core.report import Measure, protocol_of, reported
from clevrskills.core.suite import SUITES, load_suite
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.arguments import EvaluateArgs
from clevrskills.evaluation.benchmark.command import BenchmarkArgs, benchmark
from clevrskills.evaluation.benchmark.headline import headline_tables, headlines
from clevrskills.evaluation.benchmark.protocol import RunPart, cell_tasks, cost_of_part, deviations
from clevrskills.evaluation.results import (
    Run,
    open_evaluations,
    paired_folders,
    read_results,
    read_run,
)
from clevrskills.evaluation.sequential.confidence import interval
from clevrskills.evaluation.sequential.rounds import order
from clevrskills.jobs.pool import InlinePool

WANDERER = "fake_policies:Wanderer"
TEST, RELEASED = PROTOCOL.cells


@pytest.fixture(autouse=True)
def inline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything in this process: quick."""
    monkeypatch.setattr("clevrskills.core.policy_loader.PolicySource._isolated", lambda *_: None)
    monkeypatch.setattr("clevrskills.jobs.work.open_pool", lambda _, make, *rest: InlinePool(make))


class OfOneTask(Wanderer):
    """Learned one task."""

    only_task = "visit"


def run(out: Path, policy: str = WANDERER, **more: Any) -> int:
    given = {"track": "standard-100", "trained_on": "L0", "cell": ("test",), **more}
    return benchmark(BenchmarkArgs(policy=policy, out=out, **given), ProtocolSuite())


def test_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "mine"
    assert run(out) == 0
    cost, times, last = capsys.readouterr().out.splitlines()
    assert cost == "fake, test: 2 tasks, 8 episodes, split test"
    # 8 episodes of 40 steps of 0.9 s; 10 ms of the policy for each
    assert "environment: 0.0 minutes to 4.8 minutes; of the policy: 0.1 minutes" in times
    results = list(read_results(out / "test"))
    reach = [r.success_once for r in results if r.task == "reach"]
    visit = [r.success_once for r in results if r.task == "visit"]
    assert len(reach) == len(visit) == 4
    assert f"test: L0 {25 * sum(reach):.1f} % [" in last
    assert f"] | L1 zero-shot {25 * sum(visit):.1f} % [" in last
    assert last.endswith(f"submit it: clevrskills submission pack {out}")
    made = read_run(out / "test")
    assert (made.protocol, made.trained_on, made.track) == ("test", "L0", "standard-100")
    assert deviations(made, ProtocolSuite(), results) == []

    assert run(out, json=True) == 0  # everything is there
    found = json.loads(capsys.readouterr().out)
    assert [one["number"] for one in found["numbers"]] == ["L0", "L1 zero-shot"]
    assert found["numbers"][1]["value"] == sum(visit) / 4
    assert [r.ended for r in read_results(out / "test")] == [r.ended for r in results]
    with pytest.raises(ClevrSkillsError, match="was made with policy fake_policies:Wanderer, not"):
        run(out, "zero")
    with pytest.raises(ClevrSkillsError, match="made with trained_on L0, not all"):
        run(out, trained_on="all")
    assert json.loads((out / "benchmark.json").read_text())["trained_on"] == "L0"


def test_rows_of_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b"):
        assert run(tmp_path / name, cell=(), tasks=("reach",), trained_on="all") == 0
    *_, first, last = capsys.readouterr().out.splitlines()
    assert "test: L0 " in first and "released: L0 " in last and "L1" not in first + last
    evaluations = open_evaluations([tmp_path / "a"])
    assert [e.run.protocol for e in evaluations] == ["test", "released"]
    assert evaluations[1].run.criteria == "released"
    (table,) = headline_tables(evaluations)
    assert list(table.texts.columns) == ["run", "benchmark", "L0"]
    assert table.data["tasks"].tolist() == [1, 1] and table.data["of_tasks"].tolist() == [1, 1]
    names = [(a.name, b.parent.name) for a, b in paired_folders(tmp_path / "a", tmp_path / "b")]
    assert names == [("test", "b"), ("released", "b")]
    assert paired_folders(tmp_path / "a/test", tmp_path / "b/test")
    with pytest.raises(ClevrSkillsError, match="no cell of the protocol in common"):
        paired_folders(tmp_path / "a", tmp_path / "elsewhere")
    (tmp_path / "a" / "benchmark.json").write_text('{"cells": 3}')
    with pytest.raises(ClevrSkillsError, match=r"benchmark\.json is damaged"):
        open_evaluations([tmp_path / "a"])


def test_a_protocol_may_pool_its_rows(tmp_path: Path) -> None:
    runs = {"view3d": [True] * 2, "schematic": [True, False], "text": [False] * 2}
    for name, solved in runs.items():
        of = {"episodes": {"geoms_base": "geoms base 1"}, "protocol": name}
        write_run(tmp_path / name, outcomes("geoms", solved, split="base"), suite="ivispar", **of)
    evaluations = open_evaluations([tmp_path / name for name in runs])
    (table,) = headline_tables(evaluations)
    assert [row.split(", ")[-1] for row in table.texts["benchmark"]] == [*runs, "all"]
    solved = table.data[table.data["number"] == "solved"]["value"].tolist()
    assert solved == [1.0, 0.5, 0.0, 0.5]
    (table,) = headline_tables(evaluations[:2])
    assert len(table.texts) == 2  # not all rows are there


def test_declarations(tmp_path: Path) -> None:
    allowed = r"--trained-on \(L0, all, none\)"
    with pytest.raises(ClevrSkillsError, match=rf"--track \(none, .*\) and {allowed}"):
        run(tmp_path / "a", track="", trained_on="")
    with pytest.raises(ClevrSkillsError, match=f"^a result must declare {allowed}$"):
        run(tmp_path / "a", "fake_policies:Learned", track="", trained_on="")
    with pytest.raises(ClevrSkillsError, match="trained-on 'L2'; allowed: L0, all, none"):
        run(tmp_path / "a", trained_on="L2")
    with pytest.raises(ClevrSkillsError, match="unknown track 'bananas'; allowed: none"):
        run(tmp_path / "a", track="bananas")
    with pytest.raises(ClevrSkillsError, match="--trained-on L0: the policy has no training"):
        run(tmp_path / "a", "zero", track="")
    for stated in ("L0", "none"):
        with pytest.raises(
            ClevrSkillsError, match=f"-on {stated}: the policy was also trained on L"
        ):
            run(tmp_path / "a", "fake_policies:Learned", track="", trained_on=stated)
    with pytest.raises(ClevrSkillsError, match="-on L0: the policy was also trained on L1$"):
        run(tmp_path / "a", f"{__name__}:OfOneTask", tasks=("visit",))
    assert not (tmp_path / "a").exists()
    for policy, arguments in (("zero", ()), ("fake_policies:Troubled", ("at=nowhere",))):
        root = tmp_path / policy[:4]
        assert run(root, policy, track="", trained_on="", policy_arg=arguments) == 0
        assert (read_run(root / "test").track, read_run(root / "test").trained_on) == ("none",) * 2


def test_quick_is_no_result(tmp_path: Path) -> None:
    with pytest.raises(ClevrSkillsError, match="has 8 frozen episodes"):
        run(tmp_path / "a", quick=True)  # 10 are asked for
    suite = ProtocolSuite()
    write_run(
        tmp_path / "b",
        outcomes("reach", [True] * 10, split="train"),
        suite="fake_suite:ProtocolSuite",
        episodes={"reach_train": "reach train 1"},
    )
    (evaluation,) = open_evaluations([tmp_path / "b"])
    found = deviations(evaluation.run, suite, evaluation.results)
    assert found == ["split train, not test", "10 episodes, not 4"]
    assert [one.text[:11] for one in headlines(evaluation, PROTOCOL, TEST, "train")] == [
        "L0 100.0 % "
    ]


def test_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ClevrSkillsError, match="unknown cell 'tset'; allowed: test, released"):
        run(tmp_path / "a", cell=("tset",))
    with pytest.raises(ClevrSkillsError, match="unknown task of test 'follow_order'; allowed: r"):
        run(tmp_path / "a", tasks=("follow_order",))
    with pytest.raises(ClevrSkillsError, match="unknown level 'L7'; allowed: L0, L1"):
        run(tmp_path / "a", level=("L7",))
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "notes.txt").touch()
    with pytest.raises(ClevrSkillsError, match="no folder of `clevrskills benchmark`"):
        run(tmp_path / "b")
    with pytest.raises(ClevrSkillsError, match="suite fake has no protocol: use `clevrskills eval"):
        benchmark(BenchmarkArgs(policy="zero", out=tmp_path / "a"), FakeSuite())
    with pytest.raises(ClevrSkillsError, match="leave out --until-width"):
        args = BenchmarkArgs(policy="zero", out=tmp_path / "a", until_width=0.2)
        benchmark(args, PooledSuite())
    with pytest.raises(ClevrSkillsError, match="there is no folder"):
        run(tmp_path / "a", f"checkpoint:{tmp_path / 'none'}")
    assert run(tmp_path / "a", dry_run=True) == 0
    assert not (tmp_path / "a").exists()
    assert main(["benchmark", "--suite", "ivispar", "--out", "x", "--policy", "zero", "sort"]) == 2
    assert "sort is a task of suite clevrskills, not of ivispar" in capsys.readouterr().err


def test_pooled_and_mean(tmp_path: Path) -> None:
    """One task of four episodes, all solved, and one of two, neither solved."""
    results = outcomes("reach", [True] * 4, split="test")
    results += outcomes("visit", [False] * 2, "L1", split="test")
    values = []
    for name in ("PooledSuite", "ProtocolSuite"):
        root = write_run(tmp_path / name, results, suite=f"fake_suite:{name}", trained_on="all")
        (evaluation,) = open_evaluations([root])
        protocol = protocol_of(evaluation.suite)
        assert protocol is not None
        values.append([one.estimate.value for one in headlines(evaluation, protocol, TEST)])
    assert values == [[pytest.approx(4 / 6)], [1.0, 0.0]]
    part = replace(PROTOCOL, numbers=(PROTOCOL.numbers[0], replace(PROTOCOL.numbers[0], levels=())))
    (evaluation,) = open_evaluations([tmp_path / "ProtocolSuite"])
    assert headlines(evaluation, part, TEST)[1].estimate.value == 0.5
    of_three = replace(TEST, tasks=())
    assert headlines(evaluation, part, of_three)[1].text.startswith("L0 (2 of 3 tasks) 50.0 % [")


def test_numbers_of_a_run_that_stopped_early(tmp_path: Path) -> None:
    """Of the first three rounds of eight; the interval holds whenever one stops."""
    first = order("reach", 8)[:3]
    results = [r for r in outcomes("reach", [True] * 8, split="test") if r.index in first]
    about = {"suite": "fake_suite:ProtocolSuite", "sequential": {"population": 8, "width": 0.5}}
    (evaluation,) = open_evaluations([write_run(tmp_path / "run", results, **about)])
    (number,) = headlines(evaluation, PROTOCOL, TEST)
    assert (number.estimate.value, number.estimate.n) == (1.0, 3)
    assert (number.estimate.low, number.estimate.high) == interval([[1.0]] * 3)


DEVIATING: dict[str, tuple[dict[str, Any], str]] = {
    "noise": ({"noise": "p40"}, "noise p40, not none"),
    "axes": ({"axes": {"camera": 3}}, "axis camera:3, not none"),
    "wording": ({"wording": "empty"}, "wording empty, not own"),
    "stop": ({"stop": "limit"}, "stop limit, not goal"),
    "drawn": ({"seed": 0, "episodes": {}}, "no frozen episodes"),
    "split": ({"episodes": {"reach_train": "reach train 1"}}, "split train, not test"),
    "others": ({"episodes": {"reach_test": "mine"}}, "other episodes of reach_test than those"),
    "task": (
        {"episodes": {"follow_order_test": "follow_order test 1"}},
        "tasks that do not belong to it: follow_order",
    ),
    "population": (
        {"sequential": {"population": 8, "width": 0.1}},
        "8 episodes, not 4",
    ),
}


@pytest.mark.parametrize("case", DEVIATING)
def test_deviations(case: str) -> None:
    settings, words = DEVIATING[case]
    usual = {"criteria": "paper", "episodes": {"reach_test": "reach test 1"}}
    assert deviations(Run("p", "p", **usual), ProtocolSuite()) == []
    found = deviations(Run("p", "p", **{**usual, **settings}), ProtocolSuite())
    assert len(found) == 1 and found[0].startswith(words)


def test_deviations_of_results_and_of_cells() -> None:
    suite, known = ProtocolSuite(), {"episodes": {"reach_test": "reach test 1"}}
    of = Run("p", "p", criteria="released", **known)
    assert deviations(of, suite) == []  # the other cell
    assert deviations(replace(of, protocol="test"), suite) == ["criteria released, not paper"]
    run, found = replace(of, criteria="paper"), outcomes("reach", [True] * 4, split="test")
    assert deviations(run, suite, found) == []
    assert deviations(run, suite, found[:3]) == ["3 episodes, not 4"]
    again = [*found, replace(found[0], repeat=1)]
    assert deviations(run, suite, again) == ["repeated episodes"]
    parts = [*found, replace(found[0], handover={"part": "plan"})]
    assert deviations(run, suite, parts) == ["parts of episodes"]
    assert deviations(replace(run, noise="p40"), FakeSuite()) == []  # it has no protocol


def test_deviations_of_presets() -> None:
    """A preset is named alone; its options may also be given one by one."""
    suite, frozen = load_suite("ivispar"), load_suite("ivispar").frozen("geoms", "base")
    run = Run("p", "p", "", "paper", protocol="text", episodes={"geoms_base": frozen.content_hash})
    assert deviations(run, suite) == ["preset none, not text"]
    shown = {"views": ["text", "text@goal"]}
    given = replace(run, observation=shown, feedback="none")
    assert deviations(given, suite) == deviations(replace(given, preset="text"), suite) == []
    other = replace(given, preset="text", feedback="simple")
    assert deviations(other, suite) == ["feedback simple, not none"]
    house = load_suite("asgardbench")
    frozen = house.frozen("coffee", "test")
    run = Run(
        "p", "p", "", "paper", preset="no_hand", episodes={"coffee_test": frozen.content_hash}
    )
    run = replace(run, observation={"views": ["first_person-no_hand"]})
    assert deviations(run, house) == ["preset no_hand, not baseline"]


@pytest.mark.parametrize("name", SUITES)
def test_protocols_of_the_package(name: str) -> None:
    suite = load_suite(name)
    protocol = protocol_of(suite)
    assert protocol is not None
    options = {entry.name for entry in fields(EvaluateArgs)}
    measures = {"success", *(measure.name for measure in reported(suite, Measure))}
    for cell in protocol.cells:
        tasks = cell_tasks(suite, cell)
        levels = {suite.tasks[task].level for task in tasks}
        assert cell.options.keys() <= options
        assert all(protocol.quick_split in suite.tasks[task].splits for task in tasks)
        for number in protocol.numbers:
            assert {*number.levels} <= levels and number.measure in measures
            assert {*number.trained_on} <= {*protocol.trained_on, "none"}
        cost = cost_of_part(suite, RunPart(cell, tasks, cell.split, cell.episodes))
        expected = {"clevrskills": 1650, "ivispar": 300, "asgardbench": 108, "lohoravens": 900}
        assert cost.episodes == expected[name]
        assert 0 < cost.range_s[0] < cost.range_s[1]


def test_the_page_follows_from_the_protocols(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "docs"))
    benchmark_page = import_module("pages.benchmark")
    text = benchmark_page.PAGE.read_text(encoding="utf-8")
    assert benchmark_page.page() == text, "run python docs/build.py benchmark"
    assert len(text.replace("|", " ").split()) <= 600
