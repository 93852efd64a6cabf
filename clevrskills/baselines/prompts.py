"""Prompts as policies read them: cut into words and images, as tokens, as tensors.

A prompt such as ``Put {obj:object_0} here`` is the text ``Put``, an image and the text ``here``.
A tokenizer turns each text into numbers; an image takes one place, with the number ``image``.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol
from zlib import crc32

import numpy as np
import torch
from torch import Tensor

from clevrskills.baselines.batch import Prompts, scale_images
from clevrskills.core.policy import PromptInput
from clevrskills.errors import ClevrSkillsError

__all__ = ["WordTokenizer"]

_PLACEHOLDER = re.compile(r"(\{\w+:\w+\})")
_WORD = re.compile(r"[a-z0-9]+|[^a-z0-9\s]")


class Tokenizer(Protocol):
    """Tokenizer of text; picklable, for worker processes.

    Attributes:
        size: How many numbers there are, those below included.
        pad: The number that stands after the end.
        image: The number that stands where an image is.
    """

    @property
    def size(self) -> int: ...
    @property
    def pad(self) -> int: ...
    @property
    def image(self) -> int: ...

    def encode(self, text: str) -> list[int]:
        """Return the numbers of a piece of a prompt."""


@dataclass(frozen=True)
class WordTokenizer:
    """A number for each word and punctuation mark, by a hash: no vocabulary, nothing to download.

    Attributes:
        size: How many numbers there are.
    """

    size: int = 4096
    pad = 0
    image = 1

    def encode(self, text: str) -> list[int]:
        """Return the numbers of the words, upper and lower case alike."""
        return [2 + crc32(word.encode()) % (self.size - 2) for word in _WORD.findall(text.lower())]


@dataclass(frozen=True)
class ByteTokenizer:
    """A number for each byte of the text: stands in for a language model's own tokenizer where the
    model is a small one without trained weights.
    """

    size = 258
    pad = 0
    image = 1

    def encode(self, text: str) -> list[int]:
        """Return the bytes as numbers from 2 on."""
        return [2 + byte for byte in text.encode()]


def pieces(prompt: PromptInput) -> list[str | np.ndarray]:
    """Return the texts and images (H, W, 3) of a prompt in order; a prompt in words is one text.

    A placeholder without an image stays text.
    """
    parts = [part for part in _PLACEHOLDER.split(prompt.text) if part]
    return [prompt.images.get(part, part) for part in parts]


@dataclass(frozen=True)
class EncodedPrompt:
    """One prompt."""

    tokens: tuple[int, ...]  # numbers of the tokenizer, with ``image`` where an image stands
    images: Tensor  # the images in order, (k, 3, S, S) uint8
    image: int  # the number that stands for an image


def encode(prompt: PromptInput, tokenizer: Tokenizer, size_px: int) -> EncodedPrompt:
    """Read a prompt.

    Args:
        prompt: The prompt.
        tokenizer: Reads the words.
        size_px: Width and height that images are scaled to.

    Raises:
        ClevrSkillsError: There is nothing in it.
    """
    tokens: list[int] = []
    images = []
    for piece in pieces(prompt):
        if isinstance(piece, str):
            tokens += tokenizer.encode(piece)
        else:
            tokens.append(tokenizer.image)
            images.append(piece)
    if not tokens:
        raise ClevrSkillsError("an empty prompt")
    return EncodedPrompt(tuple(tokens), stack_images(images, size_px), tokenizer.image)


def stack_images(images: Iterable[np.ndarray], size_px: int) -> Tensor:
    """Return images (H, W, 3) uint8 of any sizes as (k, 3, size_px, size_px) uint8."""
    scaled = [scale_images(torch.tensor(image).permute(2, 0, 1), size_px) for image in images]
    return torch.stack(scaled) if scaled else torch.empty(0, 3, size_px, size_px, dtype=torch.uint8)


def stack(prompts: Sequence[EncodedPrompt], pad: int) -> Prompts:
    """Return several prompts side by side; ``pad`` stands after the end of the shorter ones."""
    lengths = np.array([len(prompt.tokens) for prompt in prompts])
    mask = np.arange(lengths.max()) < lengths[:, None]
    read = np.array([token for prompt in prompts for token in prompt.tokens])
    tokens, index = np.full(mask.shape, pad), np.full(mask.shape, -1)
    tokens[mask] = read
    stands = read == np.repeat([prompt.image for prompt in prompts], lengths)
    index[mask] = np.where(stands, stands.cumsum() - 1, -1)
    images = torch.cat([prompt.images for prompt in prompts])
    found, exist, places = map(torch.from_numpy, (tokens, mask, index))
    return Prompts(found, exist, images, places)
