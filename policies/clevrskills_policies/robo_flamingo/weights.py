"""Published weights of RoboFlamingo and OpenFlamingo."""

import pickle
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from clevrskills.baselines.policy import LearnedPolicy
from clevrskills.errors import ClevrSkillsError
from clevrskills_policies.hub import hub_file

WORDS = "language.model.wte.weight"
"""Name of the word embeddings in this package."""
WEIGHTS_FILE = "checkpoint.pt"
_WORDS = "lang_encoder.transformer.wte.weight"
_NEW_NAMES = (
    (re.compile(r"^perceiver\."), "resampler."),
    (re.compile(r"^lang_encoder\.gated_cross_attn_layers\."), "language.cross."),
    (re.compile(r"^(lang_encoder\.)?lm_head\.rnn\."), "head.lstm."),
    (re.compile(r"^(lang_encoder\.)?lm_head\.actions\.mlp\."), "head.pose."),
    (re.compile(r"^(lang_encoder\.)?lm_head\.gripper\.mlp\."), "head.gripper."),
)

_HEAD = ("head.lstm.", "head.pose.", "head.gripper.")


def weights_file(name: str) -> Path:
    """Return the path of published weights, given a file, a folder or a name on the hub.

    Raises:
        ClevrSkillsError: The folder or the hub has no such file.
    """
    path = Path(name)
    return path if path.suffix in (".pt", ".pth", ".bin") else hub_file(name, WEIGHTS_FILE)


def load_published(policy: LearnedPolicy[Any], path: Path) -> None:
    """Load published weights into a policy.

    Those of OpenFlamingo are resampler, cross-attention and embeddings. Those of RoboFlamingo
    start from them and have the policy head as well. Other weights in the file are ignored.

    Args:
        policy: The policy.
        path: A file written by ``torch.save``; only tensors and plain data are read from it.

    Raises:
        ClevrSkillsError: The file cannot be read, or is of another model.
    """
    published = _read(path)
    found = {
        pattern.sub(new, name): tensor
        for name, tensor in published.items()
        for pattern, new in _NEW_NAMES
        if pattern.match(name)
    }
    state = policy.state_dict()
    has_head = any(name.startswith(_HEAD) for name in found)
    parts = ("resampler.", "language.cross.", *(_HEAD if has_head else ()))
    needed = [name for name in state if name.startswith(parts)]
    unfit = [n for n, tensor in found.items() if n not in state or state[n].shape != tensor.shape]
    unfit += [name for name in needed if name not in found]
    words, image = published.get(_WORDS), policy.tokenizer.image
    if words is None or len(words) < image + 2 or words.shape[1] != state[WORDS].shape[1]:
        unfit.append(_WORDS)
    if unfit:
        raise ClevrSkillsError(
            f"{path} does not fit the configuration: {len(unfit)} weights, such as {unfit[0]}"
        )
    words = published[_WORDS]
    found[WORDS] = torch.cat([words[:image], state[WORDS][image:]])
    # two tokens follow the words: end of chunk and image
    found |= {"end_of_chunk": words[image], "image_token": words[image + 1]}
    policy.load_state_dict(found, strict=False)


def _read(path: Path) -> dict[str, Tensor]:
    """Return the weights of a file under their published names."""
    try:
        data = torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, RuntimeError, EOFError, pickle.UnpicklingError) as error:
        reason = str(error).splitlines()[0]
        raise ClevrSkillsError(f"the weights {path} cannot be read: {reason}") from error
    weights = data.get("model_state_dict", data) if isinstance(data, Mapping) else {}
    return {name.removeprefix("module."): t for name, t in weights.items() if torch.is_tensor(t)}
