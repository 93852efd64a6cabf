"""ClevrSkills for LeRobot's EnvHub, the only file that its repository needs; see README.md.

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
    """Return the vector environments: task key -> 0 -> environment.

    Args:
        n_envs: Number of environments in each.
        use_async_envs: Whether each environment runs in its own process.
        cfg: Optional attributes task, level and cameras (names separated by commas), and split,
            robot, size_px, episodes, frozen, see ``clevrskills.integrations.lerobot_env``. If
            missing or ``None``, they have defaults: all tasks of level L0 on seen objects.
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
