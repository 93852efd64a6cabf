"""Configuration with which LeRobot creates ClevrSkills environments."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gymnasium.vector import VectorEnv
from lerobot.configs import FeatureType, PolicyFeature
from lerobot.envs import EnvConfig
from lerobot.envs.utils import freeze_after_episode_end
from lerobot.utils.constants import ACTION, OBS_IMAGES, OBS_STATE


@EnvConfig.register_subclass("clevrskills")
@dataclass
class ClevrSkillsEnvConfig(EnvConfig):
    """Tasks of ClevrSkills on their frozen episodes, the prompt in words.

    Attributes:
        task: Keys of tasks, separated by commas; ``None``: those of the levels. What can't be said
            in words is refused.
        level: Levels, separated by commas; ``None``: all. Tasks that show their goal in images of
            key-steps are left out.
        split: ``train`` (seen objects and textures) or ``test`` (unseen ones); ``None``: the first.
        episodes: How many of a task's frozen episodes are run; ``None``: all.
        robot: Name of the robot; ``None``: the first one.
        cameras: Names of cameras, separated by commas; ``None``: those that the suite names.
        size_px: Width and height of the images.
        frozen: Where the frozen episodes are; ``None``: those of the package.
        fps: Control steps per second; they are what they are.
    """

    task: str | None = None
    level: str | None = None
    split: str | None = None
    episodes: int | None = None
    robot: str | None = None
    cameras: str | None = None
    size_px: int = 256
    frozen: str | None = None
    fps: int = 20
    features: dict[str, PolicyFeature] = field(default_factory=dict)
    features_map: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        from clevrskills.core.suite import load_suite
        from clevrskills.integrations.lerobot_env import LeRobotEnv, state_size
        from clevrskills.sim.robots.delta_action import ACTION_SPEC

        for task in _names(self.task):  # refuse tasks that cannot run before starting
            LeRobotEnv(task, **self.gym_kwargs)
        first = next(iter(load_suite().tasks.values()))
        cameras = _names(self.cameras) or first.cameras
        image = PolicyFeature(FeatureType.VISUAL, (self.size_px, self.size_px, 3))
        state = PolicyFeature(FeatureType.STATE, (state_size(self.robot),))
        self.features = {
            ACTION: PolicyFeature(FeatureType.ACTION, (*ACTION_SPEC["shape"],)),
            "agent_pos": state,
            **{f"pixels/{name}": image for name in cameras},
        }
        self.features_map = {
            ACTION: ACTION,
            "agent_pos": OBS_STATE,
            **{f"pixels/{name}": f"{OBS_IMAGES}.{name}" for name in cameras},
        }

    @property
    def gym_kwargs(self) -> dict[str, Any]:
        """Arguments of each environment."""
        return {
            "split": self.split,
            "robot": self.robot,
            "cameras": _names(self.cameras) or None,
            "size_px": self.size_px,
            "episodes": self.episodes,
            "frozen": self.frozen,
        }

    def create_envs(
        self, n_envs: int, use_async_envs: bool = False
    ) -> dict[str, dict[int, VectorEnv]]:
        """Return the vector environments: task key -> 0 -> environment. An environment whose
        episode has ended waits for the others of its batch without simulating.
        """
        from clevrskills.integrations.lerobot_env import make_vector_envs

        return make_vector_envs(
            _names(self.task),
            _names(self.level),
            n_envs,
            use_async_envs,
            freeze_after_episode_end,
            **self.gym_kwargs,
        )


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())
