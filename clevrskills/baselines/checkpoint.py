"""Checkpoints of learned policies; see :mod:`clevrskills.core.checkpoint` for the format.

``clevrskills evaluate --policy checkpoint:DIR`` evaluates one, ``clevrskills serve`` serves it. If
DIR is the folder of a training run, its latest checkpoint is used.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from clevrskills.baselines.data.track import Track
from clevrskills.baselines.policy import LearnedPolicy
from clevrskills.baselines.published import KEPT, place, remembered, without_places
from clevrskills.baselines.registry import build, policy_type
from clevrskills.baselines.spec import PolicyConfig, PolicySpec
from clevrskills.core import checkpoint
from clevrskills.core.suite import find_interface, load_suite
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.files import storage_errors
from clevrskills.jobs.run_folder import versions


@dataclass(frozen=True)
class CheckpointDescription:
    """Metadata of a checkpoint."""

    policy: str
    config: PolicyConfig
    spec: PolicySpec  # observations and actions
    provenance: Mapping[str, Any]  # training data and settings, as JSON data

    @property
    def trained_tasks(self) -> tuple[str, ...]:
        """Keys of the tasks it was trained on, those of the checkpoint it started from included."""
        made = self.provenance
        return tuple(sorted({*made.get("tasks", ()), *made.get("earlier_tasks", ())}))

    @property
    def learned_from(self) -> dict[str, Any]:
        """Amounts and labels of its training data, as far as they are declared, without compute."""
        declared = self.provenance.get("learned_from", {})
        return {name: value for name, value in declared.items() if name != "compute"}

    def to_json(self) -> dict[str, Any]:
        """Return the content of ``config.json``."""
        return {
            "policy": self.policy,
            "config": without_places(asdict(self.config)),
            "spec": asdict(self.spec),
            "provenance": {"versions": versions(), **self.provenance},
        }


def load(path: str | Path, device: str | None = None, weights: str | None = None) -> LearnedPolicy:
    """Return a trained policy, ready to act.

    Args:
        path: Folder of a checkpoint, or of a training run: its latest checkpoint.
        device: Device of the policy; ``None``: a GPU if there is one, else the CPU.
        weights: Folder with published weights in ``language_model`` and ``image_encoder``, one of
            which may be missing. ``None``: where the training run found them, or else by name from
            the Hugging Face Hub.

    Raises:
        ClevrSkillsError: The checkpoint is missing or damaged, or its actions are not those of the
            environments.
    """
    folder = checkpoint.find(Path(path))
    about = describe(folder)
    suite, interface = policy_type(about.policy).acts_in
    find_interface(load_suite(suite), interface).check(about.spec.action, str(path))
    config = remembered(about.config, folder)
    if weights is not None:
        config = place(about.config, Path(weights), KEPT)
    policy = build(about.policy, config, about.spec)
    fill(policy, folder)
    policy.track = str(Track.of(about.provenance) or "")
    policy.trained_tasks = about.trained_tasks
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    return policy.to(device).eval()


def describe(folder: Path) -> CheckpointDescription:
    """Read the description of a checkpoint.

    Raises:
        ClevrSkillsError: It is missing or damaged, or its policy is unknown or not installed.
    """
    data = checkpoint.read_config(folder)
    try:
        name = data["policy"]
        config = policy_type(name).config_type.from_json(data["config"])
        spec = PolicySpec.from_json(data["spec"])
        return CheckpointDescription(name, config, spec, data["provenance"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, ClevrSkillsError):
            raise
        raise ClevrSkillsError(
            f"{folder / checkpoint.CONFIG_FILE} is damaged: {error!r}"
        ) from error


def fill(policy: LearnedPolicy, folder: Path) -> None:
    """Load a checkpoint into a policy.

    Raises:
        ClevrSkillsError: It is missing, damaged or of another policy.
    """
    checkpoint.load_weights(policy, folder, policy.pretrained())
    policy.read_files(folder)


def write(
    folder: Path,
    policy: LearnedPolicy,
    about: CheckpointDescription,
    optimizer: torch.optim.Optimizer | None = None,
) -> None:
    """Write a checkpoint into an empty folder, without weights that are loaded from elsewhere. The
    final checkpoint of a training run has no optimizer state.

    Raises:
        StorageError: A write failed.
    """
    weights = policy.state_dict()
    for name in policy.pretrained():
        del weights[name]
    training = None if optimizer is None else checkpoint.optimizer_tensors(policy, optimizer)
    with storage_errors(folder):
        policy.write_files(folder)
        checkpoint.write(folder, about.to_json(), weights, training)
