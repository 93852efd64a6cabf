"""Submission document: runs in one JSON file, with hashes of the episodes and of the file."""

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
    episodes: str  # hash of the ordered content hashes of the episodes
    outcomes: str  # one character per episode: ``1`` solved, ``0`` not

    @property
    def count(self) -> int:
        """Number of episodes."""
        return len(self.outcomes)

    @property
    def solved(self) -> int:
        """Number of solved episodes."""
        return self.outcomes.count(SOLVED)


@dataclass(frozen=True)
class SubmittedRun:
    """Run of a submission, a row of its suite's protocol."""

    run: Mapping[str, Any]  # settings
    tasks: Mapping[str, TaskOutcomes]  # outcomes by ``<task>_<split>``
    # success rate and Wilson 95 % interval of each complete headline number
    rates: Mapping[str, Sequence[float]]
    restarts: int = 0  # number of second starts
    # language model: name, date, temperature, token limit and usage
    model: Mapping[str, Any] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Number of episodes."""
        return sum(of.count for of in self.tasks.values())


@dataclass(frozen=True)
class Submission:
    """Submission of the runs of a policy."""

    name: str  # name of the policy in tables
    by: str  # authors
    link: str  # web page of the policy, http or https
    note: str
    track: str  # training data, one of :data:`~clevrskills.evaluation.results.TRACKS`
    trained_on: str  # tasks of the suite that the policy was trained on
    suite: str
    cells: Mapping[str, SubmittedRun]  # runs by cell of the protocol, or by an empty name
    version: int = VERSION  # format version
    digest: str = field(default="")  # SHA-256 of all other fields

    def to_json(self) -> str:
        """Return the content of the file."""
        return to_json(asdict(self), indent=1) + "\n"

    def signed(self) -> Submission:
        """Return the submission with its digest."""
        data = {**asdict(self), "digest": ""}
        text = json.dumps(json.loads(to_json(data)), sort_keys=True, ensure_ascii=False)
        return replace(self, digest=hashlib.sha256(text.encode()).hexdigest())

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Submission:
        """Return the submission of JSON data.

        Raises:
            ValueError, KeyError, TypeError, AttributeError: The data is invalid.
        """
        if data.keys() != {entry.name for entry in fields(cls)}:
            raise ValueError("it has other fields")
        cells = {}
        for name, cell in data["cells"].items():
            tasks = {task: TaskOutcomes(**of) for task, of in cell["tasks"].items()}
            cells[name] = SubmittedRun(**{**cell, "tasks": tasks})
            for task, of in tasks.items():
                if not re.fullmatch(f"[{FAILED}{SOLVED}]+", of.outcomes):
                    raise ValueError(f"the outcomes of {task} are not all 0 or 1")
        return cls(**{**data, "cells": cells})


def read_submission(path: Path) -> Submission:
    """Read a submission.

    Raises:
        ClevrSkillsError: The file is no submission, or has another version.
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
                f"{path} has version {data['version']}; this package reads {VERSION}"
            )
        return Submission.from_data(data)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ClevrSkillsError(f"{path} is no submission: {error}") from None


def episodes_hash(hashes: Sequence[str]) -> str:
    """Return the SHA-256 of the ordered content hashes of episodes."""
    return hashlib.sha256("\n".join(hashes).encode()).hexdigest()
