"""Results that ``lerobot-eval`` 0.6.1 and ``vla-eval`` 0.8.0 wrote, beside our own."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from fabricated import write_run

from clevrskills.cli import main
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.report.external_results import NOT_STATED, read_any
from clevrskills.evaluation.results import EpisodeResult

DATA = Path(__file__).parents[2] / "data/foreign_results"
LEROBOT, VLA_EVAL = DATA / "lerobot_eval", DATA / "vla_eval"


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    """A run on the episodes of the folder of vla-eval, which solves every other one."""
    _, results, _ = read_any(VLA_EVAL)
    solved = {"cause": "success", "success_once": True, "success_at_end": True}
    mine = [replace(r, **(solved if r.index == 0 else {})) for r in results]
    return write_run(tmp_path / "ours", mine, "ours")


def test_stated_and_unstated_information() -> None:
    run, results, source = read_any(LEROBOT)
    assert source is not None and source.program == "lerobot-eval"
    assert (run.policy, run.label) == (NOT_STATED, "lerobot_eval")
    assert [(r.task, r.level, r.split, r.index) for r in results] == [
        (task, "L0", NOT_STATED, k) for task in ("pick", "touch") for k in (0, 1)
    ]
    for result in results:
        assert (result.cause, result.success_once, result.episode) == ("step limit", False, "")
        assert result.steps is result.seed is result.total_reward is None
    run, results, source = read_any(VLA_EVAL)
    assert source is not None and source.program == "vla-eval"
    assert run.policy == "_EchoModelServer"
    assert len(results) == 8
    first = results[0]
    assert isinstance(first, EpisodeResult) and len(first.episode) == 64
    assert (first.id, first.seed, first.steps, first.max_steps) == ("pick_test_000", 70, 80, 80)
    assert first.progress is not None and first.progress > 0


def test_one_table_holds_all(ours: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    out = tmp_path / "report"
    assert main(["report", *map(str, (ours, LEROBOT, VLA_EVAL)), "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert NOT_STATED in printed and "lerobot_eval" in printed
    tasks = pd.read_csv(out / "tasks.csv").set_index(["run", "task", "split"])
    assert tasks.loc[("ours", "pick", "test"), "success_once"] == 0.5
    assert tasks.loc[("vla_eval", "pick", "test"), "steps"] == 80
    theirs = tasks.loc[("lerobot_eval", "pick", NOT_STATED)]
    assert (theirs["episodes"], theirs["success_once"]) == (2, 0)
    assert theirs[["reward", "steps", "goal_fraction"]].isna().all()
    assert (out / "comparison-1-tasks.csv").exists() and not (
        out / "comparison-2-tasks.csv"
    ).exists()
    said = (out / "tables.md").read_text()
    assert "lerobot_eval was run by lerobot-eval, whose files do not state: policy, split" in said


def test_only_paired_episodes_are_compared(
    ours: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    assert main(["compare", str(VLA_EVAL), str(ours), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["both"] + row["only_b"] for row in found["tasks"]] == [1, 1, 1, 1]
    assert "vla_eval was run by vla-eval, whose files do not state" in found["remarks"][-1]
    again = Path(shutil.copytree(LEROBOT, tmp_path / "again"))
    for other in (ours, again):
        assert main(["compare", str(LEROBOT), str(other)]) != 0
        line = capsys.readouterr().err
        assert "the files of lerobot-eval do not identify the episodes" in line


def test_damage_is_named(tmp_path: Path) -> None:
    def refusal() -> str:
        with pytest.raises(ClevrSkillsError) as caught:
            read_any(tmp_path)
        return str(caught.value)

    assert "is no run of `clevrskills evaluate`: it has no run.json" in refusal()
    recording = tmp_path / "recording-x.sqlite"
    recording.touch()
    assert refusal().endswith(f"write its results with `vla-eval export {recording}`")
    file = VLA_EVAL / "ClevrSkills_L0_test_aggregate.json"
    for name in ("a_aggregate.json", "b_aggregate.json"):
        shutil.copy(file, tmp_path / name)
    assert "has several results of pick_test_000" in refusal()
    own = tmp_path / "eval_info.json"
    own.write_text('{"per_task": [{"task_group": "fly", "metrics": {"successes": [true]}}]}')
    assert refusal() == f"{own}: fly is no task of this package"
    own.write_text("{}")
    assert refusal() == f"{own} is no result of lerobot-eval: 'per_task'"
