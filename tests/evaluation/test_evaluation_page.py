"""docs/evaluation.md names what there is, and its code runs."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from clevrskills.core.policy_loader import PolicySource
from clevrskills.evaluation.evaluate import EvaluateArgs
from clevrskills.evaluation.results import CAUSES, EpisodeResult, Run
from clevrskills.jobs.options import parse
from clevrskills.suites.clevrskills.suite import KEYSTEP_TASKS, ClevrSkillsSuite
from clevrskills.tasks import tasks

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "evaluation.md").read_text(encoding="utf-8")
KEYS = {"task", "level", "split", "index", "max_steps", "error", "reason"}
"""Fields that need no explanation."""
OF_PODMAN = {"--rm", "--network", "--build-arg"}


def section(heading: str) -> str:
    return PAGE.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]


def test_step_limits_are_well_above_the_oracles_frozen_episodes() -> None:
    assert "at least 1.2 times" in PAGE
    for key, task in tasks().items():
        heads = [ClevrSkillsSuite().frozen(key, split).header for split in ("train", "test")]
        assert {head.max_steps for head in heads} == {task.max_steps}
        assert task.max_steps >= 1.2 * max(head.oracle_most_steps for head in heads)


def test_all_measures_are_documented() -> None:
    text = section("What is measured")
    rows = "\n".join(line.split(" | ")[0] for line in text.splitlines() if line.startswith("| `"))
    explained = set(re.findall(r"`([^`]+)`", rows))
    names = {field.name for field in fields(EpisodeResult)}
    settings = {field.name for field in fields(Run)}
    assert explained <= names | settings and names - explained <= KEYS
    assert all(f"`{cause}`" in text for cause in CAUSES)


def test_options_that_are_named_exist(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(EvaluateArgs, ["--help"])
    known = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    own = PAGE.split("\n## Reports, comparisons, planning\n")[0]  # the rest: others
    assert set(re.findall(r"--[a-z][a-z-]+", own)) <= known | OF_PODMAN
    assert all(f"`{task}`" in PAGE for task in KEYSTEP_TASKS)


def test_the_policy_is_one(tmp_path: Path) -> None:
    code = re.findall(r"```python\n(.*?)```", section("Policies"), re.DOTALL)[0]
    (tmp_path / "policy_of_the_page.py").write_text(code)
    source = PolicySource("policy_of_the_page:MyPolicy", {"checkpoint": "x"}, str(tmp_path))
    policy = source.make()
    assert policy.options.size_px == 128
    policy.reset(None)
    assert policy.act({}).shape == (7,)
