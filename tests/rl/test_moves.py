"""PPO on moves of a board: illegal moves are never chosen, trained agents are evaluated."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.evaluate import EvaluateArgs, evaluate
from clevrskills.evaluation.results import read_results
from clevrskills.rl.agent import STATE, MovesAgent, Spaces
from clevrskills.rl.command import RLArgs, rl
from clevrskills.rl.policy import RLPolicy
from clevrskills.rl.ppo import PPO
from clevrskills.rl.run import PPOConfig, read_run
from clevrskills.rl.train import read_progress
from clevrskills.suites.ivispar.vector import CellVectorEnv

CONFIG = PPOConfig(rollout_steps=8, epochs=2, minibatch=64, hidden=(32,), target_kl=None)


def args_of(out: Path, **changes) -> RLArgs:
    given = {"task": "geoms", "suite": "ivispar", "num_envs": 14, "total_steps": 224}
    return RLArgs(out=out, **{**given, "ppo": CONFIG, **changes})


@pytest.fixture(scope="module")
def learned(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("moves") / "run"
    assert rl(args_of(out)) == 0
    return out


def test_illegal_moves_are_never_chosen() -> None:
    agent = MovesAgent(Spaces(state=4 * 3 + 8, actions=8, places=4), CONFIG)
    possible = torch.tensor([[0, 1, 0, 0, 1, 0, 0, 1.0], [1, 0, 0, 0, 0, 0, 0, 0]])
    observation = {STATE: torch.cat((torch.rand(2, 12), possible), dim=1)}
    chosen, value = agent(observation)
    assert value.shape == (2,) and (chosen.probs[possible == 0] == 0).all()
    generator = torch.Generator().manual_seed(0)
    draws = torch.stack([agent.sample(chosen, generator) for _ in range(200)])
    assert set(draws[:, 0].tolist()) == {1, 4, 7} and set(draws[:, 1].tolist()) == {0}
    assert possible[0, agent.act(observation)[0]] == 1


@pytest.mark.slow
def test_it_learns_to_come_nearer() -> None:
    envs = CellVectorEnv(56, scramble=(2, 6), turns=10)
    ppo = PPO(envs, PPOConfig(**{**vars(CONFIG), "learning_rate": 3e-3}), 56 * 8 * 30, seed=0)
    ppo.start(seed=0)
    returns = []
    while not ppo.done:
        metrics = ppo.iterate()
        returns.append(metrics["reward/mean"])
    assert sum(returns[-5:]) > sum(returns[:5]) + 5 * 0.3


@pytest.mark.slow
def test_a_trained_agent_is_evaluated(learned, tmp_path) -> None:
    assert read_progress(learned)[-1]["steps"] == 224
    assert read_run(learned).suite == "ivispar"
    asked = EvaluateArgs(
        tasks=("geoms",),
        suite="ivispar",
        policy=f"rl:{learned}",
        split=("interference",),
        episodes=3,
        out=tmp_path / "result",
    )
    assert evaluate(asked) == 0
    results = list(read_results(tmp_path / "result"))
    assert len(results) == 3 and not any(result.cause == "error" for result in results)
    assert all(not result.refused for result in results)  # it knows what can be done
    assert all(result.turns for result in results)


def test_the_same_seed_learns_the_same(learned, tmp_path) -> None:
    assert rl(args_of(tmp_path / "run")) == 0
    one, two = (RLPolicy(str(folder))._agent for folder in (learned, tmp_path / "run"))
    for mine, theirs in zip(one.parameters(), two.parameters(), strict=True):
        assert torch.equal(mine, theirs)
    with pytest.raises(ClevrSkillsError, match="seed"):
        rl(args_of(tmp_path / "run", seed=1))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"task": "tiles"}, "tiles of ivispar does not support reinforcement"),
        ({"task": "pick"}, "pick is a task of suite clevrskills, not of ivispar"),
        ({"robot": "panda"}, "--robot applies to the suite clevrskills only"),
        ({"arg": ("a=1",)}, "--arg applies to the suite clevrskills only"),
        ({"num_envs": 3}, "num_envs is 3; allowed: 7 or more"),
    ],
)
def test_bad_arguments(changes, message, tmp_path) -> None:
    with pytest.raises(ClevrSkillsError, match=message):
        rl(args_of(tmp_path / "run", **changes))
    assert not (tmp_path / "run").exists()
