"""docs/training.md is true."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from learned_policies import rollout

from clevrskills.baselines import load
from clevrskills.baselines.registry import policies
from clevrskills.baselines.training.dagger_rollout import ORACLE_STEPS, POLICY_STEPS
from clevrskills.baselines.training.train import TrainArgs, train

PAGE = (Path(__file__).parents[3] / "docs/training.md").read_text(encoding="utf-8")


def test_every_policy_is_named() -> None:
    table = PAGE.split("## Demonstrations")[0]
    rows = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
    assert sorted(re.findall(r"`(\w+)`", " ".join(rows))) == sorted(policies())


def test_the_turns_of_dagger() -> None:
    for low, high in (POLICY_STEPS, ORACLE_STEPS):
        assert re.search(rf"for {low} to {high}\b", PAGE)


def test_the_policy_of_the_page(
    demos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (code,) = (b for b in re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S) if "class" in b)
    (tmp_path / "mine.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])  # the command adds the folder
    args = TrainArgs(
        policy="mine:Blind", data=(demos,), out=tmp_path / "run", steps=3, workers=0, cpu=True
    )
    assert train(args) == 0
    (actions,) = rollout(load("run", "cpu"), {0: 1}, 2).values()
    assert actions[0].shape == (7,) and not np.array_equal(*actions)
    del sys.modules["mine"]
