"""Checkpoints of a training: the policy, and what it takes to go on as if nothing had happened.

::

    OUT/training.json                    what is trained, on what
    OUT/log.jsonl                        losses and successes
    OUT/tensorboard/                     the same for TensorBoard
    OUT/checkpoints/<steps>/             a checkpoint of the policy, see baselines.checkpoint
    OUT/checkpoints/<steps>/optimizer.safetensors
                                         the state of the optimizer; not at the end of the training

That is all there is to keep: the learning rate, the order of the windows and all random numbers
follow from the seed and the number of the step.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clevrskills.baselines import checkpoint
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.files import (
    PartialDirectory,
    storage_errors,
    to_json,
    write_whole,
)

if TYPE_CHECKING:
    import torch

    from clevrskills.baselines.policy import LearnedPolicy

TRAINING_FILE = "training.json"
OPTIMIZER_FILE = "optimizer.safetensors"


def open_training(root: Path, what: Mapping[str, Any]) -> None:
    """Make the folder of a training, or check that it is the one of the same training.

    Raises:
        ClevrSkillsError: It holds something else.
        StorageError: It cannot be written.
    """
    path = root / TRAINING_FILE
    plain = json.loads(to_json(what))
    if not path.is_file():
        with storage_errors(root):
            root.mkdir(parents=True, exist_ok=True)
            if any(not p.name.startswith(".") for p in root.iterdir()):
                raise ClevrSkillsError(
                    f"{root} is no training (no {TRAINING_FILE}) and not empty; give a new folder"
                )
        write_whole(path, to_json(plain, indent=1) + "\n")
        return
    with storage_errors(path):
        there = json.loads(path.read_text(encoding="utf-8"))
    for name, value in plain.items():
        if there.get(name) != value:
            raise ClevrSkillsError(
                f"{root} was trained with {name} {_words(there.get(name))}, not {_words(value)}; "
                "give another folder"
            )


def latest(root: Path) -> tuple[int, Path | None]:
    """How many steps were made up to the latest checkpoint of a training, and its folder."""
    found = sorted((root / checkpoint.CHECKPOINTS_DIR).glob(f"[0-9]*/{checkpoint.CONFIG_FILE}"))
    return (int(found[-1].parent.name), found[-1].parent) if found else (0, None)


def save(
    root: Path,
    steps: int,
    policy: LearnedPolicy,
    about: checkpoint.Description,
    optimizer: torch.optim.Optimizer | None,
    keep: int,
) -> Path:
    """Write a checkpoint after so many steps, whole or not at all, and remove older ones.

    Args:
        root: Folder of the training.
        steps: Number of steps made.
        policy: The policy.
        about: What it is.
        optimizer: The optimizer; ``None``: the training is at its end.
        keep: How many checkpoints stay.

    Returns:
        Folder of the checkpoint.

    Raises:
        StorageError: The disk refused.
    """
    final = root / checkpoint.CHECKPOINTS_DIR / f"{steps:08d}"
    partial = PartialDirectory(root, final)
    try:
        checkpoint.write(partial.path, policy, about)
        if optimizer is not None:
            with storage_errors(final):
                state = optimizer_tensors(policy, optimizer)
                checkpoint.save_tensors(partial.path / OPTIMIZER_FILE, state)
        partial.commit()
    finally:
        partial.discard()
    for old in sorted(final.parent.glob("[0-9]*"))[:-keep]:
        shutil.rmtree(old, ignore_errors=True)
    return final


def fill_optimizer(optimizer: torch.optim.Optimizer, policy: LearnedPolicy, folder: Path) -> None:
    """Read the state of a policy's optimizer from a checkpoint.

    Raises:
        ClevrSkillsError: It is damaged.
    """
    found = checkpoint.read_tensors(folder / OPTIMIZER_FILE)
    parameters = dict(policy.named_parameters())
    for name, tensor in found.items():
        owner, _, what = name.rpartition("/")
        if owner not in parameters:
            raise ClevrSkillsError(f"{folder / OPTIMIZER_FILE} is not of this policy: {owner}")
        parameter = parameters[owner]
        where = "cpu" if what == "step" else parameter.device
        optimizer.state[parameter][what] = tensor.to(where)


def optimizer_tensors(
    policy: LearnedPolicy, optimizer: torch.optim.Optimizer
) -> dict[str, torch.Tensor]:
    """The state of an optimizer, as ``<parameter>/<what>``."""
    return {
        f"{name}/{what}": value
        for name, parameter in policy.named_parameters()
        for what, value in optimizer.state.get(parameter, {}).items()
    }


def _words(value: Any) -> str:
    return "unset" if value is None else json.dumps(value)
