"""The page on reinforcement learning is true, and its table and curves are made of results."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tyro

from clevrskills.rl.command import RLArgs
from clevrskills.rl.config import PPOConfig

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "rl.md").read_text(encoding="utf-8")
TRAINING = {
    "task": "trace", "seed": 0, "steps": 1000, "minutes": 12.3,
    "curve": {"steps": [100, 300], "success_once": [None, 0.8], "success_at_end": [None, 0.7]},
    "evaluation": {"train": {"successes": 49, "episodes": 50}},
}  # fmt: skip


@pytest.fixture
def drawing(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    yield __import__("draw_learning")
    sys.modules.pop("draw_learning")


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    yield __import__("learning")
    for name in ("learning", "common"):
        sys.modules.pop(name)


def test_options_exist(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        tyro.cli(RLArgs, args=["--help"])
    known = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    table = PAGE.split("| option | meaning |", 1)[1].split("\n\n", 1)[0]
    assert set(re.findall(r"--[a-z-]+[a-z]", table)) <= known


def test_links() -> None:
    for name in re.findall(r"\]\((?!#)([^)]+)\)", PAGE):
        assert (ROOT / "docs" / name).exists(), name


@pytest.mark.slow
def test_the_vector_environment_of_the_page() -> None:
    code = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[0]
    names: dict[str, Any] = {}
    exec(compile(code, "rl.md", "exec"), names)
    assert names["reward"].shape == (16,) and len(names["observation"]) == 16
    names["envs"].close()


def test_options_of_ppo_are_those_of_the_command() -> None:
    args = tyro.cli(RLArgs, args="trace --out x --gamma 0.9 --hidden 8 8".split())
    assert args.ppo == replace(PPOConfig(), gamma=0.9, hidden=(8, 8))


def test_the_table_is_made_of_the_results(drawing) -> None:
    trainings = [TRAINING, {**TRAINING, "seed": 1, "minutes": 13.3}]
    written = drawing.page(PAGE, trainings, "a machine")
    row = "| `trace` | 1,000 | 2 | 13 | train | 49, 49 of 50 | 98.0% | 93-99 % |"
    assert row in written and "Machine: a machine." in written
    assert drawing.page(written, [], "") == drawing.page(PAGE, [], "")
    if drawing.RESULTS.exists():
        data = json.loads(drawing.RESULTS.read_text(encoding="utf-8"))
        assert drawing.page(PAGE, data["trainings"], data["machine"]) == PAGE


def test_curves_are_drawn(drawing, tmp_path) -> None:
    trainings = [{**TRAINING, "task": task} for task in ("trace", "pick", "push", "touch")]
    figure = drawing.curves(trainings)
    assert [panel.get_title() for panel in figure.axes] == ["trace", "pick", "push", "touch"]
    figure.savefig(tmp_path / "curves.svg")
    assert (tmp_path / "curves.svg").stat().st_size > 5000


def test_a_curve_is_a_mean_over_episodes(benchmark) -> None:
    lines = [
        {"steps": 10, "episode/count": 0.0},
        {"steps": 11, "episode/count": 1.0, "episode/success_once": 1.0,
         "episode/success_at_end": 0.0, "episode/return": 5.0},
        {"steps": 19, "episode/count": 3.0, "episode/success_once": 0.0,
         "episode/success_at_end": 0.0, "episode/return": 1.0},
        {"steps": 1000, "episode/count": 2.0, "episode/success_once": 1.0,
         "episode/success_at_end": 0.5, "episode/return": 9.0},
    ]  # fmt: skip
    found = benchmark.curve(lines, 1000)
    assert found["steps"][0] == 10 and len(found["steps"]) == benchmark.BINS
    assert found["success_once"][0] == 0.25 and found["return"][0] == 2.0
    assert found["success_at_end"][-1] == 0.5 and found["return"][-1] == 9.0
    assert set(found["return"][1:-1]) == {None}
