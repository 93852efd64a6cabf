"""Language models and image encoders: pretrained, from a folder or by their name on the Hugging
Face Hub, or small with random weights.
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

from clevrskills.baselines.batch import Prompts
from clevrskills.baselines.checkpoint import load
from clevrskills.baselines.policies.compact.network import (
    BOTTOM_PX,
    NEARNESS_UNIT,
    STRIDE_PX,
    TOP_PX,
    Calibration,
    Reader,
)
from clevrskills.baselines.policies.compact.policy import CompactConfig, CompactPolicy
from clevrskills.baselines.policies.hub import address, load_model, loading
from clevrskills.baselines.prompts import WordTokenizer
from clevrskills.core import geometry
from clevrskills.errors import ClevrSkillsError
from clevrskills.sim.setting import TABLETOP


def _sizes(width: int, layers: int, heads: int) -> dict[str, int]:
    return {"hidden_size": width, "num_hidden_layers": layers, "num_attention_heads": heads}


_OPT = {"word_embed_proj_dim": 64, "ffn_dim": 128, "dropout": 0.0}
_COMPACT_OPT = {"word_embed_proj_dim": 192, "ffn_dim": 384, "dropout": 0.0}
_LLAMA = {"intermediate_size": 128, "num_key_value_heads": 2}
RANDOM_LANGUAGE_MODELS: dict[str, tuple[type, dict[str, Any]]] = {
    "tiny-opt": (OPTConfig, _sizes(64, 2, 4) | _OPT),
    "tiny-llama": (LlamaConfig, _sizes(64, 2, 4) | _LLAMA),
    "compact-opt": (OPTConfig, _sizes(192, 4, 4) | _COMPACT_OPT),
}
"""Language models with random weights over words: class and sizes of the configuration."""

RANDOM_IMAGE_ENCODERS: dict[str, dict[str, Any]] = {
    "tiny-vit": {"patch_size": 16, "intermediate_size": 128, **_sizes(64, 2, 4)},
}
"""Vision transformers with random weights: sizes."""

PERCEPTION = "compact"
"""Image encoder that is the perception of a compact policy."""
BODIES, SHOWN = 10, 4
"""Tokens of bodies of an image, and images of a prompt, of :class:`PerceptionEncoder`."""
LOGIT, UNIT_M = 10.0, 0.1
"""Units of logits and positions."""

_CHECKPOINTED = 64  # images of a gradient checkpoint


def make_language_model(
    name: str, lora_rank: int | None = None, dtype: torch.dtype = torch.float32
) -> PreTrainedModel:
    """Return a causal language model without its head.

    Args:
        name: Its name.
        lora_rank: Rank of adapters of all linear layers (LoRA, Hu et al. 2021, arXiv 2106.09685),
            beside frozen weights; ``None``: full fine-tuning of the weights of
            :func:`load_trained`.
        dtype: Type of frozen published weights; adapters are float32.

    Raises:
        ClevrSkillsError: The model cannot be loaded.
    """
    if name in RANDOM_LANGUAGE_MODELS:
        kind, sizes = RANDOM_LANGUAGE_MODELS[name]
        fixed = {"bos_token_id": 0, "pad_token_id": None, "max_position_embeddings": 2048}
        config = kind(vocab_size=WordTokenizer.size, **fixed, **sizes)
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
        what: Kind of model in messages.
        name: A folder, or a name on the hub.

    Raises:
        ClevrSkillsError: The model cannot be loaded.
    """
    place = address(name)
    with loading(what, name):
        return kind.from_pretrained(place.pop("path_or_repo_id"), **place)


def load_trained(model: PreTrainedModel, what: str, name: str, **options: Any) -> None:
    """Load pretrained weights, unless the name is of a model with random weights.

    Args:
        model: The model.
        what: Kind of model in messages.
        name: Its name.
        options: Further arguments of ``from_pretrained``.

    Raises:
        ClevrSkillsError: The weights cannot be loaded.
    """
    if name not in (*RANDOM_LANGUAGE_MODELS, *RANDOM_IMAGE_ENCODERS):
        found = load_model(type(model), what, name, torch.float32, **options)
        model.load_state_dict(found.state_dict())


class PretrainedEncoder(nn.Module):
    """Vision transformer (Dosovitskiy et al. 2020, arXiv 2010.11929), fine-tuned.

    Args:
        name: Its name.
        image_size: Width and height of images in pixels; position embeddings of another size are
            interpolated.
        recompute: Whether to use gradient checkpointing.

    Attributes:
        name: Its name.
        width: Width of a feature.
        count: Number of features of an image.

    Raises:
        ClevrSkillsError: The model cannot be loaded.
    """

    places = 0

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
        """Load pretrained weights.

        Raises:
            ClevrSkillsError: They cannot be loaded.
        """
        load_trained(self.model, "image encoder", self.name, add_pooling_layer=False)

    def shown(self, prompts: Prompts) -> Tensor:
        """Return nothing to find in images, (B, 0)."""
        return prompts.images.new_zeros(len(prompts.tokens), 0)

    def forward(
        self, images: Tensor, shown: Tensor, poses: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Map images (N, 3, S, S) in [0, 1] -> features (N, count, width), and no places (N, 0);
        the other arguments do not matter.
        """
        none = images.new_zeros(len(images), 0)
        if not len(images):
            return images.new_zeros(0, self.count, self.width), none
        if not (self._recompute and torch.is_grad_enabled()):
            return self._encode(images), none
        parts = images.split(_CHECKPOINTED)
        encoded = [checkpoint(self._encode, part, use_reentrant=False) for part in parts]
        return torch.cat(encoded), none

    def _encode(self, images: Tensor) -> Tensor:
        found = self.model(images * 2 - 1, interpolate_pos_encoding=True)
        features: Tensor = found.last_hidden_state
        return features


class PerceptionEncoder(nn.Module):
    """Encoder of images as tokens of bodies, by the frozen perception of a compact policy.

    The first token embeds the whole image, if it is one of a prompt. Each other token has the
    content of a cell that contains the center of a body, its position by the calibration of the
    base camera, and the probability that each image of the prompt shows it. Positions are in the
    frame of the end effector; nothing else of an image reveals the arm.

    Args:
        path: Folder of a checkpoint of ``compact`` of the default configuration.

    Attributes:
        width: Width of a token.
        count: Number of tokens of an image.
        places: Number of coordinates of positions.
    """

    width, count, places = 128, 1 + BODIES, 3 * SHOWN

    def __init__(self, path: str) -> None:
        super().__init__()
        sizes = CompactConfig()
        self._path = path
        self.reader = Reader(1, 1, sizes.channels, sizes.width, 2).requires_grad_(False)
        self.camera = Calibration(TABLETOP.main_camera)
        self.token = nn.Linear(sizes.width + 4 + SHOWN, self.width)
        self._known: dict[int, Tensor] = {}

    def start(self) -> None:
        """Load the perception.

        Raises:
            ClevrSkillsError: There is no such checkpoint.
        """
        trained = load(self._path, "cpu")
        if not isinstance(trained, CompactPolicy):
            raise ClevrSkillsError(f"{self._path} is no checkpoint of compact")
        for name in ("trunk", "attention", "object", "cell", "geometry"):
            getattr(self.reader, name).load_state_dict(getattr(trained.reader, name).state_dict())
        self.reader.scale.data.copy_(trained.reader.scale)

    def shown(self, prompts: Prompts) -> Tensor:
        """Return the contents of the first images of prompts, (B, SHOWN, D), zeros for none."""
        index, found = prompts.image_index, self._known_bodies(prompts.images)[:, 0, :-4]
        order = (index >= 0).cumsum(1) - 1
        rows, columns = ((index >= 0) & (order < SHOWN)).nonzero(as_tuple=True)
        shown = found.new_zeros(len(index), SHOWN, found.shape[-1])
        places = rows, order[rows, columns]
        return shown.index_put(places, found[index[rows, columns]])

    def forward(
        self, images: Tensor, shown: Tensor, poses: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Map images -> tokens (N, count, width), and the positions of what the prompts show, zeros
        for none, (N, places) in units of :data:`UNIT_M`.

        Args:
            images: Images (N, 3, 256, 256) in [0, 1].
            shown: Contents of the images of their prompts, (N, SHOWN, D).
            poses: Poses of the end effector, (N, 7); ``None``: images of prompts, whose bodies have
                no positions.
        """
        content, position, logit = self._known_bodies(images).split((shown.shape[-1], 3, 1), -1)
        if poses is None:
            position = torch.zeros_like(position)
        else:
            exist = functional.pad((logit[:, 1:] > 0).to(logit.dtype), (0, 0, 1, 0))
            position = geometry.to_local(poses, UNIT_M * position) / UNIT_M * exist
            content, logit = content * exist, logit * exist
        fits = self.reader.temperature * content[:, 1:] @ shown.mT  # (N, BODIES, SHOWN)
        fits = fits.masked_fill(~content[:, 1:].any(-1, keepdim=True), -LOGIT)  # no body there
        matches = fits.softmax(1) * shown.any(-1)[:, None]
        places = (matches.mT @ position[:, 1:]).flatten(1)
        matches = torch.cat([content[:, :1] @ shown.mT, matches], 1)
        return self.token(torch.cat([content, position, logit, matches], -1)), places

    def _known_bodies(self, images: Tensor) -> Tensor:
        if not len(images):
            return images.new_zeros(0, self.count, self.token.in_features - SHOWN)
        return self._recall(images) if self.training else self._bodies(images)

    def _recall(self, images: Tensor) -> Tensor:
        """Return :meth:`_bodies`, from memory for images of earlier batches."""
        keys = [hash(image.tobytes()) for image in images.cpu().numpy()]
        new = {key: k for k, key in enumerate(keys) if key not in self._known}
        if new:
            found = self._bodies(images[[*new.values()]]).cpu()
            self._known.update(zip(new, found, strict=True))
        return torch.stack([self._known[key] for key in keys]).to(images.device)

    @torch.no_grad()
    def _bodies(self, images: Tensor) -> Tensor:
        """Return contents, positions and logits of the image and its bodies, (N, count, D + 4)."""
        corner = images.new_tensor([[0.0, TOP_PX]])
        maps = self.reader.encode_scenes(images[:, :, TOP_PX:BOTTOM_PX], corner)
        centers = maps.geometry[:, 3]
        highest = functional.max_pool2d(centers, 5, 1, 2)
        logits, cells = centers.masked_fill(centers < highest, -LOGIT).flatten(1).topk(BODIES)
        rows, columns = cells // centers.shape[-1], cells % centers.shape[-1]

        def at_cells(values: Tensor) -> Tensor:
            every = values.flatten(2).gather(2, cells[:, None].expand(-1, values.shape[1], -1))
            return every.transpose(1, 2).float()  # (N, BODIES, channels)

        offset = at_cells(maps.geometry[:, :3])
        pixels = STRIDE_PX * (torch.stack([columns, rows], -1) + 0.5 + offset[..., :2]) + corner
        place = self.camera.points(pixels, NEARNESS_UNIT * offset[..., 2])
        known = [functional.normalize(at_cells(maps.cells), dim=-1), place / UNIT_M]
        bodies = torch.cat([*known, logits[..., None].clamp(-LOGIT, LOGIT) / LOGIT], -1)
        whole = functional.normalize(self.reader.embed(functional.avg_pool2d(images, 4)), dim=-1)
        return torch.cat([functional.pad(whole, (0, 4))[:, None], bodies], 1)


def make_image_encoder(
    name: str, image_size: int, recompute: bool, perception: str
) -> PretrainedEncoder | PerceptionEncoder:
    """Return an image encoder by its name."""
    if name == PERCEPTION:
        return PerceptionEncoder(perception)
    return PretrainedEncoder(name, image_size, recompute)
