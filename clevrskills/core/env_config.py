"""Environment configuration: what an environment is made from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

__all__ = ["EnvConfig"]

Look = Literal["soft", "flat", "stock"]
"""One of :data:`LOOKS`."""
LOOKS: tuple[Look, ...] = get_args(Look)
"""Looks of images: ``soft``, with soft shadows, smooth edges and darkness where bodies meet;
``flat``, without, at half the cost; ``stock``, as SAPIEN's own shaders draw."""


@dataclass(frozen=True)
class EnvConfig:
    """Configuration of an environment; its episodes differ in their seed.

    Of split, robot and criteria that are not named an environment takes the suite's first ones.

    Attributes:
        task: Key of the task.
        split: Name of the split.
        robot: Name of the robot.
        criteria: Name of the success criteria.
        cameras: Names of the cameras: those that an environment shows, or that a film is made by.
        size_px: Width and height of their images; ``None``: each camera's own.
        look: One of :data:`LOOKS`.
        depth: Whether depth is filmed too.
        segmentation: Whether it is filmed what each pixel shows.
        task_args: Arguments of the task.
        render_backend: ``cpu`` or ``gpu``; ``None``: what the machine has.
        noise: Noise of images and actions, as the suite names it; empty: none.
    """

    task: str
    split: str = ""
    robot: str = ""
    criteria: str = ""
    cameras: tuple[str, ...] = ()
    size_px: int | None = None
    look: str = LOOKS[0]
    depth: bool = False
    segmentation: bool = False
    task_args: Mapping[str, Any] = field(default_factory=dict)
    render_backend: str | None = None
    noise: str = ""
