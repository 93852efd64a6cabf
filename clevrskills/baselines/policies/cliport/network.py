"""Network of the pick-and-place actor: two streams over the map, one of which hears the words."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi

import torch
from torch import Tensor, nn
from torch.nn import functional

STRIDE = 4
"""Pixels of the map to a cell of the features."""


class Words(nn.Module):
    """Encoder of instructions: a recurrent network in both directions, and two looks at it, one for
    what is picked and one for where it is placed.

    Args:
        vocabulary: How many words are told apart.
        width: Numbers of a look.
    """

    def __init__(self, vocabulary: int, width: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width, padding_idx=0)
        self.recurrent = nn.GRU(width, width // 2, batch_first=True, bidirectional=True)
        self.looks = nn.Linear(width, 2)
        self.mix = nn.Linear(2 * width, width)

    def forward(self, words: Tensor) -> tuple[Tensor, Tensor]:
        """Words (B, L) -> what is picked and where it is placed, (B, width) each."""
        embedded = self.embedding(words)
        heard = torch.cat((self.recurrent(embedded)[0], embedded), dim=-1)
        heard = functional.relu(self.mix(heard))
        scores = self.looks(heard).masked_fill((words == 0)[..., None], -1e4)
        looks = torch.einsum("blk,blw->bkw", scores.softmax(1), heard)
        return looks[:, 0], looks[:, 1]


class Block(nn.Module):
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
        """Features (B, C, h, w) and words (B, W) -> features."""
        y = self.norm(x)
        if self.scale is not None and words is not None:
            y = _scaled(y, self.scale(words))
        return x + self.convolution(functional.relu(y))


def _scaled(x: Tensor, by: Tensor) -> Tensor:
    """Features (B, C, h, w), scaled and shifted by numbers (B, 2 C)."""
    scale, shift = by[..., None, None].chunk(2, dim=1)
    return x * (1 + scale) + shift


class Seeing(nn.Module):
    """The stream that sees: an image down to a quarter, an eighth and a sixteenth of its size.

    Args:
        width: Channels of its first features.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(4 + 2, width, 4, stride=2, padding=1)
        self.second = nn.Conv2d(width, 3 * width, 4, stride=2, padding=1)
        self.fine = nn.ModuleList([Block(3 * width) for _ in range(2)])
        self.third = nn.Conv2d(3 * width, 4 * width, 2, stride=2)
        self.middle = nn.ModuleList([Block(4 * width) for _ in range(2)])
        self.fourth = nn.Conv2d(4 * width, 6 * width, 2, stride=2)
        self.coarse = Block(6 * width)

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Images (B, 4, H, W) -> features (B, 3 width, H / 4, W / 4), (B, 4 width, H / 8, W / 8),
        (B, 6 width, H / 16, W / 16).
        """
        x = torch.cat((images, _places(images)), dim=1)
        x = x.contiguous(memory_format=torch.channels_last)
        fine = self.second(functional.relu(self.first(x)))
        for block in self.fine:
            fine = block(fine)
        middle = self.third(functional.relu(fine))
        for block in self.middle:
            middle = block(middle)
        return fine, middle, self.coarse(self.fourth(functional.relu(middle)))


class Hearing(nn.Module):
    """The stream that hears: what is seen, as words have it.

    Args:
        width: Channels of the first features.
        words: Numbers of the words.
    """

    def __init__(self, width: int, words: int) -> None:
        super().__init__()
        fine, middle, coarse = 3 * width, 4 * width, 6 * width
        self.enter = nn.Conv2d(coarse + 2, coarse, 1)
        self.coarse = nn.ModuleList([Block(coarse, words) for _ in range(3)])
        self.to_middle, self.to_fine = nn.Conv2d(coarse, middle, 1), nn.Conv2d(middle, fine, 1)
        self.middle = Block(middle, words)
        self.fine, self.last = nn.Conv2d(fine, fine, 1), nn.Conv2d(fine, fine, 1)
        self.scale = nn.Linear(words, 2 * fine)

    def forward(self, seen: Sequence[Tensor], words: Tensor) -> Tensor:
        """What was seen, and words (B, W) -> features (B, 3 width, H / 4, W / 4)."""
        fine, middle, coarse = seen
        x = self.enter(torch.cat((coarse, _places(coarse)), dim=1))
        for block in self.coarse:
            x = block(x, words)
        x = self.middle(middle + _twice(self.to_middle(x)), words)
        x = _scaled(self.fine(fine), self.scale(words)) + _twice(self.to_fine(x))
        return functional.relu(self.last(functional.relu(x)))


def _twice(x: Tensor) -> Tensor:
    """Features at twice the size."""
    return functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)


def _places(images: Tensor) -> Tensor:
    """Row and column of each pixel of images (B, C, H, W), in [-1, 1], (B, 2, H, W)."""
    batch, _, height, width = images.shape
    rows = torch.linspace(-1, 1, height, device=images.device)[:, None].expand(height, width)
    columns = torch.linspace(-1, 1, width, device=images.device)[None].expand(height, width)
    return torch.stack((rows, columns)).expand(batch, 2, height, width)


class TwoStreams(nn.Module):
    """Where to pick, where to place and how far to turn.

    One stream sees colors and heights, once for all that is asked of an image; the other one hears
    what is asked and looks at what the first one has seen. What is to be placed is looked up in the
    features by a crop around the pick, turned in steps.

    Args:
        width: Channels of the first features.
        words: Numbers of the words.
        vocabulary: How many words are told apart.
        turns: Turns of the crop.
        step_rad: Angle between two of them.
        crop_px: Side of the crop.
    """

    def __init__(
        self, width: int, words: int, vocabulary: int, turns: int, step_rad: float, crop_px: int
    ) -> None:
        super().__init__()
        channels, cell = 3 * width, STRIDE * STRIDE
        self.words = Words(vocabulary, words)
        self.seeing, self.hearing = Seeing(width), Hearing(width, 2 * words)
        self.pick_at, self.place_at = (nn.Conv2d(channels, cell, 1) for _ in range(2))
        self.pick_of, self.place_of = (nn.Linear(words, channels) for _ in range(2))
        self.key, self.query = (nn.Conv2d(channels, 8, 1) for _ in range(2))
        self.end = nn.Sequential(
            nn.Linear(channels + 2 * words, 64),
            nn.ReLU(),
            nn.Linear(64, 64),
            nn.ReLU(),
            nn.Linear(64, 1),
        )
        self.turns, self.step_rad, self.crop_px = turns, step_rad, crop_px
        self.to(memory_format=torch.channels_last)

    def features(
        self, images: Tensor, words: Tensor, scenes: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Features (B, C, h, w) and the two looks at words (B, L), which are said of images, by
        default each of its own, else of those at ``scenes`` (B,).
        """
        pick, place = self.words(words)
        seen: Sequence[Tensor] = self.seeing(images)
        if scenes is not None:
            seen = [features[scenes] for features in seen]
        return self.hearing(seen, torch.cat((pick, place), dim=-1)), pick, place

    def pick(self, features: Tensor, look: Tensor) -> Tensor:
        """Logits of where to pick, (B, H, W)."""
        return _at(self.pick_at, self.pick_of, features, look)

    def place(self, features: Tensor, look: Tensor, picks: Tensor) -> tuple[Tensor, Tensor]:
        """Logits of where to place, (B, H, W), and of how far to turn there, (B, turns, h, w), for
        picks (B, 2) in pixels.
        """
        keys, queries = self.key(features), self.query(features)
        kernels = self._turned(queries, picks)  # (B, R, 8, s, s)
        batch, count, depth, side, _ = kernels.shape
        padded = functional.pad(keys, (side // 2, side - 1 - side // 2) * 2)
        found = functional.conv2d(
            padded.reshape(1, batch * depth, *padded.shape[2:]),
            kernels.reshape(batch * count, depth, side, side),
            groups=batch,
        ).reshape(batch, count, *keys.shape[2:])
        found = found / (depth**0.5 * side)
        anyhow = functional.interpolate(
            found.logsumexp(1, keepdim=True),
            scale_factor=STRIDE,
            mode="bilinear",
            align_corners=False,
        )
        return anyhow[:, 0] + _at(self.place_at, self.place_of, features, look), found

    def _turned(self, features: Tensor, picks: Tensor) -> Tensor:
        """Crops of features around picks, turned by every step, (B, R, C, s, s)."""
        batch, depth, height, width = features.shape
        side = self.crop_px // STRIDE
        offsets = (torch.arange(side, device=features.device) - side // 2).float()
        rows, columns = torch.meshgrid(offsets, offsets, indexing="ij")
        angles = self.step_rad * torch.arange(self.turns, device=features.device)
        cos, sin = angles.cos()[:, None, None], angles.sin()[:, None, None]
        # what is at an offset after the turn was at the offset turned back before it
        from_rows, from_columns = cos * rows + sin * columns, cos * columns - sin * rows
        at = (picks.float() + 0.5) / STRIDE - 0.5
        y = at[:, :1, None, None] + from_rows[None]
        x = at[:, 1:, None, None] + from_columns[None]
        grid = torch.stack(((x + 0.5) / width * 2 - 1, (y + 0.5) / height * 2 - 1), dim=-1)
        flat = grid.reshape(batch, self.turns * side, side, 2)
        crops = functional.grid_sample(features, flat, align_corners=False)
        return crops.reshape(batch, depth, self.turns, side, side).transpose(1, 2)

    def ended(self, features: Tensor, looks: tuple[Tensor, Tensor]) -> Tensor:
        """Logits of whether there is nothing left to do, (B,)."""
        seen = features.detach().amax((-1, -2))
        logits: Tensor = self.end(torch.cat((seen, *(look.detach() for look in looks)), dim=-1))
        return logits[:, 0]


def _at(where: nn.Module, of: nn.Module, features: Tensor, look: Tensor) -> Tensor:
    """Logits (B, H, W) of features that a look at the words weighs."""
    weighed = features * (1 + of(look))[..., None, None]
    return functional.pixel_shuffle(where(weighed), STRIDE)[:, 0]


def step_rad(turns: int) -> float:
    """Angle between two of the turns of the interface."""
    return 2 * pi / turns
