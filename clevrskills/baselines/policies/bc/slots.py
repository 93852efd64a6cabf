"""Slot encoder: a few tokens that read the prompt and look for what it names in the images.

Slots are learned vectors, conditioned on the robot's own state. In each of some rounds they attend
to the tokens of the prompt (its words and images, in their order), then look at each camera's
image: by attention over its features, of which they get what is seen there and *where* that is (the
mean place under the attention, as by the spatial softmax of Finn et al. 2016, arXiv 1509.06113).
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from clevrskills.baselines.batch import Observations, Prompts
from clevrskills.baselines.policies.layers import (
    mlp,
    pixel_places,
    transformer_encoder,
    transformer_layer,
    with_places,
)
from clevrskills.baselines.policies.losses import PLACES
from clevrskills.baselines.policies.small_encoders import PROMPT_LENGTH
from clevrskills.baselines.spec import PolicyConfig
from clevrskills.errors import ClevrSkillsError


@dataclass(frozen=True, kw_only=True)
class SlotEncoderConfig(PolicyConfig):
    """Configuration of the encoder."""

    image_size: int = 96
    proprioception: bool = True
    starts_every: int | None = 1
    horizon: int = 16
    width: int = 128  # numbers in a token
    heads: int = 4  # heads of attention
    channels: int = 32  # channels of the images' features
    layers: int = 3  # layers of these features
    # width and height of a patch; patches of the prompt's images are twice as large
    patch_px: int = 6
    slots: int = 6  # how many slots there are, K
    rounds: int = 2  # how often they read and look
    prompt_layers: int = 1  # layers in which the prompt's tokens attend to each other

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, least in (("slots", PLACES), ("rounds", 1)):
            if (value := getattr(self, name)) < least:
                raise ClevrSkillsError(f"{name} must be at least {least}, not {value}")


@dataclass(frozen=True)
class VisualOutput:
    """Visual features at N control steps."""

    numbers: Tensor  # (N, size)
    places: Tensor  # where the things are that the sub-task names, in metres, (N, 2, 3)
    # for each camera where the slots of these things look last, as logits of the cells of its
    # features, (N, 2, h w)
    looks: list[Tensor]


class VisualFeatures(nn.Module):
    """Features of an image, (N, 3, S, S) -> (N, C, S / patch, S / patch): of its patches, and then
    of what is around them.
    """

    def __init__(self, channels: int, layers: int, patch_px: int) -> None:
        super().__init__()
        self.patches = nn.Conv2d(5, channels, patch_px, patch_px)
        self.layers = nn.ModuleList(
            nn.Conv2d(channels, channels, 3, padding=1) for _ in range(layers)
        )
        self.norms = nn.ModuleList(nn.GroupNorm(8, channels) for _ in range(layers))

    def forward(self, images: Tensor) -> Tensor:
        """Return images in [0, 1]."""
        features: Tensor = functional.relu(self.patches(with_places(images)))
        for layer, norm in zip(self.layers, self.norms, strict=True):
            features = features + functional.relu(norm(layer(features)))
        return features


class PromptReader(nn.Module):
    """A prompt as tokens: its words and its images, which attend to each other."""

    def __init__(self, config: SlotEncoderConfig, vocabulary: int) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, config.width)
        self.place = nn.Parameter(torch.randn(PROMPT_LENGTH, config.width) * 0.02)
        self.features = VisualFeatures(config.channels, config.layers, 2 * config.patch_px)
        self.look = nn.Conv2d(config.channels, _LOOKS, 1)
        self.image = nn.Linear(2 * config.channels + 2 * _LOOKS, config.width)
        layer = transformer_layer(config.width, config.heads, 2 * config.width)
        self.layers = transformer_encoder(layer, config.prompt_layers)

    def forward(self, prompts: Prompts) -> tuple[Tensor, Tensor]:
        """Return tokens (B, L, width), and which of them exist (B, L)."""
        words, mask, index = prompts.first(PROMPT_LENGTH)
        images = self._images(prompts.images)
        of_images = torch.cat([images, images.new_zeros(1, images.shape[-1])])[index]  # -1: none
        tokens = self.words(words) + of_images + self.place[: words.shape[1]]
        return self.layers(tokens, src_key_padding_mask=~mask), mask

    def _images(self, images: Tensor) -> Tensor:
        """Return the object tokens of each image (M, 3, S, S) and their places: (M, width)."""
        features = self.features(images)
        places = _mean_places(self.look(features).flatten(2).float().softmax(-1), features)
        flat = features.flatten(2)
        parts = [flat.mean(-1), flat.amax(-1), places.flatten(1).to(flat.dtype)]
        encoded: Tensor = self.image(torch.cat(parts, -1))
        return encoded


class SlotAttention(nn.Module):
    """Attention of slots (B, K, width) over the features (B, C, h, w) of an image: what is seen,
    where, and how clearly -> (B, K, width); and the logits of the first head, (B, K, h w).
    """

    def __init__(self, config: SlotEncoderConfig) -> None:
        super().__init__()
        self.heads, channels = config.heads, config.channels
        self.query = nn.Linear(config.width, config.heads * channels)
        self.out = nn.Linear(config.heads * (channels + 3), config.width)

    def forward(self, slots: Tensor, features: Tensor) -> tuple[Tensor, Tensor]:
        count, channels = features.shape[:2]
        queries = self.query(slots).reshape(count, -1, channels)  # (B, K heads, C)
        seen = features.flatten(2)
        logits = (queries @ seen / channels**0.5).float()
        weights = logits.softmax(-1)
        clear = (weights * logits).sum(-1, keepdim=True)
        found = [weights.to(seen.dtype) @ seen.mT, _mean_places(weights, features), clear]
        joined = torch.cat([part.to(seen.dtype) for part in found], -1)
        values: Tensor = self.out(joined.reshape(count, -1, self.heads * (channels + 3)))
        return values, logits.unflatten(1, (-1, self.heads))[:, :, 0]


class RefinementStep(nn.Module):
    """Slots read the prompt, look at each image, then attend to each other and think."""

    def __init__(self, config: SlotEncoderConfig) -> None:
        super().__init__()
        width = config.width
        self.read = nn.MultiheadAttention(width, config.heads, batch_first=True)
        self.looks = nn.ModuleDict({camera: SlotAttention(config) for camera in config.cameras})
        self.share = nn.MultiheadAttention(width, config.heads, batch_first=True)
        self.think = mlp(width, 2 * width, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(4))

    def forward(
        self, slots: Tensor, prompt: Tensor, mask: Tensor, features: dict[str, Tensor]
    ) -> tuple[Tensor, list[Tensor]]:
        read, look, share, think = self.norms
        asked = read(slots)
        slots = slots + self.read(asked, prompt, prompt, ~mask, need_weights=False)[0]
        asked = look(slots)
        looks = []
        for camera, eye in self.looks.items():
            values, logits = eye(asked, features[camera])
            slots = slots + values
            looks.append(logits[:, :PLACES])
        asked = share(slots)
        slots = slots + self.share(asked, asked, asked, need_weights=False)[0]
        thought: Tensor = slots + self.think(think(slots))
        return thought, looks


class SlotEncoder(nn.Module):
    """All that a policy sees, as slots.

    Args:
        config: Sizes.
        vocabulary: How many different words there are.
        state_size: How many numbers of the robot's own state there are.

    Attributes:
        size: How many numbers :meth:`forward` gives for each control step.
    """

    def __init__(self, config: SlotEncoderConfig, vocabulary: int, state_size: int) -> None:
        super().__init__()
        width = config.width
        self.prompt = PromptReader(config, vocabulary)
        sizes = config.channels, config.layers, config.patch_px
        self.images = nn.ModuleDict({camera: VisualFeatures(*sizes) for camera in config.cameras})
        self.slots = nn.Parameter(torch.randn(config.slots, width) * 0.5)
        self.state = mlp(max(state_size, 1), width, width)
        self.rounds = nn.ModuleList(RefinementStep(config) for _ in range(config.rounds))
        self.norm = nn.LayerNorm(width)
        self.tell = nn.Linear(width, 3)
        self.size = (config.slots + 1) * width

    def forward(self, observations: Observations, prompt: Tensor, mask: Tensor) -> VisualOutput:
        """Return the visual features at each control step.

        Args:
            observations: Of T control steps of B episodes.
            prompt: What :class:`PromptReader` made of their prompts, (B, L, width).
            mask: Which of its tokens exist, (B, L).
        """
        count = observations.mask.shape[1]
        prompt, mask = prompt.repeat_interleave(count, 0), mask.repeat_interleave(count, 0)
        features = {
            camera: encoder(observations.images[camera].flatten(0, 1))
            for camera, encoder in self.images.items()
        }
        measured = observations.state.flatten(0, 1)
        state = self.state(measured if measured.shape[1] else mask.new_zeros(len(mask), 1).float())
        slots = self.slots + state[:, None]
        for each in self.rounds:
            slots, looks = each(slots, prompt, mask, features)
        slots = self.norm(slots)
        places = self.tell(slots[:, :PLACES])
        return VisualOutput(torch.cat([slots.flatten(1), state], -1), places, looks)


_LOOKS = 16  # features whose places are looked for in the images of prompts


def _mean_places(weights: Tensor, features: Tensor) -> Tensor:
    """Return the mean places, from -1 to 1, under weights (..., h w) of the pixels of features (N,
    C, h, w) of images.
    """
    with torch.autocast(weights.device.type, enabled=False):
        return weights @ pixel_places(features).flatten(1).T.to(weights.dtype)
