"""Behavior cloning of the oracle from states: initial networks for `clevrskills rl`.

    python benchmarks/clone.py rotate --out runs/cloned
    clevrskills rl rotate --begin-with runs/cloned --total-steps 600000 --out runs/rotate

Demonstrations are drawn from ``train``, none of them is frozen. Their actions are perturbed at
random, and the oracle corrects the result (DART, Laskey et al. 2017, arXiv 1703.09327). A label is
the action towards the pose of the oracle some steps later. The oracle slows down and waits between
motions, and a policy without memory that imitates this never goes on. Velocities are ignored, since
a policy would infer its action from the last one. The value function is not trained.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import gymnasium as gym
import numpy as np
import torch
import tyro
from scipy.spatial.transform import Rotation
from torch import Tensor

import clevrskills
from clevrskills.core import checkpoint
from clevrskills.core.suite import load_suite
from clevrskills.envs.state_observation import BODY_NUMBERS
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.arguments import check_least, check_names
from clevrskills.rl.agent import FARTHEST, Agent, Spaces
from clevrskills.rl.run import PPOConfig, RLRun, open_run
from clevrskills.sim.robots.delta_action import ROTATION_RAD, TRANSLATION_M
from clevrskills.solvers.motion import SkillFailed
from clevrskills.solvers.oracle import Oracle

SEED = 600_000_000
"""Seed of the first demonstration; the others follow."""
NOISE = 0.3 * 0.4, 0.4
"""Largest standard deviations of the perturbation of translation and rotation, as actions."""
RESTARTS = 0.03
"""Probability that the oracle plans anew before a step, in every second demonstration."""
WEIGHTS = 3.0, 3.0, 3.0, 1.0, 1.0, 1.0, 0.2
"""Weights of the entries of an action in the loss."""
BATCH, LEARNING_RATE = 1024, 2e-3
VELOCITY = slice(17, 23)
"""Velocity among the entries of a body, see :mod:`clevrskills.envs.state_observation`."""


@dataclass
class Args:
    """Settings of behavior cloning."""

    task: Annotated[str, tyro.conf.Positional]
    """Key of a skill."""
    out: Path
    """Folder of the policy, in the format of a training run."""
    demonstrations: int = 2200
    """Number of successful demonstrations."""
    horizon: int = 3
    """Number of control steps until the pose that an action leads to."""
    steps: int = 4000
    """Number of gradient steps."""
    seed: int = 0
    """Seed of the networks and samples."""


@dataclass
class Demonstration:
    """Episode of n control steps."""

    states: np.ndarray  # (n, D)
    poses: np.ndarray  # commanded end-effector poses before each step, (n, 7)
    vacuum: np.ndarray  # vacuum actions, (n,)


def demonstrate(env: Any, seed: int) -> Demonstration | None:
    """Return a perturbed demonstration, or ``None`` if it fails."""
    state, _ = env.reset(seed=seed)
    oracle, rng = Oracle(env), np.random.default_rng(seed)
    std = rng.random() * np.repeat(NOISE, 3)
    restarts = RESTARTS * (rng.random() < 0.5)
    states, poses, vacuum = list[np.ndarray](), list[np.ndarray](), list[float]()
    is_over = False
    while not (oracle.done or is_over):
        if states and rng.random() < restarts:
            oracle.reset()
        pose = oracle.env.agent.controller.target_pose
        try:
            action = oracle.act()
        except SkillFailed:
            return None
        states.append(np.array(state))
        poses.append(np.concatenate((pose.p, pose.q)))
        vacuum.append(action[6])
        action[:6] += std * rng.normal(size=6) * (rng.random() < 0.5)
        state, _, _, is_over, _ = env.step(action.clip(-1.0, 1.0))
    if not oracle.done:
        return None
    return Demonstration(np.array(states), np.array(poses), np.array(vacuum))


def labels(demonstration: Demonstration, horizon: int) -> np.ndarray:
    """Return the actions (n - 1, 7) from each pose towards that ``horizon`` steps later. The vacuum
    is on if the oracle turns it on until then.
    """
    poses, number = demonstration.poses, len(demonstration.poses)
    now = np.arange(number - 1)
    later = np.minimum(now + horizon, number - 1)
    turns = Rotation.from_quat(poses[:, [4, 5, 6, 3]])
    back = turns[now].inv()
    way = back.apply(poses[later, :3] - poses[now, :3]) / TRANSLATION_M
    turn = (back * turns[later]).as_rotvec() / ROTATION_RAD
    most = np.maximum(np.abs(way).max(1), np.linalg.norm(turn, axis=1)).clip(min=1.0)
    soon = [demonstration.vacuum[np.minimum(now + k, number - 1)] for k in range(horizon)]
    return np.column_stack((way / most[:, None], turn / most[:, None], np.max(soon, axis=0)))


def is_velocity(layout: Sequence[Mapping[str, Any]]) -> Tensor:
    """Return which entries of a state are velocities, (D,)."""
    mask = torch.zeros(layout[-1]["stop"], dtype=torch.bool)
    for entry in layout:
        name, part = entry["name"], mask[entry["start"] : entry["stop"]]
        if name in ("robot/qvel", "robot/velocity"):
            part[:] = True
        elif len(part) == BODY_NUMBERS:
            part[VELOCITY] = True
    return mask


def fit(states: Tensor, actions: Tensor, ignored: Tensor, args: Args, config: PPOConfig) -> Agent:
    """Return an agent whose policy imitates actions (N, 7) in states (N, D).

    Args:
        states: The states.
        actions: The actions.
        ignored: Entries of the state that are not used, (D,).
        args: Settings.
        config: Hyperparameters of the agent.
    """
    agent = Agent(Spaces(states.shape[1], actions.shape[1]), config)
    agent.states.add(states)
    scaled = torch.where(ignored, 0.0, agent.states(states).clamp(-FARTHEST, FARTHEST))
    policy: Any = agent.policy
    optimizer = torch.optim.AdamW(policy.parameters(), LEARNING_RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, LEARNING_RATE, args.steps)
    weights = torch.tensor(WEIGHTS)
    for _ in range(args.steps):
        index = torch.randint(len(scaled), (BATCH,))
        loss = ((policy(scaled[index]) - actions[index]).abs() * weights).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    policy[0].weight.data[:, ignored] = 0.0
    return agent


def main(args: Args) -> None:
    """Draw demonstrations, clone the oracle, and write the networks."""
    check_names(task=((args.task,), load_suite().tasks))
    check_least(args, demonstrations=1, horizon=1, steps=1, seed=0)
    if args.out.exists():
        raise ClevrSkillsError(f"{args.out} exists; name a new folder")
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    env: Any = gym.make(clevrskills.env_id(args.task), obs_mode="state")
    found, seed = list[Demonstration](), SEED
    while len(found) < args.demonstrations:
        one = demonstrate(env, seed)
        found += [one] if one is not None else []
        seed += 1
        if seed % 100 == 0:
            print(f"{len(found)} of {args.demonstrations} demonstrations", flush=True)
    env.close()
    config = PPOConfig(initial_std=0.07, vacuum_std=0.3)
    run = RLRun(task=args.task, total_steps=1, seed=args.seed, cameras=(), ppo=config)
    envs: Any = run.make_envs(1)
    ignored = is_velocity(envs.layout)
    envs.close()
    states = torch.tensor(np.concatenate([one.states[:-1] for one in found]))
    actions = np.concatenate([labels(one, args.horizon) for one in found])
    agent = fit(states, torch.tensor(actions, dtype=torch.float32), ignored, args, config)
    open_run(args.out.absolute(), run)
    folder = checkpoint.folder_of(args.out, 0)
    folder.mkdir(parents=True)
    provenance = {**asdict(args), "out": args.out.name, "control_steps": len(states)}
    about = {"policy": "ppo", "config": asdict(config), "spec": asdict(agent.spaces)}
    checkpoint.write(folder, {**about, "provenance": provenance}, agent.state_dict())


if __name__ == "__main__":
    try:
        main(tyro.cli(Args))
    except ClevrSkillsError as error:
        raise SystemExit(f"error: {error}") from None
