import subprocess
import sys
from pathlib import Path

import pytest
from fake_source import FakeSource

from clevrskills.dataset_tools.generate.worker import GenerateWorker
from clevrskills.dataset_tools.layout import Header
from clevrskills.dataset_tools.manifest import Attempt, file_hashes
from clevrskills.jobs.files import StorageError

HEADER = Header("xarm6", "paper", ("base_camera", "hand_camera"), 20)
ATTEMPT = Attempt("reach", "train", 10_000_003, slot=3, number=1)
SAME = ("seed", "slot", "number", "success", "steps", "total_reward", "files")


def same(a: object, b: object) -> bool:
    return all(getattr(a, name) == getattr(b, name) for name in SAME)


def test_an_existing_episode_is_entered_unchanged(tmp_path: Path) -> None:
    worker = GenerateWorker(tmp_path, FakeSource({}), HEADER)
    first = worker(ATTEMPT)
    before = (tmp_path / ATTEMPT.id / "steps.parquet").stat().st_mtime_ns
    unable = GenerateWorker(tmp_path, FakeSource({}, broken=True), HEADER)
    again = unable(ATTEMPT)  # nothing is built for it
    assert same(first, again) and first.files == file_hashes(tmp_path / ATTEMPT.id)
    assert (tmp_path / ATTEMPT.id / "steps.parquet").stat().st_mtime_ns == before


def test_two_workers_may_make_the_same_episode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of them was thought dead; the other one does not see its work before the end."""
    first = GenerateWorker(tmp_path, FakeSource({}), HEADER)(ATTEMPT)
    before = (tmp_path / ATTEMPT.id / "steps.parquet").stat().st_mtime_ns
    late, is_dir = GenerateWorker(tmp_path, FakeSource({}), HEADER), Path.is_dir
    looks = iter([False])
    monkeypatch.setattr(
        Path, "is_dir", lambda p: next(looks, True) if p == tmp_path / ATTEMPT.id else is_dir(p)
    )
    second = late(ATTEMPT)
    monkeypatch.undo()
    assert same(first, second)
    assert (tmp_path / ATTEMPT.id / "steps.parquet").stat().st_mtime_ns == before
    assert list(tmp_path.glob(".partial*")) == []


def test_the_environment_is_kept_while_the_setup_stays_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    make = FakeSource.make
    monkeypatch.setattr(
        FakeSource, "make", lambda self, config: made.append(config.task) or make(self, config)
    )
    worker = GenerateWorker(tmp_path, FakeSource({2: "crash"}), Header("xarm6", "paper", (), 20))
    for task, seed in (("reach", 0), ("reach", 1), ("visit", 0), ("visit", 2), ("visit", 3)):
        worker(Attempt(task, "train", seed))
    assert made == ["reach", "visit", "visit"]  # anew after a crash, too


def test_a_root_that_vanished_ends_the_run(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="No such file or directory"):
        GenerateWorker(tmp_path / "gone", FakeSource({}), HEADER)(ATTEMPT)


@pytest.mark.slow
def test_a_process_of_its_own_never_imports_pandas():
    code = """
import sys
from pathlib import Path
from clevrskills.dataset_tools.generate.worker import make_worker
from clevrskills.dataset_tools.layout import Header
from tests.support.fake_source import FakeSource
make_worker(Path("."), FakeSource({}), Header("xarm6", "paper", (), 20))
import pyarrow as pa
pa.table({"x": pa.array([1.0])})
assert "pandas" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
