"""Language models and image encoders of transformers: with trained weights, or small random ones.

A name is one of those in :data:`RANDOM_LANGUAGE_MODELS` or :data:`RANDOM_IMAGE_ENCODERS`, or what
``from_pretrained`` takes: a folder, or a name on the Hugging Face Hub.
"""

from typing import Any

import torch
from peft import LoraConfig, inject_adapter_in_model
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint
from transformers import (
    AutoConfig,
    AutoModel,
    LlamaConfig,
    OPTConfig,
    PreTrainedModel,
    ViTConfig,
    ViTModel,
)

from clevrskills.baselines.policies.hub import address, load_model, loading
from clevrskills.baselines.policies.layers import convolutions, spatial_softmax, with_places
from clevrskills.baselines.prompts import ByteTokenizer


def _sizes(width: int, layers: int, heads: int) -> dict[str, int]:
    return {"hidden_size": width, "num_hidden_layers": layers, "num_attention_heads": heads}


_OPT = {"word_embed_proj_dim": 64, "ffn_dim": 128, "dropout": 0.0}
_SMALL_OPT = {"word_embed_proj_dim": 512, "ffn_dim": 2048, "dropout": 0.1}
_COMPACT_OPT = {"word_embed_proj_dim": 192, "ffn_dim": 384, "dropout": 0.0}
_LLAMA = {"intermediate_size": 128, "num_key_value_heads": 2}
RANDOM_LANGUAGE_MODELS: dict[str, tuple[type, dict[str, Any]]] = {
    "tiny-opt": (OPTConfig, _sizes(64, 2, 4) | _OPT),
    "tiny-llama": (LlamaConfig, _sizes(64, 2, 4) | _LLAMA),
    "compact-opt": (OPTConfig, _sizes(192, 4, 4) | _COMPACT_OPT),
    "small-opt": (OPTConfig, _sizes(512, 8, 8) | _SMALL_OPT),
}
"""Language models of random weights that read bytes: kind and sizes."""

RANDOM_IMAGE_ENCODERS: dict[str, dict[str, Any]] = {
    "tiny-vit": {"patch_size": 16, "intermediate_size": 128, **_sizes(64, 2, 4)},
    "small-vit": {"patch_size": 16, "intermediate_size": 1536, **_sizes(384, 6, 6)},
}
"""Vision transformers of random weights: their sizes."""

CONVOLUTIONAL_ENCODER = "compact-cnn"
"""Convolutions of random weights in place of a vision transformer."""

_TOGETHER = 64  # images that are encoded at once where features are computed twice


def make_language_model(
    name: str, lora_rank: int | None = None, dtype: torch.dtype = torch.float32
) -> PreTrainedModel:
    """Return a causal language model without its head.

    Args:
        name: Its name.
        lora_rank: Rank of the adapters (LoRA, Hu et al. 2021, arXiv 2106.09685) that are trained in
            place of its own weights, on all its linear maps; ``None``: it is trained itself, and
            :func:`load_trained` loads where it starts.
        dtype: Kind of numbers of published weights that are not trained; adapters are float32.

    Raises:
        ClevrSkillsError: It cannot be loaded.
    """
    if name in RANDOM_LANGUAGE_MODELS:
        kind, sizes = RANDOM_LANGUAGE_MODELS[name]
        fixed = {"bos_token_id": 0, "pad_token_id": None, "max_position_embeddings": 2048}
        config = kind(vocab_size=ByteTokenizer.size, **fixed, **sizes)
        model = AutoModel.from_config(config, attn_implementation="sdpa")
    elif lora_rank is None:
        config = load_config(AutoConfig, "language model", name)
        model = AutoModel.from_config(config, dtype=torch.float32, attn_implementation="sdpa")
    else:
        model = load_model(AutoModel, "language model", name, dtype, attn_implementation="sdpa")
    if lora_rank is not None:
        adapters = LoraConfig(r=lora_rank, lora_alpha=2 * lora_rank, target_modules="all-linear")
        inject_adapter_in_model(adapters, model)
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.data = parameter.data.float()
    return model


def load_config(kind: Any, what: str, name: str) -> Any:
    """Return the configuration of a published model.

    Args:
        kind: Its class, of transformers.
        what: What the model is called in messages.
        name: A folder, or a name of the hub.

    Raises:
        ClevrSkillsError: It cannot be loaded.
    """
    place = address(name)
    with loading(what, name):
        return kind.from_pretrained(place.pop("path_or_repo_id"), **place)


def load_trained(model: PreTrainedModel, what: str, name: str, **options: Any) -> None:
    """Load the weights that a model starts from; those of small random ones stay.

    Args:
        model: The model.
        what: What it is called in messages.
        name: Its name.
        options: Further arguments of ``from_pretrained``.

    Raises:
        ClevrSkillsError: They cannot be loaded.
    """
    if name not in (*RANDOM_LANGUAGE_MODELS, *RANDOM_IMAGE_ENCODERS):
        found = load_model(type(model), what, name, torch.float32, **options)
        model.load_state_dict(found.state_dict())


class PretrainedEncoder(nn.Module):
    """A vision transformer (Dosovitskiy et al. 2020, arXiv 2010.11929), trained further from the
    weights that :meth:`start` loads.

    Args:
        name: Its name.
        image_size: Width and height of the images in pixels; where it was trained on images of
            another size, its embeddings of positions are interpolated.
        recompute: Whether its features are computed again, piece by piece, when gradients are: that
            takes longer and little memory.

    Attributes:
        name: Its name.
        width: Numbers in a feature.
        count: Features of an image.

    Raises:
        ClevrSkillsError: It cannot be loaded.
    """

    def __init__(self, name: str, image_size: int, recompute: bool = False) -> None:
        super().__init__()
        if name in RANDOM_IMAGE_ENCODERS:
            config = ViTConfig(image_size=image_size, **RANDOM_IMAGE_ENCODERS[name])
        else:
            config = load_config(ViTConfig, "image encoder", name)
        self.model = ViTModel(config, add_pooling_layer=False)
        self.name = name
        self.width: int = self.model.config.hidden_size
        self.count = (image_size // self.model.config.patch_size) ** 2 + 1
        self._recompute = recompute

    def start(self) -> None:
        """Load the weights that it starts from.

        Raises:
            ClevrSkillsError: They cannot be loaded.
        """
        load_trained(self.model, "image encoder", self.name, add_pooling_layer=False)

    def forward(self, images: Tensor) -> Tensor:
        """Map images (N, 3, S, S) in [0, 1] -> features (N, count, width)."""
        if not len(images):
            return images.new_zeros(0, self.count, self.width)
        if not (self._recompute and torch.is_grad_enabled()):
            return self._encode(images)
        parts = images.split(_TOGETHER)
        return torch.cat([checkpoint(self._encode, part, use_reentrant=False) for part in parts])

    def _encode(self, images: Tensor) -> Tensor:
        found = self.model(images * 2 - 1, interpolate_pos_encoding=True)
        features: Tensor = found.last_hidden_state
        return features


class ConvolutionalEncoder(nn.Module):
    """A small image encoder for training from scratch on a CPU: a grid of features, one for each
    8 x 8 pixels, and one more that tells where some features are, finer than the grid.

    Args:
        image_size: Width and height of the images in pixels, a multiple of 8.

    Attributes:
        width: Numbers in a feature.
        count: Features of an image.
    """

    width = 128
    _channels = (5, 24, 32, 48)  # the first: colors, and where a pixel is
    _places = 32

    def __init__(self, image_size: int) -> None:
        super().__init__()
        self.convolutions, self.norms = convolutions(self._channels)
        self.look = nn.Conv2d(self._channels[-1], self._places, 1)
        nn.init.normal_(self.look.weight, std=0.5)  # so that each starts to look elsewhere
        self.places = nn.Linear(3 * self._places, self.width)
        self.grid = nn.Conv2d(self._channels[-1], self.width, 2, stride=2)
        side = image_size // 8
        self.count = side**2 + 1
        self.position = nn.Parameter(torch.randn(side**2, self.width) * 0.02)

    def start(self) -> None:
        """Start from nothing."""

    def forward(self, images: Tensor) -> Tensor:
        """Map images (N, 3, S, S) in [0, 1] -> features (N, count, width)."""
        if not len(images):
            return images.new_zeros(0, self.count, self.width)
        features = with_places(images)
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            features = functional.gelu(norm(convolution(features)))
        fine = self.places(spatial_softmax(self.look(features)))[:, None]
        coarse = self.grid(features).flatten(2).transpose(1, 2) + self.position
        return torch.cat([coarse, fine], 1)


def make_image_encoder(
    name: str, image_size: int, recompute: bool
) -> PretrainedEncoder | ConvolutionalEncoder:
    """Return an image encoder by its name; see :class:`PretrainedEncoder`."""
    if name == CONVOLUTIONAL_ENCODER:
        return ConvolutionalEncoder(image_size)
    return PretrainedEncoder(name, image_size, recompute)
