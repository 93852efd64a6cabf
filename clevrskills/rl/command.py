"""``clevrskills rl``: PPO on the rewards of a task, continuing where it stopped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.rl.run import PPOConfig

if TYPE_CHECKING:
    from gymnasium.vector import VectorEnv

    from clevrskills.rl.run import Run

_LEAST = {
    **dict.fromkeys(("num_envs", "workers", "total_steps", "episode_steps"), 1),
    **{"threads": 1, "save_every": 1, "seed": 0},
    "size": 36,  # what the convolutions need
}


@dataclass(kw_only=True)
class RLArgs:
    """Learn a task by PPO from its rewards; running it again continues."""

    task: Annotated[str, tyro.conf.Positional]
    """Key of the task, e.g. `pick`."""
    out: Path
    """Folder of the training."""
    backend: Literal["cpu", "gpu"] = "cpu"
    """Where scenes are simulated; gpu is experimental."""
    num_envs: int = 32
    """Environments that run at the same time."""
    workers: int = 1
    """Processes that these are spread over, the learner's among them. The result is the same for
    any number."""
    total_steps: int = 1_000_000
    """Control steps of all environments together."""
    seed: int = 0
    """Of networks, actions and episodes."""
    split: str = "train"
    """Objects and textures: train or test."""
    robot: str = "xarm6"
    """The robot: xarm6 or panda."""
    obs: Literal["state", "rgb"] = "state"
    """What the policy sees: numbers that tell all, or images and what the robot feels."""
    cameras: tuple[str, ...] = ("base_camera", "hand_camera")
    """Cameras, for `--obs rgb`."""
    size: int = 64
    """Width and height of the images, in pixels."""
    reward: Literal["normalized_dense", "dense", "potential", "sparse"] = "potential"
    """What is learnt from: progress in [0, 1], the published rewards, the progress made by the
    step, or success alone."""
    arg: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """Argument of the task, NAME=VALUE, e.g. `num_goals=2`; may be given several times."""
    episode_steps: int | None = None
    """Control steps after which an episode is cut off; by default the task's limit. Short episodes
    waste less of what comes after a mistake, or after success."""
    terminate_on_success: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """End an episode with success: more attempts in as many steps. Not for rewards that are paid
    for being near the goal, `normalized_dense` and `dense`: who ends it gets no more of them."""
    head_starts: float = 0.0
    """Probability that an episode starts with a part of the goal achieved, drawn evenly: a reverse
    curriculum."""
    device: str = "cpu"
    """Where the networks are: cpu or cuda."""
    threads: int = 1
    """Threads of the learner on the CPU."""
    save_every: int = 50_000
    """Control steps between two checkpoints; as many are lost at most when it is interrupted."""
    ppo: Annotated[PPOConfig, tyro.conf.OmitArgPrefixes] = field(default_factory=PPOConfig)
    """Numbers that PPO is tuned by."""


def rl(args: RLArgs, make_envs: Callable[[Run, int], VectorEnv] | None = None) -> int:
    """Learn.

    Args:
        args: What, and how.
        make_envs: Makes the environments of a training in a number of processes; ``None``: those of
            ClevrSkills.

    Returns:
        Exit code: 0 if all steps were made, 130 after Ctrl-C.

    Raises:
        ClevrSkillsError: Bad arguments, or a full disk; the last checkpoint is kept.
    """
    from clevrskills.jobs.run_folder import write_into
    from clevrskills.rl.run import Run, open_run
    from clevrskills.rl.train import train

    run = _check(args)
    root = args.out.absolute()
    open_run(root, run)

    def learn(check: Callable[[], None]) -> int:
        train(
            *(run, root, make_envs or Run.make_envs, check),
            workers=args.workers,
            device=args.device,
            threads=args.threads,
            save_every=args.save_every,
        )
        return 0

    code = write_into(args.out, learn, kept="the last checkpoint")
    if code:
        return code
    print(
        f"{args.out} has the policy; `clevrskills evaluate --policy rl:{args.out} {args.task} "
        "--out DIR` evaluates it"
    )
    return 0


def _check(args: RLArgs) -> Run:
    """The training that is asked for.

    Raises:
        ClevrSkillsError: An argument is not allowed.
    """
    from clevrskills.core.env_config import SPLITS
    from clevrskills.core.policy_loader import policy_arguments
    from clevrskills.rl.run import Run
    from clevrskills.sim.cameras import camera_names
    from clevrskills.tasks import task

    task_args = policy_arguments(args.arg)
    made = task(args.task, **task_args)
    names = [("split", args.split, SPLITS), ("robot", args.robot, made.all_robots)]
    names += [("device", args.device, ("cpu", "cuda"))]
    names += [("camera", camera, camera_names()) for camera in args.cameras]
    for kind, name, allowed in names:
        if name not in allowed:
            raise UnknownNameError(kind, name, allowed)
    for name, least in _LEAST.items():
        value = getattr(args, name)
        if value is not None and value < least:
            raise ClevrSkillsError(f"--{name.replace('_', '-')} must be at least {least}")
    if not 0.0 <= args.head_starts <= 1.0:
        raise ClevrSkillsError(f"--head-starts {args.head_starts}; allowed: 0 to 1")
    return Run(
        task=args.task,
        split=args.split,
        robot=args.robot,
        obs=args.obs,
        cameras=args.cameras if args.obs == "rgb" else (),
        size_px=args.size,
        reward=args.reward,
        task_args=task_args,
        episode_steps=args.episode_steps,
        terminate_on_success=args.terminate_on_success,
        head_starts=args.head_starts,
        backend=args.backend,
        num_envs=args.num_envs,
        total_steps=args.total_steps,
        seed=args.seed,
        ppo=args.ppo,
    )
