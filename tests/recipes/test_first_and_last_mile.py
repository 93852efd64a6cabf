"""Recipes on the real classes of models, tiny and random: data, 20 steps, evaluation, report."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from clevrskills.evaluation.results import open_evaluations
from clevrskills.solvers.requirements import planner_obstacle

ROOT = Path(__file__).parents[2]
LEROBOT = ROOT / ".venv-lerobot"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.render,
    pytest.mark.skipif(planner_obstacle() is not None, reason=str(planner_obstacle())),
]
with_program = pytest.mark.skipif(
    not (LEROBOT / "bin" / "python").exists(),
    reason="no LeRobot 0.6; make it with scripts/setup_lerobot.sh and Python 3.12",
)
TINY = "--policy.dim_model=32 --policy.n_heads=2 --policy.dim_feedforward=32"


@pytest.fixture(scope="module")
def demonstrations(tmp_path_factory) -> Path:
    from clevrskills.dataset_tools.generate.command import GenerateArgs, generate

    out = tmp_path_factory.mktemp("recipes") / "demonstrations"
    assert generate(GenerateArgs(tasks=("touch",), episodes=3, size=64, out=out)) == 0
    return out


def with_lerobot(code: str, *arguments: object) -> None:
    """Run Python where LeRobot is; skip where what it needs for that is not."""
    program = LEROBOT / "bin" / "python"
    if subprocess.run([program, "-c", code], capture_output=True).returncode:
        pytest.skip(f"not installed: {code}")
    if arguments:
        subprocess.run([program, "-W", "ignore", *map(str, arguments)], check=True, env=ENVIRONMENT)


ENVIRONMENT = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}


def run(recipe: str, out: Path, demonstrations: Path, **settings: object) -> None:
    """Run a recipe, twice; the second time only the report is left to do."""
    usual = {"OURS": Path(sys.executable).parents[1], "LEROBOT": LEROBOT, "DATA": demonstrations}
    usual |= {"TASKS": "touch", "STEPS": 20, "BATCH": 2, "LOADERS": 0, "EPISODES": 1}
    given = {name: str(value) for name, value in {**usual, "DEVICE": "cpu", **settings}.items()}
    for time in range(2):
        done = subprocess.run(
            [ROOT / "recipes" / f"{recipe}.sh", out],
            env={**ENVIRONMENT, **given},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
        assert ("evaluation-1 is done" in done.stdout) == bool(time)
    [evaluation] = open_evaluations([out / "results"])
    assert {(r.task, r.split, r.error) for r in evaluation.results} == {
        ("touch", split, "") for split in ("train", "test")
    }
    assert evaluation.run.track.startswith("open (3 demonstrations)")
    assert (out / "report" / "report.html").stat().st_size > 10_000


@pytest.mark.readers
@with_program
def test_act(demonstrations, tmp_path):
    with_lerobot("import lerobot")
    run("act", tmp_path, demonstrations, BACKBONE="null", MORE=TINY)


@pytest.mark.readers
@with_program
def test_smolvla(demonstrations, tmp_path):
    tiny = Path(__file__).with_name("tiny_smolvla.py")
    with_lerobot("import transformers, num2words", tiny, tmp_path / "tiny")
    run("smolvla", tmp_path / "out", demonstrations, BASE=tmp_path / "tiny" / "base")


def test_octo(demonstrations, tmp_path):
    run("octo", tmp_path, demonstrations, CONFIGURATION="tiny", ACCUMULATE=1)
