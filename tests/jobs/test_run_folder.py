import os
from pathlib import Path

import pytest

from clevrskills.errors import DamagedError
from clevrskills.jobs.files import PartialDirectory
from clevrskills.jobs.run_folder import (
    INTERRUPTED,
    PLANNER_VARIABLE,
    chosen_planner,
    locked,
    planner_name,
    remove_abandoned,
    versions,
    write_into,
)


def test_versions_name_missing_packages() -> None:
    found = versions()
    assert found["numpy"] and found["python"]
    assert set(found) == {
        "python",
        "clevrskills",
        "mani_skill",
        "sapien",
        "torch",
        "numpy",
        "mplib",
        "python-fcl",
        "toppra",
        "planner",
    }
    assert found["planner"] == planner_name()


def test_a_planner_is_chosen_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PLANNER_VARIABLE, raising=False)
    assert planner_name() == "fcl"
    with chosen_planner("mplib"):
        assert versions()["planner"] == os.environ[PLANNER_VARIABLE] == "mplib"
        with chosen_planner(None):
            assert planner_name() == "mplib"
    assert planner_name() == "fcl"


def test_only_one_writer_of_a_name(tmp_path: Path) -> None:
    with locked(tmp_path), locked(tmp_path, "shard-0-of-2"):
        with pytest.raises(DamagedError, match="another process"), locked(tmp_path):
            pass
    with locked(tmp_path):
        pass


def test_abandoned_directories_are_removed(tmp_path: Path) -> None:
    alive = PartialDirectory(tmp_path, tmp_path / "a", "shard-0-of-2")
    PartialDirectory(tmp_path, tmp_path / "b", "shard-1-of-2")
    with locked(tmp_path, "shard-0-of-2"):
        remove_abandoned(tmp_path)
    assert [p.name for p in tmp_path.glob(".partial*")] == [alive.path.name]
    remove_abandoned(tmp_path)
    assert list(tmp_path.glob(".partial*")) == []


def test_ctrl_c_leaves_nothing_half_written(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    def do(_: object) -> int:
        PartialDirectory(tmp_path, tmp_path / "a", "me")
        raise KeyboardInterrupt

    PartialDirectory(tmp_path, tmp_path / "b", "another")  # was ended
    assert write_into(tmp_path, do, "me") == INTERRUPTED
    assert capsys.readouterr().err == (
        f"interrupted; what is finished is in {tmp_path}, the same command continues\n"
    )
    assert list(tmp_path.glob(".partial*")) == []
    assert write_into(tmp_path, lambda _: 0, "me") == 0


@pytest.mark.parametrize("written", [(), ("journal",)])
def test_a_command_that_fails_first_leaves_no_folder(tmp_path: Path, written: tuple) -> None:
    out = tmp_path / "out"
    out.mkdir()

    def fail(_: object) -> int:
        for name in written:
            (out / name).touch()
        raise DamagedError("no")

    with pytest.raises(DamagedError, match="no"):
        write_into(out, fail)
    assert out.exists() == bool(written)
