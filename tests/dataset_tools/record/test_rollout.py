import numpy as np
import pytest
import torch
from fake_source import FakeSource

from clevrskills.core.env_config import EnvConfig
from clevrskills.core.goal.predicate import Outcome
from clevrskills.core.interface import make_step
from clevrskills.core.rollout import STEP_LIMIT
from clevrskills.dataset_tools.record.rollout import rollout


def test_success() -> None:
    suite = FakeSource({})
    env = suite.make(EnvConfig("reach", "train"))
    oracle = suite.oracle(env)
    result = rollout(env, oracle, seed=2)
    assert result.success and result.reason == ""
    assert 0 < result.steps < 60
    assert result.total_reward >= 2.0  # the last step alone


def test_a_skill_that_gives_up() -> None:
    suite = FakeSource({2: "fail"})
    env = suite.make(EnvConfig("reach", "train"))
    oracle = suite.oracle(env)
    result = rollout(env, oracle, seed=2)
    assert (result.success, result.reason, result.steps) == (False, "cannot reach it", 3)


def test_step_limit() -> None:
    suite = FakeSource({})
    env = suite.make(EnvConfig("reach", "train"))
    oracle = suite.oracle(env)
    result = rollout(env, oracle, seed=2, max_steps=4)
    assert (result.success, result.reason, result.steps) == (False, STEP_LIMIT, 4)
    env.task.max_steps = 5
    assert rollout(env, oracle, seed=2).steps == 5


def test_other_errors_are_not_hidden() -> None:
    suite = FakeSource({2: "crash"})
    env = suite.make(EnvConfig("reach", "train"))
    oracle = suite.oracle(env)
    with pytest.raises(ValueError, match="bug"):
        rollout(env, oracle, seed=2)


def test_make_step_takes_tensors_of_one_environment() -> None:
    class Env:
        outcome = Outcome(torch.tensor([True]), torch.tensor([2.0]), torch.tensor([0.5]), {})

        def step(self, action: np.ndarray) -> tuple:
            return None, torch.tensor([0.1]), torch.tensor([True]), torch.tensor([False]), {}

    step = make_step(Env(), np.zeros(7))  # type: ignore[arg-type]
    assert (step.reward, step.success, step.progress) == (2.0, True, 0.5)
    assert (step.terminated, step.truncated) == (True, False)
    assert type(step.success) is bool and type(step.reward) is float
