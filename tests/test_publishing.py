"""Release kit of data: folders to upload, the limits of the hub, and the upload to a stand-in."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from fake_source import FakeSource
from hub import running_hub
from huggingface_hub import DatasetCard, constants

from clevrskills.dataset_tools import Dataset
from clevrskills.dataset_tools.check.command import check_dataset

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "scripts/publish_standard.py"
READER = ROOT / ".venv-readers/bin/python"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("publish_standard", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def kit(demos: Path, script: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both forms of a small dataset that calls itself a standard one. Not to be written to."""
    folder = tmp_path_factory.mktemp("kit")
    root = Path(shutil.copytree(demos, folder / "demos"))
    header = json.loads((root / "dataset.json").read_text())
    (root / "dataset.json").write_text(json.dumps({**header, "standard": 100}))
    script.kit(root, folder / "data")
    return folder / "data"


def published(root: Path) -> dict[str, bytes]:
    files = {path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in files.items() if not name.startswith(".")}


def test_files_of_the_kit(kit: Path, demos: Path) -> None:
    assert [path.name for path in sorted(kit.iterdir())] == ["standard-100", "standard-100-lerobot"]
    native = kit / "standard-100"
    assert [e.id for e in Dataset(native)] == [e.id for e in Dataset(demos)]
    assert check_dataset(native, suite=FakeSource({})).faults == []
    for folder in kit.iterdir():
        assert DatasetCard.load(folder / "README.md").data.license == "apache-2.0"
        text = (folder / "README.md").read_text()
        assert "License of the data: Apache-2.0" in text and "DOI: none yet" in text
        data = json.loads((folder / "croissant.json").read_text())
        assert data["name"] == folder.name and "sameAs" not in data
        assert len([name for name in data if name.startswith("rai:")]) >= 12
        assert (folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_a_doi_is_entered_once(kit: Path, script: ModuleType, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(kit / "standard-100", tmp_path / "copy"))
    for _ in range(2):
        script.finish(copy, "10.1234/5")
    text = (copy / "README.md").read_text()
    assert text.count("## Publication") == 1 and "none yet" not in text
    link = "https://doi.org/10.1234/5"
    assert link in text and json.loads((copy / "croissant.json").read_text())["sameAs"] == link


@pytest.mark.parametrize(
    ("name", "limit", "said"),
    [
        ("FOLDER_ENTRIES", 4, "entries; the hub allows 4: pack it"),
        ("REPOSITORY_FILES", 5, "files; the hub allows 5: pack it"),
        ("FILE_BYTES", 10, "GB, what the hub allows"),
        ("README.md", None, "has no README.md"),
        ("croissant.json", None, "has no croissant.json"),
    ],
)
def test_limits_of_the_hub(
    name: str,
    limit: int | None,
    said: str,
    kit: Path,
    script: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    copy = Path(shutil.copytree(kit / "standard-100", tmp_path / "copy"))
    assert script.check(copy)
    if limit is None:
        (copy / name).unlink()
    else:
        monkeypatch.setattr(script, name, limit)
    with pytest.raises(SystemExit, match=said):
        script.check(copy)


def test_upload_and_its_dry_run(
    kit: Path, script: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setenv("HF_TOKEN", "hf_test")
    with running_hub() as hub:
        monkeypatch.setattr(constants, "ENDPOINT", hub.url)
        script.upload(kit, "me", dry_run=True)
        assert not hub.datasets and "-> " in capsys.readouterr().out
        for _ in range(2):  # nothing is left the second time
            script.upload(kit, "me")
            assert hub.datasets == {f"me/{f.name}": published(f) for f in kit.iterdir()}
            assert "v3.0" in hub.tags["me/standard-100-lerobot"]
            assert len(hub.tags["me/standard-100"]) == 1
        assert "Bearer hf_test" in hub.tokens


@pytest.mark.slow
def test_the_upload_is_one_command(kit: Path, tmp_path: Path) -> None:
    with running_hub() as hub:
        mine = {"HF_ENDPOINT": hub.url, "HF_HUB_DISABLE_XET": "1", "HF_TOKEN": "hf_test"}
        done = subprocess.run(
            [sys.executable, SCRIPT, "upload", kit, "me"],
            env={**os.environ, **mine, "HF_HOME": str(tmp_path)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        assert hub.datasets == {f"me/{f.name}": published(f) for f in kit.iterdir()}


@pytest.mark.readers
@pytest.mark.slow
def test_mlcroissant_reads_both(kit: Path, tmp_path: Path) -> None:
    if not READER.exists():
        pytest.skip("no readers; make them with scripts/setup_readers.sh")
    reader = ROOT / "tests/dataset_tools/export/readers/croissant_reader.py"
    for folder, rows in (("standard-100", "steps"), ("standard-100-lerobot", "frames")):
        done = subprocess.run(
            [READER, "-W", "ignore", reader, kit / folder, rows],
            env={**os.environ, "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        found, episodes = json.loads(done.stdout), list(Dataset(kit / "standard-100"))
        assert found["messages"] == []
        assert len(found["episodes"]) == len(episodes)
        assert len(found[rows]) == sum(map(len, episodes))
