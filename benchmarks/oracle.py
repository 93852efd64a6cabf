"""Success, length, cost, reward and physical faults of oracle episodes without images.

The same run measures a step of ManiSkill's stock PickCube-v1 (joint control) as a baseline, so cost
can be read as a multiple of it.

    python benchmarks/oracle.py --episodes 100 --seed 50000 --workers 2
    python benchmarks/oracle.py pick place --robot panda
    python benchmarks/oracle.py --random-steps 20 --episodes 50    # after random actions
"""

from __future__ import annotations

import json
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch
import tyro
from common import Args, pick_cube_step_s, print_table
from scipy.stats import binomtest, spearmanr
from torch import Tensor

from clevrskills.core.interface import make_step
from clevrskills.envs.environment import ClevrSkillsEnv
from clevrskills.sim.robots.delta_action import CONTROL_HZ
from clevrskills.solvers.motion import SkillFailed
from clevrskills.solvers.oracle import Oracle
from clevrskills.solvers.planner import motion_planner
from clevrskills.tasks import tasks


@dataclass
class OracleArgs(Args):
    """Oracle episodes to run."""

    random_steps: int = 0
    """Random actions before the oracle takes over."""
    random_scale: float = 1.0
    """Maximum size of random translations and rotations, drawn uniformly; the vacuum is on in half
    of them."""
    workers: int = 1
    """Worker processes; each runs one task in one split."""
    json: Path | None = None
    """File for the results of all tasks."""


SINK_M = 2e-3
FAST_M_PER_S = 4.0
"""Maximum speed of a throw, and of a fall from the arm's height."""
MOVED_M = 5e-3
ALONE_STEPS = 2 * CONTROL_HZ
RESTLESS_M_PER_S = 0.05
OUT_OF_REACH = "out of reach"
REACH_M = (0.20, 0.70)
"""Distance from the base of the xArm 6 at which the gripper, pointing down, reaches the table."""


class Watch:
    """Monitor of physical faults in one episode.

    Attributes:
        faults: Number of steps with each fault, by name.
    """

    def __init__(self, env: ClevrSkillsEnv) -> None:
        self._env = env
        world = env.world
        self._slots = world.solids.movable[0].nonzero()[:, 0].tolist()
        bodies = env.layouts[0].bodies
        self._swinging = [k for k, body in enumerate(bodies) if body and body.hinge]
        self._start = world.body_pose[0, :, :3].clone()
        self._before = self._start
        self._alone = {slot: ALONE_STEPS + 1 for slot in self._slots}
        self._disturbed: set[int] = set()
        self.faults = dict.fromkeys(("sunk", "flew", "moved alone", "restless"), 0)

    def look(self) -> None:
        """Check the world after a control step."""
        world = self._env.world
        position = world.body_pose[0, :, :3].clone()
        # not from reported velocities: PhysX reports some for resting bodies in stacks
        speed = (position - self._before).norm(dim=-1) * CONTROL_HZ
        self._before = position
        moved = (position - self._start).norm(dim=-1)
        for slot in self._slots:
            swings = any(self._touch(slot, other) for other in self._swinging)
            robot = self._moved_by_robot(slot)
            self._alone[slot] = 0 if robot or swings else self._alone[slot] + 1
        for _ in self._slots:  # pushed bodies push others
            for slot in self._slots:
                near = [self._alone[k] + 1 for k in self._slots if self._touch(slot, k)]
                self._alone[slot] = min(self._alone[slot], *near, ALONE_STEPS + 1)
        for slot in self._slots:
            alone = self._alone[slot] > ALONE_STEPS
            if not alone:
                self._disturbed.add(slot)
            sunk = bool(world.bottom(_index(slot))[0] < -SINK_M)
            self.faults["sunk"] += sunk and bool(speed[slot] < RESTLESS_M_PER_S)
            self.faults["flew"] += bool(speed[slot] > FAST_M_PER_S)
            left_alone = slot not in self._disturbed
            self.faults["moved alone"] += left_alone and bool(moved[slot] > MOVED_M)
            self.faults["restless"] += alone and bool(speed[slot] > RESTLESS_M_PER_S)

    def _moved_by_robot(self, slot: int) -> bool:
        world = self._env.world
        return bool(world.is_held(_index(slot))[0] | world.robot_touches(_index(slot))[0])

    def _touch(self, one: int, other: int) -> bool:
        return bool(self._env.world.touches(_index(one), _index(other))[0])


def _index(slot: int) -> Tensor:
    return torch.tensor([slot])


@dataclass(frozen=True)
class Episode:
    """Result of one episode.

    Attributes:
        seed: Seed of the episode.
        success: Whether the goal was achieved.
        steps: Control steps of the oracle.
        reason: Reason of a failure.
        reward: Sum of the dense rewards.
        rising: Spearman correlation of the normalized reward with time; 1 for a single step.
        faults: Physical faults, see :class:`Watch`.
        cpu_s: CPU-seconds including reset and planning.
    """

    seed: int
    success: bool
    steps: int
    reason: str
    reward: float
    rising: float
    faults: dict[str, int]
    cpu_s: float


@dataclass(frozen=True)
class Result:
    """Summary of the episodes of a task in a split; steps, reward and cost of the successful ones
    alone, ``cpu_s_per_success`` with what the others cost.
    """

    task: str
    level: str
    split: str
    robot: str
    episodes: int
    successes: int
    low: float
    high: float
    out_of_reach: int
    steps: float
    reward_per_step: float
    rising: float
    faulty: int
    cpu_s_per_success: float


def out_of_reach(env: ClevrSkillsEnv) -> bool:
    """Return whether a movable body was thrown out of the arm's reach."""
    movable = env.world.solids.movable[0]
    base = env.world.body_pose.new_tensor(env.agent.description.base_position[:2])
    distance = (env.world.body_pose[0, movable, :2] - base).norm(dim=-1)
    return bool(((distance < REACH_M[0]) | (distance > REACH_M[1])).any())


def episode(
    env: ClevrSkillsEnv, seed: int, random_steps: int = 0, random_scale: float = 1.0
) -> Episode:
    """Run one episode."""
    begin = time.process_time()
    env.reset(seed=seed)
    spent_s = time.process_time() - begin
    watch = Watch(env)
    generator = np.random.default_rng((seed, 1))
    for _ in range(random_steps):
        action = generator.uniform(-1, 1, 7).astype(np.float32)
        action[:6] *= random_scale
        if make_step(env, action).success:
            return Episode(seed, True, 0, "", 0.0, 1.0, watch.faults, spent_s)
        watch.look()
    oracle = Oracle(env)
    rewards: list[float] = []
    progress: list[float] = []
    reason = "step limit"
    while len(rewards) < env.task.max_steps - random_steps:
        begin = time.process_time()
        try:
            step = make_step(env, oracle.act())
        except SkillFailed as failure:
            reason = str(failure)
            break
        finally:
            spent_s += time.process_time() - begin
        watch.look()
        rewards.append(step.reward)
        progress.append(step.progress)
        if step.success:
            break
    success = bool(progress) and progress[-1] == 1.0
    reason = "" if success else OUT_OF_REACH if out_of_reach(env) else reason
    rising = 1.0
    if len(set(progress)) > 1:
        rising = float(spearmanr(range(len(progress)), progress).statistic)
    return Episode(seed, success, len(rewards), reason, sum(rewards), rising, watch.faults, spent_s)


def run(args: OracleArgs, task: str, split: str) -> tuple[Result, list[Episode]]:
    """Run all episodes of a task in a split."""
    env = args.env(task, split)
    motion_planner(args.robot)
    episode(env, 0)  # warm up
    found = [episode(env, s, args.random_steps, args.random_scale) for s in args.seeds()]
    won = [e for e in found if e.success]
    interval = binomtest(len(won), len(found)).proportion_ci(method="wilson")
    nan = float("nan")
    result = Result(
        task=task,
        level=tasks()[task].level,
        split=split,
        robot=args.robot,
        episodes=len(found),
        successes=len(won),
        low=float(interval.low),
        high=float(interval.high),
        out_of_reach=sum(e.reason == OUT_OF_REACH for e in found),
        steps=float(np.mean([e.steps for e in won])) if won else nan,
        reward_per_step=sum(e.reward for e in won) / max(1, sum(e.steps for e in won)),
        rising=float(np.median([e.rising for e in won])) if won else nan,
        faulty=sum(any(e.faults.values()) for e in found),
        cpu_s_per_success=sum(e.cpu_s for e in found) / len(won) if won else nan,
    )
    return result, found


def main(args: OracleArgs) -> None:
    """Run all tasks and print a table."""
    unit_s = pick_cube_step_s(
        obs_mode="none", reward_mode="none", control_mode="pd_joint_pos", render_backend="none"
    )
    runs = list(args.runs())
    results: list[Result] = []
    with ProcessPoolExecutor(args.workers, mp_context=get_context("spawn")) as pool:
        jobs = [pool.submit(run, args, task, split) for task, split in runs]
        for job in jobs:
            result, found = job.result()
            results.append(result)
            for e in found:
                if not e.success:
                    print(
                        f"{result.task} {result.split} seed {e.seed}, {e.steps} steps: {e.reason}"
                    )
                elif any(e.faults.values()):
                    print(f"{result.task} {result.split} seed {e.seed}: {e.faults}")
            print(f"{result.task} {result.split}: {result.successes}/{result.episodes}", flush=True)
    rows: list[list[object]] = [
        [
            r.task,
            r.split,
            f"{r.successes}/{r.episodes}",
            f"{100 * r.low:.0f}-{100 * r.high:.0f} %",
            r.out_of_reach,
            r.steps,
            r.reward_per_step,
            r.rising,
            r.faulty,
            r.cpu_s_per_success,
            r.cpu_s_per_success / unit_s,
        ]
        for r in results
    ]
    columns = [
        "task",
        "split",
        "success",
        "95 %",
        "out of reach",
        "steps",
        "reward / step",
        "Spearman",
        "odd physics",
        "CPU s / success",
        "x PickCube steps",
    ]
    print_table(
        f"oracle, {args.robot}, one PickCube step = {1e3 * unit_s:.2f} CPU-ms", columns, rows
    )
    for level in dict.fromkeys(r.level for r in results):
        rates = [r.reward_per_step for r in results if r.level == level]
        print(f"{level}: mean reward per step over {len(rates)} rows {np.nanmean(rates):.2f}")
    if args.json:
        args.json.write_text(json.dumps([asdict(r) for r in results], indent=1) + "\n")


if __name__ == "__main__":
    main(tyro.cli(OracleArgs, description=__doc__))
