"""Rendering of recorded states: the same bytes as recording at once."""

import filecmp
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from fake_source import FakeSource

from clevrskills.dataset_tools import Dataset
from clevrskills.dataset_tools.generate.command import GenerateArgs, generate
from clevrskills.dataset_tools.manifest import read_manifest
from clevrskills.dataset_tools.render.command import RenderArgs, render
from clevrskills.errors import ClevrSkillsError

SOURCE = FakeSource({1: "fail"})


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The dataset of ``demos``, made without cameras. Not to be written to."""
    out = tmp_path_factory.mktemp("data") / "numbers"
    args = GenerateArgs(tasks=("reach", "visit"), episodes=3, out=out, no_cameras=True)
    assert generate(args, SOURCE) == 0
    return out


@pytest.fixture(scope="module")
def filmed(numbers: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, filmed afterwards. Not to be written to."""
    out = tmp_path_factory.mktemp("data") / "filmed"
    assert render(RenderArgs(dataset=numbers, out=out), SOURCE) == 0
    return out


def files(root: Path) -> set[str]:
    return {str(p.relative_to(root)) for p in root.glob("*/*/*") if p.is_file()}


def assert_equal(root: Path, other: Path) -> None:
    """All files of all episodes are the same bytes, and both know the same attempts."""
    assert files(root) == files(other) and files(root)
    for name in files(root):
        assert filecmp.cmp(root / name, other / name, shallow=False), name
    given = [
        {
            (line.id, line.slot, line.number, line.kind, line.steps, tuple(sorted(line.files)))
            for line in read_manifest(path)
        }
        for path in (root, other)
    ]
    assert given[0] == given[1]


def test_the_same_as_filming_at_once(demos: Path, filmed: Path) -> None:
    assert_equal(demos, filmed)
    assert Dataset(filmed).header == Dataset(demos).header
    assert [line.seed for line in Dataset(filmed).failures()] == [1, 1]


def test_hashes_and_times_are_those_of_the_new_files(filmed: Path) -> None:
    for line in read_manifest(filmed):
        for name, (size, _) in line.files.items():
            assert (filmed / line.id / name).stat().st_size == size
        if line.success:
            assert {"render", "encode", "write", "total_cpu"} <= set(line.times_s)


def test_other_cameras_and_sizes(numbers: Path, tmp_path: Path) -> None:
    out = tmp_path / "small"
    args = RenderArgs(dataset=numbers, out=out, cameras=("hand_camera",), size=32, depth=True)
    assert render(args, SOURCE) == 0
    for episode in Dataset(out):
        assert episode.cameras == ("hand_camera",)
        assert episode.video("hand_camera").shape == (len(episode) + 1, 32, 32, 3)
        assert episode.depth("hand_camera").shape == (len(episode) + 1, 32, 32)
        before = numbers / episode.id
        for name in ("steps.parquet", "states.npz"):
            assert filecmp.cmp(before / name, episode.path / name, shallow=False)
        intrinsic = np.array(episode.info["cameras"]["hand_camera"]["intrinsic"])
        assert intrinsic[0, 2] == 16
    header = Dataset(out).header
    assert (header.size_px, header.depth, header.cameras) == (32, True, ("hand_camera",))


@pytest.mark.slow
def test_running_it_again_continues(numbers: Path, filmed: Path, tmp_path: Path) -> None:
    """Episodes that are missing are filmed, lines that are missing are written, nothing is left."""
    out = tmp_path / "filmed"
    shutil.copytree(filmed, out)
    gone, untold = (line.id for line in list(read_manifest(out)) if line.success and line.slot == 0)
    shutil.rmtree(out / gone)
    (out / ".partial-local-0").mkdir()
    manifest = next((out / "manifest").iterdir())
    lines = manifest.read_text().splitlines(keepends=True)
    manifest.write_text("".join(line for line in lines if name_of(line) != untold))
    assert render(RenderArgs(dataset=numbers, out=out, workers=2), SOURCE) == 0
    assert_equal(filmed, out)
    assert not list(out.glob(".partial*"))
    before = manifest.read_text()
    assert render(RenderArgs(dataset=numbers, out=out), SOURCE) == 0
    assert manifest.read_text() == before


def name_of(line: str) -> str:
    data = json.loads(line)
    return f"{data['task']}/{data['split']}_{data['seed']:08d}"


def test_a_damaged_recording_is_named(numbers: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "numbers"
    shutil.copytree(numbers, damaged)
    path = damaged / "visit" / "train_00000002" / "steps.parquet"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ClevrSkillsError, match=r"train_00000002/steps\.parquet is damaged"):
        render(RenderArgs(dataset=damaged, out=tmp_path / "out"), SOURCE)
    assert not list((tmp_path / "out").glob(".partial*"))
    assert not (tmp_path / "out" / "visit" / "train_00000002").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cameras": ("top",)}, "unknown camera 'top'; allowed: base_camera, "),
        ({"cameras": ()}, "--cameras must name at least one"),
        ({"workers": 0}, "--workers must be at least 1, not 0"),
        ({"dataset": Path("nowhere")}, "nowhere is not a dataset"),
    ],
)
def test_bad_arguments(numbers: Path, tmp_path: Path, change: dict, message: str) -> None:
    with pytest.raises(ClevrSkillsError, match=message):
        render(RenderArgs(**{"dataset": numbers, "out": tmp_path / "out", **change}), SOURCE)
    assert not (tmp_path / "out").exists()


def test_refuses_folders_that_hold_something_else(numbers: Path, filmed: Path) -> None:
    with pytest.raises(ClevrSkillsError, match="must differ from the folder of the dataset"):
        render(RenderArgs(dataset=numbers, out=numbers), SOURCE)
    with pytest.raises(ClevrSkillsError, match="was made with size_px None, not 32"):
        render(RenderArgs(dataset=numbers, out=filmed, size=32), SOURCE)
