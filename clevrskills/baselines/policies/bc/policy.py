"""Behavior cloning: a small policy that predicts the next actions from the current observation.

It has no memory: equal observations and prompts give equal actions. It predicts a chunk of H
actions and executes the first few before the next prediction, since the first action after a rest
hardly depends on the goal.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from clevrskills.baselines.batch import Batch, Observations, Prompts
from clevrskills.baselines.policies.layers import (
    convolutions,
    mlp,
    spatial_softmax,
    transformer_encoder,
    transformer_layer,
    with_places,
)
from clevrskills.baselines.policies.losses import action_losses, decide_vacuum
from clevrskills.baselines.policy import LearnedPolicy
from clevrskills.baselines.prompts import WordTokenizer
from clevrskills.baselines.spec import PolicyConfig, PolicySpec
from clevrskills.errors import ClevrSkillsError

PROMPT_LENGTH = 128
"""Maximum number of tokens of a prompt; the longest of the benchmark have about 60."""
_LOOK_STD = 0.5  # so that initial attention maps are not uniform


@dataclass(frozen=True, kw_only=True)
class BehaviorCloningConfig(PolicyConfig):
    """Configuration of :class:`BehaviorCloning`."""

    image_size: int = 128
    proprioception: bool = True
    starts_every: int | None = 1
    horizon: int = 16
    learning_rate: float = 1e-3
    width: int = 256  # width of a token
    heads: int = 8  # attention heads
    # channels of the convolutional layers; the first two have stride 2
    channels: tuple[int, ...] = (32, 64, 64)
    places: int = 64  # keypoints of each image
    prompt_layers: int = 2  # transformer layers of the prompt
    dropout: float = 0.1
    hidden: int = 512  # units of each of the two hidden layers
    execution_horizon: int = 4  # actions of a chunk that are executed before the next prediction
    vacuum_weight: float = 0.1  # weight of the cross-entropy of the vacuum

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.execution_horizon <= self.horizon:
            raise ClevrSkillsError(
                f"execution_horizon must be 1 to horizon, {self.horizon}, "
                f"not {self.execution_horizon}"
            )


class ImageEncoder(nn.Module):
    """Encoder of an image as one token: positions and activations of keypoints.

    Convolutions are conditioned on the prompt (FiLM, Perez et al. 2018, arXiv 1709.07871); spatial
    softmax (Finn et al. 2016, arXiv 1509.06113) gives the mean position of each keypoint.
    """

    def __init__(self, config: BehaviorCloningConfig) -> None:
        super().__init__()
        self.convolutions, self.norms = convolutions((5, *config.channels))
        self.widths = [2 * channels for channels in config.channels]
        self.steer = nn.Linear(config.width, sum(self.widths))
        self.look = nn.Conv2d(config.channels[-1], config.places, 1)
        nn.init.normal_(self.look.weight, std=_LOOK_STD)
        self.token = nn.Linear(3 * config.places, config.width)

    def forward(self, images: Tensor, aim: Tensor) -> Tensor:
        """Map images (N, 3, S, S) in [0, 1] and conditions (N, width), 0 for none -> tokens
        (N, width).
        """
        features = with_places(images)
        steered = self.steer(aim)[..., None, None].split(self.widths, 1)
        for convolution, norm, steer in zip(self.convolutions, self.norms, steered, strict=True):
            scale, shift = steer.chunk(2, 1)
            features = functional.gelu(norm(convolution(features)) * (1 + scale) + shift)
        token: Tensor = self.token(spatial_softmax(self.look(features)))
        return token


class PromptEncoder(nn.Module):
    """Encoder of a prompt as one token, from its words and its images at half the resolution.

    Args:
        config: Configuration.
        vocabulary: Size of the vocabulary.
    """

    def __init__(self, config: BehaviorCloningConfig, vocabulary: int) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, config.width)
        self.place = nn.Parameter(torch.randn(PROMPT_LENGTH, config.width) * 0.02)
        self.images = ImageEncoder(config)
        layer = transformer_layer(config.width, config.heads, 4 * config.width, config.dropout)
        self.layers = transformer_encoder(layer, config.prompt_layers)

    def forward(self, prompts: Prompts) -> Tensor:
        """Map prompts, truncated to :data:`PROMPT_LENGTH` tokens -> tokens (B, width)."""
        words, mask, index = prompts.first(PROMPT_LENGTH)
        images = functional.avg_pool2d(prompts.images, 2)  # they are close-ups
        nothing = self.place.new_zeros(len(images), self.place.shape[1])
        encoded = self.images(images, nothing)  # (M, width)
        of_images = torch.cat([encoded, encoded.new_zeros(1, encoded.shape[-1])])[index]  # -1: none
        tokens = self.words(words) + of_images + self.place[: words.shape[1]]
        read = self.layers(tokens, src_key_padding_mask=~mask) * mask[..., None]
        summed: Tensor = read.sum(1)
        return summed / mask.sum(1, keepdim=True)


class SceneEncoder(nn.Module):
    """Encoder of prompt, camera images and proprioception as tokens.

    Args:
        config: Configuration.
        vocabulary: Size of the vocabulary.
        state_size: Length of the proprioception, 0: none.

    Attributes:
        tokens: Number of tokens of a control step, K.
    """

    def __init__(self, config: BehaviorCloningConfig, vocabulary: int, state_size: int) -> None:
        super().__init__()
        self.tokens = 1 + len(config.cameras) + (state_size > 0)
        self.prompt = PromptEncoder(config, vocabulary)
        self.images = nn.ModuleDict({name: ImageEncoder(config) for name in config.cameras})
        self.state = mlp(state_size, config.width, config.width) if state_size else None

    def forward(self, observations: Observations, aim: Tensor) -> Tensor:
        """Map observations (B, T, ...) and embeddings of prompts (B, width) -> tokens of each
        control step (B T, K, width).
        """
        aim = aim.repeat_interleave(observations.mask.shape[1], 0)
        tokens = [aim]
        for camera, encoder in self.images.items():
            tokens.append(encoder(observations.images[camera].flatten(0, 1), aim))
        if self.state is not None:
            tokens.append(self.state(observations.state).flatten(0, 1))
        return torch.stack(tokens, 1)


class BehaviorCloning(LearnedPolicy[BehaviorCloningConfig]):
    """Encoder of images, prompt and proprioception with two hidden layers; mean squared error of
    the motion and cross-entropy of the vacuum.
    """

    config_type = BehaviorCloningConfig
    configurations: ClassVar = {
        "default": BehaviorCloningConfig(),
        "compact": BehaviorCloningConfig(
            image_size=96, width=128, heads=4, channels=(16, 32, 32), places=32, prompt_layers=1
        ),
        "tiny": BehaviorCloningConfig(
            image_size=32,
            width=64,
            heads=4,
            channels=(16, 16, 32),
            prompt_layers=1,
            dropout=0.0,
            hidden=128,
            learning_rate=2e-3,
            warm_up_steps=10,
        ),
    }
    tokenizer = WordTokenizer()

    def __init__(self, config: BehaviorCloningConfig, spec: PolicySpec) -> None:
        super().__init__(config, spec)
        self.scene = SceneEncoder(config, self.tokenizer.size, self.state_size)
        self.head = nn.Sequential(
            nn.Linear(self.scene.tokens * config.width, config.hidden),
            nn.GELU(),
            nn.LayerNorm(config.hidden),
            nn.Linear(config.hidden, config.hidden),
            nn.GELU(),
            nn.Linear(config.hidden, config.horizon * 7),
        )

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        predicted = self._predict(batch.observations, self.scene.prompt(batch.prompts))
        motion, vacuum = action_losses(predicted, batch, self.normalize_action)
        total = motion + self.config.vacuum_weight * vacuum
        return {"loss": total, "motion": motion, "vacuum": vacuum}

    def begin(self, prompts: Prompts, seeds: Sequence[int]) -> list[Any]:
        return [*self.scene.prompt(prompts)]

    def step(self, observations: Observations, memories: list[Any]) -> tuple[Tensor, list[Any]]:
        predicted = self._predict(observations, torch.stack(memories))
        actions = predicted[:, -1, : self.config.execution_horizon].float()
        return decide_vacuum(actions, self.normalize_action), memories

    def _predict(self, observations: Observations, prompt: Tensor) -> Tensor:
        """Return the next actions at each step (B, T, H, 7), with the logit of the vacuum as last
        entry, from embeddings (B, width) of prompts.
        """
        predicted: Tensor = self.head(self.scene(observations, prompt).flatten(1))
        return predicted.reshape(*observations.mask.shape, -1, 7)
