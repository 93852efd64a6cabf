"""Layouts of scenes as data, and their sampling; no simulator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from math import cos, factorial, hypot, inf, pi, sin
from zlib import crc32

import numpy as np

from clevrskills.assets import Pools, Shape, pools, shape
from clevrskills.assets import split as split_of
from clevrskills.assets.splits import shows_order, shows_pair
from clevrskills.sim.body import Body, Pose
from clevrskills.sim.cameras import FixedCamera
from clevrskills.sim.robots.description import ROBOTS
from clevrskills.sim.setting import TABLETOP, Setting, Workspace
from clevrskills.tasks.arguments import Count

XARM = ROBOTS["xarm6"]
"""Robot that layouts are sampled for; the Panda reaches further."""
BASE_X_M = XARM.base_position[0]


@dataclass(frozen=True)
class Layout:
    """Scene of one environment.

    Attributes:
        bodies: Body of each slot of the task; ``None`` for an empty slot.
        roles: Arrays of fixed shape that define the goal: slots by role, targets, angles.
        in_gripper: Slot of the body held at the start, -1 for none.
        examples: Bodies shown only in the images of the prompt.
        picture_radius_m: Radius shown by images of single bodies, so that their sizes can be
            compared; ``None``: each body fills its image.
        words: Invented words defined by the prompt.
    """

    bodies: tuple[Body | None, ...]
    roles: Mapping[str, np.ndarray] = field(default_factory=dict)
    in_gripper: int = -1
    examples: tuple[Body, ...] = ()
    picture_radius_m: float | None = None
    words: tuple[str, ...] = ()

    def body(self, role: str, *index: int) -> Body:
        """Return the body in the slot given by a role, or by an entry of it."""
        return self.slot(int(self.roles[role][index]))

    def slot(self, number: int) -> Body:
        """Return the body in a slot, which must not be empty."""
        body = self.bodies[number]
        assert body is not None
        return body

    def shuffled(self, roles: Sequence[str], generator: np.random.Generator) -> Layout:
        """Return the layout with bodies of the same kind, such as ``object_0`` and ``object_1``,
        shuffled among their slots, and the roles updated.
        """
        slots = np.arange(len(self.bodies))
        kinds: dict[str, list[int]] = {}
        for slot, body in enumerate(self.bodies):
            if body:
                kinds.setdefault(body.key.rpartition("_")[0], []).append(slot)
        for kind in kinds.values():
            slots[kind] = generator.permutation(kind)
        bodies = list(self.bodies)
        for number, (body, slot) in enumerate(zip(self.bodies, slots.tolist(), strict=True)):
            if body and slot != number:
                bodies[slot] = replace(body, key=self.slot(slot).key)
        named = {name: slots[self.roles[name]] for name in roles}
        held = int(slots[self.in_gripper]) if self.in_gripper >= 0 else -1
        return replace(self, bodies=tuple(bodies), roles={**self.roles, **named}, in_gripper=held)


OUTWARDS = np.array([1.0, -1.0])
"""Signs that turn an edge with swapped coordinates into its outward normal."""
ROUNDING_M = 1e-9
"""Bound of rounding errors of a distance."""


class LayoutError(Exception):
    """Error of a sampled layout that does not fit on the table; sample again."""


class EpisodeRng:
    """Random generators of one episode, one for each purpose.

    Args:
        seed: Seed of the episode.
        task: Key of the task.
        index: Number of the attempt to sample a layout.
        split: Name of the split.
        variant: Assignment of roles to bodies, see :meth:`assign`.
        package: Package of the task, which may have its own objects.
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
        own = () if split == "train" else (crc32(split.encode()),)  # no two splits share a scene
        # padded to four words as SeedSequence does before a spawn key
        self._entropy = (seed, crc32(task.encode()), index, *(own or (0,)))
        self.split = split_of(split)
        self.pools: Pools = pools(split, package)
        self.setting = setting
        self.variants = 1
        self.split_name = split
        self._variant = variant

    @staticmethod
    def _stream(number: int) -> cached_property[np.random.Generator]:
        """Return a lazily made generator, numbered as by ``SeedSequence.spawn``."""

        def make(rng: EpisodeRng) -> np.random.Generator:
            sequence = np.random.SeedSequence(np.array((*rng._entropy, number), np.uint32))
            return np.random.Generator(np.random.PCG64(sequence))

        return cached_property(make)

    places, shapes, textures, roles, order = map(_stream, range(5))

    def table(self, workspace: Workspace | None = None, gap_m: float = 0.02) -> TableLayout:
        """Return an empty table, by default with the workspace of the setting."""
        setting = self.setting
        camera = setting.main_camera
        return TableLayout(self.places, workspace or setting.workspace, gap_m, camera)

    def number(self, count: Count) -> int:
        """Sample a number from a range."""
        return int(self.roles.integers(count[0], count[1], endpoint=True))

    def assign(self, count: int) -> list[int]:
        """Assign ``count`` bodies to as many roles.

        Variant 0 is the identity; the others enumerate all permutations, in the order of the calls.
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
        """Sample different names from a pool, with repeats if it is too small."""
        generator: np.random.Generator = getattr(self, stream)
        names = list(dict.fromkeys(pool))
        # permuting numbers takes a third of the time
        picked = [names[k] for k in generator.permutation(len(names))[:count].tolist()]
        extra = generator.choice(names, count - len(picked)).tolist() if len(picked) < count else []
        return picked + extra

    def textures_for(
        self, shapes: Sequence[str], textures: Sequence[str], in_turn: bool = False
    ) -> list[str]:
        """Sample textures for shapes, paired as in the split and different if there are enough.

        Args:
            shapes: Names of the shapes.
            textures: The pool.
            in_turn: Whether the shapes are those of successive subgoals, whose textures must be in
                an order of the split.

        Raises:
            LayoutError: No texture fits a shape.
        """
        left = self.choose(textures, max(len(shapes), len(dict.fromkeys(textures))), "textures")
        found: list[str] = []
        for item in shapes:
            for texture in left:
                if in_turn and found and not shows_order(self.split_name, found[-1], texture):
                    continue
                if shows_pair(self.split_name, item, texture):
                    break
            else:
                raise LayoutError(f"no texture for {item}")
            found.append(texture)
            left.remove(texture)
        return found

    def shapes_for(self, textures: Sequence[str], shapes: Sequence[str]) -> list[str]:
        """Sample shapes for textures, paired as in the split and different if there are enough.

        Raises:
            LayoutError: No shape fits a texture.
        """
        order = self.choose(shapes, len(dict.fromkeys(shapes)))
        left, found = list(order), []
        for texture in textures:
            fits = [name for name in order if shows_pair(self.split_name, name, texture)]
            if not fits:
                raise LayoutError(f"nothing has the texture {texture}")
            unused = [name for name in left if name in fits]
            found.append(unused[0] if unused else str(self.shapes.choice(fits)))
            left = [name for name in left if name != found[-1]]
        return found

    def size_m(self, name: str) -> Size | None:
        """Return the size of a primitive; ``None`` for other objects, which have their own."""
        return PRIMITIVE_SIZE_M if name in self.pools.primitive else None


Size = tuple[float, float, float]
DEFAULT_WORKSPACE = TABLETOP.workspace
"""Workspace of most tasks."""
FAR_WORKSPACE = Workspace(x_m=(-0.35, 0.08))
"""Workspace a little further from the robot, with room to pick objects up."""
NARROW_WORKSPACE = Workspace(x_m=(-0.35, 0.0), y_m=(-0.30, 0.30))
"""Workspace with room around it for objects that are pushed or topple."""

ROOMY = ("cube", "cylinder", "hexagon", "clover", "trapezoid", "raindrop", "crown", "leaf")
"""Primitives that have room for two objects as areas; others have room for one."""
PRIMITIVE_SIZE_M = (0.1, 0.1, 0.05)
"""Default size of movable primitives (released code)."""


class TableLayout:
    """Free places on the table.

    Args:
        generator: Source of the random places.
        workspace: Workspace of the objects.
        gap_m: Least distance between outlines.
        camera: Camera that must see all objects.
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
        self._taken: list[_Outline] = []

    def place(
        self, item: Shape, yaw_rad: float | None = None, workspace: Workspace | None = None
    ) -> Pose:
        """Sample a free, visible, reachable place for a shape, optionally in another workspace.

        Raises:
            LayoutError: No place was found.
        """
        draw, where = self._generator.random, workspace or self._workspace
        (x_min, x_max), (y_min, y_max) = where.x_m, where.y_m
        for _ in range(self.TRIES):
            # same as Generator.uniform, in a third of the time
            x, y = x_min + (x_max - x_min) * draw(), y_min + (y_max - y_min) * draw()
            yaw = 2 * pi * draw() if yaw_rad is None else yaw_rad
            if where.contains(x, y) and self.take(item, x, y, yaw):
                return pose_on_table(item, x, y, yaw)
        raise LayoutError(f"no free place for {item.name}")

    def place_all(
        self,
        slots: Sequence[str],
        names: Sequence[str],
        textures: Sequence[str],
        sizes: Sequence[Size | None],
    ) -> tuple[Body | None, ...]:
        """Return bodies at free places, padded with empty slots.

        Raises:
            LayoutError: No place was found for a body.
        """
        bodies = [
            Body(key, name, texture, self.place(shape(name, size)), size)
            for key, name, texture, size in zip(slots, names, textures, sizes, strict=False)
        ]
        return (*bodies, *[None] * (len(slots) - len(bodies)))

    def reserve(self, x: float, y: float, radius_m: float) -> None:
        """Reserve a disc."""
        angle = np.linspace(0.0, 2 * pi, 16, endpoint=False)
        circle = np.array([x, y]) + radius_m * np.column_stack((np.cos(angle), np.sin(angle)))
        self._taken.append(_Outline.around(circle, x, y))

    def take(self, item: Shape, x: float, y: float, yaw_rad: float) -> bool:
        """Occupy a place if it is free and fully visible; return whether it is."""
        outline = _outline(item)
        apart_m = outline.inner_radius_m + self._gap_m - ROUNDING_M
        for other in self._taken:
            if hypot(x - other.x, y - other.y) < apart_m + other.inner_radius_m:
                return False  # their inner discs are too close
        outline = outline.moved(x, y, yaw_rad)
        if not self._keeps(outline):
            return False
        box = np.zeros((2, len(outline.corners), 3))
        box[..., :2], box[1, :, 2] = outline.corners, 2 * item.half_extents[2]
        if not self._camera.sees(box.reshape(-1, 3)):
            return False
        self._taken.append(outline)
        return True

    def is_free(self, item: Shape, x: float, y: float, yaw_rad: float) -> bool:
        """Return whether a place is free."""
        return self._keeps(_outline(item).moved(x, y, yaw_rad))

    def occupy(self, item: Shape, x: float, y: float, yaw_rad: float) -> None:
        """Occupy a place, free or not."""
        self._taken.append(_outline(item).moved(x, y, yaw_rad))

    def _keeps(self, outline: _Outline) -> bool:
        return all(outline.keeps(self._gap_m, other) for other in self._taken)


def pose_on_table(item: Shape, x: float, y: float, yaw_rad: float) -> Pose:
    """Return the pose of a shape standing upright on the table."""
    return (x, y, float(item.half_extents[2]), cos(yaw_rad / 2), 0.0, 0.0, sin(yaw_rad / 2))


class _Outline:
    """Convex outline on the table.

    Args:
        corners: Its corners, counter-clockwise, (n, 2).
        normals: Outward unit normals of its edges, (n, 2).
        offsets: Distances of the edges from the origin along their normals, (n,).
        place: Its center.
        inner_radius_m: Radius of the largest disc inside around the center; minus infinity if the
            center is outside.
    """

    def __init__(
        self,
        corners: np.ndarray,
        normals: np.ndarray,
        offsets: np.ndarray,
        place: tuple[float, float],
        inner_radius_m: float,
    ) -> None:
        self.corners, self._normals, self._offsets = corners, normals, offsets
        (self.x, self.y), self.inner_radius_m = place, inner_radius_m

    @classmethod
    def around(cls, corners: np.ndarray, x: float, y: float) -> _Outline:
        """Return the outline of counter-clockwise corners (n, 2) around a center."""
        edges = np.concatenate((corners[1:], corners[:1])) - corners
        normals = edges[:, ::-1] * OUTWARDS
        normals /= np.sqrt(np.add.reduce(normals * normals, axis=1, keepdims=True)) + 1e-12
        offsets = np.add.reduce(corners * normals, axis=1)
        radius_m = float((offsets - normals @ (x, y)).min())
        return cls(corners, normals, offsets, (x, y), radius_m if radius_m >= 0.0 else -inf)

    def moved(self, x: float, y: float, yaw_rad: float) -> _Outline:
        """Return the outline, centred at the origin, at a place with a yaw."""
        c, s = cos(yaw_rad), sin(yaw_rad)
        turn = np.array([[c, s], [-s, c]])
        corners, normals = self.corners @ turn + (x, y), self._normals @ turn
        return _Outline(
            corners, normals, self._offsets + normals @ (x, y), (x, y), self.inner_radius_m
        )

    def keeps(self, gap_m: float, other: _Outline) -> bool:
        """Return whether an edge of either outline separates the two by a gap."""
        return self._is_ahead(gap_m, other) or other._is_ahead(gap_m, self)

    def _is_ahead(self, gap_m: float, other: _Outline) -> bool:
        gaps = np.minimum.reduce(other.corners @ self._normals.T) - self._offsets
        return bool(np.maximum.reduce(gaps) >= gap_m)


@lru_cache(maxsize=1024)
def _outline(item: Shape) -> _Outline:
    """Return the outline of a shape seen from above, centred at its origin."""
    return _Outline.around(item.outline, 0.0, 0.0)
