"""Submission document: runs in one small JSON file, with hashes of their episodes and of itself."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.submission.inflation import FAILED, SOLVED
from clevrskills.jobs.files import storage_errors, to_json

VERSION = 1


@dataclass(frozen=True)
class TaskOutcomes:
    """Outcomes of the first episodes of a task and split."""

    file: str  # hash of the file of frozen episodes
    episodes: str  # hash of the content hashes of these episodes, in order
    outcomes: str  # A letter for each, in order: ``1`` solved, ``0`` not

    @property
    def count(self) -> int:
        """Number of episodes."""
        return len(self.outcomes)

    @property
    def solved(self) -> int:
        """Number of solved ones."""
        return self.outcomes.count(SOLVED)


@dataclass(frozen=True)
class SubmittedRun:
    """One run of a submission, a row of its suite's protocol."""

    run: Mapping[str, Any]  # how it was run
    tasks: Mapping[str, TaskOutcomes]  # outcomes by ``<task>_<split>``
    # success rate and its Wilson 95 % interval by headline number, of those whose tasks are all
    # there
    rates: Mapping[str, Sequence[float]]
    restarts: int = 0  # second starts of its episodes
    # of a language model: its name, date, temperature, limit of tokens, and what it used
    model: Mapping[str, Any] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Number of episodes."""
        return sum(of.count for of in self.tasks.values())


@dataclass(frozen=True)
class Submission:
    """Submission: runs of a policy, as they are handed in."""

    name: str  # name of the policy, as tables show it
    by: str  # who hands it in
    link: str  # address of a page of the policy, http or https
    note: str  # further remarks
    # what the policy has learned from, one of :data:`~clevrskills.evaluation.results.TRACKS`
    track: str
    trained_on: str  # what of the suite it was trained on, as the suite's protocol has it
    suite: str  # name of the suite
    # runs by name of the protocol's cell; one of another command has none
    cells: Mapping[str, SubmittedRun]
    version: int = VERSION  # of this document
    digest: str = field(default="")  # SHA-256 of all else

    def to_json(self) -> str:
        """Return the content of the file."""
        return to_json(asdict(self), indent=1) + "\n"

    def signed(self) -> Submission:
        """Return the same with its digest."""
        data = {**asdict(self), "digest": ""}
        text = json.dumps(json.loads(to_json(data)), sort_keys=True, ensure_ascii=False)
        return replace(self, digest=hashlib.sha256(text.encode()).hexdigest())

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Submission:
        """Return the submission of JSON data.

        Raises:
            ValueError, KeyError, TypeError, AttributeError: It is none.
        """
        if data.keys() != {entry.name for entry in fields(cls)}:
            raise ValueError("it has other fields")
        cells = {}
        for name, cell in data["cells"].items():
            tasks = {task: TaskOutcomes(**of) for task, of in cell["tasks"].items()}
            cells[name] = SubmittedRun(**{**cell, "tasks": tasks})
            for task, of in tasks.items():
                if not re.fullmatch(f"[{FAILED}{SOLVED}]+", of.outcomes):
                    raise ValueError(f"the outcomes of {task} are not of 0 and 1")
        return cls(**{**data, "cells": cells})


def read_submission(path: Path) -> Submission:
    """Read a file.

    Raises:
        ClevrSkillsError: It is none, or of another version.
    """
    with storage_errors(path):
        if not path.is_file():
            raise ClevrSkillsError(
                f"there is no file {path}: `clevrskills submission pack` writes one"
            )
        text = path.read_text(encoding="utf-8")
    try:
        data = json.loads(text)
        if data["version"] != VERSION:
            raise ClevrSkillsError(
                f"{path} is of version {data['version']}; this package reads {VERSION}"
            )
        return Submission.from_data(data)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ClevrSkillsError(f"{path} is no submission: {error}") from None


def episodes_hash(hashes: Sequence[str]) -> str:
    """Return the SHA-256 of content hashes of episodes, in order."""
    return hashlib.sha256("\n".join(hashes).encode()).hexdigest()
