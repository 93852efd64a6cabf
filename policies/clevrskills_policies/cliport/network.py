"""Network of the pick-and-place policy: a visual stream and a language-conditioned one."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi

import torch
from torch import Tensor, nn
from torch.nn import functional

from clevrskills.baselines.policies.layers import mlp, pixel_places
from clevrskills_policies.cliport.config import TURNS, CliportConfig

STEP_RAD = 2 * pi / TURNS
"""Angle between two rotations of the interface, in rad."""
STRIDE = 4
"""Width and height of a cell of the features, in pixels of the map."""


class Words(nn.Module):
    """Encoder of instructions: a bidirectional GRU and attention pooling into two features, of the
    pick and of the place.

    Args:
        vocabulary: Size of the vocabulary.
        width: Width of a feature.
    """

    def __init__(self, vocabulary: int, width: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width, padding_idx=0)
        self.recurrent = nn.GRU(width, width // 2, batch_first=True, bidirectional=True)
        self.looks = nn.Linear(width, 2)
        self.mix = nn.Linear(2 * width, width)

    def forward(self, words: Tensor) -> tuple[Tensor, Tensor]:
        """Map words (B, L) -> features of the pick and of the place, (B, width) each."""
        embedded = self.embedding(words)
        language = torch.cat((self.recurrent(embedded)[0], embedded), dim=-1)
        language = functional.relu(self.mix(language))
        scores = self.looks(language).masked_fill((words == 0)[..., None], -1e4)
        looks = torch.einsum("blk,blw->bkw", scores.softmax(1), language)
        return looks[:, 0], looks[:, 1]


class ResidualBlock(nn.Module):
    """Residual convolution block, with features scaled and shifted by a language feature.

    Args:
        width: Number of channels.
        words: Width of the language feature; 0: none.
    """

    def __init__(self, width: int, words: int = 0) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(4, width)
        self.convolution = nn.Conv2d(width, width, 3, padding=1)
        self.scale = nn.Linear(words, 2 * width) if words else None

    def forward(self, x: Tensor, words: Tensor | None = None) -> Tensor:
        """Map features (B, C, h, w) and language (B, W) -> features (B, C, h, w)."""
        y = self.norm(x)
        if self.scale is not None and words is not None:
            y = _scaled(y, self.scale(words))
        return x + self.convolution(functional.relu(y))


def _scaled(x: Tensor, by: Tensor) -> Tensor:
    """Return features (B, C, h, w) scaled and shifted by factors and offsets (B, 2 C)."""
    scale, shift = by[..., None, None].chunk(2, dim=1)
    return x * (1 + scale) + shift


class VisualStream(nn.Module):
    """Visual stream: features at 1/4, 1/8 and 1/16 of the image size.

    Args:
        width: Base number of channels.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(4 + 2, 3 * width, STRIDE, stride=STRIDE)
        self.fine = ResidualBlock(3 * width)
        self.second = nn.Conv2d(3 * width, 4 * width, 2, stride=2)
        self.middle = ResidualBlock(4 * width)
        self.third = nn.Conv2d(4 * width, 4 * width, 2, stride=2)
        self.coarse = ResidualBlock(4 * width)

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Map images (B, 4, H, W) -> features (B, 3 width, H / 4, W / 4),
        (B, 4 width, H / 8, W / 8) and (B, 4 width, H / 16, W / 16).
        """
        x = torch.cat((images, _places(images)), dim=1)
        x = x.contiguous(memory_format=torch.channels_last)
        fine = self.fine(functional.relu(self.first(x)))
        middle = self.middle(self.second(functional.relu(fine)))
        coarse = self.coarse(self.third(functional.relu(middle)))
        return functional.relu(fine), functional.relu(middle), coarse


class LanguageStream(nn.Module):
    """Language stream: visual features conditioned on language, at 1/8 of the image size.

    Args:
        width: Base number of channels.
        words: Width of the language feature.
    """

    def __init__(self, width: int, words: int) -> None:
        super().__init__()
        channels = 4 * width
        self.enter = nn.Conv2d(channels + 2, channels, 1)
        self.coarse = nn.ModuleList([ResidualBlock(channels, words) for _ in range(3)])
        self.up, self.middle, self.last = (nn.Conv2d(channels, channels, 1) for _ in range(3))
        self.scale = nn.Linear(words, 2 * channels)

    def forward(self, middle: Tensor, coarse: Tensor, words: Tensor) -> Tensor:
        """Map visual features and language (B, W) -> features (B, 4 width, H / 8, W / 8)."""
        x = self.enter(torch.cat((coarse, _places(coarse)), dim=1))
        for block in self.coarse:
            x = block(x, words)
        risen = functional.interpolate(
            self.up(x), scale_factor=2, mode="bilinear", align_corners=False
        )
        x = functional.relu(_scaled(self.middle(middle), self.scale(words)) + risen)
        return functional.relu(self.last(x))


def _places(images: Tensor) -> Tensor:
    """Return row and column (B, 2, H, W) of the pixels of images (B, C, H, W), in [-1, 1]."""
    return pixel_places(images).flip(0).expand(len(images), -1, -1, -1)


@dataclass(frozen=True)
class StreamFeatures:
    """Features of both streams, for instructions and their images."""

    fine: Tensor  # visual features of the images, (I, C, h, w)
    scenes: Tensor  # index of the image of each instruction, (B,), ascending
    language: Tensor  # features of the language stream, (B, D, h / 2, w / 2)
    pick: Tensor  # language feature for the pick, (B, W)
    place: Tensor  # language feature for the place, (B, W)


class AffordanceHead(nn.Module):
    """Affordance map: language-weighted visual features plus features of the language stream.

    Args:
        fine: Number of channels of the visual features.
        language: Number of channels of the features of the language stream.
        words: Width of a language feature.
    """

    def __init__(self, fine: int, language: int, words: int) -> None:
        super().__init__()
        self.of = nn.Linear(words, fine)
        self.cells = nn.Linear(fine, STRIDE * STRIDE)
        self.add = nn.Conv2d(language, (2 * STRIDE) ** 2, 1)

    def forward(self, features: StreamFeatures, look: Tensor) -> Tensor:
        """Return the affordance logits (B, H, W) for a language feature (B, W)."""
        counts = torch.bincount(features.scenes, minlength=len(features.fine)).tolist()
        weights = self.cells.weight * (1 + self.of(look))[:, None]  # (B, 16, C)
        height, width = features.fine.shape[-2:]
        found = [
            (some.flatten(0, 1) @ fine.flatten(1)).reshape(-1, STRIDE**2, height, width)
            for some, fine in zip(weights.split(counts), features.fine, strict=True)
        ]
        seen = functional.pixel_shuffle(torch.cat(found), STRIDE)
        return (seen + functional.pixel_shuffle(self.add(features.language), 2 * STRIDE))[:, 0]


class TwoStreams(nn.Module):
    """Networks that predict pick, place and rotation.

    The visual stream encodes colors and heights once per image, for all instructions. The language
    stream processes its features conditioned on the instruction. The rotation is predicted by
    cross-correlation: crops around the pick, rotated in steps, are compared with one at the place.

    Args:
        config: The configuration.
    """

    def __init__(self, config: CliportConfig) -> None:
        super().__init__()
        self.config, width, words = config, config.width, config.words
        fine, language = 3 * width, 4 * width
        self.words = Words(config.vocabulary, words)
        self.seeing, self.hearing = VisualStream(width), LanguageStream(width, 2 * words)
        self.pick, self.place = (AffordanceHead(fine, language, words) for _ in range(2))
        self.key, self.query = (nn.Conv2d(fine, 8, 1) for _ in range(2))
        self.end = mlp(language + 2 * words, 64, 64, 1, activation=nn.ReLU)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def forward(self, images: Tensor, words: Tensor, scenes: Tensor) -> StreamFeatures:
        """Return the features of images (I, 4, H, W) and of instructions (B, L) on them;
        ``scenes`` (B,) is the index of the image of each instruction, in ascending order.
        """
        pick, place = self.words(words)
        fine, middle, coarse = self.seeing(images)
        looks = torch.cat((pick, place), dim=-1)
        language = self.hearing(middle[scenes], coarse[scenes], looks)
        return StreamFeatures(fine, scenes, language, pick, place)

    def turn(self, features: StreamFeatures, picks: Tensor, places: Tensor) -> Tensor:
        """Return rotation logits (B, turns) for picks and places (B, 2) in pixels."""
        angles = STEP_RAD * torch.arange(self.config.turns, device=picks.device)
        queries = self._crops(self.query(features.fine), features.scenes, picks, angles)
        keys = self._crops(self.key(features.fine), features.scenes, places, 0 * angles[:1])
        found = (queries * keys).sum((2, 3, 4))
        return found / (queries.shape[2] ** 0.5 * queries.shape[-1])

    def _crops(self, features: Tensor, scenes: Tensor, at: Tensor, angles: Tensor) -> Tensor:
        """Return crops (B, R, C, s, s) of the features of scenes (B,), around pixels (B, 2) and
        rotated by angles (R,) in rad.
        """
        batch, depth, (height, width) = len(at), features.shape[1], features.shape[-2:]
        side = self.config.crop_px // STRIDE
        offsets = (torch.arange(side, device=at.device) - side // 2).float()
        rows, columns = torch.meshgrid(offsets, offsets, indexing="ij")
        cos, sin = angles.cos()[:, None, None], angles.sin()[:, None, None]
        # the content at an offset comes from the offset rotated back
        from_rows, from_columns = cos * rows + sin * columns, cos * columns - sin * rows
        middle = (at.float() + 0.5) / STRIDE - 0.5
        y = middle[:, :1, None, None] + from_rows[None]
        x = middle[:, 1:, None, None] + from_columns[None]
        grid = torch.stack(((x + 0.5) / width * 2 - 1, (y + 0.5) / height * 2 - 1), dim=-1)
        flat = grid.reshape(batch, len(angles) * side, side, 2)
        crops = functional.grid_sample(features[scenes], flat, align_corners=False)
        return crops.reshape(batch, depth, len(angles), side, side).transpose(1, 2)

    def ended(self, features: StreamFeatures) -> Tensor:
        """Return termination logits (B,): positive if nothing is left to do."""
        seen = features.language.detach().amax((-1, -2))
        looks = (features.pick.detach(), features.place.detach())
        logits: Tensor = self.end(torch.cat((seen, *looks), dim=-1))
        return logits[:, 0]
