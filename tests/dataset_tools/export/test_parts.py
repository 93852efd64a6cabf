"""Exports in parts: the same for any number of processes, continued, and added to."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from clevrskills.cli import main
from clevrskills.dataset_tools import Dataset
from clevrskills.dataset_tools.export import parts
from clevrskills.dataset_tools.export.command import write_dataset
from clevrskills.dataset_tools.export.selection import select
from clevrskills.errors import ClevrSkillsError

FORMATS = ("lerobot", "lerobot-v2.1", "rlds")


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of about two episodes."""
    monkeypatch.setattr(parts, "PART_BYTES", 60_000)


def content(root: Path) -> dict[str, bytes]:
    """Files for readers, without the state of the export."""
    files = {path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in files.items() if not name.startswith(".")}


@pytest.fixture(scope="module")
def whole(both_splits: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Exports that nothing disturbed. Not to be written to."""
    root = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "PART_BYTES", 60_000)
        for to in FORMATS:
            write_dataset(select(Dataset(both_splits)), to, root / to)
    assert len(list((root / "rlds/.export").glob("part-*"))) > 2
    return {to: root / to for to in FORMATS}


@pytest.mark.parametrize("to", FORMATS)
def test_shards_make_the_same(to: str, both_splits: Path, whole: dict, tmp_path: Path) -> None:
    command = ["export", str(both_splits), "--to", to, "--out", str(tmp_path / "out")]
    for shard in ("1/2", "0/2"):
        assert main([*command, "--shard", shard]) == 0
        assert not content(tmp_path / "out")
    for _ in range(2):  # there is nothing left to be done the second time
        assert main(command) == 0
        assert content(tmp_path / "out") == content(whole[to])


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize("renames", [1, 3, 6, 9])
def test_a_run_continues_after_a_stop_anywhere(
    to: str, renames: int, both_splits: Path, whole: dict, tmp_path: Path, monkeypatch
) -> None:
    import os

    rename, calls = os.rename, iter(range(1000))

    def stop(*args: Path) -> None:
        if next(calls) == renames:
            raise KeyboardInterrupt
        rename(*args)

    command = ["export", str(both_splits), "--to", to, "--out", str(tmp_path / "out")]
    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", stop)
        assert main(command) == 130
    assert not list((tmp_path / "out").rglob("*info.json"))
    assert main(command) == 0
    assert content(tmp_path / "out") == content(whole[to])


@pytest.mark.parametrize("to", FORMATS)
def test_episodes_are_added(to: str, both_splits: Path, whole: dict, tmp_path: Path) -> None:
    dataset, out = Dataset(both_splits), tmp_path / "out"
    some = select(dataset, tasks=("reach",), splits=("train",))
    write_dataset(some, to, out)
    before = content(out)
    write_dataset(select(dataset), to, out)
    assert len(content(out)) >= len(before)
    if to == "rlds":  # episodes are in another order
        files, others = (sorted(map(len, content(root).values())) for root in (out, whole[to]))
        assert sum(files) == pytest.approx(sum(others), abs=200)
        return
    names = {path.name for path in out.glob("meta/*")}
    assert names == {path.name for path in whole[to].glob("meta/*")}
    assert (out / "meta/info.json").read_bytes() == (whole[to] / "meta/info.json").read_bytes()
    tables = [pq.read_table(root / "data") for root in (out, whole[to])]
    assert tables[0].equals(tables[1])
    with pytest.raises(ClevrSkillsError, match="which is not selected"):
        write_dataset(some, to, out)


def test_invalid_plugins_are_refused(both_splits: Path, tmp_path: Path) -> None:
    dataset, out = Dataset(both_splits), tmp_path / "out"
    some = select(dataset, tasks=("reach",))
    write_dataset(some, "lerobot", out)
    before = content(out)
    with pytest.raises(ClevrSkillsError, match="add the splits in order"):
        write_dataset(select(dataset), "lerobot", out)
    with pytest.raises(ClevrSkillsError, match="was exported with format_of_export lerobot"):
        write_dataset(some, "rlds", out)
    assert content(out) == before


def test_an_estimate_writes_nothing(both_splits: Path, whole: dict, tmp_path: Path, capsys) -> None:
    for to in FORMATS:
        out = tmp_path / to
        command = ["export", str(both_splits), "--to", to, "--out", str(out), "--dry-run"]
        assert main(command) == 0 and not out.exists()
        files, size = len(content(whole[to])), sum(map(len, content(whole[to]).values()))
        printed = capsys.readouterr().out
        assert printed.startswith(f"{out}: would be about 8 episodes as {to}, {files} files, ")
        assert float(printed.split()[-2]) == pytest.approx(size / 1e6, rel=0.5)
