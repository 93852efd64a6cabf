"""Fingerprint: hashes of what users rely on, compared between two versions of the code.

    python benchmarks/fingerprint.py                      # what is in the working tree, with HEAD
    python benchmarks/fingerprint.py --against v0.1.0     # with another commit
    python benchmarks/fingerprint.py --quick              # a part of it
    python benchmarks/fingerprint.py --only oracle train

Both sides run the same commands on this machine, with the packages of this Python; the other commit
in a git worktree of its own, the working tree in a copy made at the start, so that it may be edited
meanwhile. Nothing of either is imported here, so modules may move. Hashes of a commit are kept in
the user's cache, below ``clevrskills-fingerprint``.

A fingerprint has a hash for each column of a table, entry of a JSON file (of a list of objects, for
all of them together), tensor of a checkpoint, and other file. What only the working tree has is
listed as new and is no difference. What it has no more, or otherwise, is one. The exit code is 0 if
there is no difference, 1 if there is one, 2 if a command failed.
"""

from __future__ import annotations

import argparse
import bz2
import hashlib
import importlib.metadata
import json
import os
import pickle
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).parents[1]
PACKAGE = "clevrskills"
Hashes = dict[str, str]

LEFT_OUT = {
    "worker": "host and process",
    "ended": "when",
    "times_s": "seconds",
    "policy_s": "seconds",
    "env_s": "seconds",
    "wall_s": "seconds",
    "seconds": "seconds",
    "speed/steps_per_s": "seconds",
    "speed/update_share": "seconds",
    "versions": "of packages, this one among them",
    "files": "sizes and hashes of files with versions in them; the files are looked at themselves",
}
"""Entries of JSON files that are not looked at, and what they are. None is an absolute path or the
name of a module: commands run in the folder that they write to.
"""
FOLDERS_LEFT_OUT = {"tensorboard": "host, process and times; the same numbers are in a log beside"}
VERSIONS_LINE = "Made with "
"""A line of Markdown that is not looked at begins so."""
IDENTITY = ("task", "split", "seed", "index", "attempt")
"""Entries that name a line of a journal; lines are in the order in which they were finished."""

ENVIRONMENT = {
    **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
    "LP_NUM_THREADS": "0",  # threads of the software renderer
    "CUDA_VISIBLE_DEVICES": "",
    "HF_HUB_OFFLINE": "1",
}
POLICY_MODULE = "looking"
POLICY = '''"""A policy whose actions depend on every pixel that it is shown, and on the prompt."""

import numpy as np


class Looking:
    observation = {"size_px": 64, "history": 2}

    def reset(self, prompt):
        pictures = [prompt.images[name].mean() for name in sorted(prompt.images)]
        self._seen = len(prompt.text) + sum(pictures)

    def act(self, observation):
        images, felt = observation["images"], observation["proprioception"]
        seen = self._seen + sum(float(images[name].mean()) for name in sorted(images))
        seen += sum(float(np.sum(felt[name])) for name in sorted(felt))
        return 0.5 * np.sin(np.linspace(1.0, 2.0, 7) * seen)
'''

LEVELS = "--level L0 --level L1 --level L2"
DEMOS = "generate match_pose pick sort --episodes 1 --depth --segmentation --out demos --cameras"
EXPORTS = ("lerobot", "lerobot-v3.1", "lerobot-v2.1", "clevrskills", "maniskill", "rlds")
TRAIN = "train --data demos --configuration tiny --log-every 1 --workers 0 --cpu"
RL = "rl trace --num-envs 4 --rollout-steps 32 --episode-steps 20"
FULL: Mapping[str, Sequence[str]] = {
    "frozen": [],
    "dataset": [f"{DEMOS} base_camera hand_camera render_camera"]
    + [f"export demos --to {name} --out export-{name}" for name in EXPORTS],
    "oracle": [
        f"generate {LEVELS} --episodes 3 --no-cameras --split {split} --robot {robot}"
        f" --out {robot}-{split}"
        for robot in ("xarm6", "panda")
        for split in ("train", "test")
    ],
    "evaluate": [
        f"evaluate --policy oracle {LEVELS} --episodes 1 --out oracle",
        "evaluate --policy random --level L0 --episodes 1 --out random",
        "evaluate --policy looking:Looking pick touch stack --episodes 1 --out looking",
        "evaluate --policy looking:Looking place throw sort --episodes 1 --seed 7 --robot panda"
        " --criteria released --prompt language --history 1 --keep-going --out looking-otherwise",
    ],
    "train": [
        f"{TRAIN} --policy bc --steps 20 --out bc",
        f"{TRAIN} --policy stream_robolm --steps 20 --out stream_robolm",
    ],
    "rl": [
        f"{RL} --total-steps 256 --out ppo",
        "rl pick --num-envs 2 --rollout-steps 16 --obs rgb --size 36 --total-steps 64 --out ppo-rgb",
    ],
}
"""Commands of each part; those that read ``demos`` wait for it."""
QUICK: Mapping[str, Sequence[str]] = {
    "frozen": [],
    "dataset": [f"{DEMOS} base_camera hand_camera"]
    + [f"export demos --to {name} --out export-{name}" for name in ("lerobot", "rlds")],
    "oracle": [
        "generate --level L0 --level L2 --episodes 1 --no-cameras --out xarm6-train",
        "generate --level L1 --episodes 1 --no-cameras --split test --robot panda --out panda-test",
    ],
    "evaluate": ["evaluate --policy looking:Looking pick --episodes 1 --out looking"],
    "train": [f"{TRAIN} --policy bc --steps 5 --set batch_size=16 --out bc"],
    "rl": [f"{RL} --total-steps 128 --out ppo"],
}


class CommandFailed(Exception):
    """A command failed; its last lines."""


def digest(data: bytes) -> str:
    """A short hash."""
    return hashlib.sha256(data).hexdigest()[:16]


def of_json(value: Any) -> Hashes:
    """A hash for each entry, by its name; entries of all objects of a list have one together."""
    found: dict[str, Any] = {}

    def visit(value: Any, name: str, place: str) -> None:
        text = ""
        if isinstance(value, dict):
            text = "an object"
            for key in value.keys() - LEFT_OUT.keys():
                visit(value[key], f"{name}.{key}", f"{place}.{key}")
        elif isinstance(value, list) and any(isinstance(entry, dict | list) for entry in value):
            text = f"{len(value)} entries"
            for number, entry in enumerate(value):
                visit(entry, f"{name}[]", f"{place}[{number}]")
        line = f"{place}: {text or json.dumps(value)}\n"
        found.setdefault(name, hashlib.sha256()).update(line.encode())

    visit(value, "", "")
    return {name: hashed.hexdigest()[:16] for name, hashed in found.items()}


def of_journal(path: Path) -> Hashes:
    """The entries of each line of JSON."""
    found: Hashes = {}
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines()):
        line = json.loads(text)
        own = "_".join(str(line[key]) for key in IDENTITY if key in line)
        found |= {f"{own or number}{name}": value for name, value in of_json(line).items()}
    return found


def of_table(path: Path) -> Hashes:
    """Each column with its type, and all bytes of the file."""
    table = pq.read_table(path).replace_schema_metadata(None)
    found = {"": digest(path.read_bytes())}
    for name in table.column_names:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.select([name]).schema) as stream:
            stream.write_table(table.select([name]).combine_chunks())
        found[f" {name}"] = digest(sink.getvalue())
    return found


def of_tensors(path: Path) -> Hashes:
    """Each tensor of a safetensors file, with its type and shape."""
    data = path.read_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    found: Hashes = {}
    for name, about in json.loads(data[8:begin]).items():
        if name != "__metadata__":
            first, last = about.pop("data_offsets")
            kind = json.dumps(about, sort_keys=True).encode()
            found[f" {name}"] = digest(kind + data[begin + first : begin + last])
    return found


def of_pickle(value: Any) -> Hashes:
    """What was pickled: bytes depend on which equal texts are one object."""
    return of_json(json.loads(json.dumps(value, default=lambda array: array.tolist())))


def of_array(path: Path) -> Hashes:
    """The bytes of an array, or the content of an array of objects."""
    array = np.load(path, allow_pickle=True)  # written by our own commands
    return of_pickle(array.tolist()) if array.dtype.hasobject else {"": digest(path.read_bytes())}


def of_page(path: Path) -> Hashes:
    """The lines of a page, without the one that tells versions."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return {"": digest("\n".join(x for x in lines if not x.startswith(VERSIONS_LINE)).encode())}


READERS: Mapping[str, Callable[[Path], Hashes]] = {
    ".json": lambda path: of_json(json.loads(path.read_text(encoding="utf-8"))),
    ".jsonl": of_journal,
    ".md": of_page,
    ".npy": of_array,
    ".parquet": of_table,
    ".pickle.bz2": lambda path: of_pickle(pickle.loads(bz2.decompress(path.read_bytes()))),
    ".safetensors": of_tensors,
}
"""How files are read, by the end of their names; of all others the bytes are hashed."""


def of_folder(folder: Path) -> Hashes:
    """All files of a folder, by their path in it."""
    found: Hashes = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        hidden = any(part.startswith(".") or part in FOLDERS_LEFT_OUT for part in name.parts)
        if path.is_file() and not hidden:
            readers = [read for end, read in READERS.items() if path.name.endswith(end)]
            hashes = readers[0](path) if readers else {"": digest(path.read_bytes())}
            found |= {f"{folder.name}/{name}{own and ':' + own}": h for own, h in hashes.items()}
    return found


def of_frozen(code: Path) -> Hashes:
    """The bytes of the files of frozen episodes, wherever they are."""
    files = [path for end in ("train", "test") for path in code.rglob(f"*_{end}.jsonl.gz")]
    return {path.name: digest(path.read_bytes()) for path in files}


@dataclass
class Side:
    """One of the two versions.

    Attributes:
        name: What it is called.
        code: The folder in which its package is.
        work: An empty folder to run its commands in.
    """

    name: str
    code: Path
    work: Path

    def fingerprint(self, commands: Mapping[str, Sequence[str]]) -> dict[str, Hashes]:
        """Run commands, two at a time, and hash what they wrote.

        Raises:
            CommandFailed: One failed.
        """
        (self.work / f"{POLICY_MODULE}.py").write_text(POLICY, encoding="utf-8")
        self._check_code()
        lines = [(part, line) for part, own in commands.items() for line in own]
        demos = FULL["dataset"][0] if commands == FULL else next(iter(QUICK["dataset"]))
        found: dict[str, Hashes] = {part: {} for part in commands}
        return found

    def _check_code(self) -> None:
        """Check that commands run the code of this side, not what is installed."""
        find = f"from importlib.util import find_spec; print(find_spec('{PACKAGE}').origin)"
        origin = self._python("-c", find).strip()
        if not Path(origin).resolve().is_relative_to(self.code.resolve()):
            raise CommandFailed(f"the code of {self.code} is hidden by {origin}")
