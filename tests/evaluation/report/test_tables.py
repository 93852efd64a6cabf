"""Tables of fabricated results: exact numbers, and no rate without its interval."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fabricated import outcomes, result, write_run

from clevrskills.core.statistics import wilson
from clevrskills.core.suite import load_suite
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.report import summary, tables
from clevrskills.evaluation.report.comparison import compare_runs
from clevrskills.evaluation.report.suite_tables import oracle_table
from clevrskills.evaluation.results import (
    EpisodeResult,
    Evaluation,
    open_evaluations,
)

INTERVAL = re.compile(r"-|-?[\d.]+ \[-?[\d.]+, -?[\d.]+\]")


@pytest.fixture
def run(tmp_path: Path) -> Evaluation:
    """``pick``: 7 of 20 and an error; ``push``: 2 of 4; ``sort``, ordered: 1 of 2, unseen."""
    episodes = outcomes("pick", [True] * 7 + [False] * 13 + [None])
    episodes += [
        result("push", 0, True, steps=40, total_reward=120.0),
        result("push", 1, True, steps=60, total_reward=240.0, success_at_end=False),
        result("push", 2, steps=200, total_reward=200.0, goal_fraction=0.5),
        result("push", 3, steps=100, total_reward=0.0, cause="gave up", reason="no grasp"),
        result("sort", 0, True, "L1", split="test", depth=3, depth_of=3),
        result("sort", 1, False, "L1", split="test", depth=1, depth_of=3, goal_fraction=0.25),
    ]
    (opened,) = open_evaluations([write_run(tmp_path / "run", episodes, "mine")])
    return opened


def row(rows: list[tables.ResultRow], task: str = "", level: str = "") -> tables.ResultRow:
    (found,) = [r for r in rows if r.task == task and level in ("", r.level)]
    return found


def test_errors_count_for_nothing_but_are_counted(run: Evaluation) -> None:
    pick = row(tables.task_rows([run]), "pick")
    assert (pick.episodes, pick.errors) == (20, 1)
    assert (pick.success_once.low, pick.success_once.high) == wilson(7, 20)
    assert pick.success_once.value == 0.35
    assert pick.causes == {"success": 7, "step limit": 13, "error": 1}
    assert pick.steps.value == 50  # those of the error are no steps


def test_every_measure(run: Evaluation) -> None:
    push = row(tables.task_rows([run]), "push")
    assert (push.success_once.value, push.success_at_end.value) == (0.5, 0.25)
    assert push.goal_fraction.value == 0.625
    assert push.reward.value == 140
    assert push.reward_per_step.value == pytest.approx((3 + 4 + 1 + 0) / 4)
    assert push.steps.value == 100
    assert math.isnan(push.depth.value)
    assert push.causes == {"success": 2, "step limit": 1, "gave up": 1}
    sort = row(tables.task_rows([run]), "sort")
    assert (sort.level, sort.split) == ("L1", "test")
    assert sort.depth.value == pytest.approx((1 + 1 / 3) / 2)


def test_a_level_is_the_mean_over_its_tasks(run: Evaluation) -> None:
    level = row(tables.level_rows([run]), level="L0")
    assert (level.tasks, level.episodes, level.errors) == (2, 24, 1)
    assert level.success_once.value == pytest.approx((0.35 + 0.5) / 2)
    assert level.reward.value == pytest.approx((100 + 140) / 2)
    assert 0.1 < level.success_once.low < 0.3 and 0.6 < level.success_once.high < 0.8


def test_rows_are_in_order(tmp_path: Path) -> None:
    """By level and task, seen before unseen, runs side by side."""
    episodes = [
        result(task, 0, True, level, split=split)
        for level, task in (("L1", "sort"), ("L0", "push"), ("L0", "pick"))
        for split in ("test", "train")
    ]
    runs = [write_run(tmp_path / name, episodes, name) for name in ("b", "a")]
    rows = tables.task_rows(open_evaluations(runs))
    assert [(r.task, r.split, r.run) for r in rows[:4]] == [
        ("pick", "train", "b"),
        ("pick", "train", "a"),
        ("pick", "test", "b"),
        ("pick", "test", "a"),
    ]
    assert [r.task for r in rows] == ["pick"] * 4 + ["push"] * 4 + ["sort"] * 4


def test_a_task_of_errors_alone(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", outcomes("pick", [None] * 2) + outcomes("push", [True] * 3))
    rows = open_evaluations([run])
    pick = row(tables.task_rows(rows), "pick")
    assert (pick.episodes, pick.errors, pick.tasks) == (0, 2, 0)
    assert tables.words([pick])["success %"].item() == "-"
    level = row(tables.level_rows(rows))
    assert (level.tasks, level.episodes, level.success_once.value) == (1, 3, 1.0)


def test_no_rate_is_printed_without_its_interval(run: Evaluation) -> None:
    for rows in (tables.task_rows([run]), tables.level_rows([run])):
        texts = tables.words(rows)
        rates = [name for name in texts if name.endswith("%")]
        assert {"success %", "at the end %", "goals met %", "depth %"} == set(rates)
        for name in rates:
            assert all(INTERVAL.fullmatch(text) for text in texts[name]), texts[name]
        others = texts.drop(columns=rates).to_numpy().ravel().tolist()
        assert not any("%" in text for text in others)
    assert texts["depth %"].tolist()[0] == "-"


def test_files(run: Evaluation, tmp_path: Path) -> None:
    rows = tables.task_rows([run])
    table = tables.Table("tasks", "A_b & 50 %", tables.numbers(rows), tables.words(rows))
    paths = tables.write_tables(tmp_path, [table], "A note.")
    assert [path.name for path in paths] == ["tasks.csv", "tables.md", "tables.tex"]
    data = pd.read_csv(tmp_path / "tasks.csv")
    assert data["success_once"].tolist() == [0.35, 0.5, 0.5]
    assert data["success_once_low"][0] == pytest.approx(wilson(7, 20)[0])
    assert data["ended_step_limit"].tolist() == [13, 1, 1]
    assert data["ended_gave_up"].tolist() == [0, 1, 0]
    text = (tmp_path / "tables.md").read_text()
    assert text.startswith("## A_b & 50 %\n\n| task | split | track | episodes | success % |")
    assert "| pick | train | not stated | 20 | 35.0 [18.1, 56.7] |" in text
    assert text.endswith("\nA note.\n")
    widths = {line.count(" | ") for line in text.splitlines() if line.startswith("|")}
    assert len(widths) == 1
    tex = (tmp_path / "tables.tex").read_text()
    assert r"\caption{A\_b \& 50 \%}" in tex and r"success \%" in tex
    assert not re.search(r"(?<!\\)[%&#]", re.sub(r" & |\\\\", "", tex))


def test_damaged_lines_are_refused() -> None:
    data = json.loads(result("pick", 0, True).to_json())
    del data["cause"]
    with pytest.raises(ValueError, match="damaged line"):
        EpisodeResult.from_json(json.dumps(data))


def test_records_are_json_data(run: Evaluation) -> None:
    first = tables.records(tables.numbers(tables.task_rows([run])))[0]
    assert first["depth"] is None and first["success_once"] == 0.35 and first["task"] == "pick"


def test_table_of_episodes(run: Evaluation) -> None:
    frame = tables.episodes([run])
    assert len(frame) == 27 and set(frame["run"]) == {"mine"}
    assert frame.loc[frame["cause"] == "error", "error"].tolist() == [
        "the server closed the connection"
    ]


def test_labels_are_distinct(tmp_path: Path) -> None:
    names = ("a", "b", "c/b")
    roots = [write_run(tmp_path / name, [result("pick", 0)], "same") for name in names]
    labels = [e.label for e in open_evaluations(roots)]
    assert len(set(labels)) == 3 and labels[0] == "same (a)"
    nameless = write_run(tmp_path / "d", [result("pick", 0)], "")
    assert open_evaluations([nameless])[0].label == "package:Policy"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, r"is no run of `clevrskills evaluate`: it has no run.json$"),
        ("{", "run.json is damaged"),
        ("{}", "run.json has format version None; this package reads 1"),
        ("[]", "run.json is damaged"),
    ],
)
def test_a_folder_without_a_run(tmp_path: Path, content: str | None, said: str) -> None:
    if content is not None:
        (tmp_path / "run.json").write_text(content)
    with pytest.raises(ClevrSkillsError, match=said):
        open_evaluations([tmp_path])


def test_a_folder_named_twice(tmp_path: Path) -> None:
    root = write_run(tmp_path / "run", [result("pick", 0)])
    with pytest.raises(ClevrSkillsError, match="the same folder is named twice"):
        open_evaluations([root, tmp_path / "." / "run"])


def test_numbers_do_not_depend_on_the_order_of_the_lines(tmp_path: Path) -> None:
    episodes = outcomes("pick", list(np.arange(20) % 3 == 0)) + outcomes("push", [True] * 5)
    one = open_evaluations([write_run(tmp_path / "a", episodes)])
    other = open_evaluations([write_run(tmp_path / "b", reversed(episodes))])
    pd.testing.assert_frame_equal(
        tables.numbers(tables.level_rows(one)), tables.numbers(tables.level_rows(other))
    )


@pytest.mark.parametrize(("controller", "share"), [("", 50), ("package:Arm", 10)])
def test_clipped_actions_are_those_of_turns_or_of_a_controller(
    tmp_path: Path, controller: str, share: int
) -> None:
    given = {"greatest": {"x": 1.5}, "controller": controller}
    episodes = [
        result("pick", 0, turns=1, steps=10, clipped=1.0, **given),
        result("pick", 1, turns=1, steps=90, clipped=0.0, **given),
    ]
    root = write_run(tmp_path / "run", episodes, "mine", controller=controller)
    (line,) = tables.warning_lines(open_evaluations([root]))
    assert f"{share}.0 % of the actions of mine" in line


def test_rows_name_the_benchmark(tmp_path: Path) -> None:
    cases = {"clevrskills 1.0": {"benchmark": 1}, "clevrskills": {}}
    cases["ivispar (clevrskills 1.0)"] = {"suite": "ivispar", "benchmark": 1}
    for name, settings in cases.items():
        root = write_run(tmp_path / name, outcomes("pick", [True, False]), "mine", **settings)
        rows = tables.level_rows(open_evaluations([root]))
        assert tables.words(rows)["benchmark"].tolist() == [name]
        assert tables.numbers(rows)["benchmark"].tolist() == [name]


def test_access_to_the_state_is_printed_beside_the_track(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    views = {"views": ["base_camera", "state"]}
    cases = {
        "none": {},
        "none, privileged": {"privileged": True},
        "none, sees state": {"observation": views},
        "none, privileged, sees state": {"privileged": True, "observation": views},
    }
    for name, about in cases.items():
        root = write_run(tmp_path / name, outcomes("pick", [True]), track="none", **about)
        opened = open_evaluations([root])
        frame = tables.words(tables.task_rows(opened))
        assert frame.get("track", pd.Series(["none"])).tolist() == [name]
        summary.print_summary(opened[0])
        assert lines_of(capsys)[0].startswith(f"policy{name.removeprefix('none')} on clevrskills")
    both = tables.words(tables.task_rows(open_evaluations([tmp_path / name for name in cases])))
    assert both["track"].tolist() == [*cases]


def lines_of(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_the_summary_is_narrow_and_has_each_number_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    long = "stack_blocks_by_color_in_order"
    episodes = [
        result(task, k, bool(k), split=split)
        for task in (long, f"{long}_twice")
        for split in ("train", "test", "unseen_objects")
        for k in range(3)
    ]
    many, one = open_evaluations(
        [
            write_run(tmp_path / "many", [*episodes, *outcomes("pick", [None])]),
            write_run(
                tmp_path / "one", outcomes("pick", [True, False, False], goal_fraction=0.5), "one"
            ),
        ]
    )
    summary.print_summary(many)
    lines = lines_of(capsys)
    assert max(map(len, lines)) <= tables.WIDTH
    assert sum(line.startswith("L0, 2 ") for line in lines) == 3
    assert lines[1].split()[-1] == "errors" and lines[2].endswith(" 1")
    summary.print_summary(one)
    lines = lines_of(capsys)
    assert [line.startswith("pick ") for line in lines[2:]] == [True, False]
    assert "\n".join(lines).count("33.3") == 1 and "errors" not in lines[1]
    tables.print_table(tables.words(tables.task_rows([many])), "All")
    lines = lines_of(capsys)
    assert max(map(len, lines)) <= tables.WIDTH
    assert sum(line.startswith(f"{long} ") for line in lines) >= 6  # the task in each part


def test_the_rule_of_a_run_is_that_of_its_tasks(tmp_path: Path) -> None:
    known = load_suite().tasks
    counts = [int(known[task].limit.split()[0]) for task in ("pick", "sort")]
    episodes = [result("pick", 0, True), result("sort", 0, True, "L1")]
    (both,) = open_evaluations([write_run(tmp_path / "both", episodes)])
    assert both.rule == (
        f"Episodes end when the goal holds, or after {min(counts)} to {max(counts)} control steps, "
        "by task."
    )
    stopped = replace(both, run=replace(both.run, stop="declared"), results=both.results[:1])
    assert stopped.rule.endswith(f"says `done`, or after {known['pick'].limit}.")
    gone = replace(both, run=replace(both.run, suite="of_no_package"))
    assert gone.rule.endswith("or after the limit of the task.")
    turns = replace(result("coffee", 0, cause="step limit"), steps=0, turns=20)
    assert (turns.ending, both.results[0].ending) == ("turn limit", "success")


def test_labels_name_presets_where_they_differ(tmp_path: Path) -> None:
    roots = [write_run(tmp_path / name, outcomes("pick", [True]), "m") for name in "abc"]
    for root, preset in zip(roots, ("", "text_none", "text_none"), strict=True):
        path = root / "run.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"preset": preset}))
    assert [e.label for e in open_evaluations(roots[:2])] == ["m", "m (text_none)"]
    assert [e.label for e in open_evaluations(roots[1:])] == ["m (b)", "m (c)"]
    assert [e.label for e in open_evaluations(roots)] == [
        *("m", "m (text_none) (b)", "m (text_none) (c)")
    ]


def test_a_suite_may_pool_the_episodes_of_all_tasks(tmp_path: Path) -> None:
    many = outcomes("coffee", [True] * 9, "household", split="test")
    few = outcomes("turn_on_tv", [False] * 3, "household", split="test")
    root = write_run(tmp_path / "run", [*many, *few], suite="asgardbench")
    (run,) = open_evaluations([root])
    (level,) = tables.level_rows([run])
    rate = level.success_once
    assert (rate.value, (rate.low, rate.high)) == (0.75, wilson(9, 12))
    assert tables.pooling([run]) == tables.POOLED
    other = replace(run, root=tmp_path)
    (row,) = compare_runs(run, other).levels
    assert (row.a.value, row.difference.value) == (0.75, 0)


def test_tight_success_is_relative_to_the_oracle_with_the_same_noise(
    tmp_path: Path,
) -> None:
    def run(name: str, tight: tuple[float, ...], **conditions: str) -> Path:
        found = [
            result("move_area", k, level="seen", measures={"success_tight": value})
            for k, value in enumerate(tight)
        ]
        conditions = {"suite": "lohoravens", "interface": "pick_place_text", **conditions}
        return write_run(tmp_path / name, found, name, **conditions)

    best, own = (1.0, 1.0, 1.0, 1.0, 0.0), (0.0, 1.0, 0.0, 0.0, 0.0)
    folders = [
        run("best", best, policy="oracle", noise="p40"),
        run("own", own, noise="p40"),
        run("clean", own),
        run("poses", own, noise="p40", interface="pick_place"),
    ]
    (table,) = oracle_table(open_evaluations(folders))
    (line,) = table.data.to_dict("records")
    assert (line["run"], line["level"], line["split"]) == ("own", "seen", "train")
    assert (line["own"], line["oracle"], line["share"]) == (0.2, 0.8, 0.25)
    assert line["share_low"] < line["own_low"] / line["oracle"] < line["share"]
    assert table.texts["of the oracle's %"][0].startswith("25.0 [")
    assert not oracle_table(open_evaluations(folders[1:]))
