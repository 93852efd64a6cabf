"""Curves over turns: means of runs, numbers that episodes keep, axes."""

from dataclasses import replace
from pathlib import Path

import pytest
from fabricated import outcomes, result, write_run

from clevrskills.evaluation.report.curves import HEIGHT, WIDTH, curve_tables, drawings
from clevrskills.evaluation.results import EpisodeResult, Evaluation, open_evaluations


def evaluation(root: Path, name: str, *curves: list[float]) -> Evaluation:
    episodes = [
        replace(result("pick", k, False), curves={"regret": curve})
        for k, curve in enumerate(curves)
    ]
    (opened,) = open_evaluations([write_run(root / name, episodes, name)])
    return opened


def test_an_episode_that_is_over_keeps_its_last_number(tmp_path: Path) -> None:
    one = evaluation(tmp_path, "one", [0, 2, 4, 6], [0, 0])
    two = evaluation(tmp_path, "two", [0, 1, 1])
    (drawing,) = drawings([one, two])
    assert (drawing.name, drawing.split, drawing.turns) == ("regret", "train", 3)
    first, second = drawing.curves
    assert [estimate.value for estimate in first.means] == [0, 1, 2, 3]
    assert [estimate.value for estimate in second.means] == [0, 1, 1]
    assert first.means[3].low < 3 < first.means[3].high
    assert drawing.range == (0, first.means[3].high)
    ends = drawing.line(second).split()
    assert ends[0] == f"0.0,{HEIGHT:.1f}" and ends[-1].startswith(f"{WIDTH * 2 / 3:.1f},")
    assert len(drawing.band(first).split()) == 8
    across, up = drawing.ticks
    assert across == [(k, pytest.approx(WIDTH * k / 3)) for k in range(4)]
    assert up[0] == (0, HEIGHT) and all(0 <= y <= HEIGHT for _, y in up) and len(up) > 2


def test_tables_have_a_row_for_each_turn(tmp_path: Path) -> None:
    runs = [evaluation(tmp_path, "one", [0, -3]), evaluation(tmp_path, "two", [0, 1, 1])]
    (table,) = curve_tables(runs)
    assert table.texts["turn"].tolist() == ["0", "1", "2"]
    assert table.texts["one"].tolist()[2] == "-"
    numbers = table.data[table.data["run"] == "two"]
    assert numbers["turn"].tolist() == [0, 1, 2] and numbers["regret"].tolist() == [0, 1, 1]
    assert drawings(runs)[0].range == (-3, 1)


def test_results_without_curves_have_no_table_of_them(tmp_path: Path) -> None:
    episodes = outcomes("pick", [True, False])
    (run,) = open_evaluations([write_run(tmp_path / "run", episodes, "run")])
    assert drawings([run]) == [] == curve_tables([run])
    assert "curves" not in episodes[0].to_json()
    given = replace(episodes[0], curves={"regret": [0.0, 1.0]})
    assert EpisodeResult.from_json(given.to_json()) == given
