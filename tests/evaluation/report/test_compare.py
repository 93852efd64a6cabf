"""Two fabricated runs compared: exact numbers, and omitted episodes are counted."""

import json
import re
from pathlib import Path

import pytest
from fabricated import outcomes, result, write_run
from scipy.stats import binomtest

from clevrskills.cli import main
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.report.comparison import (
    Comparison,
    compare_runs,
    differences,
    p_text,
    words,
)
from clevrskills.evaluation.report.tables import WIDTH
from clevrskills.evaluation.results import open_evaluations, read_run
from clevrskills.evaluation.statistics import Pairs, wilson

T, F = True, False
# both 4, only the first 1, only the second 5, neither 2
PICK = [(T, T)] * 4 + [(T, F)] + [(F, T)] * 5 + [(F, F)] * 2
PUSH = [(T, T)] * 2 + [(F, F)] * 2


def two_runs(tmp_path: Path, **second: object) -> tuple[Path, Path]:
    made = []
    for k, name in enumerate(("a", "b")):
        episodes = outcomes("pick", [pair[k] for pair in PICK])
        episodes += outcomes("push", [pair[k] for pair in PUSH])
        made.append(write_run(tmp_path / name, episodes, name, **(second if k else {})))
    return made[0], made[1]


def compared(roots: tuple[Path, Path]) -> Comparison:
    return compare_runs(*open_evaluations(roots))


def test_numbers(tmp_path: Path) -> None:
    found = compared(two_runs(tmp_path))
    pick, push = found.tasks
    assert pick.cells == Pairs(4, 1, 5, 2) and pick.episodes == 12
    assert (pick.a.value, pick.b.value) == (5 / 12, 9 / 12)
    assert (pick.b.low, pick.b.high) == wilson(9, 12)
    assert pick.difference.value == pytest.approx(4 / 12)
    assert (pick.difference.low, pick.difference.high) == Pairs(4, 1, 5, 2).interval()
    assert pick.p_value == pytest.approx(binomtest(5, 6).pvalue)
    assert pick.p_holm == pytest.approx(2 * pick.p_value)
    assert (push.p_value, push.p_holm, push.difference.value) == (1.0, 1.0, 0.0)
    assert push.difference.low < 0 < push.difference.high
    (level,) = found.levels
    assert level.cells == Pairs(6, 1, 5, 4) and level.p_holm is None
    assert level.difference.value == pytest.approx((4 / 12 + 0) / 2)
    assert level.difference.low < 1 / 6 < level.difference.high
    assert found.won == tuple(f"pick_train_{k:03d}" for k in range(5, 10))
    assert found.lost == ("pick_train_004",)
    assert found.remarks == ()


def test_no_rate_is_printed_without_its_interval(tmp_path: Path) -> None:
    found = compared(two_runs(tmp_path))
    for rows in (found.tasks, found.levels):
        texts = words(found, rows)
        for name in ("a %", "b %", "difference"):
            assert all(re.fullmatch(r"\S+ \[\S+, \S+\]", text) for text in texts[name])


def test_only_common_episodes_count(tmp_path: Path) -> None:
    a = [
        *outcomes("pick", [T, T, None, F]),
        result("push", 0, T),
        result("trace", 0, T, episode="one"),
    ]
    b = [*outcomes("pick", [T, None, F, T]), result("trace", 0, T, episode="other")]
    found = compared((write_run(tmp_path / "a", a, "a"), write_run(tmp_path / "b", b, "b")))
    (pick,) = found.tasks
    assert pick.cells == Pairs(1, 0, 1, 0)
    assert found.remarks == (
        "episodes skipped, in one run only: 1",
        "episodes skipped, with different content: 1",
        "episodes skipped, with an error in a run: 2",
    )


def test_settings_that_differ_are_named(tmp_path: Path) -> None:
    found = compared(two_runs(tmp_path, criteria="released", chunk=4))
    assert found.remarks == (
        "the runs differ in criteria (paper and released), chunk (none and 4)",
    )


def test_requested_observations_are_part_of_a_policy(tmp_path: Path) -> None:
    """It is named only for two runs of one policy; images that one run has not say nothing."""
    blind = {"cameras": [], "size_px": None, "proprioception": False, "prompt": "language"}
    seeing = {"cameras": ["base_camera"], "size_px": 128, "proprioception": True}
    roots = two_runs(tmp_path, observation=seeing, renderer="llvmpipe")
    run = json.loads((roots[0] / "run.json").read_text()) | {"observation": blind}
    for policy, remarks in (
        ("random", ["the runs differ in observation.prompt (language and none)"]),
        (
            "package:Policy",
            [
                "the runs differ in observation.cameras (none and ['base_camera']), "
                "observation.prompt (language and none), observation.proprioception (False and "
                "True), observation.size_px (none and 128), renderer (none and llvmpipe)"
            ],
        ),
    ):
        (roots[0] / "run.json").write_text(json.dumps(run | {"policy": policy}))
        assert list(compared(roots).remarks) == remarks


def test_other_differences_of_two_runs(tmp_path: Path) -> None:
    seen = {"prompt": "multimodal", "size_px": None}
    one = write_run(
        tmp_path / "a",
        [],
        observation=seen,
        versions={"torch": "1", "numpy": "2"},
        renderer="a_driver",
    )
    other = write_run(
        tmp_path / "b",
        [],
        observation={**seen, "prompt": "language"},
        criteria="released",
        renderer="",
        versions={"torch": "1", "numpy": "3", "my_tasks": "1"},
    )
    found = differences(read_run(one), read_run(other))
    assert found == [
        "criteria (paper and released)",
        "observation.prompt (multimodal and language)",
        "renderer (a_driver and none)",
        "versions.my_tasks (none and 1)",
        "versions.numpy (2 and 3)",
    ]
    assert differences(read_run(one), read_run(one)) == []


def test_splits_are_kept_apart(tmp_path: Path) -> None:
    roots = []
    for k, name in enumerate("ab"):
        episodes = outcomes("pick", [T, bool(k)]) + outcomes("pick", [F, bool(k)], split="test")
        roots.append(write_run(tmp_path / name, episodes, name))
    found = compare_runs(*open_evaluations(roots))
    assert [(row.split, row.cells) for row in found.levels] == [
        ("train", Pairs(1, 0, 1, 0)),
        ("test", Pairs(0, 0, 1, 1)),
    ]


def test_nothing_in_common(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", outcomes("pick", [T]), "a")
    b = write_run(tmp_path / "b", outcomes("push", [T]), "b")
    with pytest.raises(ClevrSkillsError, match="have no episode in common that ended without"):
        compared((a, b))


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = map(str, two_runs(tmp_path))
    assert main(["compare", a, b, "--episodes"]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"pick +train +12 +41\.7 \[19\.3, 68\.0\] +75\.0 \[46\.8, 91\.1\] ", printed)
    assert "only a: pick_train_004\n" in printed and "only b: pick_train_005, " in printed
    assert max(map(len, printed.splitlines())) <= WIDTH
    assert main(["compare", a, b, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["tasks"][0]["only_b"] == 5 and data["tasks"][0]["a"] == pytest.approx(5 / 12)
    assert data["levels"][0]["p_holm"] is None and len(data["only_b"]) == 5
    assert main(["compare", a, str(tmp_path / "c")]) == 2
    assert capsys.readouterr().err.startswith("clevrskills: ")


def test_p_values_are_printed_as_exactly_as_is_useful() -> None:
    assert [p_text(p) for p in (1e-9, 0.0049, 0.0625, 0.375, 1.0)] == [
        "< 0.001",
        "0.005",
        "0.062",
        "0.38",
        "1.00",
    ]
