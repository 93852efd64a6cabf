"""PPO: proximal policy optimization (Schulman et al. 2017, arXiv 1707.06347).

Actions are sampled from a Gaussian and clipped to [-1, 1], or are moves on a board. Returns, and
states except those of boards, are normalized by their running mean and variance. Returns of
truncated episodes are bootstrapped with the value of the last observation.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import itemgetter, methodcaller
from typing import Any

import numpy as np
import torch
import torch._dynamo  # imported by optimizers; before scenes are created, to keep resets fast
from gymnasium.vector import VectorEnv
from torch import Tensor, nn

from clevrskills.rl.agent import STATE, Agent, Array, Spaces, Tensors, make_agent, to_tensors
from clevrskills.rl.run import PPOConfig

EPISODE = ("return", "length", "success_once", "success_at_end")
"""Statistics of completed episodes."""


@dataclass
class RolloutBuffer:
    """Rollout of T control steps in B environments, all (T, B, ...)."""

    observations: Tensors
    actions: Tensor
    log_probs: Tensor
    values: Tensor
    advantages: Tensor

    def map(self, change: Callable[[Tensor], Tensor]) -> RolloutBuffer:
        """Return a buffer with each tensor mapped."""
        observations = {name: change(entry) for name, entry in self.observations.items()}
        parts = (self.actions, self.log_probs, self.values, self.advantages)
        return RolloutBuffer(observations, *(change(part) for part in parts))


class PPO:
    """PPO learner in a vector environment.

    Args:
        envs: The environments, with the autoreset mode ``SAME_STEP``.
        config: Hyperparameters.
        total_steps: Total control steps of all environments.
        seed: Seed of weights, actions and the order of samples.
        device: Device of the networks: ``cpu`` or ``cuda``.

    Attributes:
        agent: The networks.
        steps: Control steps so far, of all environments.
    """

    def __init__(
        self,
        envs: VectorEnv,
        config: PPOConfig,
        total_steps: int,
        seed: int = 0,
        device: str = "cpu",
    ) -> None:
        self.envs, self.config, self.total_steps, self.device = envs, config, total_steps, device
        self.steps = 0
        self.generator = torch.Generator().manual_seed(seed)
        with torch.random.fork_rng():  # torch initializes layers by its global generator
            torch.manual_seed(seed)
            self.agent = make_agent(Spaces.of(envs), config).to(device)
        self.optimizer = torch.optim.Adam(self.agent.parameters(), config.learning_rate, eps=1e-5)

    @property
    def done(self) -> bool:
        """``True`` if all steps are done."""
        return self.steps >= self.total_steps

    def start(self, seed: int) -> None:
        """Start episodes from a seed."""
        observation, _ = self.envs.reset(seed=seed)
        self._observation = self._tensors(observation)
        if isinstance(self.agent, Agent) and not self.agent.states.count:
            self._measure_states(self.agent)
            self._observation = self._tensors(self.envs.reset(seed=seed)[0])

    def iterate(self) -> dict[str, float]:
        """Collect a rollout and update the networks; return metrics by name."""
        began_s = time.perf_counter()
        if self.config.anneal:
            left = 1.0 - self.steps / self.total_steps
            self.optimizer.param_groups[0]["lr"] = self.config.learning_rate * left
        rollout, metrics = self._collect()
        collected_s = time.perf_counter()
        metrics |= self._update(rollout)
        if isinstance(self.agent, Agent):
            self.agent.states.add(rollout.observations[STATE].flatten(0, 1))
        steps = rollout.actions.shape[0] * rollout.actions.shape[1]
        self.steps += steps
        now_s = time.perf_counter()
        metrics["speed/steps_per_s"] = steps / (now_s - began_s)
        metrics["speed/update_share"] = (now_s - collected_s) / (now_s - began_s)
        return metrics

    # ---- acting

    def _tensors(self, observation: Any) -> Tensors:
        return to_tensors(observation, self.device)

    def _measure_states(self, agent: Agent) -> None:
        """Act at random to initialize the normalization of states."""
        states = [self._observation[STATE]]
        for _ in range(self.config.rollout_steps):
            shape = (self.envs.num_envs, agent.spaces.actions)
            actions = torch.rand(shape, generator=self.generator) * 2.0 - 1.0
            states.append(self._tensors(self.envs.step(actions.numpy())[0])[STATE])
        agent.states.add(torch.cat(states))
        self.steps += self.config.rollout_steps * self.envs.num_envs

    @torch.no_grad()
    def _collect(self) -> tuple[RolloutBuffer, dict[str, float]]:
        steps: dict[str, list[Tensor]] = defaultdict(list)
        observations: dict[str, list[Tensor]] = defaultdict(list)
        stats = EpisodeStats()
        for _ in range(self.config.rollout_steps):
            chosen, value = self.agent(self._observation)
            action = self.agent.sample(chosen, self.generator)
            for name, entry in self._observation.items():
                observations[name].append(entry)
            steps["actions"].append(action)
            steps["log_probs"].append(chosen.log_prob(action))
            steps["values"].append(self.agent.returns.undo(value))
            cut = self.agent.bounded(action).cpu().numpy()
            observation, reward, terminated, truncated, infos = self.envs.step(cut)
            stats.add(reward, infos)
            self._observation = self._tensors(observation)
            steps["rewards"].append(self._numbers(reward))
            steps["ended"].append(self._numbers(terminated | truncated))
            steps["next"].append(self._next_value(terminated, truncated, infos))
        whole = {name: torch.stack(entries) for name, entries in steps.items()}
        going_on = torch.cat((whole["values"][1:], self.agent.value(self._observation)[None]))
        following = torch.where(whole["ended"] > 0, whole["next"], going_on)
        advantages = estimate_advantages(
            *(whole["rewards"], whole["values"], following, whole["ended"]),
            *(self.config.gamma, self.config.gae_lambda),
        )
        rollout = RolloutBuffer(
            {name: torch.stack(entries) for name, entries in observations.items()},
            whole["actions"],
            whole["log_probs"],
            whole["values"],
            advantages,
        )
        return rollout, stats.means()

    def _next_value(self, terminated: Array, truncated: Array, infos: Mapping[str, Any]) -> Tensor:
        """Return the value of the last observation of truncated episodes, else 0, (B,)."""
        cut_off = truncated & ~terminated
        if not cut_off.any():
            return torch.zeros(len(cut_off), device=self.device)
        value = self.agent.value(self._tensors(infos["final_obs"]))
        return torch.where(self._numbers(cut_off) > 0, value, 0.0)

    def _numbers(self, values: Array) -> Tensor:
        return torch.as_tensor(values, dtype=torch.float32, device=self.device)

    # ---- learning

    def _update(self, rollout: RolloutBuffer) -> dict[str, float]:
        samples = rollout.map(methodcaller("flatten", 0, 1))
        targets = samples.values + samples.advantages
        unexplained = samples.advantages.var() / targets.var().clamp(min=1e-8)
        self.agent.returns.add(targets[:, None])
        count = len(targets)
        found: dict[str, list[float]] = defaultdict(list)
        names: tuple[str, ...] = ("policy", "value", "entropy")
        for _ in range(self.config.epochs):
            order = torch.randperm(count, generator=self.generator).to(self.device)
            for index in order.tensor_split(max(1, count // self.config.minibatch)):
                losses = self._losses(samples.map(itemgetter(index)), targets[index])
                self._step({name: losses[name] for name in names})
                for name, loss in losses.items():
                    found[f"losses/{name}"].append(float(loss.detach()))
            if self.config.target_kl and found["losses/kl"][-1] > self.config.target_kl:
                if self.agent.image_encoder is not None:
                    break
                names = ("value",)  # shares no weights with the policy
        means = {name: float(np.mean(values)) for name, values in found.items()}
        if isinstance(self.agent, Agent):
            means["policy/std"] = float(self.agent.log_std.detach().exp().mean())
        return means | {
            "losses/explained_variance": 1.0 - float(unexplained),
            "policy/learning_rate": self.optimizer.param_groups[0]["lr"],
        }

    def _losses(self, samples: RolloutBuffer, targets: Tensor) -> dict[str, Tensor]:
        config = self.config
        chosen, value = self.agent(samples.observations)
        log_ratio = chosen.log_prob(samples.actions) - samples.log_probs
        ratio = log_ratio.exp()
        advantages = samples.advantages
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        cut = ratio.clamp(1.0 - config.clip, 1.0 + config.clip)
        target = self.agent.returns(targets[:, None]).squeeze(-1)
        error = (value - target) ** 2
        if config.value_clip is not None:
            old = self.agent.returns(samples.values[:, None]).squeeze(-1)
            moved = (value - old).clamp(-config.value_clip, config.value_clip)
            error = torch.maximum(error, (old + moved - target) ** 2)
        with torch.no_grad():
            kl = (ratio - 1.0 - log_ratio).mean()  # Schulman's non-negative estimator
            clipped = ((ratio - 1.0).abs() > config.clip).float().mean()
        return {
            "policy": -torch.minimum(advantages * ratio, advantages * cut).mean(),
            "value": 0.5 * error.mean(),
            "entropy": chosen.entropy().mean(),
            "kl": kl,
            "clipped": clipped,
        }

    def _step(self, losses: Mapping[str, Tensor]) -> None:
        config = self.config
        weights = {"policy": 1.0, "value": config.value_weight, "entropy": -config.entropy_weight}
        loss = torch.stack([weights[name] * loss for name, loss in losses.items()]).sum()
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.agent.parameters(), config.max_gradient)
        self.optimizer.step()


class EpisodeStats:
    """Statistics of rewards and completed episodes."""

    def __init__(self) -> None:
        self._values: dict[str, list[Tensor]] = defaultdict(list)

    def add(self, reward: Array, infos: Mapping[str, Any]) -> None:
        """Add a step."""
        self._values["reward/mean"].append(torch.as_tensor(reward))
        for path, values in infos.get("reward_terms", {}).items():
            self._values[f"reward_terms/{path}"].append(torch.as_tensor(values))
        if "final_info" in infos:
            ended = infos["_final_info"]
            for name in EPISODE:
                values = infos["final_info"]["episode"][name]
                self._values[f"episode/{name}"].append(torch.as_tensor(values[ended]))

    def means(self) -> dict[str, float]:
        """Return means by name, and the number of completed episodes."""
        all_of = {name: torch.cat(values).double() for name, values in self._values.items()}
        means = {name: float(values.mean()) for name, values in all_of.items() if len(values)}
        return means | {"episode/count": float(len(all_of.get("episode/length", ())))}


def estimate_advantages(
    rewards: Tensor,
    values: Tensor,
    next_values: Tensor,
    ended: Tensor,
    gamma: float,
    gae_lambda: float,
) -> Tensor:
    """Return generalized advantage estimates, (T, B) (Schulman et al. 2016, arXiv 1506.02438).

    Args:
        rewards: Rewards of each step, (T, B).
        values: Values of the states before each step, (T, B).
        next_values: Values of the states after each step, (T, B): 0 if the episode terminated, the
            value of its last state if it was truncated.
        ended: 1 where the episode ended, (T, B).
        gamma: Discount factor.
        gae_lambda: Decay of advantages.
    """
    surprises = rewards + gamma * next_values - values
    advantages, later = torch.zeros_like(rewards), torch.zeros_like(rewards[0])
    for step in reversed(range(len(rewards))):
        later = surprises[step] + gamma * gae_lambda * (1.0 - ended[step]) * later
        advantages[step] = later
    return advantages
