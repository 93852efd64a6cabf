"""Language models with gated cross-attention to images (Flamingo, Alayrac et al. 2022, arXiv
2204.14198).

Modules and names of parameters are those of OpenFlamingo (Awadalla et al. 2023, arXiv 2308.01390),
so that its weights can be loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from clevrskills.errors import UnknownNameError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

HEAD_WIDTH = 64
"""Width of a head of cross-attention (OpenFlamingo, with 8 heads)."""

_LAYERS = {"opt": "decoder.layers", "llama": "layers", "mpt": "blocks"}
"""Submodule with the layers, by kind of language model."""


class CrossAttention(nn.Module):
    """Cross-attention of tokens to images.

    Args:
        width: Width of a token.
        image_width: Width of a feature of an image.
        heads: Number of heads.
    """

    def __init__(self, width: int, image_width: int, heads: int = 8) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.to_q = nn.Linear(width, heads * HEAD_WIDTH, bias=False)
        self.to_kv = nn.Linear(image_width, 2 * heads * HEAD_WIDTH, bias=False)
        self.to_out = nn.Linear(heads * HEAD_WIDTH, width, bias=False)

    def forward(self, tokens: Tensor, images: Tensor, mask: Tensor | None = None) -> Tensor:
        """Map tokens (N, L, width) and features (N, K, image_width) -> (N, L, width), zeros where
        the mask (N, L, K) of a token is empty.
        """
        query = self.to_q(self.norm(tokens))
        answer: Tensor = self.to_out(attend(query, self.to_kv(images), mask))
        return answer if mask is None else answer * mask.any(-1, keepdim=True)


class GatedCrossAttention(nn.Module):
    """Gated cross-attention and feed-forward layer before a layer of a language model.

    Args:
        width: Width of a token.
        image_width: Width of a feature of an image.
        heads: Number of heads.
        gate: Initial value of both gates, before the tanh; 0: no effect at first.
    """

    def __init__(self, width: int, image_width: int, heads: int = 8, gate: float = 0.0) -> None:
        super().__init__()
        self.attn = CrossAttention(width, image_width, heads)
        self.attn_gate = nn.Parameter(torch.tensor([gate]))
        self.ff = feed_forward(width)
        self.ff_gate = nn.Parameter(torch.tensor([gate]))

    def forward(self, tokens: Tensor, images: Tensor, mask: Tensor | None = None) -> Tensor:
        """Map tokens (N, L, width) -> tokens (N, L, width); see :class:`CrossAttention`."""
        tokens = tokens + self.attn_gate.tanh() * self.attn(tokens, images, mask)
        return tokens + self.ff_gate.tanh() * self.ff(tokens)


Look = Callable[[GatedCrossAttention, Tensor], Tensor]
"""Applies a block to tokens (N, L, width) with the images that they attend to."""


class VisionConditionedLM(nn.Module):
    """Language model with gated cross-attention before every n-th of its layers.

    Args:
        model: The language model, of transformers, without its head.
        image_width: Width of a feature of an image.
        every: The n.
        heads: Heads of the cross-attention.
        gate: Initial value of the gates.

    Attributes:
        width: Width of a token.

    Raises:
        UnknownNameError: The kind of language model is not supported.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        image_width: int,
        every: int,
        heads: int = 8,
        gate: float = 0.0,
    ) -> None:
        super().__init__()
        self.model = model
        self.width: int = model.get_input_embeddings().embedding_dim
        inner = model.config.hidden_size
        self.cross = nn.ModuleDict(
            {
                str(number): GatedCrossAttention(inner, image_width, heads, gate)
                for number in range(every - 1, len(self._layers), every)
            }
        )

    @property
    def _layers(self) -> nn.ModuleList:
        kind = self.model.config.model_type
        if kind not in _LAYERS:
            raise UnknownNameError("kind of language model", kind, tuple(_LAYERS))
        layers = self.model.get_submodule(_LAYERS[kind])
        assert isinstance(layers, nn.ModuleList)
        return layers

    def embed(self, tokens: Tensor) -> Tensor:
        """Map tokens (N, L) -> tokens (N, L, width) float32."""
        embedded: Tensor = self.model.get_input_embeddings()(tokens)
        return embedded.float()

    def forward(self, look: Look, **inputs: Any) -> Tensor:
        """Return the language model's outputs, (N, L, width) float32.

        Args:
            look: Applies a cross-attention block to tokens, float32.
            **inputs: Inputs of the language model; ``inputs_embeds`` are cast to its type.
        """

        def before(block: Any, _: nn.Module, given: tuple[Any, ...]) -> Any:
            return look(block, given[0].float()).to(given[0].dtype), *given[1:]

        inputs["inputs_embeds"] = inputs["inputs_embeds"].to(self.model.dtype)

        hooks = [
            self._layers[int(number)].register_forward_pre_hook(partial(before, block))
            for number, block in self.cross.items()
        ]
        try:
            answer: Tensor = self.model(**inputs).last_hidden_state
        finally:
            for hook in hooks:
                hook.remove()
        return answer.float()


def feed_forward(width: int) -> nn.Sequential:
    """Return the feed-forward part of a layer."""
    return nn.Sequential(
        nn.LayerNorm(width),
        nn.Linear(width, 4 * width, bias=False),
        nn.GELU(),
        nn.Linear(4 * width, width, bias=False),
    )


def attend(query: Tensor, key_value: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return attention (N, L, heads * head width) with a mask (N, L, K); an empty mask counts as
    full.
    """
    key, value = key_value.chunk(2, -1)
    split = [t.unflatten(-1, (-1, HEAD_WIDTH)).transpose(1, 2) for t in (query, key, value)]
    if mask is not None:
        mask = (mask | ~mask.any(-1, keepdim=True))[:, None]
    attended = functional.scaled_dot_product_attention(split[0], split[1], split[2], mask)
    return attended.transpose(1, 2).flatten(2)
