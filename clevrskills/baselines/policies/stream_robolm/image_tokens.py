"""Images that the tokens of StreamRoboLM see: of prompts, and of all cameras at control steps."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from clevrskills.baselines.batch import Observations, Prompts
from clevrskills.baselines.policies.flamingo import GatedCrossAttention
from clevrskills.baselines.policies.stream_robolm.backbones import ImageEncoder


@dataclass(frozen=True)
class PromptImages:
    """What the tokens of prompts see.

    Attributes:
        features: Of all images of each prompt, (B, K, width).
        mask: Which of them a token sees, (B, P, K): those of the image that it stands for, or of
            the latest image before it, if there is one.
    """

    features: Tensor
    mask: Tensor

    def look(self, block: GatedCrossAttention, tokens: Tensor) -> Tensor:
        """Tokens of prompts (B, P, width) with what they see."""
        return block(tokens, self.features, self.mask)


@dataclass(frozen=True)
class StepImages:
    """What the tokens of control steps see: each its own images.

    Attributes:
        features: Of the n control steps that exist, (n, K, width).
        places: Where those are: rows and columns, (n,) each.
    """

    features: Tensor
    places: tuple[Tensor, ...]

    def look(self, block: GatedCrossAttention, tokens: Tensor) -> Tensor:
        """Tokens of control steps (B, T, width) with what they see."""
        seen = block(tokens[self.places][:, None], self.features)[:, 0]
        return tokens.index_put(self.places, seen.to(tokens.dtype))


@dataclass(frozen=True)
class StreamImages:
    """What the tokens of prompts, and those of control steps after them, see."""

    prompt: PromptImages
    steps: StepImages

    def look(self, block: GatedCrossAttention, tokens: Tensor) -> Tensor:
        """Tokens (B, P + T, width) with what they see."""
        length = self.prompt.mask.shape[1]
        prompt = self.prompt.look(block, tokens[:, :length])
        return torch.cat([prompt, self.steps.look(block, tokens[:, length:])], 1)


class Sight(nn.Module):
    """Encodes the images, and marks where they come from: a prompt, or which camera.

    Args:
        images: Encodes an image.
        cameras: The cameras.

    Attributes:
        width: Numbers in a feature.
    """

    def __init__(self, images: ImageEncoder, cameras: tuple[str, ...]) -> None:
        super().__init__()
        self.images = images
        self.width = images.width
        self._cameras = cameras
        self.kinds = nn.Parameter(torch.randn(len(cameras) + 1, images.width) * 0.02)

    def prompt(self, prompts: Prompts) -> PromptImages:
        """What the tokens of prompts see, the one included that stands before each of them."""
        index = functional.pad(prompts.image_index, (1, 0), value=-1)  # (B, P)
        latest = (index >= 0).cumsum(1)  # from 1 on; 0: none yet
        most = max(1, int(latest.max()))
        seen = self.images(prompts.images) + self.kinds[0]  # (M, K, width)
        features = seen.new_zeros(len(index), most, *seen.shape[1:])
        rows, columns = (index >= 0).nonzero(as_tuple=True)
        places = rows, latest[rows, columns] - 1
        features = features.index_put(places, seen[index[rows, columns]])
        mask = latest[..., None] == torch.arange(1, most + 1, device=index.device)
        return PromptImages(features.flatten(1, 2), mask.repeat_interleave(seen.shape[1], 2))

    def steps(self, observations: Observations) -> StepImages:
        """What the tokens of control steps see; those that do not exist see nothing."""
        places = observations.mask.nonzero(as_tuple=True)
        features = [
            self.images(observations.images[camera][places]) + kind
            for camera, kind in zip(self._cameras, self.kinds[1:], strict=True)
        ]
        return StepImages(torch.cat(features, 1), places)
