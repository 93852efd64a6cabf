"""Task ``balance``."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import radians

import numpy as np
from torch import Tensor

from clevrskills.assets import shape
from clevrskills.predicates import Balanced, Predicate
from clevrskills.sim.body import Body, Hinge, Pose
from clevrskills.sim.cameras import FixedCamera
from clevrskills.tasks.arguments import Count, count
from clevrskills.tasks.base import Task
from clevrskills.tasks.layout import (
    EpisodeRng,
    Layout,
    LayoutError,
    TableLayout,
    Workspace,
    pose_on_table,
)

SCALE_X_M, PIVOT_Z_M, LEVER_M = -0.06, 0.07, 0.18
BEAM = Hinge(
    "foot", limits_rad=(-radians(15.0), radians(15.0)), stiffness_nm=0.25, damping_nms=0.12
)
"""Hinge of the beam. The least difference of masses, one slice, tilts it by at least 3 degrees,
most differences to its stops; it settles within three seconds."""

WIDTH_M, DENSITY = 0.10, 300.0
HEIGHT_M, STACK_M, SLICE_M = (0.021, 0.08), 0.15, (0.005, 0.015)
"""Range of a block's height, greatest height of a stack, and range of a slice's thickness."""
HIDDEN_M = 0.06
"""Radius kept free around the spot hidden by a plate, so that the middle of each block is visible.
"""
SHAPES = ("cube", "cylinder")
BLOCKS = Workspace(x_m=(-0.42, -0.21), y_m=(-0.30, 0.30), reach_m=(0.22, 0.64))


@dataclass(kw_only=True, eq=False)
class Balance(Task):
    """All blocks rest on the plates of a scale in balance (paper, appendix A.3, task 1).

    The blocks differ only in height, which is proportional to their mass, and can be split into two
    stacks of equal height. The plates are on top of the beam, so that all is visible and nothing is
    in the way of the arm. In the released code they hang 0.6 m below a beam out of view.
    """

    key = "balance"
    level = "L2"
    sentence = "Place all the objects on the scale while keeping it in balance"
    predicates = (Balanced,)
    slots = ("foot", "beam", "plate_0", "plate_1", "object_0", "object_1", "object_2", "object_3")
    composition = ("combinations",)
    count_argument, extra_slot = "num_objects", "object_4"
    max_steps = 800

    num_objects: Count = count(2, 4, most=5)  # blocks

    def layout(self, rng: EpisodeRng) -> Layout:
        blocks = rng.number(self.num_objects)
        heights = rng.shapes.permutation(_heights(rng.shapes, blocks))
        pool = [name for name in rng.pools.primitive if name in SHAPES] or rng.pools.primitive
        (name,) = rng.choose(pool, 1)
        (texture,) = rng.textures_for([name], rng.pools.textures_1)
        table = rng.table(BLOCKS)
        scale = _scale(table, self.setting.main_camera)
        slots = np.arange(4, len(self.slots))
        bodies: list[Body | None] = [*scale, *(None,) * len(slots)]
        level = np.array([body.pose for body in bodies[1:4] if body])
        for k, height_m in enumerate(heights):
            size = (WIDTH_M, WIDTH_M, float(height_m))
            pose = table.place(shape(name, size, DENSITY))
            bodies[4 + k] = Body(self.slots[4 + k], name, texture, pose, size, density=DENSITY)
        objects = np.where(slots < 4 + blocks, slots, -1)
        return Layout(tuple(bodies), {"objects": objects, "level": level})

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        objects = roles["objects"]  # (B, blocks)
        beam = objects[:, 0] * 0 + 1
        plates = objects[:, :2] * 0 + objects.new_tensor([2, 3])
        return Balanced(beam, plates, objects, roles["level"])


def _scale(table: TableLayout, camera: FixedCamera) -> list[Body]:
    """Return foot, beam and plates of the scale, and occupy their places."""
    foot, beam, plate = (shape(f"scale {part}") for part in ("foot", "beam", "plate"))
    stem_m = beam.half_extents[2] + plate.half_extents[2]
    bodies = [
        Body("foot", foot.name, None, pose_on_table(foot, SCALE_X_M, 0.0, 0.0), static=True),
        Body("beam", beam.name, None, _upright(0.0, PIVOT_Z_M), hinge=BEAM),
    ]
    for k, y in enumerate((-LEVER_M, LEVER_M)):
        hinge = Hinge("beam", (0.0, 0.0, -stem_m), level=True)
        pose = _upright(y, PIVOT_Z_M + stem_m)
        bodies.append(Body(f"plate_{k}", plate.name, None, pose, hinge=hinge))
    for body in bodies:
        table.reserve(*body.pose[:2], body.geometry.half_extents[0])
    for body in bodies[2:]:
        table.reserve(*_behind(body.pose, camera), HIDDEN_M)
    return bodies


def _behind(pose: Pose, camera: FixedCamera) -> tuple[float, float]:
    """Return the place, at the height of a low block, that a pose hides from the camera."""
    eye = np.array(camera.eye_m)
    ray = np.array(pose[:3]) - eye
    x, y, _ = eye + ray * (HEIGHT_M[0] - eye[2]) / ray[2]
    return float(x), float(y)


def _upright(y: float, z: float) -> Pose:
    return (SCALE_X_M, y, z, 1.0, 0.0, 0.0, 0.0)


def _heights(generator: np.random.Generator, blocks: int) -> list[float]:
    """Sample heights of blocks that can be split into two stacks of equal height.

    As in the released code, blocks consist of slices of one thickness; the height of the stacks is
    sampled too.
    """
    slice_m = generator.uniform(*SLICE_M)
    low, high = int(np.ceil(HEIGHT_M[0] / slice_m)), int(HEIGHT_M[1] / slice_m)
    first = 1 + int(generator.integers(max(1, blocks - 2)))
    first = min(first, blocks - first)
    least = (blocks - first) * low
    most = min(first * high, int(STACK_M / slice_m))
    if least > most:
        raise LayoutError(f"no two equal stacks of {blocks} blocks")
    total = int(generator.integers(least, most, endpoint=True))
    return [
        slices * slice_m
        for size in (first, blocks - first)
        for slices in _parts(generator, total, size, low, high)
    ]


def _parts(
    generator: np.random.Generator, total: int, count: int, low: int, high: int
) -> list[int]:
    """Sample numbers between two bounds with a given sum."""
    parts: list[int] = []
    for left in reversed(range(count)):
        least, most = max(low, total - left * high), min(high, total - left * low)
        parts.append(int(generator.integers(least, most + 1)))
        total -= parts[-1]
    return parts
