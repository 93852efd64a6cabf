"""Configuration of environments."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

__all__ = ["EnvConfig"]

Look = Literal["soft", "flat", "stock"]
"""One of :data:`LOOKS`."""
LOOKS: tuple[Look, ...] = get_args(Look)
"""Looks of images: ``soft`` with soft shadows, antialiasing and ambient occlusion; ``flat`` without
them, at half the cost; ``stock`` with SAPIEN's own shaders."""


@dataclass(frozen=True)
class EnvConfig:
    """Configuration of an environment; its episodes differ only in their seed.

    Attributes:
        task: Key of the task.
        split: Name of the split; empty: the first of the suite.
        robot: Name of the robot; empty: the first of the suite.
        criteria: Name of the success criteria; empty: the first of the suite.
        cameras: Names of the cameras that are rendered.
        size_px: Width and height of their images; ``None``: the size of each camera.
        look: One of :data:`LOOKS`.
        depth: Whether depth images are rendered too.
        segmentation: Whether segmentation masks are rendered too.
        task_args: Arguments of the task.
        render_backend: ``cpu`` or ``gpu``; ``None``: the device of the machine.
        noise: Name of the suite's noise of images and actions; empty for none.
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
