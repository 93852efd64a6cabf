"""Physical axes: initial joint angles, layout, clutter, disturbances, embodiment."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from math import atan2, cos, dist, hypot, pi, sin, sqrt

import numpy as np

from clevrskills.assets import pools, shape
from clevrskills.envs.perturbations.axis import (
    Draft,
    PerturbationError,
    Range,
    TabletopAxis,
    steps_of,
)
from clevrskills.envs.perturbations.semantic import looks_apart
from clevrskills.envs.scene_sampling import (
    CLEARANCE_M,
    NeutralPose,
    is_fair,
    keystep_scenes,
    scene_of,
)
from clevrskills.sim.body import Body
from clevrskills.sim.conditions import Disturbance
from clevrskills.sim.robots.clearance import arm_surface
from clevrskills.sim.world import GRAVITY
from clevrskills.tasks.layout import Layout, LayoutError, TableLayout

TRIES = 60
HAND_M = 0.05
"""Clearance for the gripper around the target of a body."""
FRICTION = 1.0
"""Friction between bodies and table in the simulation."""
UPRIGHT_RAD = 1e-3
OTHER_ARM = {"xarm6": "panda", "panda": "xarm6"}


def draw_robot_start(draft: Draft, most: Range, generator: np.random.Generator) -> None:
    """Sample collision-free initial joint angles; a held object moves along.

    Raises:
        PerturbationError: No sample is collision-free.
    """
    world = scene_of(draft.task, draft.layout, draft.robot).start
    usual = draft.setting.qpos_at_start(draft.robot)
    for _ in range(TRIES):
        qpos = usual + generator.uniform(-1, 1, len(usual)) * most["joint_rad"]
        qpos = np.round(qpos, 6)
        if draft.layout.in_gripper >= 0:
            home = NeutralPose.at(draft.robot, qpos)
            try:
                world = scene_of(draft.task, draft.layout, draft.robot, home=home).start
            except LayoutError:  # the held body is out of view
                continue
        if arm_surface(draft.robot).clear(qpos, world, CLEARANCE_M):
            draft.conditions["start_qpos"] = tuple(qpos.tolist())
            return
    raise PerturbationError(f"no collision-free start of the arm in {TRIES} attempts")


def draw_layout(draft: Draft, most: Range, generator: np.random.Generator) -> None:
    """Sample positions and rotations of free-standing bodies or, if there are none, of furniture
    such as areas and obstacles.

    Raises:
        PerturbationError: No body is free-standing, or no layout is valid.
    """
    standing = _standing_free(draft, draft.free()) or _standing_free(draft, draft.present())
    if not standing:
        raise PerturbationError("no body stands free on the table")
    for _ in range(TRIES):
        layout = _shifted(draft, standing, most, generator)
        if layout is not None and _is_fair(draft, layout):
            draft.layout = layout
            return
    raise PerturbationError(f"no other valid layout in {TRIES} attempts")


def _standing_free(draft: Draft, slots: list[int]) -> list[int]:
    """Return the slots of upright bodies with nothing above or below; movable ones must stand on
    the table.
    """
    found = []
    for k in slots:
        body = draft.layout.slot(k)
        upright = sqrt(body.pose[4] ** 2 + body.pose[5] ** 2) < UPRIGHT_RAD
        on_table = body.pose[2] - body.geometry.half_extents[2] < 2e-3
        if upright and (on_table or body.static) and not _overlapped(draft, k):
            found.append(k)
    return found


def _overlapped(draft: Draft, slot: int) -> bool:
    """Return whether another body is above or below a body."""
    table = TableLayout(np.random.default_rng(0), gap_m=0.0, camera=draft.setting.main_camera)
    own = draft.layout.slot(slot)
    table.take(own.geometry, own.pose[0], own.pose[1], _yaw(own))
    return any(
        not table.is_free(body.geometry, body.pose[0], body.pose[1], _yaw(body))
        for k, body in enumerate(draft.layout.bodies)
        if body and k != slot and k != draft.layout.in_gripper
    )


def _shifted(
    draft: Draft, slots: list[int], most: Range, generator: np.random.Generator
) -> Layout | None:
    """Return the layout with some bodies moved; ``None`` if they do not fit."""
    table = TableLayout(generator, gap_m=0.01, camera=draft.setting.main_camera)
    bodies = list(draft.layout.bodies)
    for k, body in enumerate(bodies):
        if body and k not in slots and k != draft.layout.in_gripper:
            table.occupy(body.geometry, body.pose[0], body.pose[1], _yaw(body))
    for k in slots:
        body = draft.layout.slot(k)
        far, around = most["shift_m"] * sqrt(generator.uniform()), generator.uniform(0, 2 * pi)
        x, y = body.pose[0] + far * cos(around), body.pose[1] + far * sin(around)
        yaw = _yaw(body) + generator.uniform(-1, 1) * most["turn_rad"]
        reached = draft.setting.workspace.contains
        if (reached(*body.pose[:2]) and not reached(x, y)) or not table.take(
            body.geometry, x, y, yaw
        ):
            return None
        half_w, half_z = round(cos(yaw / 2), 6), round(sin(yaw / 2), 6)
        pose = (round(x, 6), round(y, 6), body.pose[2], half_w, 0.0, 0.0, half_z)
        bodies[k] = replace(body, pose=pose)
    return replace(draft.layout, bodies=tuple(bodies))


def _is_fair(draft: Draft, layout: Layout) -> bool:
    try:
        scene = scene_of(draft.task, layout, draft.robot)
    except LayoutError:
        return False
    home = NeutralPose.of(draft.robot, draft.setting) if draft.task.shows_robot else None
    return is_fair(scene.goal, scene.start, home)


def draw_clutter(draft: Draft, most: Range, generator: np.random.Generator) -> None:
    """Sample additional objects with unused shapes and textures, away from targets of the task.

    Raises:
        PerturbationError: There is not enough space.
    """
    count = int(most["objects"])
    present = [*filter(None, draft.layout.bodies), *draft.layout.examples]
    pool = pools(draft.clean.split)
    words = {word for body in present for word in (body.noun or body.shape).split()}
    shapes = [name for name in pool.top if not words & set(name.split())]
    worn = [body.texture for body in present if body.texture]
    goals = list(_goals(draft))
    for _ in range(TRIES):
        table = TableLayout(
            generator, draft.setting.workspace, gap_m=0.03, camera=draft.setting.main_camera
        )
        for x, y, radius_m in goals:
            table.reserve(x, y, radius_m)
        for k, body in enumerate(draft.layout.bodies):
            if body and k != draft.layout.in_gripper:
                table.occupy(body.geometry, body.pose[0], body.pose[1], _yaw(body))
        names = generator.permutation(shapes).tolist()
        textures: list[str] = []
        for texture in generator.permutation(list(pool.textures)).tolist():
            if all(looks_apart(texture, other) for other in (*worn, *textures)):
                textures.append(texture)
        if min(len(names), len(textures)) < count:
            continue
        try:
            further = tuple(
                Body(f"clutter_{k}", names[k], textures[k], table.place(shape(names[k])))
                for k in range(count)
            )
        except LayoutError:
            continue
        layout = replace(draft.layout, bodies=(*draft.layout.bodies, *further))
        if _is_fair(draft, layout):
            draft.layout = layout
            return
    raise PerturbationError(f"no room for {count} objects more in {TRIES} draws")


def _goals(draft: Draft) -> Iterator[tuple[float, float, float]]:
    """Yield disks (x, y, radius in meters) occupied by bodies and gripper at their targets."""
    scene = scene_of(draft.task, draft.layout, draft.robot)
    stages = keystep_scenes(scene.goal, scene.start, draft.layout)
    for before, after in pairwise(stages):
        for one, other in zip(before.bodies, after.bodies, strict=True):
            if dist(one.pose[:2], other.pose[:2]) > HAND_M:
                width_m = hypot(*other.geometry.half_extents[:2])
                yield other.pose[0], other.pose[1], width_m + HAND_M


def draw_disturbance(draft: Draft, most: Range, generator: np.random.Generator) -> None:
    """Sample pushes, lost grasps, and delayed, dropped and scaled actions."""
    happens = []
    limit = min(draft.task.max_steps, 120)
    steps = generator.permutation(limit).tolist()
    pushes, losses = generator.uniform(0, 1, (3, 3)), generator.uniform(0, 1, 3)
    free = draft.free()
    for around, far, which in pushes[: int(most["pushes"])]:
        if not free:
            break
        speed = sqrt(2 * FRICTION * GRAVITY * most["push_m"] * (0.5 + 0.5 * far))
        push = (round(speed * cos(2 * pi * around), 6), round(speed * sin(2 * pi * around), 6))
        body = free[int(which * len(free))]
        happens.append(Disturbance("nudge", steps.pop(), body=body, push_ms=push))
    for when in losses[: int(most["losses"])]:
        happens.append(Disturbance("loss", int(when * 40), steps=5))
    for _ in range(int(most["drops"])):
        happens.append(Disturbance("drop", steps.pop()))
    begin = int(generator.integers(limit // 2))
    if most["late"]:
        happens.append(Disturbance("delay", begin, steps=int(most["late"]), by=1.0))
    scale = 1.0 + float(generator.choice([-1.0, 1.0])) * most["scale_%"] / 100
    happens.append(Disturbance("scale", 0, steps=10_000, by=round(scale, 6)))
    order = sorted(happens, key=lambda one: (one.step, one.kind))
    draft.conditions["disturbances"] = tuple(order)


def draw_embodiment(draft: Draft, most: Range, generator: np.random.Generator) -> None:
    """Replace the arm by the other one.

    Raises:
        PerturbationError: The other arm cannot do the task.
    """
    del most, generator
    other = OTHER_ARM.get(draft.robot)
    if other not in draft.task.all_robots:
        raise PerturbationError(f"no other arm supports {draft.task.key}")
    draft.robot = other
    if not _is_fair(draft, draft.layout):
        raise PerturbationError(f"the {other} cannot do it from this start")


def _yaw(body: Body) -> float:
    w, x, y, z = body.pose[3:]
    return atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))


ROBOT_START = TabletopAxis(
    "robot_start", steps_of(joint_rad=0.4), visual=False, physical=True, draw=draw_robot_start
)
LAYOUT = TabletopAxis(
    "layout", steps_of(shift_m=0.10, turn_rad=pi), visual=False, physical=True, draw=draw_layout
)
CLUTTER = TabletopAxis(
    "clutter",
    tuple({"objects": float(level)} for level in (1, 2, 3, 4, 5)),
    visual=True,
    physical=True,
    draw=draw_clutter,
)
DISTURBANCE = TabletopAxis(
    "disturbance",
    tuple(
        {
            "pushes": pushes,
            "push_m": push,
            "losses": losses,
            "drops": drops,
            "late": late,
            "scale_%": scale,
        }
        for pushes, push, losses, drops, late, scale in (
            (1, 0.01, 0, 2, 0, 3),
            (1, 0.015, 1, 4, 0, 6),
            (2, 0.02, 1, 6, 0, 9),
            (2, 0.025, 1, 8, 5, 12),
            (3, 0.03, 1, 10, 10, 15),
        )
    ),
    visual=False,
    physical=True,
    draw=draw_disturbance,
)
EMBODIMENT = TabletopAxis(
    "embodiment", ({"arm": 1.0},), visual=False, physical=True, draw=draw_embodiment
)
