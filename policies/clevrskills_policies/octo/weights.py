"""Published weights of Octo 1.5, ``rail-berkeley/octo-small-1.5`` and ``octo-base-1.5`` on the hub,
converted to torch. They are Flax files: trees of arrays in MessagePack.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from clevrskills.baselines.policy import LearnedPolicy
from clevrskills.errors import ClevrSkillsError
from clevrskills_policies.hub import hub_file
from clevrskills_policies.octo.config import CAMERAS, OctoConfig

WEIGHTS_FILE = "300000/default/checkpoint"
_BODY = "octo_transformer"
_LAYERS = f"{_BODY}/BlockTransformer_0/Transformer_0"
_HEAD = "heads_action/diffusion_model"
_ARRAY = 1  # MessagePack extension type of arrays in Flax


def load_published(policy: LearnedPolicy[OctoConfig], name: str) -> None:
    """Load published weights into a policy. What Octo lacks keeps its initial values: weights for
    images of prompts, and position embeddings of words after the 16th.

    Args:
        policy: The policy.
        name: Folder or name of the published model.

    Raises:
        ClevrSkillsError: The weights are missing or do not fit the configuration.
    """
    tree = _FlaxTree(_read(hub_file(name, WEIGHTS_FILE)), name)
    state = policy.state_dict()
    weights = _converted(tree, policy.config)
    for ours, tensor in weights.items():
        if ours.endswith("places") or ours.startswith("camera_places"):
            rows = min(len(tensor), len(state[ours]))
            tensor = torch.cat([tensor[:rows], state[ours][rows:]])
        if tensor.shape != state[ours].shape:
            raise ClevrSkillsError(
                f"the weights of {name} do not fit this configuration: {ours} is "
                f"{tuple(tensor.shape)}, not {tuple(state[ours].shape)}"
            )
        weights[ours] = tensor
    policy.load_state_dict(weights, strict=False)


class _FlaxTree:
    """Arrays of a Flax file by path, as tensors in the layout of torch."""

    def __init__(self, tree: Mapping[str, Any], name: str) -> None:
        self._tree, self._name = tree, name

    def array(self, path: str) -> Tensor:
        """Return an array in its own layout, as float32."""
        found: Any = self._tree
        for part in path.split("/"):
            found = found.get(part) if isinstance(found, Mapping) else None
        if not isinstance(found, np.ndarray):
            raise ClevrSkillsError(f"the weights of {self._name} have no {path}")
        return torch.from_numpy(found.astype(np.float32))

    def kernel(self, ours: str, path: str) -> dict[str, Tensor]:
        """Convert weights of a linear or convolutional layer; Flax kernels are (..., in, out)."""
        kernel, bias = self.array(f"{path}/kernel"), self.array(f"{path}/bias")
        return {f"{ours}.weight": kernel.movedim((-1, -2), (0, 1)), f"{ours}.bias": bias}

    def norm(self, ours: str, path: str) -> dict[str, Tensor]:
        scale, bias = self.array(f"{path}/scale"), self.array(f"{path}/bias")
        return {f"{ours}.weight": scale, f"{ours}.bias": bias}

    def attention(self, ours: str, path: str) -> dict[str, Tensor]:
        """Convert attention weights; those of Flax are (width, heads, width / heads)."""
        names = [f"{path}/{part}" for part in ("query", "key", "value")]
        weight = torch.cat([self.array(f"{n}/kernel").flatten(1).T for n in names])
        bias = torch.cat([self.array(f"{n}/bias").flatten() for n in names])
        mixing = self.array(f"{path}/out/kernel").flatten(0, 1).T
        return {
            f"{ours}.attention.weight": weight,
            f"{ours}.attention.bias": bias,
            f"{ours}.mixing.weight": mixing,
            f"{ours}.mixing.bias": self.array(f"{path}/out/bias"),
        }


def _converted(tree: _FlaxTree, config: OctoConfig) -> dict[str, Tensor]:
    """Return the weights under the names of this package."""
    weights = tree.kernel("words", f"{_BODY}/task_language_projection")
    weights["word_places"] = tree.array(f"{_BODY}/task_language_pos_embedding")[0]
    weights["readout_places"] = tree.array(f"{_BODY}/readout_action_pos_embedding")[0]
    for camera, name in zip(config.cameras, CAMERAS, strict=False):
        ours, stem = f"cameras.{camera}", f"{_BODY}/observation_tokenizers_{name}/SmallStem16_0"
        for k in range(len(config.channels)):
            weights |= tree.kernel(f"{ours}.stem.layers.{3 * k}", f"{stem}/StdConv_{k}")
            weights |= tree.norm(f"{ours}.stem.layers.{3 * k + 1}", f"{stem}/GroupNorm_{k}")
        weights |= tree.kernel(f"{ours}.stem.last", f"{stem}/embedding")
        weights |= tree.kernel(f"{ours}.projection", f"{_BODY}/obs_{name}_projection")
        weights[f"camera_places.{camera}"] = tree.array(f"{_BODY}/obs_{name}_pos_embedding")[0]
    for k in range(config.layers):
        ours, block = f"transformer.blocks.{k}", f"{_LAYERS}/encoderblock_{k}"
        weights |= tree.attention(ours, f"{block}/MultiHeadDotProductAttention_0")
        for n in range(2):
            weights |= tree.norm(f"{ours}.norms.{n}", f"{block}/LayerNorm_{n}")
            weights |= tree.kernel(f"{ours}.feed_forward.{2 * n}", f"{block}/MlpBlock_0/Dense_{n}")
    weights |= tree.norm("transformer.norm", f"{_LAYERS}/encoder_norm")
    return weights | _converted_head(tree, config.head_blocks)


def _converted_head(tree: _FlaxTree, blocks: int) -> dict[str, Tensor]:
    weights = {"head.frequencies": tree.array(f"{_HEAD}/time_preprocess/kernel")[:, 0]}
    for n in range(2):
        weights |= tree.kernel(f"head.time.{2 * n}", f"{_HEAD}/cond_encoder/Dense_{n}")
    network = f"{_HEAD}/reverse_network"
    weights |= tree.kernel("head.first", f"{network}/Dense_0")
    weights |= tree.kernel("head.last.1", f"{network}/Dense_1")
    for k in range(blocks):
        ours, block = f"head.blocks.{k}", f"{network}/MLPResNetBlock_{k}"
        weights |= tree.norm(f"{ours}.0", f"{block}/LayerNorm_0")
        weights |= tree.kernel(f"{ours}.1", f"{block}/Dense_0")
        weights |= tree.kernel(f"{ours}.3", f"{block}/Dense_1")
    return weights


def _read(path: Path) -> Mapping[str, Any]:
    """Return the tree of arrays of a Flax file."""
    try:
        import msgpack
    except ModuleNotFoundError as error:
        raise ClevrSkillsError("Octo's weights need msgpack: pip install msgpack") from error

    def array(kind: int, data: bytes) -> Any:
        if kind != _ARRAY:
            return None
        shape, dtype, content = msgpack.unpackb(data)
        return np.frombuffer(content, dtype).reshape(shape)

    try:
        tree = msgpack.unpackb(path.read_bytes(), ext_hook=array)
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise ClevrSkillsError(f"{path} is not a Flax checkpoint: {error}") from error
    if not isinstance(tree, Mapping):
        raise ClevrSkillsError(f"{path} is not a Flax checkpoint")
    return tree
