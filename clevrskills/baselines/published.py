"""Published weights of a configuration: their names, and their locations on this machine.

An entry such as ``language_model`` is a name on the Hugging Face Hub, optionally with
``@REVISION``, or a folder. A checkpoint stores names only. The folder of a training run also stores
the locations, so that its checkpoints can be loaded on the same machine.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from clevrskills.baselines.spec import PolicyConfig
from clevrskills.errors import ClevrSkillsError

KEPT = ("language_model", "image_encoder")
"""Entries needed to run a checkpoint, for their weights or for their sizes and vocabulary."""
START = "weights"
"""Entry whose weights are needed at the start of training only."""
PLACES = "places"
"""Key of their locations in the settings of a training run."""


def place(
    config: PolicyConfig, folder: Path, entries: Sequence[str] = (*KEPT, START)
) -> PolicyConfig:
    """Return a configuration with the published weights in ``FOLDER/ENTRY``; entries without such a
    folder keep their names.

    Args:
        config: The configuration.
        folder: The folder.
        entries: Names of the entries to look for.

    Raises:
        ClevrSkillsError: The folder has no entry, or one that is unset in the configuration.
    """
    known = [entry for entry in entries if hasattr(config, entry)]
    there = [entry for entry in known if (folder / entry).exists()]
    found = {entry: str((folder / entry).absolute()) for entry in there}
    if not found:
        wanted = " or ".join(known) or "any published weights: the policy has none"
        raise ClevrSkillsError(f"weights={folder}: there is no folder {wanted}")
    for entry in found:
        if getattr(config, entry) is None:
            raise ClevrSkillsError(
                f"{folder / entry} would not be used: name it, --set {entry}=NAME"
            )
    return config.changed(found)


def remembered(config: PolicyConfig, checkpoint: Path) -> PolicyConfig:
    """Return the configuration of a checkpoint with the locations of published weights that its
    training run used, if they still exist.

    Args:
        config: The configuration, with names.
        checkpoint: Folder of the checkpoint, ``RUN/checkpoints/STEPS``.
    """
    try:
        text = (checkpoint.parent.parent / "training.json").read_text(encoding="utf-8")
        places = json.loads(text).get(PLACES, {})
    except (OSError, ValueError, AttributeError):
        return config  # not in the folder of a training run
    return config.changed({entry: path for entry, path in places.items() if Path(path).exists()})


def places(config: PolicyConfig) -> dict[str, str]:
    """Return the entries of a configuration that are paths on this machine, as absolute paths."""
    return {
        entry: str(Path(value).absolute())
        for entry, value in _named(config).items()
        if Path(value).exists()
    }


def pinned(config: PolicyConfig, placed: PolicyConfig) -> PolicyConfig:
    """Return a configuration with the revisions of its published weights, if they are known.

    Args:
        config: The configuration, with names.
        placed: The configuration with the locations of the weights.
    """
    changes: dict[str, str] = {}
    for entry, name in _named(config).items():
        path = Path(name)
        if "/" in name and "@" not in name and not (path.is_absolute() or path.exists()):
            from clevrskills.baselines.policies.hub import revision

            commit = revision(_named(placed)[entry])
            changes |= {entry: f"{name}@{commit}"} if commit else {}
    return config.changed(changes)


def without_places(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration as JSON data in which paths on this machine are reduced to their last
    component.
    """
    named = {
        entry: Path(value).name
        for entry, value in config.items()
        if entry in (*KEPT, START) and value and (Path(value).is_absolute() or Path(value).exists())
    }
    return {**config, **named}


def _named(config: PolicyConfig) -> dict[str, str]:
    values = {entry: getattr(config, entry, None) for entry in (*KEPT, START)}
    return {entry: value for entry, value in values.items() if value is not None}
