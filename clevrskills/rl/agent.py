"""Networks of PPO: the policy and the value function."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from gymnasium.spaces import Dict, Discrete
from gymnasium.vector import VectorEnv
from torch import Tensor, nn
from torch.distributions import Categorical, Independent, Normal

from clevrskills.rl.run import PPOConfig

STATE, IMAGES = "state", "images"
IMAGE_FEATURES = 128
FARTHEST = 10.0
"""Standard deviations at which numbers of a state are cut off."""
LEAST_STD = 0.05
"""Numbers of a state that vary less are not stretched further: objects of the test split are up to
5 cm larger than those of the training split, which differ by millimeters."""

Array = np.ndarray | Tensor
Tensors = dict[str, Tensor]
"""An observation: ``state`` (B, P) float32 and, if it has any, ``images`` (B, C, S, S) uint8."""


@dataclass(frozen=True)
class Spaces:
    """Observation and action spaces of an agent."""

    state: int  # how many numbers its state has
    actions: int  # how many numbers its action has
    channels: int = 0  # how many channels its images have, all cameras together; 0: it sees none
    size_px: int = 0  # width and height of its images
    # in how many places of a board it can move, in each in as many ways; 0: its actions are numbers
    places: int = 0

    @classmethod
    def of(cls, envs: VectorEnv) -> Self:
        """Return the spaces of environments; with moves, ``places`` is an attribute of theirs."""
        space = envs.single_observation_space
        if isinstance(envs.single_action_space, Discrete):
            moves = int(envs.single_action_space.n)
            return cls(space.shape[0], moves, places=envs.places)
        actions = envs.single_action_space.shape[0]
        if not isinstance(space, Dict):
            return cls(space.shape[0], actions)
        images = [entry for name, entry in space.items() if name != STATE]
        return cls(space[STATE].shape[0], actions, 3 * len(images), images[0].shape[0])


def to_tensors(observation: Array | Mapping[str, Array], device: str = "cpu") -> Tensors:
    """Return an observation as tensors, images stacked.

    Args:
        observation: States (B, P), or ``state`` (B, P) and by camera (B, S, S, 3) uint8.
        device: Where the tensors are to be.
    """
    if not isinstance(observation, Mapping):
        return {STATE: torch.as_tensor(observation, dtype=torch.float32).to(device)}
    images = [torch.as_tensor(observation[k]) for k in sorted(observation) if k != STATE]
    tensors = to_tensors(observation[STATE], device)
    if images:
        tensors[IMAGES] = torch.cat(images, dim=-1).permute(0, 3, 1, 2).to(device)
    return tensors


class RunningScale(nn.Module):
    """Mean and variance of all that was seen, (P,), to bring numbers to a common scale.

    Args:
        size: How many numbers, P.
        least_std: Numbers that vary less are not stretched further.

    Source: Chan, Golub, LeVeque (1983), for adding batches.
    """

    mean: Tensor
    variance: Tensor
    count: Tensor

    def __init__(self, size: int, least_std: float = 1e-3) -> None:
        super().__init__()
        self.least_std = least_std
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("variance", torch.ones(size))
        self.register_buffer("count", torch.zeros((), dtype=torch.float64))

    def add(self, values: Tensor) -> None:
        """Take note of values (N, P)."""
        values = values.double()
        n = len(values)
        mean, variance = values.mean(0), values.var(0, unbiased=False)
        old = float(self.count)
        share = n / (old + n)
        ahead = mean - self.mean.double()
        spread = (1 - share) * self.variance.double() + share * variance
        self.variance.copy_(spread + share * (1 - share) * ahead**2 if old else variance)
        self.mean.add_((share * ahead).float())
        self.count += n

    @property
    def std(self) -> Tensor:
        """Scale of the numbers, (P,): their standard deviation, or the least that counts."""
        return self.variance.sqrt().clamp(min=self.least_std)

    def forward(self, values: Tensor) -> Tensor:
        """Return values (..., P) in standard deviations from the mean."""
        return (values - self.mean) / self.std

    def undo(self, values: Tensor) -> Tensor:
        """Return values from what :meth:`forward` made of them."""
        return values * self.std + self.mean


class Agent(nn.Module):
    """A Gaussian over actions and the value of what is seen.

    The two share nothing but the image encoder. Actions are meant to be cut to [-1, 1].

    Args:
        spaces: What it sees and does.
        config: Sizes of its layers.
    """

    def __init__(self, spaces: Spaces, config: PPOConfig) -> None:
        super().__init__()
        self.spaces = spaces
        self.states = RunningScale(spaces.state, LEAST_STD)
        self.returns = RunningScale(1)
        self.image_encoder = (
            _image_encoder(spaces.channels, spaces.size_px) if spaces.channels else None
        )
        inputs = spaces.state + (IMAGE_FEATURES if self.image_encoder is not None else 0)
        self.policy = _layers(inputs, config.hidden, spaces.actions, last_gain=0.01)
        *_, last_bias = self.policy.parameters()
        nn.init.constant_(last_bias[-1:], config.vacuum_mean)
        self.critic = _layers(inputs, config.hidden, 1, last_gain=1.0)
        start = [config.initial_std] * (spaces.actions - 1) + [config.vacuum_std]
        self.log_std = nn.Parameter(torch.tensor(start).log())

    def forward(self, observation: Tensors) -> tuple[Independent, Tensor]:
        """Return distribution of actions (B, A), and values (B,) on the scale of ``returns``."""
        features = self._features(observation)
        mean = self.policy(features)
        actions = Independent(Normal(mean, self.log_std.exp().expand_as(mean)), 1)
        return actions, self.critic(features).squeeze(-1)

    def value(self, observation: Tensors) -> Tensor:
        """Return the expected return, (B,)."""
        return self.returns.undo(self.critic(self._features(observation))).squeeze(-1)

    def sample(self, chosen: Independent, generator: torch.Generator) -> Tensor:
        """Return actions (B, A) drawn from their distribution."""
        noise = torch.randn(chosen.mean.shape, generator=generator).to(chosen.mean.device)
        return chosen.mean + chosen.stddev * noise

    def bounded(self, actions: Tensor) -> Tensor:
        """Return actions as environments take them."""
        return actions.clamp(-1.0, 1.0)

    def act(self, observation: Tensors) -> Tensor:
        """Return the mean action (B, A), cut to [-1, 1]."""
        action: Tensor = self.policy(self._features(observation)).clamp(-1.0, 1.0)
        return action

    def _features(self, observation: Tensors) -> Tensor:
        state: Tensor = self.states(observation[STATE]).clamp(-FARTHEST, FARTHEST)
        if self.image_encoder is None:
            return state
        images = observation[IMAGES].float() / 255.0 - 0.5
        return torch.cat((state, self.image_encoder(images)), dim=-1)


class MovesAgent(nn.Module):
    """Probabilities of moves on a board and the value of what is seen.

    A move is a number, place by place. The state is what is to be said of each place, and then for
    each move whether it can be made: one that can't is never chosen. What is said of a place counts
    for its moves in the same way everywhere, to which a network that sees the whole board adds.

    Args:
        spaces: What it sees and does; ``places`` is not 0.
        config: Sizes of its layers.
    """

    image_encoder = None

    def __init__(self, spaces: Spaces, config: PPOConfig) -> None:
        super().__init__()
        self.spaces = spaces
        self.returns = RunningScale(1)
        inputs = spaces.state - spaces.actions
        self.here = nn.Linear(inputs // spaces.places, spaces.actions // spaces.places)
        nn.init.zeros_(self.here.weight)
        nn.init.zeros_(self.here.bias)
        self.policy = _layers(inputs, config.hidden, spaces.actions, last_gain=0.01)
        self.critic = _layers(inputs, config.hidden, 1, last_gain=1.0)

    def forward(self, observation: Tensors) -> tuple[Categorical, Tensor]:
        """Return the distribution of moves, and values (B,) on the scale of ``returns``."""
        features, possible = self._parts(observation)
        here = self.here(features.unflatten(-1, (self.spaces.places, -1))).flatten(-2)
        scores = (self.policy(features) + here).masked_fill(possible == 0, -1e9)
        return Categorical(logits=scores), self.critic(features).squeeze(-1)

    def value(self, observation: Tensors) -> Tensor:
        """Return the expected return, (B,)."""
        return self.returns.undo(self.critic(self._parts(observation)[0])).squeeze(-1)

    def sample(self, chosen: Categorical, generator: torch.Generator) -> Tensor:
        """Return moves (B,) drawn from their distribution."""
        return torch.multinomial(chosen.probs, 1, generator=generator).squeeze(-1)

    def bounded(self, actions: Tensor) -> Tensor:
        """Return moves as environments take them."""
        return actions

    def act(self, observation: Tensors) -> Tensor:
        """Return the likeliest move, (B,)."""
        return self(observation)[0].probs.argmax(-1)

    def _parts(self, observation: Tensors) -> tuple[Tensor, Tensor]:
        state, moves = observation[STATE], self.spaces.actions
        return state[..., :-moves], state[..., -moves:]


def make_agent(spaces: Spaces, config: PPOConfig) -> Agent | MovesAgent:
    """Return the networks for these observations and actions."""
    return MovesAgent(spaces, config) if spaces.places else Agent(spaces, config)


def _linear(layer: Any, gain: float) -> Any:
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer


def _layers(inputs: int, hidden: tuple[int, ...], outputs: int, last_gain: float) -> nn.Sequential:
    layers: list[nn.Module] = []
    for units in hidden:
        layers += [_linear(nn.Linear(inputs, units), math.sqrt(2)), nn.Tanh()]
        inputs = units
    return nn.Sequential(*layers, _linear(nn.Linear(inputs, outputs), last_gain))


def _image_encoder(channels: int, size_px: int) -> nn.Sequential:
    """Return three convolutions, as in Mnih et al. (2015)."""
    convolutions: list[nn.Module] = []
    for outputs, kernel, stride in ((32, 8, 4), (64, 4, 2), (64, 3, 1)):
        layer = _linear(nn.Conv2d(channels, outputs, kernel, stride), math.sqrt(2))
        convolutions += [layer, nn.ReLU()]
        channels, size_px = outputs, (size_px - kernel) // stride + 1
    flat = nn.Linear(channels * size_px**2, IMAGE_FEATURES)
    return nn.Sequential(*convolutions, nn.Flatten(), _linear(flat, math.sqrt(2)), nn.ReLU())
