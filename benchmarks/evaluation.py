"""Evaluation: what the runner adds to a control step with images, and whether results are the
same whoever makes them.

    python benchmarks/evaluation.py                # overhead, as a ratio within one run
    python benchmarks/evaluation.py --check        # other order, shards, batches, workers, kill -9
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import tyro
from common import print_table, without_salt

from clevrskills.core.policy import Observation, ObservationOptions, PromptInput
from clevrskills.evaluation.evaluate import EvaluateArgs, evaluate
from clevrskills.evaluation.results import read_results

PASSING = ("policy_s", "env_s", "wall_s", "worker", "ended", "starts")
"""What may differ between equal runs."""
CAMERAS = ("base_camera", "hand_camera")
POLICY = "evaluation:Wanderer"  # this file


@dataclass
class EvaluationArgs:
    """What to measure."""

    tasks: Annotated[tuple[str, ...], tyro.conf.Positional] = ("pick", "sort", "stack")
    """Keys of tasks."""
    episodes: int = 3
    """Episodes of each task; with --check, of each split too."""
    steps: int = 60
    """Control steps of each episode whose time is taken."""
    seed: int | None = None
    """Draw the episodes from this seed on, instead of using frozen ones."""
    check: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Compare results instead."""


class Wanderer:
    """Wanders about at random and with what it feels; looks at nothing."""

    observation = ObservationOptions(cameras=())

    def reset(self, prompt: PromptInput) -> None:
        """An episode begins."""
        self._generator = np.random.default_rng(prompt.seed)

    def act(self, observation: Observation) -> np.ndarray:
        """The next action."""
        felt = observation["proprioception"]
        action = self._generator.uniform(-0.4, 0.4, 7)
        action[:3] -= 0.5 * np.clip(felt["ee_velocity"][:3], -0.5, 0.5)
        action[6] = 1.0 if felt["ee_pose"][2] < 0.15 else -1.0
        return action


class Still:
    """Does nothing, in no time."""

    observation = ObservationOptions(cameras=CAMERAS)
    action = np.zeros(7, np.float32)

    def reset(self, prompt: PromptInput) -> None:
        """An episode begins."""

    def act(self, observation: Observation) -> np.ndarray:
        """Seven zeros."""
        return self.action


# ---- overhead


def overhead(args: EvaluationArgs) -> int:
    """CPU time of a step in the runner and of ``env.step`` with the same two images, the one
    right after the other.
    """
    from clevrskills.core.env_config import EnvConfig
    from clevrskills.envs.environment import ClevrSkillsEnv
    from clevrskills.evaluation.rollout import PolicyRollout, Rules
    from clevrskills.suites.clevrskills.suite import ClevrSkillsSuite

    torch.set_num_threads(1)
    suite, policy, rows = ClevrSkillsSuite(), Still(), []
    plain_s, runner_s = [], []
    for task in args.tasks:
        plain = ClevrSkillsEnv(task, split="test", obs_mode="rgb")
        env = suite.make(EnvConfig(task, "test", cameras=CAMERAS))
        of_task: tuple[list[float], list[float]] = [], []
        for index in range(args.episodes):
            if args.seed is None:
                episode = suite.frozen(task, "test")[index]
            else:
                episode = suite.draw(task, "test", args.seed + index, index)
            plain.reset(options={"episode": episode})
            rollout = PolicyRollout(
                env, episode, policy.observation, Rules(stop_on_success=False), suite
            )
            policy.reset(rollout.prompt)

            def in_runner(rollout: PolicyRollout = rollout) -> None:
                rollout.go_on(policy.act(rollout.observation))

            def in_env(plain: ClevrSkillsEnv = plain) -> None:
                plain.step(policy.action)

            for step in range(args.steps):
                pair = ((in_env, of_task[0]), (in_runner, of_task[1]))
                for call, times in pair if step % 2 else pair[::-1]:
                    times.append(cpu_s(call))
        rows.append([task, len(of_task[0]), *figures(*of_task)])
        plain_s += of_task[0]
        runner_s += of_task[1]
        plain.close()
        env.close()
    rows.append(["all", len(plain_s), *figures(plain_s, runner_s)])
    columns = ["task", "steps", "env.step, CPU-ms", "in the runner", "overhead"]
    print_table("a control step with two 256x256 images, medians", columns, rows)
    return 0


def cpu_s(call: Callable[[], None]) -> float:
    """CPU-seconds of a call."""
    begin = time.process_time()
    call()
    return time.process_time() - begin


def figures(plain_s: list[float], runner_s: list[float]) -> list[object]:
    """Medians in ms, and what the runner adds in percent."""
    plain, runner = np.median(plain_s), np.median(runner_s)
    return [1e3 * float(plain), 1e3 * float(runner), f"{100 * (runner / plain - 1):+.1f} %"]


# ---- the same results

UNSALTED = """import sys
from common import without_salt
from clevrskills.cli import main
without_salt()
sys.exit(main(sys.argv[1:]))
"""
"""Program that runs a command, see `common.without_salt`."""


def check(args: EvaluationArgs) -> int:
    """Evaluate the same episodes in several ways; the exit code tells whether all were equal."""
    without_salt()
    kinds: dict[str, Callable[[Path], None]] = {
        "one process": lambda root: run(args, root),
        "again, task by task, the last first": lambda root: by_task(args, root),
        "batches of 4": lambda root: run(args, root, batch=4),
        "2 processes, batches of 2": lambda root: run(args, root, workers=2, batch=2),
        "isolated": lambda root: run(args, root, isolate=True),
        "2 shards, the last first": lambda root: shards(args, root, 2),
        "4 shards, the last first": lambda root: shards(args, root, 4),
        "killed and continued": lambda root: killed(args, root),
    }
    rows: list[list[object]] = []
    expected: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for k, (kind, make) in enumerate(kinds.items()):
            root = Path(folder) / str(k)
            make(root)
            found = contents(root)
            expected = expected or found
            equal = sum(found.get(name) == value for name, value in expected.items())
            rows.append([kind, len(found), f"{equal}/{len(expected)}"])
    print_table("episodes with equal results", ["made by", "episodes", "equal"], rows)
    return int(any(row[1:] != [len(expected), f"{len(expected)}/{len(expected)}"] for row in rows))


def contents(root: Path) -> dict[str, dict[str, Any]]:
    """All of each result that must not depend on who made it, nor when."""
    return {
        result.id: {k: v for k, v in asdict(result).items() if k not in PASSING}
        for result in read_results(root)
    }


def run_args(args: EvaluationArgs, root: Path, **more: Any) -> EvaluateArgs:
    """The same evaluation, made in some way."""
    given = {"tasks": args.tasks, "episodes": args.episodes, "seed": args.seed, **more}
    return EvaluateArgs(policy=POLICY, out=root, **given)


def run(args: EvaluationArgs, root: Path, **more: Any) -> None:
    """Evaluate."""
    assert evaluate(run_args(args, root, **more)) == 0


def by_task(args: EvaluationArgs, root: Path) -> None:
    """Evaluate each task and split on its own, the last first."""
    for task in reversed(args.tasks):
        for split in ("test", "train"):
            run(args, root, tasks=(task,), split=(split,))


def shards(args: EvaluationArgs, root: Path, count: int) -> None:
    """Evaluate in shards, the last first."""
    for shard in reversed(range(count)):
        run(args, root, shard=f"{shard}/{count}")


def killed(args: EvaluationArgs, root: Path) -> None:
    """Evaluate in a process that is killed halfway, then continue."""
    words = [*args.tasks, "--policy", POLICY, "--episodes", str(args.episodes), "--out", str(root)]
    if args.seed is not None:
        words += ["--seed", str(args.seed)]
    process = subprocess.Popen(
        [sys.executable, "-c", UNSALTED, "evaluate", *words],
        cwd=Path(__file__).parent,
        start_new_session=True,
    )
    total = 2 * len(args.tasks) * args.episodes
    while process.poll() is None and len(list(read_results(root))) < total // 2:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    print(f"killed after {len(list(read_results(root)))} of {total} episodes")
    run(args, root)


if __name__ == "__main__":
    chosen = tyro.cli(EvaluationArgs, description=__doc__)
    sys.exit(check(chosen) if chosen.check else overhead(chosen))
