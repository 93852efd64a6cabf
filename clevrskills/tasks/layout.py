"""Layouts: what a task puts on the table, and where; pure data, no simulator."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import cos, factorial, pi, sin
from typing import Any
from zlib import crc32

import numpy as np

from clevrskills.assets import Pools, Shape, pools, shape
from clevrskills.sim.body import Body, Pose
from clevrskills.sim.cameras import FixedCamera
from clevrskills.sim.robots.description import ROBOTS
from clevrskills.sim.setting import TABLETOP, Setting, Workspace
from clevrskills.tasks.arguments import Count

__all__ = [
    "DEFAULT_WORKSPACE",
    "EpisodeRng",
    "FAR_WORKSPACE",
    "Layout",
    "LayoutError",
    "NARROW_WORKSPACE",
    "PRIMITIVE_SIZE_M",
    "Table",
]

XARM = ROBOTS["xarm6"]
"""The robot that layouts are drawn for; the Panda reaches further."""
BASE_X_M = XARM.base_position[0]


@dataclass(frozen=True)
class Layout:
    """One environment's scene.

    Attributes:
        bodies: One entry for each slot of the task; ``None``: not used this time.
        roles: What else differs between episodes, as numbers of fixed shape: which slot plays which
            part, targets, angles.
        in_gripper: Slot of the body that the gripper holds at the start, -1 for none.
        examples: Bodies that are not in the scene, only in the images of the prompt.
        picture_radius_m: What the pictures of single bodies in the prompt show, so that their sizes
            can be compared; ``None``: each body fills its image.
        words: Invented words that the prompt gives a meaning to.
    """

    bodies: tuple[Body | None, ...]
    roles: Mapping[str, np.ndarray] = field(default_factory=dict)
    in_gripper: int = -1
    examples: tuple[Body, ...] = ()
    picture_radius_m: float | None = None
    words: tuple[str, ...] = ()

    def body(self, role: str) -> Body:
        """The body whose slot a role names."""
        body = self.bodies[int(self.roles[role])]
        assert body is not None
        return body


class LayoutError(Exception):
    """This draw does not fit on the table; draw again."""


class EpisodeRng:
    """The random choices of one episode: a generator for each purpose, so that they don't disturb
    each other.

    Args:
        seed: Seed of the episode.
        task: Key of the task.
        index: Which attempt at a layout this is.
        split: ``train`` or ``test``.
        variant: Which part each body plays; see :meth:`assign`.
        package: Package of the task, which may have objects of its own to draw from.
        setting: Cameras and workspace of the task.
    """

    def __init__(
        self,
        seed: int,
        task: str,
        index: int,
        split: str,
        variant: int = 0,
        package: str = "clevrskills",
        setting: Setting = TABLETOP,
    ) -> None:
        sequence = np.random.SeedSequence((seed, crc32(task.encode()), index))
        generators = [np.random.default_rng(s) for s in sequence.spawn(4)]
        self.places, self.shapes, self.textures, self.roles = generators
        self.pools: Pools = pools(split, package)
        self.setting = setting
        self.variants = 1
        self._variant = variant

    def table(self, workspace: Workspace | None = None, gap_m: float = 0.02) -> Table:
        """The empty table; by default in the workspace of the setting."""
        setting = self.setting
        return Table(self.places, workspace or setting.workspace, gap_m, setting.main_camera)

    def number(self, count: Count) -> int:
        """A number from the least to the greatest, drawn for the roles."""
        return int(self.roles.integers(count[0], count[1], endpoint=True))

    def assign(self, count: int) -> list[int]:
        """Which of ``count`` bodies plays which of as many parts.

        Variant 0 gives each its own; the others go through all ways to swap them, in the order of
        the calls.
        """
        ways = factorial(count)
        way = self._variant // self.variants % ways
        self.variants *= ways
        left, order = list(range(count)), []
        for size in range(count, 0, -1):
            way, first = divmod(way, size)
            order.append(left.pop(first))
        return order

    def choose(self, pool: Sequence[str], count: int, stream: str = "shapes") -> list[str]:
        """Different names from a pool, or with repeats if it is too small."""
        generator: np.random.Generator = getattr(self, stream)
        names = list(dict.fromkeys(pool))
        picked = generator.permutation(names).tolist()[:count]
        extra = generator.choice(names, count - len(picked)).tolist() if len(picked) < count else []
        return picked + extra


DEFAULT_WORKSPACE = TABLETOP.workspace
"""The workspace of most tasks."""
FAR_WORKSPACE = Workspace(x_m=(-0.35, 0.08))
"""A little further from the robot, so that there is room to pick things up."""
NARROW_WORKSPACE = Workspace(x_m=(-0.35, 0.0), y_m=(-0.30, 0.30))
"""With room all around for what is pushed or topples."""


PRIMITIVE_SIZE_M = (0.1, 0.1, 0.05)
"""Size of a prism that is moved, unless a task says otherwise (released code)."""


class Table:
    """Free places on the table.

    Args:
        generator: Source of the random places.
        workspace: Where things may be put.
        gap_m: Least distance between outlines.
        camera: Sees all that is put on it.
    """

    TRIES = 200

    def __init__(
        self,
        generator: np.random.Generator,
        workspace: Workspace = DEFAULT_WORKSPACE,
        gap_m: float = 0.02,
        camera: FixedCamera = TABLETOP.main_camera,
    ) -> None:
        self._generator, self._workspace = generator, workspace
        self._gap_m, self._camera = gap_m, camera
        self._taken: list[np.ndarray] = []

    def place(
        self, item: Shape, yaw_rad: float | None = None, workspace: Workspace | None = None
    ) -> Pose:
        """A free, visible, reachable place for a shape, if not where others are put then in a
        workspace of its own.

        Raises:
            LayoutError: None was found.
        """
        generator, where = self._generator, workspace or self._workspace
        for _ in range(self.TRIES):
            x, y = generator.uniform(*where.x_m), generator.uniform(*where.y_m)
            yaw = generator.uniform(0.0, 2 * pi) if yaw_rad is None else yaw_rad
            if where.contains(x, y) and self.take(item, x, y, yaw):
                return pose_on_table(item, x, y, yaw)
        raise LayoutError(f"no free place for {item.name}")

    def place_all(
        self,
        slots: Sequence[str],
        names: Sequence[str],
        textures: Sequence[str],
        size: tuple[float, float, float] | None = None,
    ) -> tuple[Body | None, ...]:
        """Bodies of some shapes and textures at free places; slots behind them stay empty.

        Raises:
            LayoutError: One has no place.
        """
        bodies = [
            Body(key, name, texture, self.place(shape(name, size)), size)
            for key, name, texture in zip(slots, names, textures, strict=False)
        ]
        return (*bodies, *[None] * (len(slots) - len(bodies)))

    def reserve(self, x: float, y: float, radius_m: float) -> None:
        """Keep a disc free."""
        angle = np.linspace(0.0, 2 * pi, 16, endpoint=False)
        self._taken.append(
            np.array([x, y]) + radius_m * np.column_stack((np.cos(angle), np.sin(angle)))
        )

    def take(self, item: Shape, x: float, y: float, yaw_rad: float) -> bool:
        """Occupy a place if it is free and the camera sees all of it."""
        outline = _outline(item, x, y, yaw_rad)
        if any(_separation(outline, other) < self._gap_m for other in self._taken):
            return False
        heights = (np.full(len(outline), z) for z in (0, 2 * item.half_extents[2]))
        if not self._camera.sees(np.concatenate([np.column_stack((outline, z)) for z in heights])):
            return False
        self._taken.append(outline)
        return True


def pose_on_table(item: Shape, x: float, y: float, yaw_rad: float) -> Pose:
    """The pose of a shape standing upright on the table."""
    return (x, y, float(item.half_extents[2]), cos(yaw_rad / 2), 0.0, 0.0, sin(yaw_rad / 2))


def _outline(item: Shape, x: float, y: float, yaw_rad: float) -> np.ndarray:
    """Convex outline seen from above, counter-clockwise, (n, 2)."""
    c, s = cos(yaw_rad), sin(yaw_rad)
    return item.outline @ np.array([[c, s], [-s, c]]) + (x, y)


def _separation(a: np.ndarray, b: np.ndarray) -> float:
    """Greatest gap between convex outlines along their edges' normals, at most their distance."""
    best = -np.inf
    for one, other in ((a, b), (b, a)):
        edge = np.roll(one, -1, axis=0) - one
        normal = np.column_stack((edge[:, 1], -edge[:, 0]))
        normal /= np.linalg.norm(normal, axis=1, keepdims=True) + 1e-12
        gap = (other @ normal.T).min(0) - (one * normal).sum(1)
        best = max(best, float(gap.max()))
    return best


_RENAMED = {
    "Draw": "EpisodeRng",
    "W1": "DEFAULT_WORKSPACE",
    "W2": "FAR_WORKSPACE",
    "W3": "NARROW_WORKSPACE",
}


def __getattr__(name: str) -> Any:
    """What has another name since version 0.2, with a warning."""
    if name not in _RENAMED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    new = _RENAMED[name]
    warnings.warn(f"{name} is now {new}", DeprecationWarning, stacklevel=2)
    return globals()[new]
