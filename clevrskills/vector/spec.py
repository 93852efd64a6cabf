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
    robot_name: str = ""  # name of the robot; empty: the task's first one
    # ``state``, see :mod:`clevrskills.envs.state_observation`, or ``rgb``: images and the robot's
    # own part of the state
    obs_mode: str = "state"
    # ``potential`` (how much the progress rose in the step; it sums up to the last progress less
    # the first), ``normalized_dense`` (progress in [0, 1]), ``dense`` (the scale of the published
    # numbers) or ``sparse`` (1 on success)
    reward_mode: str = "potential"
    cameras: tuple[str, ...] = ("base_camera", "hand_camera")  # cameras of ``rgb``
    size_px: int = 128  # width and height of their images
    look: str = LOOKS[0]  # how these look, one of :data:`~clevrskills.core.env_config.LOOKS`
    task_args: Mapping[str, Any] = field(default_factory=dict)  # arguments of the task
    # control steps after which an episode is cut off; ``None``: those of the task. Learners that
    # waste what comes after a mistake learn faster from short episodes.
    episode_steps: int | None = None
    # whether an episode ends with success. If not, it always lasts until it is cut off, so that
    # success must be kept.
    terminate_on_success: bool = False
    # probability that an episode starts with a part of the goal achieved, drawn evenly: a reverse
    # curriculum
    head_starts: float = 0.0
    # ``cpu``, ``gpu`` or ``none``; ``None``: what the machine has if there are images
    render_backend: str | None = None
    render_mode: str | None = None  # ``rgb_array``: ``render`` films; ``None``: it does not
    # when the next episode begins: ``SAME_STEP``, in the step that ends the one before, or
    # ``NEXT_STEP``, in the step after it, whose action is not used
    autoreset_mode: AutoresetMode = AutoresetMode.SAME_STEP
    suite: str = DEFAULT  # name of the suite that the task is of

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
        """The cameras that are looked through."""
        return self.cameras if self.obs_mode == "rgb" else ()

    @property
    def step_limit(self) -> int:
        """Control steps after which an episode is cut off."""
        config = EnvConfig(self.task, task_args=self.task_args)
        load_suite(self.suite).check(config)  # imports its tasks
        return self.episode_steps or task(self.task, **self.task_args).max_steps

    def reward(self, outcome: Outcome, before: Tensor) -> Tensor:
        """Return the reward of a step, (B,), from its outcome and the progress before it, (B,)."""
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
        """Return one of the environments.

        Raises:
            ClevrSkillsError: A name is unknown, or the machine cannot do what is asked for.
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
