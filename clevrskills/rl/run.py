"""Training run of reinforcement learning: its settings and its folder.

::

    DIR/run.json                 settings
    DIR/checkpoints/<steps>/     latest checkpoint, see :mod:`clevrskills.core.checkpoint`
    DIR/progress.jsonl           one line per update
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
"""Settings with the same name in :class:`~clevrskills.vector.spec.VectorSpec`."""


@dataclass(frozen=True, kw_only=True)
class PPOConfig:
    """Hyperparameters of PPO; the defaults are tuned for states on a CPU.

    Raises:
        ClevrSkillsError: A number is not allowed.
    """

    rollout_steps: int = 64
    """Control steps per environment between two updates."""
    epochs: int = 8
    """Passes over the rollout per update."""
    minibatch: int = 1024
    """Approximate number of samples per gradient step."""
    learning_rate: float = 5e-4
    """Initial learning rate of Adam."""
    anneal: bool = True
    """Decrease the learning rate linearly to zero."""
    gamma: float = 0.95
    """Discount factor per control step."""
    gae_lambda: float = 0.95
    """Decay of generalized advantage estimation (lambda)."""
    clip: float = 0.2
    """Clipping range of the probability ratio around 1."""
    value_clip: float | None = None
    """Clipping range of value updates, in standard deviations of returns; unset: no clipping."""
    value_weight: float = 0.5
    """Weight of the value loss."""
    entropy_weight: float = 0.0
    """Weight of the entropy bonus."""
    max_gradient: float = 0.5
    """Largest gradient norm."""
    target_kl: float | None = 0.03
    """KL divergence from the old policy at which an update stops early; unset: never."""
    initial_std: float = 0.12
    """Initial standard deviation of motions."""
    vacuum_std: float = 0.5
    """Initial standard deviation of the vacuum action, which is on above 0."""
    vacuum_mean: float = 0.0
    """Initial mean of the vacuum action; below 0 it is mostly off."""
    hidden: tuple[int, ...] = (256, 256)
    """Units of each hidden layer of the policy and value networks."""

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
"""Smallest and largest value."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of task, environments and rewards."""

    task: Positional[str]
    """Key of the task, e.g. `pick`."""
    suite: str = CLEVRSKILLS
    """Suite of the task; options of robots, images and rewards apply to clevrskills only."""
    num_envs: int = 32
    """Number of parallel environments."""
    total_steps: int = 1_000_000
    """Total control steps of all environments."""
    seed: int = 0
    """Seed of networks, actions and episodes."""
    split: str = "train"
    """Split of objects and textures: train or test."""
    robot: str = "xarm6"
    """Robot: xarm6 or panda."""
    obs: Literal["state", "rgb"] = "state"
    """Observations: the full state, or images and proprioception."""
    cameras: tuple[str, ...] = ("base_camera", "hand_camera")
    """Cameras for `--obs rgb`."""
    reward: Literal["normalized_dense", "dense", "potential", "sparse"] = "potential"
    """Reward: progress in [0, 1], the published rewards, the increase of progress, or success
    only."""
    episode_steps: int | None = None
    """Step limit of an episode; by default that of the task. Short episodes waste fewer steps after
    a mistake or success."""
    terminate_on_success: bool = False
    """End episodes on success, for more attempts. Not for `normalized_dense` and `dense`, which
    reward staying near the goal."""
    head_starts: float = 0.0
    """Probability that an episode starts with a uniform share of the goal achieved (reverse
    curriculum)."""
    begin_with: str = ""
    """Initial networks from another training run: a folder or `zoo/NAME`. Its steps do not count.
    Those of another task are matched by state entries."""
    ppo: PPOConfig = field(default_factory=PPOConfig)
    """Hyperparameters of PPO."""


@dataclass(frozen=True, kw_only=True)
class RLRun(Settings):
    """Settings of a training run that change its result."""

    size_px: int = 64  # image width and height
    look: str = LOOKS[0]
    task_args: Mapping[str, Any] = field(default_factory=dict)  # arguments of the task
    # versions of Python and of packages that affect episodes
    versions: Mapping[str, str | None] = field(default_factory=versions, compare=False)

    def make_envs(self, workers: int) -> VectorEnv:
        """Make the environments in ``workers`` processes, this one included.

        Raises:
            ClevrSkillsError: The task does not support reinforcement learning.
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
                f"{self.task} of {self.suite} does not support reinforcement learning"
            )
        return gym.make_vec(name, self.num_envs, seed=self.seed, autoreset_mode="SameStep")


def read_run(root: Path) -> RLRun:
    """Return the settings of the training run in a folder.

    Raises:
        ClevrSkillsError: The folder has no training run, or its settings cannot be read.
    """
    path = root / RUN_FILE
    if not path.is_file():
        raise ClevrSkillsError(
            f"{root} is not a training run of `clevrskills rl`: it has no {RUN_FILE}"
        )
    try:
        data = read_json(path)
        values = {f.name: data[f.name] for f in fields(RLRun)}
        ppo = {f.name: _frozen(data["ppo"][f.name]) for f in fields(PPOConfig)}
    except (ValueError, KeyError, TypeError) as error:
        raise ClevrSkillsError(f"{path} is damaged: {error!r}") from error
    return RLRun(**{**values, "cameras": tuple(values["cameras"]), "ppo": PPOConfig(**ppo)})


def open_run(root: Path, run: RLRun) -> None:
    """Write the settings of a training run into its folder, or check that they are unchanged.

    Raises:
        ClevrSkillsError: The folder holds something else.
        StorageError: The folder cannot be written.
    """
    if open_folder(root, RUN_FILE, "no training of `clevrskills rl`"):
        check_settings(root, _settings(read_run(root)), _settings(run), trained=True)
    else:
        write_whole(root / RUN_FILE, to_json(asdict(run), indent=1) + "\n")


def _settings(run: RLRun) -> dict[str, Any]:
    """Return the settings that must not change, by name."""
    settings = json.loads(to_json(asdict(run)))
    del settings["versions"]
    return {**settings.pop("ppo"), **settings}


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
