"""Tables of failures, and the timeline of the page."""

import json
import re
from pathlib import Path

import pytest
from fabricated import result, write_run

from clevrskills.envs.events.kinds import first_failure
from clevrskills.evaluation.report.command import ReportArgs, report
from clevrskills.evaluation.report.failures import failure_tables
from clevrskills.evaluation.results import EpisodeResult, open_evaluations

MOVED = {"path_m": 1.5, "sparc": -2.0}
TOUCH = {"kind": "wrong touch", "step": 3, "object": "object_1"}
DROP = {"kind": "dropped", "step": 9, "object": "object_0", "goal": "set/0.inside"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    episodes = [
        result("pick", 0, False, events=[TOUCH, DROP], trajectory=MOVED),
        result("pick", 1, True, events=[DROP], trajectory={**MOVED, "first_contact_s": 2.0}),
        result("pick", 2, False, events=[TOUCH], trajectory=MOVED),
        result("sort", 0, False, "L1", trajectory={"path_m": 0.5, "sparc": -4.0}),
        result("sort", 1, None, "L1", events=[DROP], trajectory=MOVED),
        result("push", 0, False),  # nobody watched
    ]
    return write_run(tmp_path / "run", episodes)


def test_a_lasting_event_comes_before_a_light_one() -> None:
    assert first_failure([TOUCH, DROP]) == DROP
    assert first_failure([TOUCH]) == TOUCH
    assert first_failure([]) is None
    swept = {"kind": "swept", "step": 9}
    assert first_failure([swept, DROP]) == DROP  # of one step, the order of the kinds decides
    with pytest.raises(ValueError):
        first_failure([{"kind": "bored", "step": 1}])


def test_where_episodes_fail_first(root: Path) -> None:
    failures, movement = failure_tables(open_evaluations([root]))
    assert [tuple(line) for line in failures.data.values.tolist()] == [
        ("policy", "train", "pick", "dropped", 1, 3),
        ("policy", "train", "sort", "nothing noted", 1, 1),
        ("policy", "train", "pick", "wrong touch", 1, 3),
    ]
    assert list(failures.texts["tasks"]) == ["pick 1", "sort 1", "pick 1"]
    assert failures.texts["of all %"][0].startswith("16.7 [")  # a third of one of two tasks
    assert movement.data["path_m"][0] == pytest.approx(1.0)
    assert movement.data["sparc"][0] == pytest.approx(-3.0)
    assert movement.data["first_contact_s"][0] == pytest.approx(2.0)


def test_no_tables_of_unmonitored_episodes(tmp_path: Path) -> None:
    root = write_run(tmp_path / "old", [result("push", 0, False)])
    assert failure_tables(open_evaluations([root])) == []


def test_lines_without_events_are_read() -> None:
    line = result("push", 0, False).to_json()
    assert "events" not in json.loads(line) and "trajectory" not in json.loads(line)
    assert EpisodeResult.from_json(line).events == ()


def test_the_page_has_the_events(root: Path) -> None:
    assert report(ReportArgs(runs=(root,))) == 0
    page = (root / "report" / "report.html").read_text()
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    found = {e["id"]: e["runs"][0] for e in json.loads(text)["episodes"]}
    assert found["pick_train_000"]["events"] == [TOUCH, DROP]
    assert found["pick_train_000"]["first"] == "dropped"
    assert found["pick_train_001"]["first"] == found["push_train_000"]["first"] == ""
    assert (root / "report" / "failures.csv").is_file()
