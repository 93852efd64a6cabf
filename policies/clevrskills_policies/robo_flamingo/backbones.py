"""Backbones of RoboFlamingo: MPT language models and CLIP image encoders.

MPT-1B, on which OpenFlamingo is built, is an early MPT with other parameter names and normalized
queries and keys. On the Hugging Face Hub, its code comes with the weights. Remote code is not run:
here the MPT of transformers is extended by that normalization.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import CLIPVisionConfig, CLIPVisionModel, MptConfig, MptModel, PreTrainedConfig

from clevrskills.baselines.policies.hub import address, load_model, loading
from clevrskills.baselines.prompts import WordTokenizer
from clevrskills.errors import ClevrSkillsError

TINY_LANGUAGE_MODEL = "tiny-mpt"
TINY_IMAGE_ENCODER = "tiny-clip"

_NEW_NAMES = {
    r"\.ln_1\.": ".norm_1.",
    r"\.ln_2\.": ".norm_2.",
    r"\.mlp\.mlp_up\.": ".ffn.up_proj.",
    r"\.mlp\.mlp_down\.": ".ffn.down_proj.",
    r"\.attn\.q_ln\.": ".attn.Wqkv.q_ln.",
    r"\.attn\.k_ln\.": ".attn.Wqkv.k_ln.",
    r"transformer\.ln_f\.": "transformer.norm_f.",
}
"""Parameter names of early MPTs -> those of transformers."""

_MEAN = (0.48145466, 0.4578275, 0.40821073)
_STD = (0.26862954, 0.26130258, 0.27577711)
"""Mean and standard deviation of colors in the training data of CLIP."""


class NormalizedQkv(nn.Linear):
    """Linear layer for queries, keys and values, with normalized queries and keys."""

    def __init__(self, width: int) -> None:
        super().__init__(width, 3 * width, bias=False)
        self.q_ln = nn.LayerNorm(width, bias=False)
        self.k_ln = nn.LayerNorm(width, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        query, key, value = super().forward(tokens).chunk(3, -1)
        return torch.cat([self.q_ln(query), self.k_ln(key), value], -1)


class NormalizedMpt(MptModel):
    """MPT without its head, with normalized queries and keys."""

    def __init__(self, config: MptConfig) -> None:
        super().__init__(config)
        for block in self.blocks:
            block.attn.Wqkv = NormalizedQkv(config.d_model)
        self.post_init()


def make_language_model(name: str, dtype: torch.dtype = torch.float32) -> NormalizedMpt:
    """Return a frozen language model.

    Args:
        name: A folder, a name on the Hugging Face Hub, or ``tiny-mpt``: a small one with random
            weights, over bytes.
        dtype: Data type of published weights.

    Raises:
        ClevrSkillsError: The model cannot be loaded, or is not an early MPT.
    """
    if name == TINY_LANGUAGE_MODEL:
        model = NormalizedMpt(
            MptConfig(
                d_model=64, n_heads=4, n_layers=2, max_seq_len=2048, vocab_size=WordTokenizer.size
            )
        )
    else:
        place = address(name)
        with loading("language model", name):
            data, _ = PreTrainedConfig.get_config_dict(place.pop("path_or_repo_id"), **place)
            config = _config(name, data)
        model = load_model(
            *(NormalizedMpt, "language model", name, dtype), config=config, key_mapping=_NEW_NAMES
        )
    return model.requires_grad_(False)


def _config(name: str, data: dict[str, Any]) -> MptConfig:
    """Return the configuration of an early MPT in transformers."""
    expected = {"alibi": True, "attn_qk_ln": True, "no_bias": True, "attn_clip_qkv": None}
    other = [key for key, value in expected.items() if data.get(key) != value]
    if other:
        raise ClevrSkillsError(f"{name} is not an MPT as RoboFlamingo needs it: {', '.join(other)}")
    same = ("d_model", "n_heads", "n_layers", "max_seq_len", "vocab_size")
    return MptConfig(**{key: data[key] for key in same})


class ClipEncoder(nn.Module):
    """Frozen image encoder of CLIP (Radford et al. 2021, arXiv 2103.00020).

    Args:
        name: A folder, a name on the Hugging Face Hub, or ``tiny-clip``: a small random one.

    Attributes:
        width: Width of a feature.
        count: Number of features of an image, K.

    Raises:
        ClevrSkillsError: The model cannot be loaded.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, name: str) -> None:
        super().__init__()
        if name == TINY_IMAGE_ENCODER:
            sizes = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2}
            shape = {"num_attention_heads": 4, "image_size": 32, "patch_size": 16}
            self.model = CLIPVisionModel(CLIPVisionConfig(**sizes, **shape))
        else:
            self.model = load_model(CLIPVisionModel, "image encoder", name, torch.float32)
        self.model.requires_grad_(False)
        config = self.model.config
        self.width: int = config.hidden_size
        self.count = (config.image_size // config.patch_size) ** 2
        self._size_px: int = config.image_size
        for key, values in (("mean", _MEAN), ("std", _STD)):
            self.register_buffer(key, torch.tensor(values)[:, None, None], persistent=False)

    def forward(self, images: Tensor) -> Tensor:
        """Map images (N, 3, S, S) in [0, 1], of any size -> features (N, K, width)."""
        if not len(images):
            return images.new_zeros(0, self.count, self.width)
        if images.shape[-1] != self._size_px:
            images = functional.interpolate(
                images, size=self._size_px, mode="bicubic", antialias=True
            ).clamp(0, 1)
        with torch.no_grad():
            found = self.model((images - self.mean) / self.std)
        features: Tensor = found.last_hidden_state[:, 1:]
        return features
