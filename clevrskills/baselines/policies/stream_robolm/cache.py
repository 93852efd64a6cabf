"""Attention of StreamRoboLM: tokens attend to the prompt and to the latest control steps, by a mask
in training and by a bounded cache of keys and values in acting.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional
from transformers import DynamicCache

Cache = tuple[tuple[Tensor, Tensor], ...]
"""Keys and values (heads, C, width) of C tokens, by layer of the language model."""


def window_mask(prompt: Tensor, steps: int, window: int) -> Tensor:
    """Return the attention mask of the tokens of prompts and control steps.

    Args:
        prompt: Mask of the tokens of prompts, (B, P).
        steps: Number of control steps, T, with a token each, after the prompts.
        window: Number of control steps that a token attends to, its own included.

    Returns:
        (B, 1, P + T, P + T), from tokens to tokens.
    """
    places = torch.arange(prompt.shape[1] + steps, device=prompt.device)
    back = places[:, None] - places
    in_prompt = places < prompt.shape[1]
    near = (back >= 0) & (in_prompt | (back < window))
    exists = functional.pad(prompt, (0, steps), value=True)
    return (near & exists[:, None])[:, None]


def stack(caches: Sequence[Cache]) -> tuple[DynamicCache, Tensor]:
    """Return a batch of N caches, the shorter ones padded at the front, and the attention mask of
    one more token, (N, 1, 1, C + 1).
    """
    lengths = [cache[0][0].shape[-2] for cache in caches]
    longest = max(lengths)
    layers = []
    for layer in zip(*caches, strict=True):
        padded = [
            [functional.pad(t, (0, 0, longest - t.shape[-2], 0)) for t in tensors]
            for tensors in zip(*layer, strict=True)
        ]
        layers.append((torch.stack(padded[0]), torch.stack(padded[1])))
    device = layers[0][0].device
    missing = longest - torch.tensor(lengths, device=device)
    mask = torch.arange(longest + 1, device=device) >= missing[:, None]
    return DynamicCache(layers), mask[:, None, None]


def cut(cache: DynamicCache, row: int, tokens: slice) -> Cache:
    """Return some tokens of one cache of a batch."""
    return tuple(
        (layer.keys[row, :, tokens], layer.values[row, :, tokens]) for layer in cache.layers
    )


def forget(cache: Cache, prompt: int, window: int) -> Cache:
    """Return a cache without control steps that no later token attends to.

    Args:
        cache: Cache of a prompt and control steps.
        prompt: Length of the prompt in tokens.
        window: See :func:`window_mask`.
    """
    first = cache[0][0].shape[-2] - (window - 1)
    if first <= prompt:
        return cache
    return tuple(
        (_without(keys, prompt, first), _without(values, prompt, first)) for keys, values in cache
    )


def _without(tokens: Tensor, begin: int, end: int) -> Tensor:
    return torch.cat([tokens[:, :begin], tokens[:, end:]], dim=1)
