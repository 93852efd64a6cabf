"""Opening the folder of an evaluation: a new one, or one that is to be continued."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.results import RUN_FILE, Run
from clevrskills.evaluation.runs import read_run
from clevrskills.jobs.files import storage_errors, to_json, write_whole

SAME = ("policy", "policy_args", "robot", "criteria", "stop_on_success", "chunk", "clip", "seed")
"""What must be the same when a run is continued, besides the episodes and what is shown."""
_OPTIONAL = ("label", "note")


def prepare(root: Path) -> Run | None:
    """Make the folder, or read what run it holds.

    Raises:
        ClevrSkillsError: It holds something else.
        StorageError: It cannot be written.
    """
    if root.exists() and not root.is_dir():
        raise ClevrSkillsError(f"{root} is a file; give a folder")
    if (root / RUN_FILE).exists():
        return read_run(root)
    with storage_errors(root):
        root.mkdir(parents=True, exist_ok=True)
        if any(not path.name.startswith(".") for path in root.iterdir()):
            raise ClevrSkillsError(
                f"{root} is no run of `clevrskills evaluate` (no {RUN_FILE}) and not empty; "
                "give an empty or new folder"
            )
    return None


def check_same(root: Path, there: Run, now: Run, shown: Mapping[str, Any]) -> None:
    """Check that a run can be continued.

    Args:
        root: Its folder.
        there: The run.
        now: What it is to be continued as; what is shown and the renderer are not looked at, nor
            are an empty label and note.
        shown: Those options of what is shown that are known.

    Raises:
        ClevrSkillsError: It cannot, as something differs.
    """
    mine, theirs = _plain(now), _plain(there)
    pairs = [(name, theirs[name], mine[name]) for name in SAME]
    pairs += [(name, theirs[name], mine[name]) for name in _OPTIONAL if mine[name]]
    seen = theirs["observation"]
    pairs += [(name, seen.get(name), value) for name, value in _plain(shown).items()]
    for name, one, other in pairs:
        if one != other:
            raise ClevrSkillsError(
                f"{root} was made with {name} {_words(one)}, not {_words(other)}; "
                "give another folder"
            )
    for name, one in theirs["episodes"].items():
        if mine["episodes"].get(name, one) != one:
            raise ClevrSkillsError(
                f"{root} was made with other frozen episodes of {name}; give another folder"
            )


def open_run(root: Path, there: Run | None, now: Run) -> Run:
    """Enter a run into its folder, or what is new of it.

    Args:
        root: The folder, see :func:`prepare`.
        there: What it holds; ``None``: nothing.
        now: The run.

    Returns:
        The run as it is in the folder then.

    Raises:
        ClevrSkillsError: It differs from what is there.
        StorageError: It cannot be written.
    """
    there = there or prepare(root)  # another writer may have been quicker
    if there is None:
        run = replace(now, label=now.label or now.policy)
    else:
        check_same(root, there, now, now.observation)
        for name in ("versions", "renderer"):
            one, other = getattr(there, name), getattr(now, name)
            if one != other:
                logging.getLogger(__name__).warning(
                    "%s was begun with other %s: %s, now %s",
                    *(root, "versions" if name == "versions" else "pictures", one, other),
                )
        run = replace(there, episodes={**there.episodes, **now.episodes})
    if run != there:
        write_whole(root / RUN_FILE, to_json(asdict(run), indent=1) + "\n")
    return run


def _plain(value: Any) -> Any:
    """As it is when it was written and read again."""
    return json.loads(to_json(asdict(value) if isinstance(value, Run) else value))


def _words(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    return "unset" if value is None else str(value)
