"""The parts of the small policies: pictures, prompt and the robot's own state as tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from clevrskills.baselines.batch import Observations, Prompts
from clevrskills.baselines.spec import PolicyConfig

PROMPT_LENGTH = 128
"""Tokens of a prompt that are read; the longest prompts of the benchmark have about 60."""
_PATCH = 16  # pixels to a token, in height and width


@dataclass(frozen=True, kw_only=True)
class SmallConfig(PolicyConfig):
    """Configuration of the parts.

    Attributes:
        width: Numbers in a token.
        heads: Heads of attention.
        channels: Channels of the pictures' features at a half, a quarter and an eighth of their
            size.
        prompt_layers: Layers that read the prompt.
        layers: Layers that decide on the actions.
        dropout: Share of features that are dropped in training.
    """

    image_size: int = 128
    proprioception: bool = True
    width: int = 256
    heads: int = 8
    channels: tuple[int, ...] = (32, 64, 128)
    prompt_layers: int = 2
    layers: int = 4
    dropout: float = 0.1


class ImageEncoder(nn.Module):
    """Pictures as tokens, one for each 16 x 16 pixels: convolutions without strides between them
    that would blur where things are.

    Args:
        config: Sizes.
    """

    def __init__(self, config: SmallConfig) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        before = 3
        for channels in (*config.channels, config.width):
            layers += [
                nn.Conv2d(before, channels, 3, stride=2, padding=1),
                nn.GroupNorm(8, channels),
                nn.GELU(),
            ]
            before = channels
        self.features = nn.Sequential(*layers)
        side = -(-config.image_size // _PATCH)
        self.place = nn.Parameter(torch.randn(config.width, side, side) * 0.02)

    def forward(self, images: Tensor) -> Tensor:
        """Pictures (N, 3, S, S) in [0, 1] -> tokens (N, (S / 16)², width)."""
        features: Tensor = self.features(images * 2 - 1)
        return (features + self.place).flatten(2).transpose(1, 2)


class PromptEncoder(nn.Module):
    """Prompts as tokens: words are looked up, pictures are seen as a whole.

    Args:
        config: Sizes.
        vocabulary: How many different words there are.
    """

    def __init__(self, config: SmallConfig, vocabulary: int) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, config.width)
        self.place = nn.Parameter(torch.randn(PROMPT_LENGTH, config.width) * 0.02)
        self.look = nn.Linear(config.width, config.width)
        self.layers = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(**layer(config)),
            config.prompt_layers,
            enable_nested_tensor=False,
        )

    def forward(self, prompts: Prompts, pictures: Tensor) -> Tensor:
        """Prompts, and the tokens of their pictures (M, K, width) -> tokens (B, L, width)."""
        seen = self.look(pictures.mean(1))  # (M, width)
        nothing = seen.new_zeros(1, seen.shape[-1])
        shown = torch.cat([seen, nothing])[prompts.image_index]  # index -1: nothing
        tokens = self.words(prompts.tokens) + shown
        tokens = tokens + self.place[: tokens.shape[1]]
        read: Tensor = self.layers(tokens, src_key_padding_mask=~prompts.mask)
        return read


class SceneEncoder(nn.Module):
    """All that a policy sees, as tokens: the prompt, the cameras' pictures, the robot's own state.

    Args:
        config: Sizes.
        vocabulary: How many different words there are.
        state_size: How many numbers of the robot's own state there are.
    """

    def __init__(self, config: SmallConfig, vocabulary: int, state_size: int) -> None:
        super().__init__()
        self.cameras = config.cameras
        self.images = ImageEncoder(config)
        self.prompt = PromptEncoder(config, vocabulary)
        self.state = None
        if state_size:
            self.state = nn.Sequential(
                nn.Linear(state_size, config.width),
                nn.GELU(),
                nn.Linear(config.width, config.width),
            )
        self.kinds = nn.Parameter(torch.randn(len(self.cameras) + 2, config.width) * 0.02)

    def read(self, prompts: Prompts) -> tuple[Tensor, Tensor]:
        """Prompts -> their tokens (B, L, width), and which of them exist (B, L)."""
        prompts = _shortened(prompts)
        tokens = self.prompt(prompts, self.images(prompts.images))
        return tokens + self.kinds[0], prompts.mask

    def forward(
        self, observations: Observations, prompt: Tensor, prompt_mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Observations (B, T, ...) of episodes with prompts that were read -> tokens of each
        control step (B T, K, width), and which of them exist (B T, K).
        """
        steps = observations.mask.shape[1]
        parts = [
            self.images(observations.images[camera].flatten(0, 1)) + kind
            for camera, kind in zip(self.cameras, self.kinds[2:], strict=True)
        ]
        if self.state is not None:
            parts.append((self.state(observations.state) + self.kinds[1]).flatten(0, 1)[:, None])
        parts.append(prompt.repeat_interleave(steps, 0))
        mask = prompt_mask.repeat_interleave(steps, 0)
        tokens = torch.cat(parts, 1)
        there = mask.new_ones(len(tokens), tokens.shape[1] - mask.shape[1])
        return tokens, torch.cat([there, mask], 1)


class Decoder(nn.Module):
    """Reads answers off tokens: queries that look at each other and at the tokens, layer by layer.

    Args:
        config: Sizes.
        queries: Number of the queries.
    """

    def __init__(self, config: SmallConfig, queries: int) -> None:
        super().__init__()
        self.queries = nn.Parameter(torch.randn(queries, config.width) * 0.02)
        norm = nn.LayerNorm(config.width)
        self.layers = nn.TransformerDecoder(
            nn.TransformerDecoderLayer(**layer(config)), config.layers, norm
        )

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Tokens (N, K, width), of which a mask (N, K) says that they exist -> answers
        (N, queries, width).
        """
        queries = self.queries.expand(len(tokens), -1, -1)
        answers: Tensor = self.layers(queries, tokens, memory_key_padding_mask=~mask)
        return answers


def layer(config: SmallConfig) -> dict[str, Any]:
    """Arguments of a transformer's layer."""
    return {
        "d_model": config.width,
        "nhead": config.heads,
        "dim_feedforward": 4 * config.width,
        "dropout": config.dropout,
        "activation": "gelu",
        "batch_first": True,
        "norm_first": True,
    }


def _shortened(prompts: Prompts) -> Prompts:
    """Prompts of at most :data:`PROMPT_LENGTH` tokens; their last pictures may go unseen."""
    cut = slice(None), slice(PROMPT_LENGTH)
    return Prompts(prompts.tokens[cut], prompts.mask[cut], prompts.images, prompts.image_index[cut])
