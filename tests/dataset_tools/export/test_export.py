"""The command, whatever the format."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from clevrskills.cli import main
from clevrskills.dataset_tools import Dataset
from clevrskills.dataset_tools.export.command import write_dataset
from clevrskills.dataset_tools.export.selection import select
from clevrskills.errors import ClevrSkillsError, UnknownNameError


def refusal(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The one line that a command prints when it refuses."""
    assert main(["export", *map(str, arguments)]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    return line


def test_the_summary_has_the_written_files(
    demos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "out"
    command = ["export", str(demos), "--to", "lerobot", "--out", str(out), "--json"]
    assert main(command) == 0
    row = json.loads(capsys.readouterr().out)
    files = [path for path in out.rglob("*") if path.is_file() and ".export" not in path.parts]
    size = sum(path.stat().st_size for path in files)
    written = {"out": str(out), "format": "lerobot", "episodes": 6, "files": 10, "bytes": size}
    assert row == {**written, "left_out": {}, "dry_run": False} and len(files) == 10
    assert [path.name for path in out.parent.iterdir()] == ["out"]


def test_bad_input_gives_one_line(
    demos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, taken = tmp_path / "out", tmp_path / "taken"
    taken.mkdir()
    to = (demos, "--to", "lerobot", "--out")
    line = refusal(capsys, demos, "--to", "hdf5", "--out", out)
    assert "unknown format 'hdf5'; allowed: lerobot, " in line
    assert f"{taken} exists; give the name of a new folder" in refusal(capsys, *to, taken)
    assert "--to minari is written by one process" in refusal(
        capsys, demos, "--to", "minari", "--out", out, "--workers", 2
    )
    assert "--shard 2/2: allowed is i/n" in refusal(capsys, *to, out, "--shard", "2/2")
    assert "is inside the dataset" in refusal(capsys, *to, demos / "out")
    assert "is not a dataset" in refusal(capsys, tmp_path, "--to", "lerobot", "--out", out)
    line = refusal(capsys, *to, out, "--task", "stir")
    assert line.endswith("'stir'; allowed: reach, visit")
    assert "'test'; allowed: train" in refusal(capsys, *to, out, "--split", "test")
    line = refusal(capsys, *to, out, "--task", "reach", "--level", "L1")
    assert line.endswith("'L1'; allowed: L0")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["taken"]


def test_tasks_without_text_prompts_are_left_out(
    demos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of the episodes of a task that shows its goal, those with a wording in words stay."""
    root = shutil.copytree(demos, tmp_path / "demos")
    monkeypatch.setattr(f"{select.__module__}.tagged", lambda *_: ("visit",))
    for folder, others in zip(sorted((root / "visit").iterdir()), ([], ["a"], ["b"]), strict=True):
        info = json.loads((folder / "episode.json").read_text())
        data = {
            "text": "Do as in {ks:0}.",
            "bodies": [],
            "picture_radius_m": None,
            "others": others,
        }
        info["prompt"]["data"] = {**data, "keysteps": [{"bodies": [], "robot": None, "qpos": []}]}
        (folder / "episode.json").write_text(json.dumps(info))
    out = tmp_path / "out"
    assert main(["export", str(root), "--to", "rlds", "--out", str(out)]) == 0
    first, line = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{out}: 5 episodes as rlds")
    assert line == "left out, because their task cannot be stated in words: visit (1)"
    (shards,) = (out / "clevrskills/1.0.0").glob("*.tfrecord*")
    assert b"key-step" not in shards.read_bytes()
    only = select(Dataset(root).filter(task="visit"))
    with pytest.raises(ClevrSkillsError, match="visit: the task cannot be stated"):
        write_dataset(replace(only, ids=only.ids[:1]), "lerobot", tmp_path / "none")


def test_filters(both_splits: Path) -> None:
    dataset = Dataset(both_splits)
    assert select(dataset).ids == dataset.ids
    assert len(select(dataset, tasks=("reach", "visit"), splits=("train",))) == 6
    assert select(dataset, levels=("L1",)).ids == dataset.filter(task="visit").ids
    assert len(select(dataset, splits=("test",))) == 2
    with pytest.raises(ClevrSkillsError, match="'tour'; allowed: reach, visit"):
        select(dataset, tasks=("tour",))


def test_episodes_are_not_kept(demos: Path) -> None:
    selection = select(Dataset(demos))
    first, second = next(iter(selection)), next(iter(selection))
    assert first.id == second.id == selection.ids[0]
    assert first is not second


@pytest.mark.parametrize("to", ["lerobot", "lerobot-v3.1", "lerobot-v2.1"])
def test_a_damaged_episode_leaves_nothing_behind(to: str, demos: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "demos"
    shutil.copytree(demos, damaged)
    table = damaged / "visit" / "train_00000002" / "steps.parquet"
    table.write_bytes(table.read_bytes()[:-100])
    with pytest.raises(ClevrSkillsError, match=r"steps\.parquet is damaged"):
        write_dataset(select(Dataset(damaged)), to, tmp_path / "out")
    assert not list(tmp_path.glob("out/[!.]*"))


@pytest.mark.parametrize("to", ["maniskill", "minari"])
def test_perturbed_episodes_are_not_drawn_again_by_seed(
    to: str, demos: Path, tmp_path: Path
) -> None:
    selection = select(Dataset(demos))
    perturbed = replace(selection, header=replace(selection.header, axes={"camera": 3}))
    with pytest.raises(ClevrSkillsError, match=f"is perturbed, but --to {to} recreates episodes"):
        write_dataset(perturbed, to, tmp_path / "out")


def test_unknown_format(demos: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="unknown format 'zip'"):
        write_dataset(select(Dataset(demos)), "zip", tmp_path / "out")
