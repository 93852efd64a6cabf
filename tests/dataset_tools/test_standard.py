"""Standard datasets: made by one option, compared with published digests."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from damage import edit_json, edit_values, put, scale, sign
from fake_source import FakeSource

from clevrskills.core.suite import load_suite
from clevrskills.dataset_tools import Dataset, standard
from clevrskills.dataset_tools.check.command import check_dataset
from clevrskills.dataset_tools.generate.command import GenerateArgs, generate
from clevrskills.errors import ClevrSkillsError

SIZE = 4


class StandardSource(FakeSource):
    """A suite whose second seed fails, and the file of its published digests."""

    def __init__(self, file: Path) -> None:
        super().__init__({1: "fail"})
        self.file = file


def shrink(patch: pytest.MonkeyPatch) -> None:
    """Make standard datasets small, and let the fake suite name its file."""
    patch.setattr(standard, "SIZES", (SIZE, 2 * SIZE))
    patch.setattr(standard, "DIGESTED", SIZE)
    patch.setattr(standard, "data_file", lambda suite, _: vars(suite).get("file"))


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, StandardSource]:
    """A standard dataset of small size, and its suite."""
    with pytest.MonkeyPatch.context() as patch:
        shrink(patch)
        folder = tmp_path_factory.mktemp("standard")
        source = StandardSource(folder / "standard.json")
        args = GenerateArgs(level=("L0", "L1", "L2"), episodes=SIZE, out=folder / "first")
        assert generate(args, source) == 0
        text = standard.measure(Dataset(folder / "first"), source).to_json()
        source.file.write_text(text, encoding="utf-8")
        assert generate(GenerateArgs(standard=SIZE, out=folder / "demos"), source) == 0
    return folder / "demos", source


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    shrink(monkeypatch)


def faults(root: Path, source: StandardSource) -> list[str]:
    return [str(fault) for fault in check_dataset(root, standard=True, suite=source).faults]


@pytest.mark.slow
def test_it_equals_the_published_digests(published: tuple[Path, StandardSource]) -> None:
    root, source = published
    given = standard.read_standard(source)
    assert given.settings == {"split": "train", "robot": "xarm6", "criteria": "paper"}
    assert {task: list(digest.seeds) for task, digest in given.tasks.items()} == {
        task: [0, 10_000_001, 2, 3] for task in source.tasks
    }
    assert json.loads(source.file.read_text())["tasks"]["reach"]["substitutes"] == {"1": 10_000_001}
    assert Dataset(root).header.standard == SIZE
    assert faults(root, source) == []


def test_the_larger_one_is_checked_as_far_as_digests_go(
    published: tuple[Path, StandardSource], tmp_path: Path
) -> None:
    source = published[1]
    out = tmp_path / "demos"
    assert generate(GenerateArgs(tasks=("reach",), standard=2 * SIZE, out=out), source) == 0
    assert len(Dataset(out)) == 2 * SIZE and faults(out, source) == []
    shutil.rmtree(out / "reach" / "train_00000006")
    assert "reach lacks 1 of 8 slots, the first is 6" in faults(out, source)


FIRST = "reach/train_00000000"
CHANGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "scene": (
        edit_json(f"{FIRST}/episode.json", lambda info: info["prompt"].update(plain="Another")),
        "scene: differs from the published digest",
    ),
    "actions": (
        edit_values("action", scale((0, 0), 1 - 1e-7), episode=FIRST),
        "actions: differs from the published digest",
    ),
    "labels": (
        edit_values("attempt", put(0, 1), episode=FIRST),
        "labels: differs from the published digest",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_differences_are_named(
    published: tuple[Path, StandardSource], tmp_path: Path, name: str
) -> None:
    root = Path(shutil.copytree(published[0], tmp_path / "copy"))
    change, said = CHANGES[name]
    change(root)
    sign(root, FIRST)
    assert faults(root, published[1]) == [f"{FIRST}: {said}"]


def test_images_may_differ_a_little(published: tuple[Path, StandardSource], tmp_path: Path) -> None:
    root, source = published
    for off, expected in ((6, []), (12, ["base_camera", "hand_camera"])):
        given = standard.read_standard(source)
        reach = given.tasks["reach"]
        frames = {camera: seen + np.uint8(off) for camera, seen in reach.frames.items()}
        other = replace(given, tasks={**given.tasks, "reach": replace(reach, frames=frames)})
        file = tmp_path / f"{off}.json"
        file.write_text(other.to_json(), encoding="utf-8")
        found = faults(root, StandardSource(file))
        assert sorted(found) == [
            f"{FIRST}: images of {camera} differ by 12.0 of 255, more than 8" for camera in expected
        ]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"standard": 7}, "--standard 7: allowed are 4 and 8"),
        ({"standard": SIZE, "seed": 1}, "--standard decides --seed: leave that out"),
        ({"standard": SIZE, "frozen": True}, "--standard decides --frozen: leave that out"),
        ({"standard": SIZE, "split": "test"}, "--standard decides --split: leave that out"),
        ({"standard": SIZE, "arg": ("reach.a=1",)}, "--standard decides --arg: leave that out"),
    ],
)
def test_options_that_do_not_fit(
    published: tuple[Path, StandardSource], tmp_path: Path, options: dict, said: str
) -> None:
    with pytest.raises(ClevrSkillsError, match=said):
        generate(GenerateArgs(out=tmp_path / "demos", **options), published[1])
    assert not (tmp_path / "demos").exists()


def test_other_datasets_are_not_standard_ones(
    published: tuple[Path, StandardSource], demos: Path, tmp_path: Path
) -> None:
    with pytest.raises(ClevrSkillsError, match="was not made by `clevrskills generate --standard`"):
        check_dataset(demos, standard=True, suite=published[1])
    with pytest.raises(ClevrSkillsError, match="has no standard dataset"):
        check_dataset(demos, standard=True, suite=FakeSource({}))


def test_the_published_file_of_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()  # its sizes are the real ones
    suite = load_suite()
    given = standard.read_standard(suite)
    assert given.benchmark == 1 and list(given.tasks) == list(suite.tasks)
    assert given.settings == {"split": "train", "robot": "xarm6", "criteria": "paper"}
