"""PPO learns, and its parts compute what they say."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from clevrskills.errors import ClevrSkillsError
from clevrskills.rl.agent import STATE, Agent, RunningScale, Spaces, to_tensors
from clevrskills.rl.ppo import PPO, estimate_advantages
from clevrskills.rl.run import PPOConfig
from tests.rl.toy import IMAGE_PX, ToyVec

QUICK = PPOConfig(
    rollout_steps=50,
    minibatch=250,
    hidden=(64, 64),
    gamma=0.9,
    learning_rate=2e-3,
    initial_std=0.5,
)


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def learn(envs, config: PPOConfig, total_steps: int, seed: int = 0) -> tuple[PPO, list[dict]]:
    ppo = PPO(envs, config, total_steps, seed)
    ppo.start(seed)
    given = []
    while not ppo.done:
        given.append(ppo.iterate())
    return ppo, given


def weights(ppo: PPO) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in ppo.agent.parameters()])


# ---- learning


@pytest.mark.slow
def test_it_learns_whatever_the_scale_of_states():
    ppo, given = learn(ToyVec(16, scale=1000.0), QUICK, 24_000)
    assert given[0]["episode/success_at_end"] <= 0.1
    assert given[-1]["episode/success_at_end"] >= 0.9
    assert given[-1]["reward/mean"] > 2 * given[0]["reward/mean"]
    assert ppo.steps == sum(t["episode/count"] for t in given) * 25 + 50 * 16  # and a look around
    # the mean action alone, in other episodes
    envs = ToyVec(64, scale=1000.0)
    seen, _ = envs.reset(seed=5_000)
    for _ in range(25):
        with torch.no_grad():
            actions = ppo.agent.act(to_tensors(seen)).numpy()
        seen, _, _, ended, infos = envs.step(actions)
    assert ended.all()
    assert infos["final_info"]["episode"]["success_at_end"].mean() >= 0.95


@pytest.mark.slow
def test_it_learns_from_images():
    config = dataclasses.replace(QUICK, rollout_steps=12, minibatch=192, epochs=4, target_kl=None)
    envs = ToyVec(64, images=True, max_steps=12)
    _, given = learn(envs, dataclasses.replace(config, learning_rate=1e-3), 48_000)
    first, last = (np.mean([t["reward/mean"] for t in part]) for part in (given[:5], given[-5:]))
    assert last > 1.3 * first
    assert np.mean([t["reward_terms/order/0"] for t in given[-5:]]) > 0.15  # many first goals


class Endless(ToyVec):
    """Gives a reward of 1 for ever, in episodes of five steps."""

    def step(self, actions):
        seen, reward, _, truncated, infos = super().step(actions)
        return seen, np.ones_like(reward), truncated & self.terminate, truncated, infos


@pytest.mark.slow
@pytest.mark.parametrize("terminate", [False, True])
def test_returns_are_bootstrapped_at_the_step_limit_only(terminate):
    ppo, _ = learn(Endless(16, max_steps=5, terminate=terminate), QUICK, 16_000)
    seen, _ = ppo.envs.reset(seed=77)
    with torch.no_grad():
        value = ppo.agent.value(to_tensors(seen))
    # 1 + 0.9 + 0.9**2 ... = 10; with one to five steps left, which are hardly seen, 1 to 4.1
    low, high = (1.0, 4.1) if terminate else (9.0, 11.0)
    assert low < value.min() and value.max() < high


def test_seeds_decide_all():
    same = [learn(ToyVec(4), QUICK, 600, seed) for seed in (1, 1, 2)]
    assert torch.equal(weights(same[0][0]), weights(same[1][0]))
    assert not torch.equal(weights(same[0][0]), weights(same[2][0]))


def test_global_generators_are_left_alone():
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    np.random.seed(3)
    state = np.random.get_state()[1].copy()
    learn(ToyVec(4), QUICK, 600)
    assert torch.equal(torch.rand(2), expected)
    assert np.array_equal(np.random.get_state()[1], state)


def test_the_step_size_falls_to_zero():
    _, given = learn(ToyVec(4), QUICK, 2000)
    sizes = [t["policy/learning_rate"] for t in given]
    assert sizes == sorted(sizes, reverse=True) and sizes[-1] < 0.15 * sizes[0]
    _, given = learn(ToyVec(4), dataclasses.replace(QUICK, anneal=False), 2000)
    assert {t["policy/learning_rate"] for t in given} == {QUICK.learning_rate}


@pytest.mark.parametrize("images", [False, True])
def test_a_policy_that_diverges_learns_no_more_in_this_update(images):
    runs = {
        (epochs, kl): learn(
            ToyVec(4, images=images),
            dataclasses.replace(QUICK, minibatch=50, epochs=epochs, target_kl=kl),
            400,
        )[0]
        for epochs, kl in ((1, None), (6, 1e-12), (6, None))
    }
    policies, critics = (
        {
            key: torch.cat([p.flatten() for p in getattr(ppo.agent, part).parameters()])
            for key, ppo in runs.items()
        }
        for part in ("policy", "critic")
    )
    assert torch.equal(policies[1, None], policies[6, 1e-12])
    assert not torch.equal(policies[1, None], policies[6, None])
    # the value is learned on, unless it would change what the policy sees
    assert torch.equal(critics[1, None], critics[6, 1e-12]) == images


def test_values_are_clipped_only_where_asked():
    runs = {
        clip: weights(learn(ToyVec(4), dataclasses.replace(QUICK, value_clip=clip), 400)[0])
        for clip in (None, 1e6, 0.001)
    }
    assert torch.allclose(runs[None], runs[1e6], atol=1e-5)
    assert not torch.allclose(runs[None], runs[0.001], atol=1e-5)


def test_printed_progress():
    _, given = learn(ToyVec(4, max_steps=30), QUICK, 400)
    names = set(given[0])
    assert {"reward/mean", "reward_terms/order", "reward_terms/order/0"} <= names
    assert {"losses/policy", "losses/value", "losses/entropy", "speed/steps_per_s"} <= names
    assert given[0]["episode/count"] == 4 and given[0]["episode/length"] == 30
    _, given = learn(ToyVec(4, max_steps=1000), QUICK, 400)  # no episode ends
    assert given[0]["episode/count"] == 0 and "episode/return" not in given[0]


# ---- parts


def test_advantages():
    rewards = torch.tensor([[1.0], [2.0], [4.0]])
    values = torch.tensor([[10.0], [20.0], [30.0]])
    following = torch.tensor([[20.0], [7.0], [5.0]])  # 7: of the last state of an episode
    ended = torch.tensor([[0.0], [1.0], [0.0]])
    surprises = [1 + 0.5 * 20 - 10, 2 + 0.5 * 7 - 20, 4 + 0.5 * 5 - 30]
    expected = [surprises[0] + 0.5 * 0.8 * surprises[1], surprises[1], surprises[2]]
    found = estimate_advantages(rewards, values, following, ended, 0.5, 0.8)
    assert torch.allclose(found[:, 0], torch.tensor(expected))


def test_running_scale_equals_that_of_all_values():
    values = torch.randn(90, 3) * torch.tensor([1.0, 50.0, 0.01]) + torch.tensor([0.0, 900.0, 5.0])
    scale = RunningScale(3)
    assert torch.equal(scale(values), scale(values)) and not scale.count
    for part in values.split((1, 29, 60)):
        scale.add(part)
    assert torch.allclose(scale.mean, values.mean(0), rtol=1e-4)
    assert torch.allclose(scale.std[:2], values.std(0, unbiased=False)[:2], rtol=1e-3)
    assert torch.allclose(scale.undo(scale(values)), values, rtol=1e-4, atol=1e-4)
    same = RunningScale(1)
    same.add(torch.full((50, 1), 7.0))
    assert torch.isfinite(same(torch.tensor([[7.5]]))).all()  # what never changes


def test_nearly_constant_entries_are_not_scaled():
    agent = Agent(Spaces(state=2, actions=7), PPOConfig())
    agent.states.add(torch.randn(1000, 2) * torch.tensor([0.004, 0.2]))
    far = torch.tensor([[0.05, 0.4]])  # 5 cm beyond what differs by 4 mm, and two deviations
    assert torch.allclose(agent.states(far), torch.tensor([[1.0, 2.0]]), atol=0.2)
    assert torch.allclose(agent.states.undo(agent.states(far)), far, atol=1e-5)


def test_images_are_stacked_and_used():
    seen, _ = ToyVec(2, images=True).reset(seed=0)
    tensors = to_tensors(seen)
    assert tensors["images"].shape == (2, 6, IMAGE_PX, IMAGE_PX)
    assert torch.equal(
        tensors["images"][:, 3:], torch.as_tensor(seen["hand_camera"]).permute(0, 3, 1, 2)
    )
    agent = Agent(Spaces.of(ToyVec(2, images=True)), QUICK)
    other = {**tensors, "images": 255 - tensors["images"]}
    assert not torch.allclose(agent.value(tensors), agent.value(other))


def test_spaces():
    assert Spaces.of(ToyVec(2)) == Spaces(state=7, actions=7)
    assert Spaces.of(ToyVec(2, images=True)) == Spaces(4, 7, channels=6, size_px=IMAGE_PX)


def test_initial_actions():
    config = PPOConfig(initial_std=0.07, vacuum_std=0.4, vacuum_mean=-0.6)
    agent = Agent(Spaces(state=5, actions=7, channels=0, size_px=0), config)
    actions, _ = agent({STATE: torch.randn(100, 5)})
    assert actions.mean[:, :6].abs().max() < 0.1
    assert torch.allclose(actions.mean[:, 6], torch.tensor(-0.6), atol=0.1)
    expected = torch.tensor([0.07] * 6 + [0.4])
    assert torch.allclose(actions.stddev, expected.expand(100, 7))


def test_actions_are_cut():
    agent = Agent(Spaces(state=2, actions=7), QUICK)
    with torch.no_grad():
        agent.policy[-1].bias.fill_(3.0)
        assert (agent.act({"state": torch.zeros(1, 2)}) == 1.0).all()


@pytest.mark.parametrize(
    ("name", "value"),
    [("gamma", 1.5), ("epochs", 0), ("minibatch", 1), ("initial_std", 0.0), ("vacuum_std", 0.0)],
)
def test_numbers_that_are_not_allowed(name, value):
    with pytest.raises(ClevrSkillsError, match=f"{name} must be at least .*not {value}"):
        PPOConfig(**{name: value})
