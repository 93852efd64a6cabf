"""Network of the pick-and-place actor: two streams over the map, one of which hears the words."""

from __future__ import annotations

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
        heard = functional.gelu(self.mix(heard))
        scores = self.looks(heard).masked_fill((words == 0)[..., None], -1e4)
        looks = torch.einsum("blk,blw->bkw", scores.softmax(1), heard)
        return looks[:, 0], looks[:, 1]


class Block(nn.Module):
    """Two convolutions around which the input is passed, scaled and shifted by words.

    Args:
        width: Channels.
        words: Numbers of the words; 0: it hears none.
    """

    def __init__(self, width: int, words: int = 0) -> None:
        super().__init__()
        self.first = nn.Conv2d(width, width, 3, padding=1)
        self.second = nn.Conv2d(width, width, 3, padding=1)
        self.norm = nn.GroupNorm(4, width)
        self.scale = nn.Linear(words, 2 * width) if words else None

    def forward(self, x: Tensor, words: Tensor | None = None) -> Tensor:
        """Features (B, C, h, w) and words (B, W) -> features."""
        y = self.norm(self.first(x))
        if self.scale is not None and words is not None:
            scale, shift = self.scale(words)[..., None, None].chunk(2, dim=1)
            y = y * (1 + scale) + shift
        return x + self.second(functional.gelu(y))


class Stream(nn.Module):
    """A stream: the image down to an eighth and up to a quarter of its size.

    Args:
        channels: Of the image.
        width: Channels of its features.
        words: Numbers of the words; 0: it hears none.
    """

    def __init__(self, channels: int, width: int, words: int = 0) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, width, 4, stride=2, padding=1)
        self.second = nn.Conv2d(width, 2 * width, 4, stride=2, padding=1)
        self.fine = Block(2 * width, words)
        self.third = nn.Conv2d(2 * width, 4 * width, 4, stride=2, padding=1)
        self.coarse = nn.ModuleList([Block(4 * width, words) for _ in range(2)])
        self.up = nn.Conv2d(4 * width, 2 * width, 1)
        self.last = Block(2 * width, words)

    def forward(self, image: Tensor, words: Tensor | None = None) -> Tensor:
        """Images (B, C, H, W) -> features (B, 2 width, H / 4, W / 4)."""
        fine = self.fine(functional.gelu(self.second(functional.gelu(self.first(image)))), words)
        coarse = functional.gelu(self.third(fine))
        for block in self.coarse:
            coarse = block(coarse, words)
        risen = functional.interpolate(
            self.up(coarse), scale_factor=2, mode="bilinear", align_corners=False
        )
        features: Tensor = self.last(fine + risen, words)
        return features


class TwoStreams(nn.Module):
    """Where to pick, where to place and how far to turn.

    The spatial stream sees colors and heights, the semantic one colors alone, with the words. What
    is to be placed is looked up in the features by a crop around the pick, turned in steps.

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
        self.words = Words(vocabulary, words)
        self.spatial = Stream(4 + 2, width)
        self.semantic = Stream(3 + 2, width, 2 * words)
        self.join = nn.Conv2d(4 * width, 2 * width, 1)
        cell = STRIDE * STRIDE
        self.pick_at = nn.Conv2d(2 * width, cell, 1)
        self.place_at = nn.Conv2d(2 * width, cell, 1)
        self.pick_of = nn.Linear(words, 2 * width)
        self.place_of = nn.Linear(words, 2 * width)
        self.key, self.query = (nn.Conv2d(2 * width, 8, 1) for _ in range(2))
        self.end = nn.Sequential(
            nn.Linear(2 * width + 2 * words, 64),
            nn.GELU(),
            nn.Linear(64, 64),
            nn.GELU(),
            nn.Linear(64, 1),
        )
        self.turns, self.step_rad, self.crop_px = turns, step_rad, crop_px

    def features(self, images: Tensor, words: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Features (B, C, h, w) and the two looks at the words."""
        pick, place = self.words(words)
        batch, _, height, width = images.shape
        rows = torch.linspace(-1, 1, height, device=images.device)[:, None].expand(height, width)
        columns = torch.linspace(-1, 1, width, device=images.device)[None].expand(height, width)
        where = torch.stack((rows, columns)).expand(batch, 2, height, width)
        seen = self.spatial(torch.cat((images, where), dim=1))
        heard = self.semantic(
            torch.cat((images[:, :3], where), dim=1), torch.cat((pick, place), dim=-1)
        )
        return functional.gelu(self.join(torch.cat((seen, heard), dim=1))), pick, place

    def pick(self, features: Tensor, look: Tensor) -> Tensor:
        """Logits of where to pick, (B, H, W)."""
        return _at(self.pick_at, self.pick_of, features, look)

    def place(self, features: Tensor, look: Tensor, picks: Tensor) -> Tensor:
        """Logits of where to place and how far to turn, (B, turns, H, W), for picks (B, 2) in
        pixels.
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
        found = functional.interpolate(
            found, scale_factor=STRIDE, mode="bilinear", align_corners=False
        )
        return found + _at(self.place_at, self.place_of, features, look)[:, None]

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
