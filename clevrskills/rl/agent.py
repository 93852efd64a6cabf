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
"""Clipping range of normalized states in standard deviations."""
LEAST_STD = 0.05
"""Lower bound of the standard deviation of states: objects of the test split are up to 5 cm larger
than those of the training split, which differ by millimeters."""

Array = np.ndarray | Tensor
Tensors = dict[str, Tensor]
"""Observation: ``state`` (B, P) float32 and optionally ``images`` (B, C, S, S) uint8."""


@dataclass(frozen=True)
class Spaces:
    """Observation and action spaces of an agent."""

    state: int  # size of the state
    actions: int  # size of the action, or number of moves
    channels: int = 0  # image channels of all cameras; 0: no images
    size_px: int = 0  # image width and height
    places: int = 0  # cells of a board with the same number of moves each; 0: continuous actions

    @classmethod
    def of(cls, envs: VectorEnv) -> Self:
        """Return the spaces of environments; those of boards have an attribute ``places``."""
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
    """Return an observation as tensors with stacked images.

    Args:
        observation: States (B, P), or ``state`` (B, P) and images (B, S, S, 3) uint8 by camera.
        device: Device of the tensors.
    """
    if not isinstance(observation, Mapping):
        return {STATE: torch.as_tensor(observation, dtype=torch.float32).to(device)}
    images = [torch.as_tensor(observation[k]) for k in sorted(observation) if k != STATE]
    tensors = to_tensors(observation[STATE], device)
    if images:
        tensors[IMAGES] = torch.cat(images, dim=-1).permute(0, 3, 1, 2).to(device)
    return tensors


class RunningScale(nn.Module):
    """Normalization by the running mean and variance (P,).

    Args:
        size: Number of entries, P.
        least_std: Lower bound of the standard deviation.

    Source: Chan, Golub, LeVeque (1983), for batch updates.
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
        """Update with values (N, P)."""
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
        """Bounded standard deviation, (P,)."""
        return self.variance.sqrt().clamp(min=self.least_std)

    def forward(self, values: Tensor) -> Tensor:
        """Return normalized values (..., P)."""
        return (values - self.mean) / self.std

    def undo(self, values: Tensor) -> Tensor:
        """Return values (..., P) before normalization."""
        return values * self.std + self.mean


class Agent(nn.Module):
    """Gaussian policy and value function, which share only the image encoder.

    Args:
        spaces: Observation and action spaces.
        config: Hyperparameters.
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
        """Return the distribution of actions (B, A), and normalized values (B,)."""
        features = self._features(observation)
        mean = self.policy(features)
        actions = Independent(Normal(mean, self.log_std.exp().expand_as(mean)), 1)
        return actions, self.critic(features).squeeze(-1)

    def value(self, observation: Tensors) -> Tensor:
        """Return the expected return, (B,)."""
        return self.returns.undo(self.critic(self._features(observation))).squeeze(-1)

    def sample(self, chosen: Independent, generator: torch.Generator) -> Tensor:
        """Return sampled actions (B, A)."""
        noise = torch.randn(chosen.mean.shape, generator=generator).to(chosen.mean.device)
        return chosen.mean + chosen.stddev * noise

    def bounded(self, actions: Tensor) -> Tensor:
        """Return actions clipped to the action space."""
        return actions.clamp(-1.0, 1.0)

    def act(self, observation: Tensors) -> Tensor:
        """Return the mean action (B, A), clipped to [-1, 1]."""
        action: Tensor = self.policy(self._features(observation)).clamp(-1.0, 1.0)
        return action

    def _features(self, observation: Tensors) -> Tensor:
        state: Tensor = self.states(observation[STATE]).clamp(-FARTHEST, FARTHEST)
        if self.image_encoder is None:
            return state
        images = observation[IMAGES].float() / 255.0 - 0.5
        return torch.cat((state, self.image_encoder(images)), dim=-1)


class MovesAgent(nn.Module):
    """Policy and value function for moves on a board.

    Moves are numbered cell by cell. The state contains features of each cell and a mask of legal
    moves. The logits are the sum of a linear layer shared by all cells and a network on the whole
    board.

    Args:
        spaces: Observation and action spaces; ``places`` is not 0.
        config: Hyperparameters.
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
        """Return the distribution of moves, and normalized values (B,)."""
        features, possible = self._parts(observation)
        here = self.here(features.unflatten(-1, (self.spaces.places, -1))).flatten(-2)
        scores = (self.policy(features) + here).masked_fill(possible == 0, -1e9)
        return Categorical(logits=scores), self.critic(features).squeeze(-1)

    def value(self, observation: Tensors) -> Tensor:
        """Return the expected return, (B,)."""
        return self.returns.undo(self.critic(self._parts(observation)[0])).squeeze(-1)

    def sample(self, chosen: Categorical, generator: torch.Generator) -> Tensor:
        """Return sampled moves (B,)."""
        return torch.multinomial(chosen.probs, 1, generator=generator).squeeze(-1)

    def bounded(self, actions: Tensor) -> Tensor:
        """Return the moves unchanged."""
        return actions

    def act(self, observation: Tensors) -> Tensor:
        """Return the most likely move, (B,)."""
        return self(observation)[0].probs.argmax(-1)

    def _parts(self, observation: Tensors) -> tuple[Tensor, Tensor]:
        state, moves = observation[STATE], self.spaces.actions
        return state[..., :-moves], state[..., -moves:]


def make_agent(spaces: Spaces, config: PPOConfig) -> Agent | MovesAgent:
    """Return the networks for some spaces."""
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
