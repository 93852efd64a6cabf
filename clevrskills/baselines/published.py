"""Published weights: where those of a configuration are on this machine, and their names.

A configuration names them by entries such as ``language_model``: a name of the Hugging Face Hub,
with ``@`` and a revision or without, or a folder. A checkpoint holds names only. The folder of a
training run also remembers where they were found, so that its checkpoints act on that machine.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from clevrskills.baselines.spec import PolicyConfig
from clevrskills.errors import ClevrSkillsError

KEPT = ("language_model", "image_encoder")
"""Entries whose weights, or whose sizes and vocabulary, a checkpoint needs when it acts."""
START = "weights"
"""The entry whose weights are needed at the start of a training only."""
PLACES = "places"
"""Key of their places in the settings of a training run."""


def place(
    config: PolicyConfig, folder: Path, entries: Sequence[str] = (*KEPT, START)
) -> PolicyConfig:
    """Return a configuration whose published weights are in a folder, in one by the name of each
    entry. What is not there keeps its name.

    Args:
        config: The configuration.
        folder: The folder.
        entries: Which of its entries are looked for.

    Raises:
        ClevrSkillsError: None is there, or one that the configuration does not name.
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
    """Return a checkpoint's configuration with its published weights where its training run found
    them, if they still are there.

    Args:
        config: The configuration, of names.
        checkpoint: Folder of the checkpoint, ``RUN/checkpoints/STEPS``.
    """
    try:
        text = (checkpoint.parent.parent / "training.json").read_text(encoding="utf-8")
        places = json.loads(text).get(PLACES, {})
    except (OSError, ValueError, AttributeError):
        return config  # it is in no folder of a training run
    return config.changed({entry: path for entry, path in places.items() if Path(path).exists()})


def places(config: PolicyConfig) -> dict[str, str]:
    """Return the entries of a configuration that are folders or files of this machine, absolute."""
    return {
        entry: str(Path(value).absolute())
        for entry, value in _named(config).items()
        if Path(value).exists()
    }


def pinned(config: PolicyConfig, placed: PolicyConfig) -> PolicyConfig:
    """Return a configuration with the revisions of its published weights, as far as they are known.

    Args:
        config: The configuration, of names.
        placed: The same with the folders in which they are.
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
    """Return a configuration as JSON data in which folders and files of this machine have their
    last name alone.
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
