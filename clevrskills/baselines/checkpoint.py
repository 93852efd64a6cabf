"""Checkpoints: folders of weights and words, nothing that runs.

::

    DIR/config.json         the policy, its configuration, what it sees and does, its origin
    DIR/model.safetensors   its weights
    DIR/tokenizer/          its vocabulary, where that came with published weights

``clevrskills evaluate --policy checkpoint:DIR`` evaluates one, ``clevrskills serve`` serves it. The
folder of a training holds some of them; its latest one is meant where the folder itself is named.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clevrskills.baselines.registry import build, policy_type
from clevrskills.baselines.spec import PolicySpec
from clevrskills.core.action_spec import check_action_spec
from clevrskills.dataset_tools.layout import versions
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.files import storage_errors, to_json

if TYPE_CHECKING:
    from torch import Tensor

    from clevrskills.baselines.policy import LearnedPolicy
    from clevrskills.baselines.spec import PolicyConfig

CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.safetensors"
CHECKPOINTS_DIR = "checkpoints"
FORMAT_VERSION = 1


@dataclass(frozen=True)
class Description:
    """The words of a checkpoint.

    Attributes:
        policy: Name of the policy.
        config: Its configuration.
        spec: What it sees and does.
        provenance: What it was made of, as JSON data.
    """

    policy: str
    config: PolicyConfig
    spec: PolicySpec
    provenance: Mapping[str, Any]

    def to_json(self) -> str:
        """The content of ``config.json``."""
        data = {
            "format_version": FORMAT_VERSION,
            "policy": self.policy,
            "config": asdict(self.config),
            "spec": self.spec.to_json(),
            "provenance": {"versions": versions(), **self.provenance},
        }
        return to_json(data, indent=1) + "\n"


def load(path: str | Path, device: str | None = None) -> LearnedPolicy:
    """A trained policy, ready to act.

    Args:
        path: Folder of a checkpoint, or of a training: then its latest checkpoint.
        device: Where it is to be; ``None``: on a GPU, if there is one.

    Raises:
        ClevrSkillsError: It is not there or damaged, or acts otherwise than the environments.
    """
    import torch

    folder = find(Path(path))
    about = describe(folder)
    check_action_spec(about.spec.action, str(path))
    policy = build(about.policy, about.config, about.spec)
    fill(policy, folder)
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    return policy.to(device).eval()


def find(path: Path) -> Path:
    """The folder of a checkpoint: the one named, or the latest one of a training.

    Raises:
        ClevrSkillsError: There is none.
    """
    if (path / CONFIG_FILE).is_file():
        return path
    found = sorted((path / CHECKPOINTS_DIR).glob(f"[0-9]*/{CONFIG_FILE}"))
    if not found:
        raise ClevrSkillsError(f"{path} is no checkpoint: it has no {CONFIG_FILE}")
    return found[-1].parent


def describe(folder: Path) -> Description:
    """Read the words of a checkpoint.

    Raises:
        ClevrSkillsError: They are missing or damaged, or of a policy that is not there.
    """
    path = folder / CONFIG_FILE
    with storage_errors(path):
        text = path.read_text(encoding="utf-8")
    try:
        data = json.loads(text)
        if data["format_version"] != FORMAT_VERSION:
            raise ClevrSkillsError(
                f"{path} has format version {data['format_version']}; this package reads "
                f"{FORMAT_VERSION}"
            )
        config = policy_type(data["policy"]).config_type.from_json(data["config"])
        spec = PolicySpec.from_json(data["spec"])
        return Description(data["policy"], config, spec, data["provenance"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, ClevrSkillsError):
            raise
        raise ClevrSkillsError(f"{path} is damaged: {error!r}") from error


def write(folder: Path, policy: LearnedPolicy, about: Description) -> None:
    """Write a checkpoint into an empty folder.

    Raises:
        StorageError: The disk refused.
    """
    with storage_errors(folder):
        policy.write_files(folder)
        save_tensors(folder / WEIGHTS_FILE, weights(policy))
        (folder / CONFIG_FILE).write_text(about.to_json(), encoding="utf-8")


def weights(policy: LearnedPolicy) -> dict[str, Tensor]:
    """The weights that are kept: all but those that were loaded from elsewhere."""
    kept = policy.state_dict()
    for name in policy.pretrained():
        del kept[name]
    return kept


def fill(policy: LearnedPolicy, folder: Path) -> None:
    """Read a checkpoint into a policy.

    Raises:
        ClevrSkillsError: They are missing, damaged or of another policy.
    """
    found = read_tensors(folder / WEIGHTS_FILE)
    state = policy.state_dict()
    missing = state.keys() - policy.pretrained() - found.keys()
    unfit = [name for name, t in found.items() if name not in state or state[name].shape != t.shape]
    if missing or unfit:
        names = sorted(missing)[:3] + unfit[:3]
        raise ClevrSkillsError(
            f"{folder} is not of this policy: {len(missing)} weights are missing and {len(unfit)} "
            f"do not fit, such as {', '.join(names)}"
        )
    policy.load_state_dict(found, strict=False)
    policy.read_files(folder)


def save_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write tensors; those that share their memory are written once each."""
    from safetensors.torch import save_file

    own = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    save_file(own, path)


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Read tensors.

    Raises:
        ClevrSkillsError: The file is missing or damaged.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        found: dict[str, Tensor] = load_file(path)
    except (OSError, SafetensorError) as error:
        raise ClevrSkillsError(f"{path} cannot be read: {error}") from error
    return found
