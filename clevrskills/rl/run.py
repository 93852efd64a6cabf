"""Training run of reinforcement learning: its settings and its folder.

::

    DIR/run.json                 what is learned and how
    DIR/checkpoints/<steps>/     the latest checkpoint, see :mod:`clevrskills.core.checkpoint`
    DIR/progress.jsonl           one line for each update
    DIR/tensorboard/             the same for TensorBoard
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from clevrskills.core.env_config import LOOKS
from clevrskills.core.suite import NO_ROBOT, gym_id, load_suite
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.files import read_json, to_json, write_whole
from clevrskills.jobs.options import Positional
from clevrskills.jobs.run_folder import check_settings, open_folder, versions

if TYPE_CHECKING:
    from gymnasium.vector import VectorEnv

RUN_FILE = "run.json"
PROGRESS_FILE = "progress.jsonl"
CLEVRSKILLS = "clevrskills"
_OF_ENVS = (
    *("num_envs", "split", "seed", "cameras", "size_px", "look"),
    *("task_args", "episode_steps", "terminate_on_success", "head_starts"),
)
"""Settings that environments have under the same name."""


@dataclass(frozen=True, kw_only=True)
class PPOConfig:
    """Hyperparameters of PPO; the defaults are for states on a CPU.

    Raises:
        ClevrSkillsError: A number is not allowed.
    """

    rollout_steps: int = 64
    """Control steps of each environment between two updates."""
    epochs: int = 8
    """Number of passes of an update through these steps."""
    minibatch: int = 1024
    """Samples of a gradient step, about."""
    learning_rate: float = 5e-4
    """Step size of Adam, at first."""
    anneal: bool = True
    """Let the step size fall to zero, linearly."""
    gamma: float = 0.95
    """Discount of a control step."""
    gae_lambda: float = 0.95
    """Decay of advantages (lambda): 0 trusts the value function alone, 1 the returns."""
    clip: float = 0.2
    """Largest deviation from 1 of the ratio of new to old probability."""
    value_clip: float | None = None
    """Largest change of a value in an update, in standard deviations of returns; unset: any."""
    value_weight: float = 0.5
    """Weight of the value function's loss."""
    entropy_weight: float = 0.0
    """Weight of the policy's entropy."""
    max_gradient: float = 0.5
    """Norm to which gradients are cut."""
    target_kl: float | None = 0.03
    """Divergence from the old policy at which an update ends early; unset: never."""
    initial_std: float = 0.12
    """Standard deviation of movements at first."""
    vacuum_std: float = 0.5
    """The same of the vacuum, which is on above 0."""
    vacuum_mean: float = 0.0
    """Mean of the vacuum at first; below 0 it is off most of the time."""
    hidden: tuple[int, ...] = (256, 256)
    """Units of each hidden layer, of the policy and of the value function."""

    def __post_init__(self) -> None:
        for name, (least, most) in _LIMITS.items():
            value = getattr(self, name)
            if not least <= value <= most:
                upper = "" if most == inf else f", at most {most}"
                raise ClevrSkillsError(f"{name} must be at least {least}{upper}, not {value}")


_LIMITS: dict[str, tuple[float, float]] = {
    "rollout_steps": (1, inf),
    "epochs": (1, inf),
    "minibatch": (2, inf),
    "learning_rate": (0.0, inf),
    "gamma": (0.0, 1.0),
    "gae_lambda": (0.0, 1.0),
    "clip": (0.0, inf),
    "initial_std": (0.001, inf),
    "vacuum_std": (0.001, inf),
}
"""Least and greatest value."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Task, environments and rewards: options that the run keeps as they are."""

    task: Positional[str]
    """Key of the task, e.g. `pick`."""
    suite: str = CLEVRSKILLS
    """Suite of the task; options about robots, images and rewards are of clevrskills alone."""
    num_envs: int = 32
    """Environments that run at the same time."""
    total_steps: int = 1_000_000
    """Control steps of all environments together."""
    seed: int = 0
    """Of networks, actions and episodes."""
    split: str = "train"
    """Objects and textures: train or test."""
    robot: str = "xarm6"
    """The robot: xarm6 or panda."""
    obs: Literal["state", "rgb"] = "state"
    """Observations: the full state, or images and proprioception."""
    cameras: tuple[str, ...] = ("base_camera", "hand_camera")
    """Cameras, for `--obs rgb`."""
    reward: Literal["normalized_dense", "dense", "potential", "sparse"] = "potential"
    """Reward: progress in [0, 1], the published rewards, the progress made by the
    step, or success alone."""
    episode_steps: int | None = None
    """Control steps after which an episode is cut off; by default the task's limit. Short episodes
    waste less of what comes after a mistake, or after success."""
    terminate_on_success: bool = False
    """End an episode with success: more attempts in as many steps. Not for rewards that are paid
    for being near the goal, `normalized_dense` and `dense`: who ends it gets no more of them."""
    head_starts: float = 0.0
    """Probability that an episode starts with a part of the goal achieved, drawn evenly: a reverse
    curriculum."""
    begin_with: str = ""
    """A training of the same task from whose networks this one sets out, a folder or `zoo/NAME`;
    its steps are not counted."""
    ppo: PPOConfig = field(default_factory=PPOConfig)
    """Hyperparameters of PPO."""


@dataclass(frozen=True, kw_only=True)
class RLRun(Settings):
    """Settings of a training run that change its result."""

    size_px: int = 64  # width and height of the images
    look: str = LOOKS[0]  # how they look
    task_args: Mapping[str, Any] = field(default_factory=dict)  # arguments of the task
    # of Python and of the packages that shape an episode
    versions: Mapping[str, str | None] = field(default_factory=versions, compare=False)

    def make_envs(self, workers: int) -> VectorEnv:
        """Make the environments, in ``workers`` processes, this one among them.

        Raises:
            ClevrSkillsError: There are none for the task.
        """
        if self.suite != CLEVRSKILLS:
            return self._make_boards()
        from clevrskills.vector import make_vec

        return make_vec(
            self.task,
            workers=workers,
            obs_mode=self.obs,
            reward_mode=self.reward,
            robot_name=self.robot,
            **{name: getattr(self, name) for name in _OF_ENVS},
        )

    def _make_boards(self) -> VectorEnv:
        import gymnasium as gym

        suite = load_suite(self.suite)
        name = gym_id(suite, self.task)
        has_arm = NO_ROBOT not in suite.tasks[self.task].robots
        if has_arm or gym.spec(name).vector_entry_point is None:
            raise ClevrSkillsError(
                f"there is no reinforcement learning of {self.task} in {self.suite}"
            )
        return gym.make_vec(name, self.num_envs, seed=self.seed, autoreset_mode="SameStep")


def read_run(root: Path) -> RLRun:
    """Return the settings of the training run in a folder.

    Raises:
        ClevrSkillsError: It holds no training, or one that cannot be read.
    """
    path = root / RUN_FILE
    if not path.is_file():
        raise ClevrSkillsError(f"{root} is no training of `clevrskills rl`: it has no {RUN_FILE}")
    try:
        data = read_json(path)
        values = {f.name: data[f.name] for f in fields(RLRun)}
        ppo = {f.name: _frozen(data["ppo"][f.name]) for f in fields(PPOConfig)}
    except (ValueError, KeyError, TypeError) as error:
        raise ClevrSkillsError(f"{path} is damaged: {error!r}") from error
    return RLRun(**{**values, "cameras": tuple(values["cameras"]), "ppo": PPOConfig(**ppo)})


def open_run(root: Path, run: RLRun) -> None:
    """Enter a training run into its folder, or check that it is the one that is there.

    Raises:
        ClevrSkillsError: The folder holds something else.
        StorageError: It cannot be written.
    """
    if open_folder(root, RUN_FILE, "no training of `clevrskills rl`"):
        check_settings(root, _settings(read_run(root)), _settings(run), trained=True)
    else:
        write_whole(root / RUN_FILE, to_json(asdict(run), indent=1) + "\n")


def _settings(run: RLRun) -> dict[str, Any]:
    """Return all that must be the same, by name."""
    settings = json.loads(to_json(asdict(run)))
    del settings["versions"]
    return {**settings.pop("ppo"), **settings}


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
