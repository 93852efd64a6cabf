"""Specification of a vector environment."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gymnasium.vector import AutoresetMode
from torch import Tensor

from clevrskills.core.env import as_autoreset_mode
from clevrskills.core.env_config import LOOKS, EnvConfig
from clevrskills.core.suite import DEFAULT, load_suite
from clevrskills.envs.environment import ClevrSkillsEnv
from clevrskills.envs.gymnasium_env import RENDER_MODES
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.predicates import Outcome
from clevrskills.tasks import task

OBS_MODES = ("state", "rgb")
REWARD_MODES = ("potential", "normalized_dense", "dense", "sparse")


@dataclass(frozen=True, kw_only=True)
class VectorSpec:
    """Configuration of a batch, the same in every process; picklable.

    Raises:
        ClevrSkillsError: A value is not allowed.
    """

    task: str  # key of the task
    split: str = "train"  # ``train`` or ``test``
    robot_name: str = ""  # name of the robot; empty: the first robot of the task
    # ``state``, see :mod:`clevrskills.envs.state_observation`, or ``rgb``: images and the entries
    # of the robot
    obs_mode: str = "state"
    # ``potential`` (increase of progress), ``normalized_dense`` (progress in [0, 1]), ``dense``
    # (scale of the published numbers) or ``sparse`` (1 on success)
    reward_mode: str = "potential"
    cameras: tuple[str, ...] = ("base_camera", "hand_camera")  # cameras of ``rgb``
    size_px: int = 128  # image width and height
    look: str = LOOKS[0]  # one of :data:`~clevrskills.core.env_config.LOOKS`
    task_args: Mapping[str, Any] = field(default_factory=dict)  # arguments of the task
    episode_steps: int | None = None  # step limit; ``None``: that of the task
    # whether success ends an episode; otherwise it runs to the step limit
    terminate_on_success: bool = False
    # probability that an episode starts with a uniform share of the goal achieved (reverse
    # curriculum)
    head_starts: float = 0.0
    # ``cpu``, ``gpu`` or ``none``; ``None``: the best available, or ``none`` without images
    render_backend: str | None = None
    render_mode: str | None = None  # ``rgb_array`` or ``None``
    # when the next episode starts: in the step that ends the previous one (``SAME_STEP``), or in
    # the next step, which ignores its action (``NEXT_STEP``)
    autoreset_mode: AutoresetMode = AutoresetMode.SAME_STEP
    suite: str = DEFAULT  # name of the suite of the task

    def __post_init__(self) -> None:
        if self.obs_mode not in OBS_MODES:
            raise UnknownNameError("obs_mode", self.obs_mode, OBS_MODES)
        if self.reward_mode not in REWARD_MODES:
            raise UnknownNameError("reward_mode", self.reward_mode, REWARD_MODES)
        if self.look not in LOOKS:
            raise UnknownNameError("look", self.look, LOOKS)
        if self.render_mode not in (None, *RENDER_MODES):
            raise UnknownNameError("render_mode", self.render_mode, RENDER_MODES)
        object.__setattr__(self, "autoreset_mode", as_autoreset_mode(self.autoreset_mode))
        if not 0.0 <= self.head_starts <= 1.0:
            raise ClevrSkillsError(f"head_starts={self.head_starts}; allowed: 0 to 1")
        for name in ("size_px", "episode_steps"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ClevrSkillsError(f"{name}={value}; allowed: 1 and more")

    @property
    def images(self) -> tuple[str, ...]:
        """Cameras of the observations."""
        return self.cameras if self.obs_mode == "rgb" else ()

    @property
    def step_limit(self) -> int:
        """Step limit of an episode."""
        config = EnvConfig(self.task, task_args=self.task_args)
        load_suite(self.suite).check(config)  # imports its tasks
        return self.episode_steps or task(self.task, **self.task_args).max_steps

    def reward(self, outcome: Outcome, before: Tensor) -> Tensor:
        """Return the reward of a step, (B,), from its outcome and the previous progress, (B,)."""
        match self.reward_mode:
            case "dense":
                return outcome.reward
            case "sparse":
                return outcome.holds.float()
            case "potential":
                return outcome.progress - before
            case _:
                return outcome.progress

    def make(self) -> ClevrSkillsEnv:
        """Return one environment.

        Raises:
            ClevrSkillsError: A name is unknown, or the machine does not support an option.
        """
        config = EnvConfig(
            self.task,
            self.split,
            self.robot_name,
            cameras=self.images,
            size_px=self.size_px,
            look=self.look,
            task_args=self.task_args,
            render_backend=self.render_backend,
        )
        options: dict[str, Any] = {"obs_mode": "rgb" if self.images else "none"}
        if self.render_mode:
            options |= {"render_mode": self.render_mode, "render_backend": self.render_backend}
        suite: Any = load_suite(self.suite)
        env: ClevrSkillsEnv = suite.make(config, reward_mode="none", **options)
        return env
