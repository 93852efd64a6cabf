from pathlib import Path

import numpy as np
import pytest
import torch
from fake_source import FakeSource, FakeStart

from clevrskills.core.env_config import EnvConfig
from clevrskills.core.goal.predicate import Outcome
from clevrskills.core.interface import make_step
from clevrskills.core.rollout import STEP_LIMIT
from clevrskills.dataset_tools.record.recorder import Recorder
from clevrskills.dataset_tools.record.rollout import RecordedRollout, rollout

CONFIG, START = EnvConfig("reach", "train"), FakeStart("reach", "train", 2)


def record(root: Path, trouble: str = "", limit: int | None = None) -> RecordedRollout:
    suite = FakeSource({2: trouble})
    env = suite.make(CONFIG)
    with Recorder(root, CONFIG, START, suite) as recorder:
        return rollout(env, suite.oracle(env), recorder, limit)


def test_success(tmp_path: Path) -> None:
    result = record(tmp_path)
    assert result.success and result.reason == ""
    assert 0 < result.turns < 60
    assert result.total_reward >= 2.0  # the last step alone


def test_a_skill_that_gives_up(tmp_path: Path) -> None:
    result = record(tmp_path, "fail")
    assert (result.success, result.reason, result.turns) == (False, "cannot reach it", 3)


def test_step_limit(tmp_path: Path) -> None:
    result = record(tmp_path, limit=4)
    assert (result.success, result.reason, result.turns) == (False, STEP_LIMIT, 4)


def test_other_errors_are_not_hidden(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="bug"):
        record(tmp_path, "crash")


def test_make_step_takes_tensors_of_one_environment() -> None:
    class Env:
        outcome = Outcome(torch.tensor([True]), torch.tensor([2.0]), torch.tensor([0.5]), {})

        def step(self, action: np.ndarray) -> tuple:
            return None, torch.tensor([0.1]), torch.tensor([True]), torch.tensor([False]), {}

    step = make_step(Env(), np.zeros(7))  # type: ignore[arg-type]
    assert (step.reward, step.success, step.progress) == (2.0, True, 0.5)
    assert (step.terminated, step.truncated) == (True, False)
    assert type(step.success) is bool and type(step.reward) is float
