"""Cost of resets by task, and comparison of episodes and cost with another version.

    python benchmarks/reset_times.py                              # CPU-ms of this version
    python benchmarks/reset_times.py --against ../other           # and of another checkout
    python benchmarks/reset_times.py --against ../other --same    # compare episodes bit for bit
    python benchmarks/reset_times.py pick --steps                 # compare with PickCube-v1
    python benchmarks/reset_times.py pick --soak 20000            # memory over many resets

CPU time counts all threads and processes; environments are warm. Versions run in separate
processes, one at a time in turn, so a busy machine slows both alike. Two versions are the same if,
for each task and split, drawn scenes, states after a reset and states after some random actions are
equal.
"""

from __future__ import annotations

import hashlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro

ROOT = Path(__file__).parents[1]
KINDS = ("draw", "single", "vector")
"""Timed operations: drawing a scene, reset of an environment, reset of a vector environment."""
WARM_UP = 100
"""Resets before the timed ones."""
ENVIRONMENTS = 8
"""Scenes of a vector environment."""
ACTIONS = 30
"""Random actions after each reset when versions are compared."""
EPISODE_STEPS, BLOCKS = 50, 40
"""Control steps between resets, and episodes, in the comparison with PickCube-v1."""


@dataclass
class Args:
    """Measurements to make."""

    tasks: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Keys of tasks; default: all."""
    against: Path | None = None
    """Another checkout to compare with."""
    kinds: tuple[str, ...] = KINDS[1:]
    """Operations to time: ``draw``, ``single``, ``vector``."""
    episodes: int = 200
    """Seeds per task; with ``--same``, per task and split."""
    seed: int = 70_000
    """First seed."""
    rounds: int = 2
    """Times that each version runs, in turn, each with a share of the seeds."""
    same: bool = False
    """Compare episodes, not times."""
    steps: bool = False
    """Time one environment that is reset every 50 steps, and ManiSkill's PickCube-v1."""
    soak: int = 0
    """Print the memory use over this many resets."""


@contextmanager
def timed(times_s: list[float]) -> Iterator[None]:
    """Add the CPU time of the block."""
    begin = time.process_time()
    yield
    times_s.append(time.process_time() - begin)


def environment(task: str, **options: Any) -> Any:
    """Return an environment of ``gym.make``, without images."""
    import gymnasium as gym

    import clevrskills

    clevrskills.task_keys()
    return gym.make(clevrskills.env_id(task), obs_mode="state", **options)


def times(kind: str, task: str, seeds: range) -> float:
    """Return the CPU-seconds of one warm reset."""
    from clevrskills.envs.episode import EpisodeSpec
    from clevrskills.vector import make_vec

    found: list[float] = []
    warm = range(WARM_UP)
    match kind:
        case "draw":
            for seed in (*warm, *seeds):
                with timed(found):
                    EpisodeSpec.draw(task, "train", seed)
        case "single":
            env = environment(task)
            for seed in (*warm, *seeds):
                with timed(found):
                    env.reset(seed=seed)
            env.close()
        case "vector":
            several = make_vec(task, ENVIRONMENTS)
            for first in range(0, WARM_UP, ENVIRONMENTS):
                several.reset(seed=first)
            for first in seeds[::ENVIRONMENTS]:
                with timed(found):
                    several.reset(seed=first)
            several.close()
            return statistics.fmean(found) / ENVIRONMENTS
    return statistics.fmean(found[WARM_UP:])


def hashes(task: str, seeds: range) -> dict[str, str]:
    """Return hashes of scenes, states after a reset and states after random actions."""
    from clevrskills.envs.environment import ClevrSkillsEnv
    from clevrskills.envs.episode import EpisodeSpec

    found = {}
    for split in ("train", "test"):
        env = ClevrSkillsEnv(task, split=split, obs_mode="state")
        for seed in seeds:
            scene = EpisodeSpec.draw(task, split, seed).to_json()
            obs, info = env.reset(seed=seed)
            started = [env.get_state(), obs, env.prompt.text]
            generator = np.random.default_rng(seed)
            ran = []
            for _ in range(ACTIONS):
                obs, reward, *_, info = env.step(generator.uniform(-1.0, 1.0, 7))
                ran += [env.get_state(), obs, reward, info["progress"]]
            for name, values in (("scene", [json.dumps(scene)]), ("start", started), ("run", ran)):
                digest = hashlib.sha256()
                for value in values:
                    digest.update(
                        value.encode() if isinstance(value, str) else value.numpy().tobytes()
                    )
                found[f"{split} {seed} {name}"] = digest.hexdigest()[:16]
        env.close()
    return found


def step_times(task: str) -> dict[str, float]:
    """Return the CPU-ms per step including regular resets, measured in turn with PickCube-v1 from
    states with the same kind of action.
    """
    import gymnasium as gym
    import mani_skill.envs  # noqa: F401

    sides = {
        "ours": environment(task),
        "theirs": gym.make("PickCube-v1", obs_mode="state", control_mode="pd_ee_delta_pose"),
    }
    spent: dict[str, list[float]] = {name: [] for name in sides}
    actions = {
        name: [env.action_space.sample() for _ in range(EPISODE_STEPS)]
        for name, env in sides.items()
    }
    for env in sides.values():
        for seed in range(WARM_UP):
            env.reset(seed=seed)
    for block in range(BLOCKS + 2):
        for name, env in sides.items():
            with timed(spent[name]):
                env.reset(seed=block)
                for action in actions[name]:
                    env.step(action)
    return {name: 1e3 / EPISODE_STEPS * statistics.fmean(of[2:]) for name, of in spent.items()}


def resident_mb() -> float:
    """Return the resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def soak(task: str, resets: int) -> None:
    """Print the memory of the process from time to time."""
    env = environment(task)
    for number in range(resets + 1):
        if number % max(1, resets // 10) == 0:
            print(f"{number} resets: {resident_mb():.1f} MB", flush=True)
        env.reset(seed=number)


def child(job: list[Any]) -> None:
    """Do a job in this process and print its result as JSON."""
    import torch

    torch.set_num_threads(1)
    name, task, first, end = job
    seeds = range(first, end)
    found = hashes(task, seeds) if name == "same" else times(name, task, seeds)
    print(json.dumps(found))


def ask(code: Path, *job: Any) -> Any:
    """Do a job with the package of a checkout, in a separate process."""
    path = {**os.environ, "PYTHONPATH": str(code.resolve())}
    command = [sys.executable, str(Path(__file__).resolve()), "child", json.dumps(job)]
    done = subprocess.run(command, env=path, cwd=code, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{job} in {code}:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def compare(args: Args, tasks: tuple[str, ...]) -> None:
    """Print the episodes that differ between two versions."""
    assert args.against is not None
    different = 0
    for task in tasks:
        job = ("same", task, args.seed, args.seed + args.episodes)
        one, other = (ask(code, *job) for code in (ROOT, args.against))
        names = [name for name in other if one.get(name) != other[name]]
        different += len(names)
        print(f"{task}: {len(other)} hashes, {len(names)} differ {names[:4]}", flush=True)
    print(f"{different} differ")
    sys.exit(different > 0)


def main(args: Args) -> None:
    """Measure and print."""
    from clevrskills import task_keys

    tasks = args.tasks or tuple(task_keys())
    if args.same:
        compare(args, tasks)
    if args.steps or args.soak:
        for task in tasks:
            if args.soak:
                soak(task, args.soak)
            else:
                step_ms = step_times(task)
                ratio = step_ms["theirs"] / step_ms["ours"]
                print(task, {**step_ms, "ratio": ratio}, flush=True)
        return
    sides = {"this": ROOT, **({"other": args.against} if args.against else {})}
    share = args.episodes // args.rounds
    means: dict[str, list[float]] = {}
    for task in tasks:
        line = []
        for kind in args.kinds:
            found: dict[str, list[float]] = {name: [] for name in sides}
            for number in range(args.rounds):
                first = args.seed + number * share
                for name, code in sides.items():
                    found[name].append(1e3 * ask(code, kind, task, first, first + share))
            for name, values in found.items():
                means.setdefault(f"{kind} {name}", []).append(statistics.fmean(values))
                line.append(f"{kind} {name} {statistics.fmean(values):6.2f}")
            if len(sides) == 2:
                ratio = statistics.fmean(found["this"]) / statistics.fmean(found["other"])
                line.append(f"ratio {ratio:.2f}")
        print(f"{task:24}", "  ".join(line), flush=True)
    print("mean", {name: round(statistics.fmean(values), 2) for name, values in means.items()})


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        child(json.loads(sys.argv[2]))
    else:
        main(tyro.cli(Args, description=__doc__))
