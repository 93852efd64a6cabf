"""croissant.json: its fields, and the dataset as read by mlcroissant."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from clevrskills.dataset_tools import Dataset
from clevrskills.dataset_tools.card import write_card

READER = Path(__file__).parents[2] / ".venv-readers/bin/python"


@pytest.fixture
def described(demos: Path, tmp_path: Path) -> Path:
    root = Path(shutil.copytree(demos, tmp_path / "copy"))
    write_card(root)
    return root


def test_metadata(described: Path) -> None:
    data = json.loads((described / "croissant.json").read_text())
    assert data["name"] == "copy" and data["description"].startswith("6 demonstrations of 2 tasks")
    fields = [name for name in data if name.startswith("rai:")]
    assert len(fields) >= 8 and all(data[name] for name in fields)
    columns = {field["name"] for records in data["recordSet"] for field in records["field"]}
    table = Dataset(described)[0].steps
    assert {c.partition("/")[2] for c in columns if c.startswith("steps/")} <= set(table.columns)


@pytest.mark.readers
@pytest.mark.slow
def test_mlcroissant_reads_it(described: Path, tmp_path: Path) -> None:
    if not READER.exists():
        pytest.skip("no readers; make them with scripts/setup_readers.sh")
    script = Path(__file__).parent / "export/readers/croissant_reader.py"
    environment = {**os.environ, "HOME": str(tmp_path)}
    done = subprocess.run(
        [READER, "-W", "ignore", script, described], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert found["messages"] == []
    episodes = list(Dataset(described))
    assert [row["episode"] for row in found["episodes"]] == [e.id for e in episodes]
    assert [row["return"] for row in found["episodes"]] == [e.info["return"] for e in episodes]
    steps = sorted(found["steps"], key=lambda row: (row["episode"], row["step"]))
    expected = [(e.id, t) for e in episodes for t in range(len(e))]
    assert [(row["episode"], row["step"]) for row in steps] == expected
    assert {row["seed"] for row in steps if row["episode"] == episodes[0].id} == {
        episodes[0].info["seed"]
    }
