import json
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
from damage import edit_lines
from fake_source import FakeSource
from huggingface_hub import DatasetCard

from clevrskills.cli import main
from clevrskills.dataset_tools import Dataset
from clevrskills.dataset_tools.card import card_text, write_card
from clevrskills.dataset_tools.check.command import check_dataset
from clevrskills.errors import ClevrSkillsError


@pytest.fixture(scope="module")
def text(demos: Path) -> str:
    return card_text(demos)


def cells(text: str, first: str) -> list[str]:
    (line,) = (line for line in text.splitlines() if line.startswith(f"| {first}"))
    return [cell.strip() for cell in line.strip("|").split(" | ")]


def test_the_hub_reads_the_front_matter(text: str) -> None:
    data = DatasetCard(text).data
    assert data.license == "apache-2.0"
    assert data.task_categories == ["robotics"]
    assert data.size_categories == ["n<1K"]
    files = [{"split": "train", "path": "*/train_*/steps.parquet"}]
    cameras = [{"split": "train", "path": "*/train_*/cameras.parquet"}]
    images = [{"split": "train", "path": "*/train_*/images.parquet"}]
    assert data.configs == [
        {"config_name": "steps", "data_files": files},
        {"config_name": "episodes", "data_files": "episodes.parquet"},
        {"config_name": "cameras", "data_files": cameras},
        {"config_name": "images", "data_files": images},
    ]


def test_counts_are_those_of_the_files(demos: Path, text: str) -> None:
    infos = [json.loads(path.read_text()) for path in demos.glob("*/*/episode.json")]
    steps = sum(info["steps"] for info in infos)
    assert cells(text, "episodes")[1] == "6"
    assert cells(text, "control steps")[1].startswith(f"{steps} at 20 Hz")
    visits = [info["steps"] for info in infos if info["task"] == "visit"]
    assert cells(text, "? | `visit`")[3:] == [
        "3",
        str(sum(visits)),
        f"{sum(visits) / 3:.0f}",
        "4",
        "75.0%",
        "30% - 95%",  # Wilson, 3 of 4
    ]
    size = sum(path.stat().st_size for path in demos.glob("*/*/*"))
    assert cells(text, "size")[1].startswith(
        f"{size / 1e3:.3g} kB, {size / steps / 1e3:.1f} kB per"
    )
    for name in ("steps.parquet", "base_camera.mp4", "images.parquet"):
        size = sum(path.stat().st_size for path in demos.glob(f"*/*/{name}"))
        assert cells(text, f"`{name}`")[1] == f"{size / 1e3:.3g} kB"


def test_failures_are_counted_by_kind(text: str) -> None:
    kinds = cells(text, "task | split | skill")
    row = cells(text, "`visit` | train")
    assert dict(zip(kinds, row, strict=True))["skill"] == "1"
    assert sum(int(count) for count in row[2:]) == 1


def test_versions_and_renderer_are_named(demos: Path, text: str) -> None:
    header = json.loads((demos / "dataset.json").read_text())
    for package, version in header["versions"].items():
        assert cells(text, f"{package} |")[1] == (version or "absent")
    assert cells(text, "renderer")[1] == "a fake"
    assert not re.search(r"\{[{%]", text)


def test_the_code_of_the_card_runs(
    demos: Path, text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    monkeypatch.chdir(demos.parent)
    exec(compile(code, "card", "exec"), {})
    assert capsys.readouterr().out.count("(12, 7)") >= 1


def test_only_cards_are_replaced(
    demos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = shutil.copytree(demos, tmp_path / "copy")
    assert main(["card", str(root)]) == 0
    path = root / "README.md"
    assert capsys.readouterr().out == f"{path}\n"
    first = path.read_text()
    shutil.rmtree(root / "visit")
    write_card(root)
    assert "| episodes | 6 |" in first and "| episodes | 3 |" in path.read_text()
    path.write_text("# Mine\n")
    with pytest.raises(ClevrSkillsError, match=r"README.md was not written by clevrskills"):
        write_card(root)
    assert path.read_text() == "# Mine\n"


def test_copied_and_removed_episodes_are_counted(demos: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(demos, tmp_path / "copy"))
    shutil.rmtree(root / "reach" / "train_00000000")
    edit_lines(root, lambda lines: [line for line in lines if line["task"] != "visit"])
    text = write_card(root).read_text()
    assert cells(text, "episodes")[1] == "5"
    assert cells(text, "? | `reach`")[3:8:3] == ["2", "4"]  # episodes, attempts
    assert cells(text, "? | `visit`")[3:8] == ["3", *cells(text, "? | `visit`")[4:6], "0", "-"]
    table = pd.read_parquet(root / "episodes.parquet")
    assert table["episode"].tolist() == [episode.id for episode in Dataset(root)]
    files = [path for path in root.glob("*/*/*") if path.is_file()]
    assert table["bytes"].sum() == sum(path.stat().st_size for path in files)


def test_a_row_for_each_episode(demos: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(demos, tmp_path / "copy"))
    write_card(root)
    table = pd.read_parquet(root / "episodes.parquet")
    infos = [json.loads(path.read_text()) for path in sorted(root.glob("*/*/episode.json"))]
    for name in ("task", "split", "seed", "steps", "return"):
        assert table[name].tolist() == [info[name] for info in infos]
    assert table["episode"].tolist() == [episode.id for episode in Dataset(root)]
    files = [path for path in root.glob("*/*/*") if path.is_file()]
    assert table["bytes"].sum() == sum(path.stat().st_size for path in files)
    assert check_dataset(root, suite=FakeSource({})).faults == []
