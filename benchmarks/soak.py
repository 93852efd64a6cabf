"""Long runs: a vector environment, and commands whose processes are killed.

python benchmarks/soak.py vector sort --steps 200000
python benchmarks/soak.py kills --command generate --tasks pick touch --episodes 5000 --out DIR
python benchmarks/soak.py kills --command evaluate --tasks geoms tiles --episodes 5000 --out DIR
python benchmarks/soak.py copies DEMOS --command export --out DIR
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import tyro
from common import print_table
from generation import workers_of

from clevrskills.dataset_tools.manifest import read_manifest
from clevrskills.envs.environment import ClevrSkillsEnv
from clevrskills.envs.state_observation import layout
from clevrskills.evaluation.results import read_results
from clevrskills.vector import VectorEnv, make_vec

FAST_M_PER_S = 5.0
"""Speed above which a body was ejected by a penetration, as the arm moves nothing this fast."""
REPLAYED_STEPS = 100


def wander(generator: np.random.Generator, num_envs: int) -> np.ndarray:
    """Return random actions (B, 7) of moderate size, with the vacuum switched on and off."""
    actions = generator.uniform(-0.5, 0.5, (num_envs, 7)).astype(np.float32)
    actions[:, 6] = np.where(generator.random(num_envs) < 0.7, 1.0, -1.0)
    return actions


def vector(
    task: Annotated[str, tyro.conf.Positional] = "sort",
    steps: int = 200_000,
    num_envs: int = 16,
    workers: int = 2,
) -> None:
    """Run random actions in several processes, then compare an episode with fresh processes.

    Args:
        task: Key of the task.
        steps: Steps of all environments together.
        num_envs: Number of environments.
        workers: Number of processes.
    """
    speeds = _speeds_of(task)
    envs = make_vec(task, num_envs, workers=workers)
    pids = [os.getpid(), *workers_of(os.getpid())]
    generator, rounds = np.random.default_rng(0), -(-steps // num_envs)
    envs.reset(seed=0)
    rows: list[list[object]] = []
    odd = jumps = episodes = 0
    for step in range(1, rounds + 1):
        seen, _, _, truncated, _ = envs.step(wander(generator, num_envs))
        odd += int((~np.isfinite(seen).all(axis=1)).sum())
        jumps += int((np.linalg.norm(seen[:, speeds], axis=-1) > FAST_M_PER_S).any(axis=1).sum())
        episodes += int(truncated.sum())
        if step % max(1, rounds // 10) == 0:
            memory = [_memory_mb(pid) for pid in pids]
            rows.append([step * num_envs, episodes, max(memory), odd, jumps])
    ours = list(_replay(envs))
    envs.close()
    fresh = make_vec(task, num_envs, workers=workers)
    drifted = sum(not np.array_equal(a, b) for a, b in zip(ours, _replay(fresh), strict=True))
    fresh.close()
    columns = ["steps", "episodes", "MB of the largest process", "not finite", "jumps"]
    print_table(f"{task}, {num_envs} environments in {workers} processes", columns, rows)
    sys.stdout.write(f"steps that differ from those of fresh processes: {drifted}\n")


def _replay(envs: VectorEnv) -> Iterator[np.ndarray]:
    """Return observations of the same episodes, whatever ran before."""
    generator = np.random.default_rng(1)
    yield envs.reset(seed=1_000)[0]
    for _ in range(REPLAYED_STEPS):
        yield envs.step(wander(generator, envs.num_envs))[0]


def _speeds_of(task: str) -> np.ndarray:
    """Return the indices of linear velocities of bodies in an observation, (K, 3)."""
    env = ClevrSkillsEnv(task, obs_mode="state_dict", render_backend="none")
    env.reset(seed=0)
    entries = layout(env.observer(env.outcome))
    env.close()
    starts = [entry["start"] for entry in entries if entry["name"].startswith("bodies/")]
    return np.array(starts)[:, None] + np.arange(17, 20)


def _memory_mb(pid: int) -> float:
    """Return the resident memory of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


KINDS = ("worker", "group", "writer", "disk")
"""What is done to a command: SIGKILL to a worker, or to all its processes; a second one that writes
into the same folder; a full disk.
"""
SMALL_DISK = 8 * 2**30
"""Bytes of the largest file system to fill."""
AGAIN = "commands that were given again"
PASSING = ("policy_s", "env_s", "wall_s", "worker", "ended", "starts", "times_s")
"""Fields that may differ between two runs of an episode."""


def kills(
    out: Path,
    command: Literal["generate", "evaluate"] = "generate",
    tasks: tuple[str, ...] = ("pick", "touch"),
    episodes: int = 100,
    compared: int | None = None,
    count: int = 10,
    workers: int = 2,
    seed: int = 0,
    table: Annotated[Path | None, tyro.conf.arg(name="json")] = None,
) -> None:
    """Run a command undisturbed and under kills, and compare its episodes.

    Each kill follows once its share of the episodes is done, of a random kind; a command that ended
    is given again. The disk is filled only if the folder is on a small file system, such as a tmpfs
    of 1 GB; else that kind is left out.

    Args:
        out: Folder of both runs, ``whole`` and ``killed``; new.
        command: `generate` without cameras, or `evaluate` of the oracle on drawn episodes.
        tasks: Keys of tasks of one suite.
        episodes: Episodes per task.
        compared: Episodes of the undisturbed run, from the first on; default: all.
        count: Number of kills.
        workers: Worker processes.
        seed: Seed of the times and kinds of disturbances.
        table: File to which the numbers are appended as one line.
    """
    words = [sys.executable, "-m", "clevrskills", command, *tasks, "--seed", str(seed)]
    words += ["--workers", str(workers)]
    evaluated = ["--policy", "oracle", "--cameras", "none"]
    words += ["--no-cameras"] if command == "generate" else evaluated
    out.mkdir(parents=True)
    small = shutil.disk_usage(out).total < SMALL_DISK
    kinds = KINDS if small else KINDS[:-1]
    generator = np.random.default_rng(seed)
    total = episodes * len(tasks)
    moments = sorted(generator.integers(total, size=count).tolist())
    chosen = [kinds[k] for k in generator.integers(len(kinds), size=count)]
    whole, killed = out / "whole", out / "killed"
    few = ["--episodes", str(compared or episodes), "--out", str(whole)]
    subprocess.run([*words, *few], check=True, stdout=subprocess.DEVNULL)
    words += ["--episodes", str(episodes), "--out", str(killed)]
    done = Counter[str](_disturbed(words, killed, moments, chosen))
    found, expected = _episodes(killed, command), _episodes(whole, command)
    changed = [name for name in expected.keys() & found.keys() if found[name] != expected[name]]
    counts = {kind: done[kind] for kind in (*KINDS, AGAIN)}
    counts |= {
        "episodes": total,
        "episodes lost": total - sum(row.get("success", True) for row in found.values()),
        "episodes compared": len(expected),
        "episodes that differ": len(changed) + len(expected.keys() - found.keys()),
    }
    if command == "evaluate":
        counts["second starts"] = sum(result.starts - 1 for result in read_results(killed))
    else:
        check = [sys.executable, "-m", "clevrskills", "check", str(killed)]
        counts["exit code of `check`"] = subprocess.run(check, capture_output=True).returncode
    if table:
        with table.open("a") as file:
            file.write(json.dumps({"command": command, "tasks": tasks, **counts}) + "\n")
    rows: list[list[object]] = [[what, number] for what, number in counts.items()]
    print_table(f"{command} {' '.join(tasks)}, {count} kills", ["what", "number"], rows)


def _disturbed(
    words: Sequence[str], root: Path, moments: list[int], chosen: list[str]
) -> Iterator[str]:
    """Run a command to its end under disturbances, and yield them."""
    while True:
        before = _lines(root)
        with subprocess.Popen(words, start_new_session=True, stdout=subprocess.DEVNULL) as run:
            while run.poll() is None:
                time.sleep(0.05)
                if moments and before < _lines(root) >= moments[0]:  # it is at work
                    moments.pop(0)
                    with contextlib.suppress(ProcessLookupError):  # it has just ended
                        yield from _disturb(words, root, run, chosen.pop(0))
        if run.returncode == 0:
            return
        yield AGAIN


def _disturb(
    words: Sequence[str], root: Path, run: subprocess.Popen[bytes], kind: str
) -> Iterator[str]:
    if kind == "writer":
        os.killpg(run.pid, signal.SIGSTOP)  # or it might end meanwhile
        second = subprocess.run(words, capture_output=True, text=True)
        os.killpg(run.pid, signal.SIGCONT)
        if second.returncode != 2 or "another process is writing" not in second.stderr:
            sys.exit(f"a second writer was let in: {second.stderr}")
    elif kind == "disk":
        ballast = root.parent / "ballast"
        with ballast.open("wb") as file, contextlib.suppress(OSError):
            while True:  # in pieces, so that little is left
                os.posix_fallocate(file.fileno(), file.tell(), 2**16)
                file.seek(2**16, os.SEEK_CUR)
        run.wait()  # or it might end during the next disturbance
        ballast.unlink()
    elif kind == "group":
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
    else:
        workers = [*workers_of(run.pid)]
        if not workers:
            return
        os.kill(workers[0], signal.SIGKILL)
    yield kind


def _lines(root: Path) -> int:
    """Return the number of finished episodes."""
    files = (*root.glob("manifest/*.jsonl"), *root.glob("results/*.jsonl"))
    return sum(path.read_bytes().count(b"\n") for path in files)


def _episodes(root: Path, command: str) -> dict[str, dict[str, Any]]:
    """Return the results that must not depend on kills, by name of the episode."""
    rows = read_manifest(root) if command == "generate" else read_results(root)
    return {row.id: {k: v for k, v in asdict(row).items() if k not in PASSING} for row in rows}


def copies(
    dataset: Annotated[Path, tyro.conf.Positional],
    out: Path,
    command: Literal["pack", "export"] = "pack",
    shard: int = 100,
    count: int = 10,
    workers: int = 2,
    seed: int = 0,
) -> None:
    """Pack or export a dataset undisturbed and under kills, and compare all files.

    Each SIGKILL, to a worker or to all processes, follows once its share of the bytes is written.

    Args:
        dataset: Folder of a dataset.
        out: Folder of both runs, ``whole`` and ``killed``; new.
        command: `pack` into shards, or `export` to LeRobot.
        shard: Episodes per shard.
        count: Number of kills.
        workers: Worker processes of an export.
        seed: Seed of the times of kills.
    """
    export = ("--to", "lerobot", "--workers", str(workers))
    options = export if command == "export" else ("--episodes", str(shard))
    words = [sys.executable, "-m", "clevrskills", command, str(dataset), *options, "--out"]
    whole, killed, kinds = out / "whole", out / "killed", KINDS[:2]
    out.mkdir(parents=True)
    subprocess.run([*words, str(whole)], check=True, stdout=subprocess.DEVNULL)
    generator = np.random.default_rng(seed)
    moments = sorted(generator.integers(_bytes(whole), size=count).tolist())
    done, ended = Counter[str](), None
    while ended != 0:
        line = [*words, str(killed)]
        with subprocess.Popen(line, start_new_session=True, stdout=subprocess.DEVNULL) as run:
            while run.poll() is None:
                time.sleep(0.05)
                if moments and _bytes(killed) >= moments[0]:
                    moments.pop(0)
                    kind = kinds[generator.integers(2) if [*workers_of(run.pid)] else 1]
                    with contextlib.suppress(ProcessLookupError):  # it has just ended
                        done.update(_disturb(words, killed, run, kind))
        ended = run.returncode
    found, expected = _files(killed), _files(whole)
    rows: list[list[object]] = [[f"SIGKILL to a {kind}", done[kind]] for kind in kinds]
    rows += [
        ["files", len(expected)],
        ["files that were lost or are new", len(expected.keys() ^ found.keys())],
        ["files that differ", sum(found.get(k, v) != v for k, v in expected.items())],
    ]
    print_table(f"{command} of {dataset.name}", ["what", "number"], rows)


def _bytes(root: Path) -> int:
    """Return the bytes written so far."""
    found = 0
    for path in root.rglob("*"):
        with contextlib.suppress(FileNotFoundError):  # moved into place meanwhile
            found += path.stat().st_size if path.is_file() else 0
    return found


def _files(root: Path) -> dict[Path, bytes]:
    """Return digests of all files except locks."""
    files = (path for path in root.rglob("*") if path.is_file() and ".lock" not in path.name)
    return {path.relative_to(root): sha256(path.read_bytes()).digest() for path in files}


if __name__ == "__main__":
    tyro.extras.subcommand_cli_from_dict(
        {"vector": vector, "kills": kills, "copies": copies}, description=__doc__
    )
