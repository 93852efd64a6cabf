"""Merging and packing: readers see the same, other makes are refused, nothing is half-written."""

import json
import shutil
from pathlib import Path

import av
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from damage import EPISODE, edit_info, edit_lines, flip, sign
from fake_source import FakeSource

from clevrskills.cli import main
from clevrskills.dataset_tools import Dataset, DatasetError, Episode
from clevrskills.dataset_tools.check.command import check_dataset
from clevrskills.dataset_tools.generate.command import GenerateArgs, generate
from clevrskills.dataset_tools.parquet_join import FooterJoin
from clevrskills.dataset_tools.torch_dataset import TrainingDataset
from clevrskills.errors import ClevrSkillsError

SOURCE = FakeSource({1: "fail"})


def content(root: Path) -> dict[str, bytes]:
    files = (path for path in root.rglob("*") if path.is_file() and ".lock" not in path.name)
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in files}


def faults(root: Path, **options: object) -> list[str]:
    return [str(fault) for fault in check_dataset(root, suite=SOURCE, **options).faults]  # type: ignore[arg-type]


def made(out: Path, *tasks: str, **options: object) -> Path:
    generate(GenerateArgs(tasks=tasks, out=out, **options), SOURCE)  # type: ignore[arg-type]
    return out


@pytest.fixture(scope="module")
def packed(demos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The dataset ``demos`` in shards of four episodes. Not to be written to."""
    out = tmp_path_factory.mktemp("packed") / "demos"
    assert main(["pack", str(demos), "--out", str(out), "--episodes", "4"]) == 0
    return out


@pytest.fixture
def copy(demos: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(demos, tmp_path / "copy"))


def test_parts_make_the_whole(demos: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    parts = [made(tmp_path / task, task, episodes=3) for task in ("reach", "visit")]
    out = tmp_path / "out"
    command = ["merge", *map(str, (*parts, parts[0])), "--out", str(out)]
    assert main(command) == 0
    assert capsys.readouterr().out.endswith(f"{out}: 6 episodes, 3 duplicates\n")
    assert faults(out, replay=1) == [] and Dataset(out).ids == Dataset(demos).ids
    assert {name: data for name, data in content(out).items() if "/train_" in name} == {
        name: data for name, data in content(demos).items() if "/train_" in name
    }
    before = content(out)
    assert main(command) == 0 and content(out) == before
    made(out, "reach", episodes=4)  # goes on
    assert len(Dataset(out)) == 7 and faults(out) == []


def test_other_makes_are_refused(demos: Path, tmp_path: Path, capsys) -> None:
    for number, (options, what) in enumerate(
        [({"robot": "panda"}, "robot xarm6, not panda"), ({"size": 32}, "size_px 32, not None")]
    ):
        other = made(tmp_path / str(number), "reach", episodes=1, **options)
        roots = [str(other), str(demos)] if number == 0 else [str(demos), str(other)]
        assert main(["merge", *roots, "--out", str(tmp_path / "out")]) == 2
        assert f"was made with {what}" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert main(["merge", str(demos), "--out", str(demos)]) == 2
    assert "is one of the datasets" in capsys.readouterr().err


def test_equal_names_with_other_content_are_refused(demos: Path, copy: Path, tmp_path) -> None:
    edit_info(lambda info: info["prompt"].update(plain="another"))(copy)
    sign(copy)
    command = ["merge", str(demos), str(copy), "--out", str(tmp_path / "out")]
    assert main(command) == 2
    assert not list((tmp_path / "out").glob("*/*"))


def test_episodes_missing_in_the_manifest_are_entered(copy: Path, tmp_path: Path, capsys) -> None:
    edit_lines(copy, lambda lines: [line for line in lines if line["task"] != "visit"])
    shutil.rmtree(copy / "reach" / "train_00000000")
    out = tmp_path / "out"
    assert main(["merge", str(copy), "--out", str(out), "--pack"]) == 0
    printed = capsys.readouterr().out
    assert "5 episodes" in printed and "1 in the manifest but missing" in printed
    assert "3 added to the manifest" in printed
    assert faults(out) == []


def test_shards_read_like_folders(demos: Path, packed: Path) -> None:
    assert faults(packed, replay=2, decode=True) == []
    for folder, part in zip(Dataset(demos), Dataset(packed), strict=True):
        assert part.id == folder.id and part.info == folder.info
        pd.testing.assert_frame_equal(part.steps, folder.steps)
        np.testing.assert_array_equal(part.states, folder.states)
        for camera in folder.cameras:
            np.testing.assert_array_equal(part.video(camera), folder.video(camera))
            np.testing.assert_array_equal(part.frame(camera, 3), folder.frame(camera, 3))
            np.testing.assert_array_equal(part.boxes(camera), folder.boxes(camera))
        assert part.images().keys() == folder.images().keys()
        assert {n: f.read() for n, f in part.files.items()} == {
            n: f.read() for n, f in folder.files.items()
        }
    options = {"history": 2, "prompt_images": True}
    ours, theirs = (TrainingDataset(root, **options) for root in (packed, demos))
    assert len(ours) == len(theirs)
    for index in (0, 7, len(ours) - 1):
        for key in ("images", "prompt_images", "proprioception", "action"):
            torch.testing.assert_close(ours[index][key], theirs[index][key], rtol=0, atol=0)


def test_a_shard_is_a_few_plain_files(demos: Path, packed: Path) -> None:
    shards = sorted((packed / "shards").iterdir())
    assert [shard.name for shard in shards] == ["train_00000", "train_00001"]
    index = pd.read_parquet(shards[0] / "index.parquet")
    steps = pq.ParquetFile(shards[0] / "steps.parquet")
    assert len(index) == steps.num_row_groups == 4
    for row, name in enumerate(index["episode"]):
        assert steps.read_row_group(row).equals(pq.read_table(demos / name / "steps.parquet"))
        start, size = index.loc[row, ["base_camera.mp4/start", "base_camera.mp4/size"]]
        video = shards[0] / "base_camera.mp4.parts"
        with av.open(f"subfile,,start,{start},end,{start + size},,:{video}") as part:
            assert sum(1 for _ in part.decode(video=0)) == len(Episode(demos / name)) + 1
    whole = pd.read_parquet(shards[0] / "steps.parquet")
    assert whole["episode"].unique().tolist() == index["episode"].tolist()


@pytest.mark.slow
def test_commands_take_packed_datasets(demos: Path, packed: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(packed, tmp_path / "packed"))
    for to in ("lerobot", "rlds"):
        exported = []
        for source in (demos, root):
            out = tmp_path / f"{source.name}-{to}"
            assert main(["export", str(source), "--to", to, "--out", str(out)]) == 0
            exported.append(content(out))
        assert exported[0] == exported[1]
    assert main(["view", str(root), "--out", str(tmp_path / "page.html")]) == 0
    assert main(["card", str(root)]) == 0
    assert "| episodes | 6 |" in (root / "README.md").read_text()
    assert faults(root) == []


def test_packing_in_place_while_more_is_made(copy: Path, demos: Path) -> None:
    assert main(["pack", str(copy), "--episodes", "4"]) == 0
    assert not list(copy.glob("reach/*")) and faults(copy) == []
    made(copy, "reach", "visit", episodes=5)  # those that are there are not made again
    assert len(list(copy.glob("*/train_*/episode.json"))) == 4 and faults(copy) == []
    assert len(Dataset(copy)) == 10
    assert main(["pack", str(copy), "--episodes", "4"]) == 0
    names = [path.name for path in sorted((copy / "shards").iterdir())]
    assert names == ["train_00000", "train_00001", "train_00002"] and faults(copy) == []
    left = shutil.copytree(demos / EPISODE, copy / EPISODE)  # as after an interruption
    assert faults(copy)[0].startswith(f"{EPISODE}: is in a folder and in shards/")
    assert len(Dataset(copy)) == 10
    assert main(["pack", str(copy)]) == 0 and not Path(left).exists() and faults(copy) == []


@pytest.mark.parametrize("renames", range(4))
def test_a_run_continues_after_a_stop_anywhere(
    demos: Path, packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, renames: int
) -> None:
    import os

    out, rename, calls = tmp_path / "out", os.rename, iter(range(100))

    def stop(*args: Path) -> None:
        if next(calls) == renames:
            raise KeyboardInterrupt
        rename(*args)

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", stop)
        code = main(["pack", str(demos), "--out", str(out), "--episodes", "4"])
    assert code == (130 if renames < 2 else 0)
    assert len(list(out.glob("shards/*"))) == min(renames, 2)
    assert main(["pack", str(demos), "--out", str(out), "--episodes", "4"]) == 0
    assert content(out) == content(packed)


SPOILED = {
    "steps.parquet": "steps.parquet: its SHA-256 is not that of the manifest",
    "base_camera.mp4.parts": "base_camera.mp4: its SHA-256 is not that of the manifest",
}


@pytest.mark.parametrize("file", SPOILED)
def test_damaged_shards_are_named(packed: Path, tmp_path: Path, file: str) -> None:
    root = Path(shutil.copytree(packed, tmp_path / "packed"))
    path = root / "shards/train_00000" / file
    data = bytearray(path.read_bytes())
    data[int(0.4 * len(data))] ^= 8
    path.write_bytes(data)
    assert SPOILED[file] in " ".join(faults(root))


def test_cut_shards_are_named(packed: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(packed, tmp_path / "packed"))
    for file in ("states.npz.parts", "steps.parquet"):
        path = root / "shards/train_00001" / file
        path.write_bytes(path.read_bytes()[:-9])
    found = " ".join(faults(root))
    assert "shards/train_00001/states.npz: " in found and "bytes, not " in found
    assert "shards/train_00001/steps.parquet: damaged: " in found
    with pytest.raises(DatasetError, match="states.npz is damaged"):
        Dataset(root)[-1].states  # noqa: B018
    (root / "shards/train_00001/states.npz.parts").unlink()
    with pytest.raises(DatasetError, match="states.npz is missing"):
        Dataset(root)[-1].states  # noqa: B018
    index = root / "shards/train_00000/index.parquet"
    index.write_bytes(index.read_bytes()[:50])
    with pytest.raises(DatasetError, match="index.parquet is damaged"):
        Dataset(Path(shutil.move(root, tmp_path / "moved")))


def test_files_of_a_shard_are_no_paths(packed: Path, tmp_path: Path, capsys) -> None:
    root = Path(shutil.copytree(packed, tmp_path / "packed"))
    path = root / "shards/train_00000/index.parquet"
    index = pd.read_parquet(path)
    for column in ("start", "size"):
        index[f"../x/{column}"] = index[f"episode.json/{column}"]
    index.to_parquet(path)
    assert main(["merge", str(root), "--out", str(tmp_path / "out")]) == 2
    assert "'../x' is not the name of a file" in capsys.readouterr().err


def test_damaged_episodes_are_not_packed(copy: Path, tmp_path: Path, capsys) -> None:
    flip("states.npz", 0.5)(copy)
    assert main(["pack", str(copy), "--out", str(tmp_path / "out")]) == 2
    assert "states.npz differs from the manifest" in capsys.readouterr().err
    assert not list((tmp_path / "out").glob("shards/*"))


DOORS = {
    **{to: ["export", "--to", to] for to in ("lerobot", "lerobot-v2.1", "rlds")},
    **{command: [command] for command in ("pack", "merge", "card")},
}
MAKES = [{"robot": "panda"}, {"size": 32}]


@pytest.mark.parametrize("make", MAKES, ids=["robot", "size"])
@pytest.mark.parametrize("door", [*DOORS, "TrainingDataset"])
def test_every_door_checks_the_make(copy: Path, tmp_path: Path, capsys, door, make) -> None:
    other, name = made(tmp_path / "other", "reach", episodes=4, **make), "reach/train_00000003"
    shutil.copytree(other / name, copy / name)
    (line,) = [
        line
        for line in (other / "manifest/local.jsonl").read_text().splitlines()
        if json.loads(line)["seed"] == 3
    ]
    with (copy / "manifest/local.jsonl").open("a") as file:
        file.write(line + "\n")
    what = f"{name} does not match its dataset: "
    if door == "TrainingDataset":
        with pytest.raises(ClevrSkillsError, match=what):
            TrainingDataset(copy)
    else:
        out = [] if door == "card" else ["--out", str(tmp_path / "out")]
        command, *more = DOORS[door]
        assert main([command, str(copy), *more, *out]) == 2
        assert what in capsys.readouterr().err
        assert not [*tmp_path.glob("out/*/*/*"), *copy.glob("README.md")]


def test_only_equal_columns_are_joined(tmp_path: Path) -> None:
    contents = []
    for columns in ({"a": [1, 2]}, {"a": [3]}, {"b": [1]}):
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table(columns), sink)
        contents.append(sink.getvalue().to_pybytes())
    join = FooterJoin()
    join.add(contents[0], 0)
    join.add(contents[1], len(contents[0]))
    with pytest.raises(ValueError, match="other columns than in the episodes before"):
        join.add(contents[2], 0)
    with pytest.raises(ValueError, match="not a Parquet file"):
        join.add(b"text", 0)
    path = tmp_path / "joined.parquet"
    path.write_bytes(contents[0] + contents[1] + join.footer())
    assert pq.read_table(path).to_pydict() == {"a": [1, 2, 3]}
    assert pq.ParquetFile(path).num_row_groups == 2
