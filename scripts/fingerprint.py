"""Fingerprint: hashes of outputs that users rely on, compared between two versions of the code.

    python scripts/fingerprint.py                      # compare the working tree with HEAD
    python scripts/fingerprint.py --against v0.1.0     # with another commit
    python scripts/fingerprint.py --quick              # fewer commands
    python scripts/fingerprint.py --only oracle train

Both versions run the same commands on this machine with the packages of this Python. The commit
runs in its own git worktree, the working tree in a copy, so it may be edited meanwhile. Neither is
imported here, so modules may move. Hashes of a commit are cached in the user's cache directory,
below ``clevrskills-fingerprint``.

A fingerprint has a hash for each table column, JSON entry (one for all objects of a list),
checkpoint tensor and other file. Hashes that only the working tree has are listed as new. Missing
or changed hashes are differences unless a row of ``fingerprint_changes.toml`` expects them. The
exit code is 0 without differences, 1 with differences, 2 if a command failed.

Rows are regular expressions that match whole keys, ``PART/KEY`` as in the report of ``--out``:

- ``[[renamed]]``: ``old``, ``new`` (with groups, as of `re.sub`), ``reason``
- ``[[removed]]``: ``key``, ``reason``
- ``[[changed]]``: ``key``, ``reason``; any new value is accepted, such as the version of a format
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import hashlib
import importlib.metadata
import json
import os
import pickle
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

ROOT = Path(__file__).parents[1]
CHANGES = Path(__file__).with_name("fingerprint_changes.toml")
PACKAGE = "clevrskills"
SHOWN, LAST_LINES = 5, 20  # names of a part, lines of a command that failed
Hashes = dict[str, str]
Parts = dict[str, Hashes]

LEFT_OUT = {
    **dict.fromkeys(("times_s", "policy_s", "env_s", "wall_s", "seconds"), "seconds"),
    **dict.fromkeys(("speed/steps_per_s", "speed/update_share"), "seconds"),
    "worker": "host and process",
    "ended": "when",
    "content": "of the policy's files, by absolute path",
    "versions": "of packages, this one among them",
    "files": "sizes and hashes of files with versions in them; the files are looked at themselves",
}
"""Entries of JSON files that are ignored, and their meaning. None is an absolute path or the
name of a module: commands run in the folder that they write to.
"""
FOLDERS_LEFT_OUT = {
    "tensorboard": "host, process and times; the same numbers are in a log beside",
    "starts": "times and commands; the numbers of starts are in the results",
}
VERSIONS_LINE = "Made with "  # so begins a line of Markdown that is not looked at
TENSORS = ".safetensors: "  # in the name of a tensor, after the name of its file
IDENTITY = ("task", "split", "seed")  # these name a line of a journal; lines without are numbered

ENVIRONMENT = {
    **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
    "LP_NUM_THREADS": "0",  # threads of the software renderer
    "CUDA_VISIBLE_DEVICES": "",
    "HF_HUB_OFFLINE": "1",
}
RUN = f"""import runpy, secrets
secrets.token_hex = lambda nbytes=None: ""  # no salt: seeds follow from the episodes alone
runpy.run_module("{PACKAGE}", run_name="__main__", alter_sys=True)
"""
POLICY_FILE = "looking.py"
POLICY = """import numpy as np
class Choosing:  # one of four moves, which depends on every pixel of a view
    def reset(self, prompt):
        pass
    def act(self, observation):
        return int(sum(view.sum(dtype=np.int64) for view in observation["views"].values())) % 4
class Looking:  # what it does depends on every pixel that it is shown, and on the prompt
    observation = {"size_px": 64, "history": 2}
    def reset(self, prompt):
        self.prompt = len(prompt.text) + sum(prompt.images[k].mean() for k in sorted(prompt.images))
    def act(self, observation):
        shown = {**observation["images"], **observation["proprioception"]}
        seen = self.prompt + sum(float(np.mean(shown[name])) for name in sorted(shown))
        return 0.5 * np.sin(np.linspace(1.0, 2.0, 7) * seen)
"""

LEVELS = "--level L0 --level L1 --level L2"
FILM = "--episodes 1 --depth --segmentation --out demos --cameras"
EXPORTS = ("lerobot", "lerobot-v3.1", "lerobot-v2.1", "maniskill", "rlds")
LOOK = "evaluate --policy looking:Looking --episodes 1 --out"
TRAIN = "train --data demos --configuration tiny --log-every 1 --workers 0 --cpu --policy"
RL = "rl trace --num-envs 4 --rollout-steps 32 --episode-steps 20 --out ppo --total-steps"
SUITES = {"lohoravens": "pick_place_color", "ivispar": "geoms", "asgardbench": "coffee"}
"""One task of each further suite."""
ZOO = {
    "checkpoint:zoo/compact": "sort",
    "checkpoint:zoo/compact-l0": "touch",
    "checkpoint:zoo/stream-robolm-compact": "pick",
    "checkpoint:zoo/cliport-primitives": f"{SUITES['lohoravens']} --interface pick_place_pixels",
    "rl:zoo/boards": "geoms --split base",
    "rl:zoo/move-without-hitting": "move_without_hitting",
    "rl:zoo/place": "place",
    "rl:zoo/rotate": "rotate",
    "rl:zoo/touch-push": "touch_push",
    "rl:zoo/touch-topple": "touch_topple",
}
"""Shipped checkpoints, each with a task and its options."""
VIEWS = {"ivispar": "view3d", "asgardbench": "first_person"}
Commands = Mapping[str, Sequence[str]]
FULL: Commands = {
    "frozen": [],
    "dataset": [
        f"generate match_pose pick sort {FILM} base_camera hand_camera render_camera",
        *(f"export demos --to {name} --out export-{name}" for name in EXPORTS),
    ],
    "oracle": [
        f"generate {LEVELS} --episodes 3 --no-cameras --split {split} --robot {robot} "
        f"--out {robot}-{split}"
        for robot in ("xarm6", "panda")
        for split in ("train", "test")
    ],
    "evaluate": [
        f"evaluate --policy oracle {LEVELS} --episodes 1 --out oracle",
        "evaluate --policy random --level L0 --episodes 1 --out random",
        f"{LOOK} looking pick touch stack",
        f"{LOOK} looking-otherwise place throw sort --seed 7 --robot panda --criteria released "
        "--prompt language --history 1 --stop limit",
    ],
    "train": [
        f"{TRAIN} bc --steps 20 --out bc",
        f"{TRAIN} stream_robolm --steps 20 --out stream_robolm",
    ],
    "rl": [
        f"{RL} 256",
        "rl pick --num-envs 2 --rollout-steps 16 --total-steps 64 --obs rgb --size 36 --out rgb",
    ],
    "suites": [
        *(
            f"evaluate {task} --policy {policy} --split val --episodes {count} "
            f"--out {suite}-{policy}"
            for suite, task in SUITES.items()
            for policy, count in (("oracle", 2), ("random", 1))
        ),
        *(
            f"generate {SUITES[suite]} --view {view} --episodes 1 --out {suite}"
            for suite, view in VIEWS.items()
        ),
        f"generate {SUITES['lohoravens']} --size 64 --episodes 1 --out lohoravens",
        f"{LOOK} lohoravens-delta {SUITES['lohoravens']} --split val --interface delta",
        "evaluate geoms --policy looking:Choosing --view view3d --interface index --split val "
        "--episodes 1 --out ivispar-index",
    ],
    "zoo": [
        f"evaluate {task} --policy {policy} {'' if '--split' in task else '--split test '}"
        f"--episodes 2 --out {policy.replace(':zoo/', '-')}"
        for policy, task in ZOO.items()
    ],
}
"""Commands of each part with their output folders; the first one of ``dataset`` makes the
demonstrations that others read.
"""
QUICK: Commands = {
    "frozen": [],
    "dataset": [
        f"generate match_pose pick {FILM} base_camera hand_camera",
        *(f"export demos --to {name} --out export-{name}" for name in ("lerobot", "rlds")),
    ],
    "oracle": [
        "generate --level L0 --level L2 --episodes 1 --no-cameras --out xarm6-train",
        "generate --level L1 --episodes 1 --no-cameras --split test --robot panda --out panda-test",
    ],
    "evaluate": [f"{LOOK} looking pick"],
    "train": [f"{TRAIN} bc --steps 5 --set batch_size=16 --out bc"],
    "rl": [f"{RL} 128"],
    "suites": [
        f"evaluate {task} --policy oracle --split val --episodes 1 --out {suite}"
        for suite, task in SUITES.items()
    ],
    "zoo": ["evaluate geoms --policy rl:zoo/boards --split base --episodes 1 --out boards"],
}
COMMANDS = {"full": FULL, "quick": QUICK}


class CommandError(Exception):
    """Failure of a command, with its last lines."""


def digest(data: bytes) -> str:
    """Return a short hash."""
    return hashlib.sha256(data).hexdigest()[:16]


def of_json(value: Any) -> Hashes:
    """Return a hash for each entry by name; the objects of a list share one per entry."""
    found: dict[str, Any] = {}

    def visit(value: Any, name: str, place: str) -> None:
        text = ""
        if isinstance(value, dict):
            text = "an object"
            for key in value:
                if key not in LEFT_OUT:
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
    """Return the hashes of the entries of JSON lines."""
    found: Hashes = {}
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines()):
        line = json.loads(text)
        named = line.keys() >= set(IDENTITY)
        own = "_".join(str(line[key]) for key in IDENTITY) if named else str(number)
        found |= {own + name: value for name, value in of_json(line).items()}
    return found


def of_table(path: Path) -> Hashes:
    """Return the hashes of each column with its type, and of the whole file."""
    table = pq.read_table(path).replace_schema_metadata(None)
    found = {"": digest(path.read_bytes())}
    for name in table.column_names:
        column = table.select([name]).combine_chunks()
        data = [batch.serialize().to_pybytes() for batch in column.to_batches()]
        found[f" {name}"] = digest(column.schema.to_string().encode() + b"".join(data))
    return found


def of_tensors(path: Path) -> Hashes:
    """Return the hashes of each tensor of a safetensors file, with its type and shape."""
    data = path.read_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    found: Hashes = {}
    for name, about in json.loads(data[8:begin]).items():
        if name != "__metadata__":
            first, last = about.pop("data_offsets")
            kind = json.dumps(about, sort_keys=True).encode()
            found[f" {name}"] = digest(kind + data[begin + first : begin + last])
    return found


def of_pickle(data: Any) -> Hashes:
    """Return the hash of a pickled object, whose bytes depend on the identity of equal strings."""
    return of_json(json.loads(json.dumps(data, default=np.ndarray.tolist)))


def of_array(path: Path) -> Hashes:
    """Return the bytes of an array, or the contents of an array of objects."""
    array = np.load(path, allow_pickle=True)  # our own commands wrote it
    return of_pickle(array.tolist()) if array.dtype.hasobject else of_bytes(path)


def of_page(path: Path) -> Hashes:
    """Return the hash of a page without its line of versions."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return {"": digest("\n".join(x for x in lines if not x.startswith(VERSIONS_LINE)).encode())}


def of_bytes(path: Path) -> Hashes:
    """Return the hash of a file."""
    return {"": digest(path.read_bytes())}


READERS: Mapping[str, Callable[[Path], Hashes]] = {
    ".json": lambda path: of_json(json.loads(path.read_text(encoding="utf-8"))),
    ".jsonl": of_journal,
    ".md": of_page,
    ".npy": of_array,
    ".parquet": of_table,
    ".pickle.bz2": lambda path: of_pickle(pickle.loads(bz2.decompress(path.read_bytes()))),
    ".safetensors": of_tensors,
}
"""Readers by file name suffix; other files are hashed as bytes."""


def of_folder(folder: Path) -> Hashes:
    """Return the hashes of all files of a folder, by relative path."""
    found: Hashes = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        hidden = any(part.startswith(".") or part in FOLDERS_LEFT_OUT for part in name.parts)
        if path.is_file() and not hidden:
            read = next((r for end, r in READERS.items() if path.name.endswith(end)), of_bytes)
            found |= {
                f"{folder.name}/{name}{own and ':' + own}": h for own, h in read(path).items()
            }
    return found


def of_frozen(code: Path) -> Hashes:
    """Return the hashes of the entries of all files of frozen episodes."""
    found: Hashes = {}
    for path in sorted(code.rglob("*.jsonl.gz")):
        lines = gzip.decompress(path.read_bytes()).decode().splitlines()
        header, *episodes = map(json.loads, lines)
        found |= {f"{path.name}: header{name}": h for name, h in of_json(header).items()}
        found |= {f"{path.name}: {name}": h for name, h in of_json(episodes).items()}
    return found


@dataclass
class Side:
    """Version of the code: its name, the folder of its package, an empty folder to run in."""

    name: str
    code: Path
    work: Path
    failed: bool = False

    def fingerprint(self, commands: Commands, parts: Sequence[str]) -> Parts:
        """Run the commands of some parts, two at a time, and hash what they write.

        Raises:
            CommandError: One failed.
        """
        (self.work / POLICY_FILE).write_text(POLICY, encoding="utf-8")
        self._check_code()
        lines = [(part, line) for part in parts for line in commands[part]]
        found: Parts = {part: {} for part in parts}
        with ThreadPoolExecutor(2) as pool:
            demos = commands["dataset"][0]
            if any(" demos" in line for _, line in lines):
                self._demos = pool.submit(self._run, demos)  # first, as others wait for it
            running = [
                (part, self._demos if line == demos else pool.submit(self._run, line))
                for part, line in lines
            ]
            for part, future in running:
                found[part] |= future.result()
        if "frozen" in found:
            found["frozen"] = of_frozen(self.code / PACKAGE)
        return found

    def _run(self, line: str) -> Hashes:
        """Run a command and hash the folder that it writes."""
        words = shlex.split(line)
        out = words[words.index("--out") + 1]
        if "demos" in words and out != "demos":
            self._demos.result()
        if self.failed:
            raise CommandError("not begun, as another command failed")
        began_s = time.monotonic()
        try:
            self._python("-c", RUN, *words)
        except CommandError:
            self.failed = True
            raise
        print(f"{self.name}: {out}, {time.monotonic() - began_s:.0f} s", file=sys.stderr)
        return of_folder(self.work / out)

    def _check_code(self) -> None:
        """Check that commands run the code of this version, not the installed package."""
        find = f"from importlib.util import find_spec; print(find_spec('{PACKAGE}').origin)"
        origin = Path(self._python("-c", find))
        if not origin.resolve().is_relative_to(self.code.resolve()):
            raise CommandError(f"{origin} hides the code of {self.code}")

    def _python(self, *arguments: str) -> str:
        """Return the output of a Python process of this version."""
        # what the package generates and keeps is a part of what is compared: made anew
        own = {"PYTHONPATH": str(self.code), "CLEVRSKILLS_CACHE": str(self.work / ".cache")}
        return run(self.work, sys.executable, *arguments, env=os.environ | ENVIRONMENT | own)


def run(folder: Path, *words: str, env: Mapping[str, str] | None = None) -> str:
    """Return the output of a command.

    Raises:
        CommandError: It failed.
    """
    done = subprocess.run(
        words, cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    if done.returncode:
        last = (done.stdout + done.stderr).splitlines()[-LAST_LINES:]
        raise CommandError("\n".join([f"failed in {folder}: {shlex.join(words)}", *last]))
    return done.stdout.strip()


def git(*arguments: str) -> str:
    """Return the output of git in this repository."""
    return run(ROOT, "git", *arguments)


def kept(commit: str, mode: str) -> Path:
    """Return the cache file of a commit's hashes, for these packages and this processor."""
    about = Path("/proc/cpuinfo").read_text() if sys.platform == "linux" else platform.processor()
    key = {line for line in about.splitlines() if line.startswith("model name")}
    packages = importlib.metadata.distributions()
    key |= {f"{found.name} {found.version}" for found in packages if found.name != PACKAGE}
    key |= {platform.python_version(), Path(__file__).read_text(encoding="utf-8")}
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    own = digest(repr(sorted(key)).encode())
    return cache / f"{PACKAGE}-fingerprint" / f"{commit}-{mode}-{own}.json"


def of_commit(commit: str, mode: str, parts: Sequence[str], work: Path) -> Parts:
    """Return the fingerprint of a commit, from the cache where possible.

    Raises:
        CommandError: A command failed.
    """
    file = kept(commit, mode)
    known: Parts = json.loads(file.read_text()) if file.exists() else {}
    missing = [part for part in parts if part not in known]
    if missing:
        code = work.parent / "worktree"
        git("worktree", "add", "--detach", str(code), commit)
        try:
            known |= Side(commit[:10], code, work).fingerprint(COMMANDS[mode], missing)
        finally:
            git("worktree", "remove", "--force", str(code))
        file.parent.mkdir(parents=True, exist_ok=True)
        aside = file.with_suffix(f".{os.getpid()}")
        aside.write_text(json.dumps(known), encoding="utf-8")
        aside.replace(file)
    return {part: known[part] for part in parts}


@dataclass
class Changes:
    """Expected differences: the rows of a table that apply.

    Attributes:
        rows: The kind of each row, its pattern, and the new name of what it renames.
        used: Patterns that matched a key.
    """

    rows: Sequence[tuple[str, str, str]]
    used: set[str] = field(default_factory=set)

    @classmethod
    def read(cls, path: Path) -> Changes:
        """Read a table; each row must give its reason."""
        rows: list[tuple[str, str, str]] = []
        for kind, entries in tomllib.loads(path.read_text(encoding="utf-8")).items():
            names = {"renamed": {"old", "new"}, "removed": {"key"}, "changed": {"key"}}[kind]
            for entry in entries:
                if entry.keys() != names | {"reason"}:
                    raise CommandError(
                        f"{path}: {kind} needs {sorted(names)} and a reason: {entry}"
                    )
                rows.append((kind, entry.get("old") or entry["key"], entry.get("new", "")))
        return cls(rows)

    def of(self, key: str) -> tuple[str, str]:
        """Return the expected change of a key, if any, and its present name."""
        for kind, pattern, new in self.rows:
            if re.fullmatch(pattern, key):
                self.used.add(pattern)
                return kind, re.sub(pattern, new, key) if kind == "renamed" else key
        return "", key

    def apply(self, part: str, old: Hashes, new: Hashes) -> Hashes:
        """Return old hashes by present names, without those expected to be removed or changed."""
        left: Hashes = {}
        for name, value in old.items():
            kind, key = self.of(f"{part}/{name}")
            now = key.removeprefix(f"{part}/")
            if kind == "changed" and now in new:
                left[now] = new[now]
            elif kind != "removed":
                left[now] = value
        return left


def compare(part: str, old: Hashes, new: Hashes, changes: Changes) -> tuple[list[str], list[str]]:
    """Return the names that differ and those that are new.

    The bytes of a table count only if its columns are those of before. A tensor that is there under
    another name, such as one of another file, has not gone.
    """
    before, old = old, changes.apply(part, old, new)
    added = sorted(new.keys() - old.keys())
    expected = {name for name, value in before.items() if old.get(name) != value}
    grown = {name.split(": ")[0] for name in {*added, *expected} if ": " in name}
    moved = {new[name] for name in added if TENSORS in name}
    there = {name for name, value in old.items() if TENSORS in name and value in moved}
    differ = [f"{name} (gone)" for name in old if name not in new and name not in there]
    differ += [n for n, value in old.items() if n not in grown and new.get(n, value) != value]
    return sorted(differ), added


def main() -> int:
    """Compare the versions and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--against", default="HEAD", metavar="COMMIT", help="the other version")
    parser.add_argument("--quick", action="store_true", help="run fewer commands")
    parser.add_argument(
        "--only", nargs="+", choices=FULL, default=list(FULL), metavar="PART", help=", ".join(FULL)
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="write hashes and differences")
    args = parser.parse_args()
    mode = "quick" if args.quick else "full"
    report: dict[str, dict[str, Any]] = {}
    try:
        changes = Changes.read(CHANGES)
        with tempfile.TemporaryDirectory(prefix="fingerprint-") as root:
            code, old_work, new_work = (Path(root) / name for name in ("code", "old", "new"))
            old_work.mkdir()
            new_work.mkdir()
            shutil.copytree(ROOT / PACKAGE, code / PACKAGE, ignore=lambda *_: {"__pycache__"})
            commit = git("rev-parse", "--verify", f"{args.against}^{{commit}}")
            old = of_commit(commit, mode, args.only, old_work)
            new = Side("working tree", code, new_work).fingerprint(COMMANDS[mode], args.only)
    except CommandError as error:
        print(error, file=sys.stderr)
        return 2
    for part in args.only:
        differ, added = compare(part, old[part], new[part], changes)
        report[part] = {"differ": differ, "new": added, "old": old[part], "now": new[part]}
        counts = f"{len(differ)} differ" if differ else "equal"
        print(f"{part:9}{len(old[part]):7} hashes, {counts}, {len(added)} new")
        for kind, names in (("differs", differ), ("new", added)):
            for name in names[:SHOWN]:
                print(f"    {kind}: {name}")
    for pattern in sorted({pattern for _, pattern, _ in changes.rows} - changes.used):
        print(f"expected, but not found: {pattern}")
    if args.out is not None:
        args.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return int(any(entry["differ"] for entry in report.values()))


if __name__ == "__main__":
    sys.exit(main())
