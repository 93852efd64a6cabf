import json
import re
from pathlib import Path

import numpy as np
import pytest

from clevrskills.dataset_tools import Dataset
from clevrskills.dataset_tools.generate.command import GenerateArgs, generate
from clevrskills.dataset_tools.manifest import Attempt
from clevrskills.dataset_tools.view.command import ViewArgs, choose, page, view
from clevrskills.dataset_tools.view.page_data import contents
from clevrskills.errors import ClevrSkillsError

SVG = "http://www.w3.org/2000/svg"


def embedded(text: str) -> list[dict]:
    """The data of the episodes on a page."""
    found = re.findall(
        r'<script type="application/json" class="episode"[^>]*>(.*?)</script>', text, re.S
    )
    return [json.loads(data) for data in found]


def test_page_is_complete_in_itself(demos: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "page.html"
    assert view(ViewArgs(dataset=demos, out=out)) == 0
    text = out.read_text().replace(SVG, "")
    assert not re.search(r"(src|href)=[\"'](?!data:|\{)|https?://|@import|url\(", text)
    assert [p.name for p in out.parent.iterdir()] == ["page.html"]
    assert len(embedded(text)) == text.count('<span class="blank">') + text.count('<img src="data')
    assert "6 episodes" in text and "--limit" not in text
    assert "2 failed attempts" in text and "skill: cannot reach it" in text


def test_data_of_an_episode(demos: Path) -> None:
    episode = Dataset(demos).episode("visit/train_00000002")
    (data,) = embedded(page([episode], "demos", total=6))
    assert data == json.loads(json.dumps(contents(episode)))
    assert (data["id"], data["task"], data["level"]) == (episode.id, "visit", "L1")
    steps = len(episode)
    assert len(data["reward"]) == len(data["progress"]) == data["steps"] == steps
    assert [k["label"] for k in data["keysteps"]] == [
        "Start",
        "Reach the red dot",
        "Reach the blue dot",
    ]
    assert [k["step"] for k in data["keysteps"]] == [k["step"] for k in episode.keysteps]
    assert [part.get("text") for part in data["prompt"]] == [
        "Move to ",
        None,
        ", then to <b>",
        None,
        "</b>.",
    ]
    assert data["prompt"][1]["image"].startswith("data:image/jpeg;base64,")
    assert data["bodies"][0]["name"] == "red dot"
    assert data["versions"]["numpy"]
    for name, signal in data["signals"].items():
        length = steps if name == "action" else steps + 1
        assert {len(values) for values in signal["values"]} == {length}
        assert len(signal["names"]) == len(signal["values"])


def test_boxes_of_an_episode(demos: Path) -> None:
    episode = Dataset(demos)[0]
    cameras = contents(episode)["cameras"]
    assert set(cameras) == {"base_camera", "hand_camera"}
    for name, camera in cameras.items():
        boxes = np.array(camera["boxes"]).reshape(len(episode) + 1, 2, 4)
        assert np.array_equal(boxes, episode.boxes(name))
        assert np.abs(np.array(camera["visible"]) - 100 * episode.visible(name)).max() <= 0.5
        assert (camera["width"], camera["height"]) == (64, 64)


def test_runs_of_an_episode(demos: Path) -> None:
    episode = Dataset(demos).episode("visit/train_00000002")
    episode.steps["failed"] = [2 <= t < 5 for t in range(len(episode))]
    episode.steps["attempt"] = [int(t >= 5) for t in range(len(episode))]
    data = contents(episode)
    for lane, column in (
        ("subtask", "subtask"),
        ("instruction", "instruction"),
        ("action", "action_class"),
    ):
        runs = data["lanes"][lane]
        assert [run["start"] for run in runs[1:]] == [run["stop"] for run in runs[:-1]]
        labels = [run["label"] for run in runs for _ in range(run["start"], run["stop"])]
        assert labels == episode.steps[column].tolist()
    failed = [
        t for r in data["lanes"]["action"] if r["failed"] for t in range(r["start"], r["stop"])
    ]
    assert failed == [2, 3, 4]
    assert [run["attempt"] for run in data["lanes"]["subtask"]][:2] == [0, 1]
    assert not any(run["failed"] for run in data["lanes"]["subtask"])
    holds = np.zeros((len(episode), 3), bool)
    for k, runs in enumerate(data["holds"]):
        for start, stop in runs:
            holds[start:stop, k] = True
    assert np.array_equal(holds, np.stack(episode.steps["holds"]))


def test_texts_of_a_dataset_cannot_become_markup(demos: Path) -> None:
    text = page(list(Dataset(demos)), "<script>alert(1)</script>", total=6)
    assert "<script>alert(1)" not in text
    assert "<b>the blue dot" not in text and "\\u003cb\\u003e" in text


def test_limit_takes_from_all_tasks(demos: Path, tmp_path: Path) -> None:
    dataset = Dataset(demos)
    assert [e.id for e in choose(dataset, 3)] == [
        "reach/train_00000000",
        "reach/train_00000002",
        "visit/train_00000000",
    ]
    assert len(choose(dataset, 99)) == 6
    out = tmp_path / "page.html"
    view(ViewArgs(dataset=demos, out=out, limit=3))
    text = out.read_text()
    assert "3 of 6 episodes; more with --limit" in text
    assert len(embedded(text)) == 3


def test_one_episode_needs_no_list(demos: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    name = Dataset(demos).ids[1]
    view(ViewArgs(dataset=demos, episode=name, out=out))
    text = out.read_text()
    assert [e["id"] for e in embedded(text)] == [name]
    assert "<nav" not in text


def test_folder(demos: Path, tmp_path: Path) -> None:
    out = tmp_path / "site"
    for _ in range(2):  # again: over what is there
        assert view(ViewArgs(dataset=demos, out=out)) == 0
    ids = Dataset(demos).ids
    pages = [out / "episodes" / f"{name}.html" for name in ids]
    assert sorted(out.rglob("*.html")) == sorted([out / "index.html", *pages])
    for path, name in zip(pages, ids, strict=True):
        assert [e["id"] for e in embedded(path.read_text())] == [name]
        links = re.findall(r'href="([^"]*)"', path.read_text())
        assert {(path.parent / link).resolve() for link in links} <= {out / "index.html", *pages}
        assert len(links) == 3 - (name in (ids[0], ids[-1]))
        assert path.with_suffix(".jpg").stat().st_size > 200
    found = re.search(r'id="data">(.*?)</script>', (out / "index.html").read_text(), re.S)
    assert found
    data = json.loads(found[1])
    assert [e["id"] for e in data["episodes"]] == list(ids)
    assert [(f["task"], f["seed"], f["kind"], f["reason"]) for f in data["failures"]] == [
        ("reach", 1, "skill", "cannot reach it"),
        ("visit", 1, "skill", "cannot reach it"),
    ]


def test_failures_are_those_of_the_manifest(demos: Path) -> None:
    line = Attempt("reach", "train", 7, 7, 0, False, "planner", "no way <i>there</i>")
    text = page(list(Dataset(demos)), "demos", total=6, failures=[line])
    assert "1 failed attempt" in text
    assert "planner: no way &lt;i&gt;there&lt;/i&gt;" in text


def test_without_videos(tmp_path: Path) -> None:
    from fake_source import FakeSource

    out = tmp_path / "data"
    generate(GenerateArgs(tasks=("reach",), episodes=1, out=out, no_cameras=True), FakeSource({}))
    (data,) = embedded(page(list(Dataset(out)), "data", total=1))
    assert data["cameras"] == {} and data["keysteps"][0]["image"] is None
    view(ViewArgs(dataset=out, out=tmp_path / "site"))
    assert not list((tmp_path / "site").rglob("*.jpg"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dataset": Path("/nowhere")}, "/nowhere is not a dataset: it has no dataset.json"),
        ({"episode": "reach/9"}, "unknown episode 'reach/9'; allowed: reach/train_00000000"),
        ({"limit": 0}, "--limit must be at least 1, not 0"),
        ({"out": Path("/proc/page.html")}, "cannot write to /proc/page.html: "),
        ({"out": Path("/proc/pages")}, "cannot write to /proc/pages/"),
    ],
)
def test_bad_arguments(demos: Path, tmp_path: Path, change: dict, message: str) -> None:
    args = ViewArgs(**{"dataset": demos, "out": tmp_path / "page.html", **change})
    with pytest.raises(ClevrSkillsError) as error:
        view(args)
    assert str(error.value).startswith(message) and "\n" not in str(error.value)
    assert not (tmp_path / "page.html").exists()
