"""Network of the pick-and-place actor: two streams over the map, one of which hears the words."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi

import torch
from torch import Tensor, nn
from torch.nn import functional

from clevrskills.baselines.policies.layers import mlp, pixel_places
from clevrskills_policies.cliport.config import TURNS, CliportConfig

STEP_RAD = 2 * pi / TURNS
"""Angle between two turns of the interface."""
STRIDE = 4
"""Pixels of the map to a cell of the features."""


class Words(nn.Module):
    """Encoder of instructions: a recurrent network in both directions, and two looks at it, one for
    what is picked and one for where it is placed.

    Args:
        vocabulary: Size of the vocabulary.
        width: Numbers of a look.
    """

    def __init__(self, vocabulary: int, width: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width, padding_idx=0)
        self.recurrent = nn.GRU(width, width // 2, batch_first=True, bidirectional=True)
        self.looks = nn.Linear(width, 2)
        self.mix = nn.Linear(2 * width, width)

    def forward(self, words: Tensor) -> tuple[Tensor, Tensor]:
        """Encode words (B, L): what is picked and where it is placed, (B, width) each."""
        embedded = self.embedding(words)
        language = torch.cat((self.recurrent(embedded)[0], embedded), dim=-1)
        language = functional.relu(self.mix(language))
        scores = self.looks(language).masked_fill((words == 0)[..., None], -1e4)
        looks = torch.einsum("blk,blw->bkw", scores.softmax(1), language)
        return looks[:, 0], looks[:, 1]


class ResidualBlock(nn.Module):
    """A convolution around which the input is passed, scaled and shifted by words.

    Args:
        width: Channels.
        words: Numbers of the words; 0: it hears none.
    """

    def __init__(self, width: int, words: int = 0) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(4, width)
        self.convolution = nn.Conv2d(width, width, 3, padding=1)
        self.scale = nn.Linear(words, 2 * width) if words else None

    def forward(self, x: Tensor, words: Tensor | None = None) -> Tensor:
        """Map features (B, C, h, w) and words (B, W) -> features."""
        y = self.norm(x)
        if self.scale is not None and words is not None:
            y = _scaled(y, self.scale(words))
        return x + self.convolution(functional.relu(y))


def _scaled(x: Tensor, by: Tensor) -> Tensor:
    """Return features (B, C, h, w), scaled and shifted by numbers (B, 2 C)."""
    scale, shift = by[..., None, None].chunk(2, dim=1)
    return x * (1 + scale) + shift


class VisualStream(nn.Module):
    """The stream that sees: an image down to a quarter, an eighth and a sixteenth of its size.

    Args:
        width: Channels of its first features.
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
        """Map images (B, 4, H, W) -> features (B, 3 width, H / 4, W / 4), (B, 4 width, H / 8, W /
        8) and (B, 4 width, H / 16, W / 16).
        """
        x = torch.cat((images, _places(images)), dim=1)
        x = x.contiguous(memory_format=torch.channels_last)
        fine = self.fine(functional.relu(self.first(x)))
        middle = self.middle(self.second(functional.relu(fine)))
        coarse = self.coarse(self.third(functional.relu(middle)))
        return functional.relu(fine), functional.relu(middle), coarse


class LanguageStream(nn.Module):
    """The stream that hears: what is seen, as words have it, at an eighth of the size.

    Args:
        width: Channels of the first features.
        words: Numbers of the words.
    """

    def __init__(self, width: int, words: int) -> None:
        super().__init__()
        channels = 4 * width
        self.enter = nn.Conv2d(channels + 2, channels, 1)
        self.coarse = nn.ModuleList([ResidualBlock(channels, words) for _ in range(3)])
        self.up, self.middle, self.last = (nn.Conv2d(channels, channels, 1) for _ in range(3))
        self.scale = nn.Linear(words, 2 * channels)

    def forward(self, middle: Tensor, coarse: Tensor, words: Tensor) -> Tensor:
        """Map features of the image and words (B, W) -> features (B, 4 width, H / 8, W / 8)."""
        x = self.enter(torch.cat((coarse, _places(coarse)), dim=1))
        for block in self.coarse:
            x = block(x, words)
        risen = functional.interpolate(
            self.up(x), scale_factor=2, mode="bilinear", align_corners=False
        )
        x = functional.relu(_scaled(self.middle(middle), self.scale(words)) + risen)
        return functional.relu(self.last(x))


def _places(images: Tensor) -> Tensor:
    """Return the row and column of each pixel of images (B, C, H, W), in [-1, 1], (B, 2, H, W)."""
    return pixel_places(images).flip(0).expand(len(images), -1, -1, -1)


@dataclass(frozen=True)
class StreamFeatures:
    """Features of both streams: of instructions and of the images they refer to."""

    fine: Tensor  # features of the images, (I, C, h, w)
    scenes: Tensor  # number of each instruction's image, (B,), in order
    language: Tensor  # features of the instructions, (B, D, h / 2, w / 2)
    pick: Tensor  # look at the words for what is picked, (B, W)
    place: Tensor  # look at the words for where it is placed, (B, W)


class AffordanceHead(nn.Module):
    """A heat map: what the words look for in what is seen, and what the stream that hears adds.

    Args:
        fine: Channels of what is seen.
        language: Channels of the language features.
        words: Numbers of the words.
    """

    def __init__(self, fine: int, language: int, words: int) -> None:
        super().__init__()
        self.of = nn.Linear(words, fine)
        self.cells = nn.Linear(fine, STRIDE * STRIDE)
        self.add = nn.Conv2d(language, (2 * STRIDE) ** 2, 1)

    def forward(self, features: StreamFeatures, look: Tensor) -> Tensor:
        """Return the logits (B, H, W) for a look at the words (B, W)."""
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
    """Networks that predict pick, place and turn.

    One stream sees colors and heights, once for all that is asked of an image; the other one hears
    what is asked and looks at what the first one has seen. How far to turn is told by a crop around
    the pick that is turned in steps, and compared with what is at the place.

    Args:
        config: Sizes.
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
        """Return features of words (B, L) that are said of images: those at ``scenes`` (B,), which
        rise.
        """
        pick, place = self.words(words)
        fine, middle, coarse = self.seeing(images)
        looks = torch.cat((pick, place), dim=-1)
        language = self.hearing(middle[scenes], coarse[scenes], looks)
        return StreamFeatures(fine, scenes, language, pick, place)

    def turn(self, features: StreamFeatures, picks: Tensor, places: Tensor) -> Tensor:
        """Return logits of how far to turn, (B, turns), for picks and places (B, 2) in pixels."""
        angles = STEP_RAD * torch.arange(self.config.turns, device=picks.device)
        queries = self._crops(self.query(features.fine), features.scenes, picks, angles)
        keys = self._crops(self.key(features.fine), features.scenes, places, 0 * angles[:1])
        found = (queries * keys).sum((2, 3, 4))
        return found / (queries.shape[2] ** 0.5 * queries.shape[-1])

    def _crops(self, features: Tensor, scenes: Tensor, at: Tensor, angles: Tensor) -> Tensor:
        """Return crops of the features of scenes (B,) around pixels (B, 2), turned by angles (R,),
        (B, R, C, s, s).
        """
        batch, depth, (height, width) = len(at), features.shape[1], features.shape[-2:]
        side = self.config.crop_px // STRIDE
        offsets = (torch.arange(side, device=at.device) - side // 2).float()
        rows, columns = torch.meshgrid(offsets, offsets, indexing="ij")
        cos, sin = angles.cos()[:, None, None], angles.sin()[:, None, None]
        # what is at an offset after the turn was at the offset turned back before it
        from_rows, from_columns = cos * rows + sin * columns, cos * columns - sin * rows
        middle = (at.float() + 0.5) / STRIDE - 0.5
        y = middle[:, :1, None, None] + from_rows[None]
        x = middle[:, 1:, None, None] + from_columns[None]
        grid = torch.stack(((x + 0.5) / width * 2 - 1, (y + 0.5) / height * 2 - 1), dim=-1)
        flat = grid.reshape(batch, len(angles) * side, side, 2)
        crops = functional.grid_sample(features[scenes], flat, align_corners=False)
        return crops.reshape(batch, depth, len(angles), side, side).transpose(1, 2)

    def ended(self, features: StreamFeatures) -> Tensor:
        """Return the logits of whether there is nothing left to do, (B,)."""
        seen = features.language.detach().amax((-1, -2))
        looks = (features.pick.detach(), features.place.detach())
        logits: Tensor = self.end(torch.cat((seen, *looks), dim=-1))
        return logits[:, 0]
