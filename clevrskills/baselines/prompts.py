"""Tokenization of prompts with text and images.

A prompt such as ``Put {obj:object_0} here`` is the text ``Put``, an image and the text ``here``.
A tokenizer maps each text to tokens; an image is one token, ``image``.
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
        size: Number of token indices, including those below.
        pad: Padding token.
        image: Image token.
    """

    @property
    def size(self) -> int: ...
    @property
    def pad(self) -> int: ...
    @property
    def image(self) -> int: ...

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text."""


@dataclass(frozen=True)
class WordTokenizer:
    """Tokenizer of words and punctuation marks by hash, without a vocabulary.

    Attributes:
        size: Number of token indices.
    """

    size: int = 4096
    pad = 0
    image = 1

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text, regardless of case."""
        return [2 + crc32(word.encode()) % (self.size - 2) for word in _WORD.findall(text.lower())]


@dataclass(frozen=True)
class ByteTokenizer:
    """Tokenizer of bytes, for small language models without trained weights."""

    size = 258
    pad = 0
    image = 1

    def encode(self, text: str) -> list[int]:
        """Return the bytes of a text as tokens, offset by 2."""
        return [2 + byte for byte in text.encode()]


def pieces(prompt: PromptInput) -> list[str | np.ndarray]:
    """Return the texts and images (H, W, 3) of a prompt in order; a text-only prompt is one text.

    A placeholder without an image remains text.
    """
    parts = [part for part in _PLACEHOLDER.split(prompt.text) if part]
    return [prompt.images.get(part, part) for part in parts]


@dataclass(frozen=True)
class EncodedPrompt:
    """Encoded prompt."""

    tokens: tuple[int, ...]
    images: Tensor  # the images in order, (k, 3, S, S) uint8
    image: int  # image token


def encode(prompt: PromptInput, tokenizer: Tokenizer, size_px: int) -> EncodedPrompt:
    """Encode a prompt.

    Args:
        prompt: The prompt.
        tokenizer: Tokenizer of its text.
        size_px: Width and height to which images are scaled.

    Raises:
        ClevrSkillsError: The prompt is empty.
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
        raise ClevrSkillsError("the prompt is empty")
    return EncodedPrompt(tuple(tokens), stack_images(images, size_px), tokenizer.image)


def stack_images(images: Iterable[np.ndarray], size_px: int) -> Tensor:
    """Return images (H, W, 3) uint8 of any sizes as (k, 3, size_px, size_px) uint8."""
    scaled = [scale_images(torch.tensor(image).permute(2, 0, 1), size_px) for image in images]
    return torch.stack(scaled) if scaled else torch.empty(0, 3, size_px, size_px, dtype=torch.uint8)


def stack(prompts: Sequence[EncodedPrompt], pad: int) -> Prompts:
    """Collate prompts into a batch, padded at the end."""
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
