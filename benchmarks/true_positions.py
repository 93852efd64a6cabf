"""Success of a compact policy with predicted and with true positions: what perception costs.

    python benchmarks/true_positions.py                        # all skills of L0
    python benchmarks/true_positions.py pick place --episodes 50

With true positions the policy is privileged: those of the objects and poses that the next subgoal
names replace the predicted ones, and grasp points move with their objects. Skills, angles and
obstacles stay predicted. Episodes are drawn from ``val``, none of them is frozen.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import torch
import tyro

from clevrskills.baselines import load
from clevrskills.baselines.policies.compact.policy import CompactPolicy
from clevrskills.core.env_config import EnvConfig
from clevrskills.core.statistics import wilson
from clevrskills.core.suite import load_suite
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.rollout import PolicyRollout, Rules
from clevrskills.jobs.arguments import check_names

LEVEL, SPLIT = "L0", "val"


@dataclass
class Args:
    """Policy and episodes to measure."""

    tasks: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Keys of tasks; default: all skills of L0."""
    checkpoint: str = "zoo/compact-l0"
    episodes: int = 20
    seed: int = 8100
    """Seed of the first episode; the others follow."""


class Perception:
    """Perception of a policy, whose positions may be replaced by true ones.

    Args:
        policy: The policy; its commands pass through here.
    """

    def __init__(self, policy: Any) -> None:
        self.env, self.is_true = None, False
        self._predict, policy._next_command = policy._next_command, self

    def __call__(self, *inputs: Any) -> Any:
        """Return the command of the next subgoal."""
        command, env = self._predict(*inputs), self.env
        leaf = None if env is None else env.goal.next_leaf(env.outcome)
        if not self.is_true or leaf is None:
            return command
        for k, key in enumerate(re.findall(r"\{obj:(\w+)\}", leaf.describe(env.world))[:2]):
            position = env.world.position(env.world.index(key))[0].double().numpy()
            if k == 0:
                command.places[2] += position - command.places[0]
            if np.isfinite(command.places[k]).all():
                command.places[k] = position
        if np.isfinite(command.pose).all() and hasattr(leaf, "pose"):
            command.pose = leaf.pose(env.world)[0].double().numpy()
        return command


def measure(args: Args, task: str, policy: Any, perception: Perception) -> dict[bool, int]:
    """Return the number of successes with predicted and with true positions."""
    suite, shown, solved = load_suite(), policy.observation, {False: 0, True: 0}
    config = EnvConfig(task, SPLIT, cameras=shown.cameras, size_px=shown.size_px, look=shown.look)
    env: Any = suite.make(config)
    for seed in range(args.seed, args.seed + args.episodes):
        episode = suite.draw(task, SPLIT, seed)
        for is_true in solved:
            perception.env, perception.is_true = env, is_true
            rollout = PolicyRollout(env, episode, shown, Rules(), suite, on_demand=True)
            policy.reset({0: rollout.prompt})
            while not rollout.ended:
                rollout.go_on(policy.act({0: rollout.observation})[0])
            solved[is_true] += rollout.success_once
    env.close()
    return solved


def main(args: Args) -> None:
    """Measure, and print successes by task."""
    torch.set_num_threads(1)
    known = load_suite().tasks
    check_names(task=(args.tasks, known))
    policy, total = load(args.checkpoint, "cpu"), {False: 0, True: 0}
    if not isinstance(policy, CompactPolicy):
        raise ClevrSkillsError(f"{args.checkpoint} is no compact policy")
    perception = Perception(policy)
    tasks = args.tasks or [key for key, info in known.items() if info.level == LEVEL]
    for task in tasks:
        solved = measure(args, task, policy, perception)
        total = {is_true: total[is_true] + solved[is_true] for is_true in total}
        print(f"{task:22} of {args.episodes}: {solved[False]}, true: {solved[True]}", flush=True)
    for is_true, count in total.items():
        number = len(tasks) * args.episodes
        low, high = wilson(count, number)
        kind = "true" if is_true else "predicted"
        print(f"{kind}: {count} of {number}, {count / number:.1%} [{low:.1%}, {high:.1%}]")


if __name__ == "__main__":
    try:
        main(tyro.cli(Args))
    except ClevrSkillsError as error:
        raise SystemExit(f"error: {error}") from None
