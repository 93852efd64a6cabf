"""The files of a report."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest
from fabricated import outcomes, result, write_run, write_video

from clevrskills.cli import main
from clevrskills.core.episode import FrozenHeader
from clevrskills.envs.episode import EpisodeSpec
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.freeze import frozen
from clevrskills.evaluation.report import page_data as report_data
from clevrskills.evaluation.report.command import ReportArgs, report

SVG = "http://www.w3.org/2000/svg"


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path]:
    made = []
    for k, name in enumerate(("base", "</script> & new")):
        episodes = outcomes("pick", [True, False, bool(k), None])
        episodes += outcomes("sort", [False, bool(k)], "L1", split="test")
        episodes.append(result("push", 0, False, cause="gave up", reason="cannot reach"))
        made.append(write_run(tmp_path / f"run{k}", episodes, name))
    return made[0], made[1]


def data_of(page: str) -> dict:
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    found: dict = json.loads(text)
    return found


def test_one_run(runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(runs[0])]) == 0
    out = runs[0] / "report"
    assert sorted(path.name for path in out.iterdir()) == [
        "episodes.csv",
        "levels.csv",
        "report.html",
        "tables.md",
        "tables.tex",
        "tasks.csv",
    ]
    printed = capsys.readouterr().out
    assert re.search(r"L0 +2 of 12 +train +not stated +4 +1 +16\.7 \[\d\.\d, \d\d\.\d\] ", printed)
    assert f"{out / 'report.html'}, and the tables beside it" in printed
    assert data_of((out / "report.html").read_text())["comparisons"] == []
    assert len(pd.read_csv(out / "episodes.csv")) == 7


def test_page_is_complete_in_itself(runs: tuple[Path, Path], tmp_path: Path) -> None:
    report(ReportArgs(runs=runs, out=tmp_path / "new" / "out", title="A <b> title"))
    text = (tmp_path / "new" / "out" / "report.html").read_text()
    assert "<title>A &lt;b&gt; title</title>" in text
    assert not re.search(
        r"(src|href)=[\"'](?!data:|\{|#)|https?://|@import|url\((?!#)", text.replace(SVG, "")
    )
    assert text.count("</script>") == text.count("<script")
    data = data_of(text)
    assert [run["label"] for run in data["runs"]] == ["base", "</script> & new"]
    assert [run["errors"] for run in data["runs"]] == [1, 1]
    assert data["runs"][0]["reasons"] == {
        "gave up": [["cannot reach", 1]],
        "error": [["the server closed the connection", 1]],
    }


def test_data_of_the_page(runs: tuple[Path, Path], tmp_path: Path) -> None:
    report(ReportArgs(runs=runs, out=tmp_path / "out"))
    data = data_of((tmp_path / "out" / "report.html").read_text())
    assert [row["task"] for row in data["tasks"]] == ["pick", "pick", "push", "push"] + ["sort"] * 2
    pick = data["tasks"][1]
    assert pick["success_once"]["value"] == pytest.approx(2 / 3, abs=1e-4)
    assert pick["success_once"]["low"] < 0.3 < 0.9 < pick["success_once"]["high"]
    assert pick["causes"] == {"success": 2, "step limit": 1, "error": 1}
    assert data["levels"][0]["depth"] == {
        **{"value": None, "low": None, "high": None, "n": 0},
        "texts": ["-", "-", "-"],
    }
    (comparison,) = data["comparisons"]
    assert comparison["won"] == ["pick_train_002", "sort_test_001"] and comparison["lost"] == []
    ids = [episode["id"] for episode in data["episodes"]]
    assert ids == [*(f"pick_train_{k:03d}" for k in range(4)), "push_train_000"] + [
        f"sort_test_{k:03d}" for k in range(2)
    ]
    first = data["episodes"][0]["runs"][0]
    assert first["cause"] == "success" and first["steps"] == [50, 200] and first["video"] is None


def test_runs_on_other_episodes_stand_side_by_side(tmp_path: Path) -> None:
    """They are not compared, and each has gaps where only the other one was."""
    a = write_run(tmp_path / "a", outcomes("pick", [True]), "a")
    b = write_run(tmp_path / "b", outcomes("push", [True]), "b")
    report(ReportArgs(runs=(a, b)))
    data = data_of((a / "report" / "report.html").read_text())
    assert data["comparisons"] == []
    assert [[bool(o) for o in e["runs"]] for e in data["episodes"]] == [
        [True, False],
        [False, True],
    ]


def test_small_videos_are_in_the_page_others_are_linked(
    runs: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad = result("pick", 0, True), result("pick", 1, False)
    for episode in (good, bad):
        size = write_video(runs[1], episode).stat().st_size

    def found() -> dict[str, tuple[str, int]]:
        report(ReportArgs(runs=runs, out=tmp_path / "out"))
        text = (tmp_path / "out" / "report.html").read_text()
        scripts = re.findall(
            r'class="video" data-id="(\S+)" data-link="(.*?)">(.*?)</script>', text, re.S
        )
        return {name: (link, len(content)) for name, link, content in scripts}

    both = found()
    assert list(both) == ["1-pick_train_001", "1-pick_train_000"]  # failures first
    assert all(link == "" and length > size for link, length in both.values())
    monkeypatch.setattr(report_data, "PAGE_LIMIT_BYTES", int(1.5 * size))
    first, second = found().values()
    assert first[0] == "" and second == ("../run1/videos/pick_train_000.mp4", 0)
    assert (tmp_path / "out" / second[0]).is_file()
    monkeypatch.setattr(report_data, "VIDEO_LIMIT_BYTES", 10)
    assert all(link for link, _ in found().values())


@pytest.fixture
def frozen_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EpisodeSpec:
    """The only frozen episode of the package."""
    spec = EpisodeSpec.draw("trace", "train", seed=5, index=0)
    head = FrozenHeader("trace", "train", "xarm6", 1, 140, (60,))
    frozen.write(tmp_path, head, [spec])
    monkeypatch.setattr("clevrskills.suites.clevrskills.suite.EPISODES_DIR", tmp_path)
    return spec


def test_filmed_episodes_show_their_prompt(frozen_trace: EpisodeSpec, tmp_path: Path) -> None:
    episodes = [
        result("trace", 0, episode=frozen_trace.content_hash),
        result("trace", 1),
        result("pick", 0),
    ]
    root = write_run(tmp_path / "run", episodes)
    for episode in episodes:
        write_video(root, episode)
    report(ReportArgs(runs=(root,)))
    found = data_of((root / "report" / "report.html").read_text())["episodes"]
    assert {e["id"]: e["prompt"] for e in found} == {
        "trace_train_000": frozen_trace.prompt.plain(),
        "trace_train_001": "",
        "pick_train_000": "",
    }
    assert len(frozen_trace.prompt.plain()) > 20


def test_json(runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", *map(str, runs), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert {row["run"] for row in data["tasks"]} == {"base", "</script> & new"}
    assert data["comparisons"][0]["only_b"] == ["pick_train_002", "sort_test_001"]
    assert data["levels"][0]["errors"] == 1


def test_no_rate_is_printed_without_its_interval(
    runs: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Wherever a number in percent may be, in all texts for people."""
    report(ReportArgs(runs=runs, out=tmp_path / "out"))
    texts = [capsys.readouterr().out]
    texts += [(tmp_path / "out" / name).read_text() for name in ("tables.md", "tables.tex")]
    for text in texts:
        assert not re.search(r"\d %(?! \[|\s+intervals)", text.replace("\\%", "%"))
    header, _, *rows = texts[1].split("## Tasks\n\n")[1].split("\n\n")[0].splitlines()
    names = header.split(" | ")
    for row in rows:
        for name, cell in zip(names, row.split(" | "), strict=True):
            assert "%" not in name or re.fullmatch(r"-|\S+ \[\S+, \S+\]", cell)


def test_bad_input(runs: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(ClevrSkillsError, match="name the folder of at least one run"):
        report(ReportArgs(runs=()))
    empty = write_run(tmp_path / "empty", [])
    with pytest.raises(ClevrSkillsError, match="empty: no episode has ended yet"):
        report(ReportArgs(runs=(runs[0], empty)))
    assert not (runs[0] / "report").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(ClevrSkillsError, match="cannot write to"):
        report(ReportArgs(runs=runs, out=tmp_path / "file"))
