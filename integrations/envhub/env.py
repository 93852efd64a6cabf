"""ClevrSkills for LeRobot's EnvHub: this file alone makes a repository of it; see README.md.

``make_env("USER/REPOSITORY", trust_remote_code=True)`` of LeRobot calls :func:`make_env`.
"""

from __future__ import annotations

from typing import Any

from gymnasium.vector import VectorEnv

from clevrskills.integrations.lerobot_env import make_vector_envs

OPTIONS = ("split", "robot", "size_px", "episodes", "frozen")


def make_env(
    n_envs: int = 1, use_async_envs: bool = False, cfg: Any = None
) -> dict[str, dict[int, VectorEnv]]:
    """The vector environments: task key -> 0 -> environment.

    Args:
        n_envs: How many environments each has.
        use_async_envs: Whether each runs in a process of its own.
        cfg: May have the attributes task, level and cameras, each several names separated by
            commas, and split, robot, size_px, episodes, frozen, as
            ``clevrskills.integrations.lerobot_env`` explains them; those that are missing or
            ``None`` are the defaults: all tasks of level L0, on seen objects.
    """
    tasks, levels, cameras = (_names(cfg, name) for name in ("task", "level", "cameras"))
    given = {name: getattr(cfg, name, None) for name in OPTIONS}
    options = {name: value for name, value in given.items() if value is not None}
    if cameras:
        options["cameras"] = cameras
    return make_vector_envs(tasks, levels or ("L0",), n_envs, use_async_envs, **options)


def _names(cfg: Any, attribute: str) -> tuple[str, ...]:
    value = getattr(cfg, attribute, None) or ""
    return tuple(name.strip() for name in value.split(",") if name.strip())
