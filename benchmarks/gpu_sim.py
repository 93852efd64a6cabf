"""Simulation on a GPU: checked beside the CPU, then measured beside ManiSkill's PickCube.

    python benchmarks/gpu_sim.py                        # both, a quarter of an hour
    python benchmarks/gpu_sim.py --counts 1024 --tasks pick --no-check

Checked, in this order; what fails makes the exit code 1:

- the same states give the same rewards, goals and observations on the GPU and on the CPU;
- actions of the oracle, recorded in simulations on the CPU, achieve the same goals on the GPU, and
  the arm goes the same way.

Measured: control steps a second of all environments together, with random actions, rewards and
states, for each number of environments; the same of PickCube-v1, and the ratio.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import numpy as np
import torch
import tyro
from common import print_table
from torch import Tensor

from clevrskills.core.episode import TRAINING
from clevrskills.envs.state_observation import Observer, flat
from clevrskills.errors import ClevrSkillsError
from clevrskills.predicates.criteria import PAPER
from clevrskills.solvers.motion import SkillFailed
from clevrskills.solvers.oracle import Oracle
from clevrskills.vector import VectorSpec
from clevrskills.vector.gpu import GpuVectorEnv
from clevrskills.vector.gpu.physics import enable_gpu

TOLERANCE = 1e-4
SHARE = 0.9
"""Of the recorded goals that must be achieved."""
APART_MM = 2.0
"""Distance between the arms that half of the steps must keep."""


@dataclass
class Args:
    """What to check and measure."""

    tasks: tuple[str, ...] = ("pick", "place", "push", "touch", "stack", "throw")
    """Keys of tasks that are checked; the first is measured."""
    episodes: int = 8
    """Recorded episodes of each."""
    counts: tuple[int, ...] = (1, 16, 64, 256, 1024, 4096)
    """Numbers of environments."""
    steps: int = 50
    """Control steps that are timed."""
    check: bool = True
    """Whether to check first."""


def on_cpu(value: Any) -> Any:
    """The same with all its tensors on the CPU."""
    if isinstance(value, Tensor):
        return value.cpu()
    if isinstance(value, dict):
        return {key: on_cpu(one) for key, one in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return type(value)(*(on_cpu(getattr(value, field.name)) for field in fields(value)))
    return value


def world_on_cpu(world: Any) -> Any:
    """What a world tells now, on the CPU."""
    other = copy.copy(world)
    for name, value in vars(world).items():
        if isinstance(value, Tensor) or is_dataclass(value):
            setattr(other, name, on_cpu(value))
        elif name in ("_physics", "_controller", "_contacts", "_rest"):
            part = SimpleNamespace(still=world._rest.still) if name == "_rest" else copy.copy(value)
            vars(part).update({key: on_cpu(one) for key, one in vars(part).items()})
            setattr(other, name, part)
    other.device, other._derived = torch.device("cpu"), {}
    return other


def same_states(envs: GpuVectorEnv, steps: int = 30) -> float:
    """The greatest difference between what the GPU and the CPU say of the same states."""
    worst, action = 0.0, torch.rand(envs.num_envs, 7, device=envs.device)
    for step in range(steps):
        state = dict(envs._state)
        seen, reward, _, _, infos = envs.step(torch.roll(2 * action - 1, step, dims=1))
        roles = {k: v[envs._rows, envs._number].cpu() for k, v in envs._drawn.roles.items()}
        goal = envs._task.goal(roles).with_criteria(PAPER)
        world = world_on_cpu(envs._world)
        outcome = goal.evaluate(world, on_cpu(state))
        for ours, theirs in (
            (reward, outcome.progress),
            (infos["success"].float(), outcome.holds.float()),
            (seen, flat(Observer(goal, world)(outcome))),
        ):
            worst = max(worst, float((ours.cpu() - theirs).abs().max()))
    return worst


@dataclass
class Recorded:
    """What the oracle did: actions (n, 7), where the tool centre point was after each, (n, 3), and
    whether that achieved the goal.
    """

    actions: list[np.ndarray]
    positions: list[np.ndarray]
    reached: bool = False


def record(spec: VectorSpec, seeds: list[int]) -> list[Recorded]:
    """Let the oracle act in simulations on the CPU, and wait a second in the end."""
    env, recorded = spec.make(), []
    for seed in seeds:
        env.reset(seed=seed)
        oracle, done = Oracle(env), Recorded([], [])
        try:
            while not oracle.done and len(done.actions) < spec.step_limit:
                _do(env, oracle.act(), done)
        except SkillFailed:
            pass
        done.reached = oracle.done
        still = np.array([0.0] * 6 + [done.actions[-1][6]], np.float32)
        for _ in range(20):
            _do(env, still, done)
        recorded.append(done)
    env.close()
    return recorded


def _do(env: Any, action: np.ndarray, done: Recorded) -> None:
    env.step(action)
    done.actions.append(action)
    done.positions.append(env.world.end_effector_pose[0, :3].numpy())


def same_courses(envs: GpuVectorEnv, recorded: list[Recorded]) -> tuple[float, float]:
    """What share of the goals that recorded actions achieved they achieve again, and how many
    millimetres the arms are apart in the middle.
    """
    envs.reset()
    reached, apart = np.zeros(envs.num_envs, bool), []
    for step in range(max(len(done.actions) for done in recorded)):
        rows = [done.actions[min(step, len(done.actions) - 1)] for done in recorded]
        infos = envs.step(torch.from_numpy(np.stack(rows)).to(envs.device))[-1]
        reached |= infos["success"].cpu().numpy()
        there = envs._world.end_effector_pose[:, :3].cpu().numpy()
        for position, done in zip(there, recorded, strict=True):
            if step < len(done.positions):
                apart.append(1e3 * float(np.linalg.norm(position - done.positions[step])))
    goals = np.array([done.reached for done in recorded])
    return float(reached[goals].mean()), float(np.median(apart))


def check(
    args: Args, make: Callable[..., GpuVectorEnv] = GpuVectorEnv
) -> Iterator[tuple[str, float, float, float, bool]]:
    """Check each task: its key, greatest difference, share of goals, millimetres, whether all is
    well.
    """
    for key in args.tasks:
        spec = VectorSpec(task=key, episode_steps=100_000)
        envs = make(spec, args.episodes, sets=args.episodes, starts=1)
        seeds = np.random.default_rng(0).integers(TRAINING.stop, size=(args.episodes, 1))[:, 0]
        difference = same_states(envs)
        recorded = record(VectorSpec(task=key), seeds.tolist())
        share, apart = same_courses(envs, recorded)
        envs.close()
        well = difference <= TOLERANCE and share >= SHARE and apart <= APART_MM
        yield key, difference, share, apart, well


def steps_per_s(step: Callable[[], Any], count: int, steps: int) -> float:
    """Control steps a second of all environments together."""
    for _ in range(5):  # what happens once
        step()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(steps):
        step()
    torch.cuda.synchronize()
    return count * steps / (time.perf_counter() - begin)


def measure(args: Args) -> Iterator[list[object]]:
    """Steps a second of our task and of PickCube, by number of environments."""
    import mani_skill.envs  # noqa: F401

    for count in args.counts:
        ours = GpuVectorEnv(VectorSpec(task=args.tasks[0]), count)
        action = torch.rand(count, 7, device="cuda") * 2 - 1
        fast = steps_per_s(partial(ours.step, action), count, args.steps)
        ours.close()
        stock: Any = gym.make(
            "PickCube-v1",
            **{"num_envs": count, "obs_mode": "state", "reward_mode": "normalized_dense"},
            **{"sim_backend": "physx_cuda", "render_backend": "none"},
        )
        stock.reset(seed=0)
        drawn = torch.as_tensor(stock.action_space.sample(), device="cuda")
        theirs = steps_per_s(partial(stock.step, drawn), count, args.steps)
        stock.close()
        yield [count, round(fast), round(theirs), fast / theirs]


def main(args: Args) -> None:
    """Check and measure."""
    try:
        enable_gpu()
    except ClevrSkillsError as error:
        raise SystemExit(f"not run: {error}") from error
    well = True
    if args.check:
        rows = list(check(args))
        columns = ["task", "difference", "goals", "apart, mm", "well"]
        print_table("GPU beside CPU", columns, [list(row) for row in rows])
        well = all(row[-1] for row in rows)
    columns = ["environments", f"{args.tasks[0]}, steps/s", "PickCube-v1, steps/s", "ratio"]
    device = torch.cuda.get_device_name()
    print_table(f"Control steps a second, {device}", columns, list(measure(args)))
    if not well:
        raise SystemExit("GPU and CPU differ")


if __name__ == "__main__":
    main(tyro.cli(Args, description=__doc__))
