"""Success of a compact policy with its own perception and with parts of it replaced.

    python benchmarks/perception_controls.py                        # all skills of L0
    python benchmarks/perception_controls.py pick place --episodes 50
    python benchmarks/perception_controls.py --scenes S             # also with a fitted calibration

With a fitted calibration, pose and field of view of the camera are not given. They are estimated
from the boxes and positions of bodies in training scenes, a folder of ``clevrskills scenes``.
With true positions the policy is privileged: those of the objects and poses that the next subgoal
names replace the predicted ones, and grasp points move with their objects. Skills, angles and
obstacles stay predicted. Without images, the base image is black; the images of the prompt stay.
Episodes are drawn from ``val``, none of them is frozen.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import tyro
from scipy.optimize import least_squares

from clevrskills.baselines import load
from clevrskills.baselines.policies.compact.network import Calibration
from clevrskills.baselines.policies.compact.policy import CompactPolicy
from clevrskills.core.env_config import EnvConfig
from clevrskills.core.statistics import wilson
from clevrskills.core.suite import load_suite
from clevrskills.dataset_tools.scenes.scene_set import SceneSet
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.rollout import PolicyRollout, Rules
from clevrskills.jobs.arguments import check_names
from clevrskills.jobs.files import to_json, write_whole
from clevrskills.sim.cameras import FixedCamera

LEVEL, SPLIT = "L0", "val"
OWN, TRUE, BLACK = "own perception", "true positions", "black image"
FITTED = "fitted calibration"
BODIES = 3000
"""Bodies of the training scenes that the camera is fitted to."""
GUESS = FixedCamera((0.5, 0.0, 0.5), (0.0, 0.0, 0.0), 1.2)
"""Camera that the fit starts from: in front of the table."""


@dataclass
class Args:
    """Policy and episodes to measure."""

    tasks: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Keys of tasks; default: all skills of L0."""
    checkpoint: str = "zoo/compact-l0"
    episodes: int = 20
    seed: int = 8100
    """Seed of the first episode; the others follow."""
    scenes: Path | None = None
    """Training scenes for a fitted calibration."""
    out: Path | None = None
    """File for the numbers of solved episodes, JSON."""


class Perception:
    """Perception of a policy, whose positions may be replaced by true ones.

    Args:
        policy: The policy; its commands pass through here.
    """

    def __init__(self, policy: Any) -> None:
        self.env, self.condition = None, OWN
        self._predict, policy._next_command = policy._next_command, self

    def __call__(self, *inputs: Any) -> Any:
        """Return the command of the next subgoal."""
        command, env = self._predict(*inputs), self.env
        leaf = None if env is None else env.goal.next_leaf(env.outcome)
        if self.condition != TRUE or leaf is None:
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


def fit_camera(scenes: SceneSet) -> FixedCamera:
    """Return the camera whose projections of the bodies are closest to the centers of their boxes.

    Boxes at the edge of the image are left out.
    """
    boxes, positions = (
        np.concatenate([getattr(scene, name) for scene in scenes.scenes])
        for name in ("boxes", "positions")
    )
    whole = ((boxes[:, :2] > 0) & (boxes[:, 2:] < scenes.header.size_px)).all(1)
    chosen = np.random.default_rng(0).permutation(np.flatnonzero(whole))[:BODIES]
    centers, positions = (boxes[chosen, :2] + boxes[chosen, 2:]) / 2, positions[chosen]

    def camera(values: np.ndarray) -> FixedCamera:
        return FixedCamera(tuple(values[:3]), tuple(values[3:6]), float(values[6]))

    start = [*GUESS.eye_m, *GUESS.target_m, GUESS.fov_rad]
    found = least_squares(
        lambda values: (camera(values).pixels(positions) - centers).ravel(), start, loss="soft_l1"
    )
    return camera(found.x)


def measure(
    args: Args, task: str, policy: Any, perception: Perception, cameras: dict[str, Calibration]
) -> dict[str, int]:
    """Return the number of successes by condition."""
    suite, shown, solved = load_suite(), policy.observation, dict.fromkeys(cameras, 0)
    config = EnvConfig(task, SPLIT, cameras=shown.cameras, size_px=shown.size_px, look=shown.look)
    env: Any = suite.make(config)
    side = shown.size_px
    black = dict.fromkeys(shown.cameras, np.zeros((side, side, 3), np.uint8))
    for seed in range(args.seed, args.seed + args.episodes):
        episode = suite.draw(task, SPLIT, seed)
        for condition, camera in cameras.items():
            policy.camera, perception.env, perception.condition = camera, env, condition
            rollout = PolicyRollout(env, episode, shown, Rules(), suite, on_demand=True)
            policy.reset({0: rollout.prompt})
            while not rollout.ended:
                observation = rollout.observation
                if condition == BLACK:
                    observation = {**observation, "images": black}
                rollout.go_on(policy.act({0: observation})[0])
            solved[condition] += rollout.success_once
    env.close()
    return solved


def main(args: Args) -> None:
    """Measure, and print successes by task."""
    torch.set_num_threads(1)
    if args.out:
        args.out.parent.mkdir(parents=True, exist_ok=True)
    known = load_suite().tasks
    check_names(task=(args.tasks, known))
    policy = load(args.checkpoint, "cpu")
    if not isinstance(policy, CompactPolicy):
        raise ClevrSkillsError(f"{args.checkpoint} is no compact policy")
    perception = Perception(policy)
    cameras = dict.fromkeys((OWN, TRUE, BLACK), policy.camera)
    if args.scenes:
        fitted = fit_camera(SceneSet(args.scenes))
        eye, fov_deg = np.round(fitted.eye_m, 3).tolist(), np.degrees(fitted.fov_rad)
        print(f"fitted camera: at {eye} m, field of view {fov_deg:.1f} degrees")
        cameras[FITTED] = Calibration(fitted)
    successes: dict[str, dict[str, int]] = {each: {} for each in cameras}
    tasks = args.tasks or [key for key, info in known.items() if info.level == LEVEL]
    for task in tasks:
        solved = measure(args, task, policy, perception, cameras)
        for condition, count in solved.items():
            successes[condition][task] = count
        each = ", ".join(f"{condition} {count}" for condition, count in solved.items())
        print(f"{task:22} of {args.episodes}: {each}", flush=True)
    if args.out:
        about = {"checkpoint": args.checkpoint, "episodes": args.episodes, "seed": args.seed}
        write_whole(args.out, to_json({**about, "solved": successes}, indent=1) + "\n")
    for condition, of in successes.items():
        count, number = sum(of.values()), len(tasks) * args.episodes
        low, high = wilson(count, number)
        print(f"{condition}: {count} of {number}, {count / number:.1%} [{low:.1%}, {high:.1%}]")


if __name__ == "__main__":
    try:
        main(tyro.cli(Args))
    except ClevrSkillsError as error:
        raise SystemExit(f"error: {error}") from None
