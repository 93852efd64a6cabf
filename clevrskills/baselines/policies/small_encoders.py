"""The parts of the small policies: images, prompt and the robot's own state as tokens."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from clevrskills.baselines.batch import Observations, Prompts
from clevrskills.baselines.policies.layers import (
    convolutions,
    mlp,
    spatial_softmax,
    transformer_encoder,
    transformer_layer,
    with_places,
)
from clevrskills.baselines.spec import PolicyConfig

PROMPT_LENGTH = 128
"""Tokens of a prompt that are read; the longest prompts of the benchmark have about 60."""
_LOOK_STD = 0.5  # so that at the start each feature is seen at some places more than at others


@dataclass(frozen=True, kw_only=True)
class SmallEncoderConfig(PolicyConfig):
    """Configuration of the parts."""

    image_size: int = 128
    proprioception: bool = True
    starts_every: int | None = 1
    horizon: int = 16
    width: int = 256  # numbers in a token
    heads: int = 8  # heads of attention
    # channels of the images' features, layer by layer; the first two layers halve width and height
    channels: tuple[int, ...] = (32, 64, 64)
    places: int = 64  # features whose places are looked for in each image
    prompt_layers: int = 2  # layers that read the prompt
    dropout: float = 0.1  # share of features that are dropped in training


TINY: dict[str, Any] = {
    **{"image_size": 32, "width": 64, "heads": 4, "channels": (16, 16, 32), "prompt_layers": 1},
    **{"dropout": 0.0, "learning_rate": 2e-3, "warm_up_steps": 10},
}
"""Sizes of configurations for tests."""


class ImageEncoder(nn.Module):
    """An image as one token: where in it things are, and how clearly they are seen.

    Convolutions whose features are turned up and down by what is looked for (FiLM, Perez et al.
    2018, arXiv 1709.07871), then for each of some features the mean place at which it is seen
    (spatial softmax, Finn et al. 2016, arXiv 1509.06113).
    """

    def __init__(self, config: SmallEncoderConfig) -> None:
        super().__init__()
        self.convolutions, self.norms = convolutions((5, *config.channels))
        self.widths = [2 * channels for channels in config.channels]
        self.steer = nn.Linear(config.width, sum(self.widths))
        self.look = nn.Conv2d(config.channels[-1], config.places, 1)
        nn.init.normal_(self.look.weight, std=_LOOK_STD)
        self.token = nn.Linear(3 * config.places, config.width)

    def forward(self, images: Tensor, aim: Tensor) -> Tensor:
        """Map images (N, 3, S, S) in [0, 1], and what is looked for (N, width), 0 for nothing in
        particular -> tokens (N, width).
        """
        features = with_places(images)
        steered = self.steer(aim)[..., None, None].split(self.widths, 1)
        for convolution, norm, steer in zip(self.convolutions, self.norms, steered, strict=True):
            scale, shift = steer.chunk(2, 1)
            features = functional.gelu(norm(convolution(features)) * (1 + scale) + shift)
        token: Tensor = self.token(spatial_softmax(self.look(features)))
        return token


class PromptEncoder(nn.Module):
    """A prompt as one token: its words and its images, at half the size, read in their order.

    Args:
        config: Sizes.
        vocabulary: How many different words there are.
    """

    def __init__(self, config: SmallEncoderConfig, vocabulary: int) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, config.width)
        self.place = nn.Parameter(torch.randn(PROMPT_LENGTH, config.width) * 0.02)
        self.images = ImageEncoder(config)
        self.layers = transformer_encoder(layer(config), config.prompt_layers)

    def forward(self, prompts: Prompts) -> Tensor:
        """Map prompts, of which :data:`PROMPT_LENGTH` tokens are read -> tokens (B, width)."""
        words, mask, index = prompts.first(PROMPT_LENGTH)
        images = functional.avg_pool2d(prompts.images, 2)  # as they show things from near by
        nothing = self.place.new_zeros(len(images), self.place.shape[1])
        encoded = self.images(images, nothing)  # (M, width)
        of_images = torch.cat([encoded, encoded.new_zeros(1, encoded.shape[-1])])[index]  # -1: none
        tokens = self.words(words) + of_images + self.place[: words.shape[1]]
        read = self.layers(tokens, src_key_padding_mask=~mask) * mask[..., None]
        summed: Tensor = read.sum(1)
        return summed / mask.sum(1, keepdim=True)


class SceneEncoder(nn.Module):
    """All that a policy sees, as tokens: the prompt, the cameras' images, the robot's own state.

    Args:
        config: Sizes.
        vocabulary: How many different words there are.
        state_size: How many numbers of the robot's own state there are.

    Attributes:
        tokens: Number of tokens of a control step, K.
    """

    def __init__(self, config: SmallEncoderConfig, vocabulary: int, state_size: int) -> None:
        super().__init__()
        self.tokens = 1 + len(config.cameras) + (state_size > 0)
        self.prompt = PromptEncoder(config, vocabulary)
        self.images = nn.ModuleDict({name: ImageEncoder(config) for name in config.cameras})
        self.state = mlp(state_size, config.width, config.width) if state_size else None

    def forward(self, observations: Observations, aim: Tensor) -> Tensor:
        """Map observations (B, T, ...) of episodes, and what ``prompt`` made of their prompts (B,
        width) -> tokens of each control step (B T, K, width).
        """
        aim = aim.repeat_interleave(observations.mask.shape[1], 0)
        tokens = [aim]
        for camera, encoder in self.images.items():
            tokens.append(encoder(observations.images[camera].flatten(0, 1), aim))
        if self.state is not None:
            tokens.append(self.state(observations.state).flatten(0, 1))
        return torch.stack(tokens, 1)


def layer(config: SmallEncoderConfig) -> dict[str, Any]:
    """Return the arguments of a transformer's layer."""
    return transformer_layer(config.width, config.heads, 4 * config.width, config.dropout)
