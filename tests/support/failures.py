"""Scripted failures of every kind, for tests of failure events."""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from clevrskills.envs.events.tabletop import TabletopWatcher
from clevrskills.envs.gymnasium_env import GymnasiumEnv
from clevrskills.sim.suction import sealable_spot
from tests.support.envs import base, go_to, stay


@dataclass(frozen=True)
class Script:
    """Makes an episode fail in one way.

    Attributes:
        task: Key of the task.
        run: Does it, in a fresh episode that is watched; gives the body that it is about.
        task_args: Arguments of the task.
        start: Done before it is watched.
    """

    task: str
    run: Callable[[GymnasiumEnv, TabletopWatcher], str]
    task_args: dict = field(default_factory=dict)
    start: Callable[[GymnasiumEnv], None] | None = None


def _slot(env: GymnasiumEnv, watcher: TabletopWatcher, other: bool = False) -> int:
    """The first body that is to be handled, or the first one that is not named."""
    roles, bodies = watcher.roles, base(env).layouts[0].bodies
    movable = [k for k, body in enumerate(bodies) if body and body.movable]
    return next(k for k in movable if (k not in roles.named if other else k in roles.handled))


def _name(env: GymnasiumEnv, slot: int) -> str:
    return base(env).world.keys[slot]


def above(env: GymnasiumEnv, slot: int, height_m: float) -> list[float]:
    """Where the tool center point is when the cups are over the best spot of a body."""
    world = base(env).world
    x, y, z = sealable_spot(world, torch.tensor([slot]))[0].tolist()
    return [x, y, z + float(world.cup_tips[0, 2]) + height_m]


def take(env: GymnasiumEnv, slot: int) -> None:
    """Take hold of a body."""
    go_to(env, above(env, slot, 0.05))
    for _ in range(20):
        go_to(env, above(env, slot, -0.004), on=True, steps=4, speed_m=0.01)
        if int(base(env).world.held[0]) == slot:
            return
    raise AssertionError("the gripper does not hold it")


def _rise(env: GymnasiumEnv, height_m: float, on: bool = True) -> None:
    x, y, z = base(env).world.end_effector_pose[0, :3].tolist()
    go_to(env, [x, y, z + height_m], on=on)


def _wrong_grasp(env: GymnasiumEnv, watcher: TabletopWatcher) -> str:
    slot = _slot(env, watcher, other=True)
    take(env, slot)
    _rise(env, 0.1)
    return _name(env, slot)


def _dropped(env: GymnasiumEnv, watcher: TabletopWatcher) -> str:
    slot = _slot(env, watcher)
    take(env, slot)
    _rise(env, 0.12)
    stay(env, 20, on=False)
    return _name(env, slot)


def set_down(env: GymnasiumEnv, on: int, height_m: float = 0.004) -> str:
    """Release the held body at a height above another body; return its name."""
    world = base(env).world
    held, lower = int(world.held[0]), torch.tensor([on])
    hangs = float(world.end_effector_pose[0, 2] - world.bottom(torch.tensor([held])))
    x, y = world.position(lower)[0, :2].tolist()
    go_to(env, [x, y, 0.35], on=True)
    go_to(env, [x, y, float(world.top(lower)) + hangs + height_m], on=True, steps=80, speed_m=0.02)
    stay(env, 20, on=False)
    _rise(env, 0.1, on=False)
    stay(env, 40, on=False)
    return _name(env, held)


def _misplaced(env: GymnasiumEnv, watcher: TabletopWatcher) -> str:
    bodies = base(env).layouts[0].bodies
    bases = [k for k, body in enumerate(bodies) if body and body.key.startswith("base")]
    return set_down(env, next(k for k in bases if k not in watcher.roles.named))


def _missed(env: GymnasiumEnv, watcher: TabletopWatcher) -> str:
    stay(env, 40, on=False)
    return _name(env, min(watcher.roles.handled))


def _place(env: GymnasiumEnv, slot: int, xyz, turned_rad: float = 0.0) -> None:
    world = base(env).world
    pose = world.pose(torch.tensor([slot])).clone()
    pose[0, :3] = torch.as_tensor(xyz)
    half = torch.tensor(turned_rad / 2)
    w, x, y, z = pose[0, 3:].clone()
    cosine, sine = half.cos(), half.sin()
    # turned about the world's x axis
    pose[0, 3:] = torch.stack(
        (w * cosine - x * sine, x * cosine + w * sine, y * cosine - z * sine, z * cosine + y * sine)
    )
    world.set_body_pose(torch.tensor([slot]), pose)


def _toppled(env: GymnasiumEnv, watcher: TabletopWatcher) -> str:
    slot = _slot(env, watcher)
    x, y, z = base(env).world.pose(torch.tensor([slot]))[0, :3].tolist()
    _place(env, slot, (x, y, z + 0.06), turned_rad=1.4)
    stay(env, 20)
    return _name(env, slot)


def _swept(env: GymnasiumEnv, watcher: TabletopWatcher) -> str:
    slot = _slot(env, watcher)
    x, y, z = base(env).world.pose(torch.tensor([slot]))[0, :3].tolist()
    for k in range(1, 8):
        _place(env, slot, (x - 0.012 * k, y, z + 0.002))
        stay(env, 1)
    stay(env, 10)
    return _name(env, slot)


def _collision(env: GymnasiumEnv, watcher: TabletopWatcher) -> str:
    world = base(env).world
    for x in (-0.35, -0.25, -0.15):
        for y in (-0.3, -0.15, 0.0, 0.15, 0.3):
            away = (world.body_pose[0, :, :2] - torch.tensor([x, y])).norm(dim=-1)
            if float(away.min()) > 0.14:
                go_to(env, [x, y, 0.12])
                go_to(env, [x, y, float(world.cup_tips[0, 2]) - 0.03], steps=40)
                return "table"
    raise AssertionError("no free place")


def _out(env: GymnasiumEnv, watcher: TabletopWatcher) -> str:
    slot, space = _slot(env, watcher), base(env).setting.workspace
    z = float(base(env).world.pose(torch.tensor([slot]))[0, 2])
    _place(env, slot, (space.base_x_m + space.reach_m[1] + 0.08, 0.0, z + 0.002))
    stay(env, 10)
    return _name(env, slot)


def _solve(env: GymnasiumEnv) -> None:
    scene = base(env)
    scene.goal.realize(scene.world)
    stay(env, 3)


def _undone(env: GymnasiumEnv, watcher: TabletopWatcher) -> str:
    stay(env, 10)
    take(env, _slot(env, watcher))
    _rise(env, 0.08)
    return ""


def _unsolvable(env: GymnasiumEnv, watcher: TabletopWatcher) -> str:
    take(env, _slot(env, watcher))
    stay(env, 5)
    return ""


def _not_approached(env: GymnasiumEnv, watcher: TabletopWatcher) -> str:
    z = float(base(env).world.end_effector_pose[0, 2])
    for k in range(12):
        go_to(env, [-0.35, -0.05 if k % 2 else 0.05, max(z, 0.4)], steps=5)
    return _name(env, min(watcher.roles.handled))


def _idle(env: GymnasiumEnv, watcher: TabletopWatcher) -> str:
    stay(env, 65)
    return ""


SCRIPTS = {
    "wrong grasp": Script("pick", _wrong_grasp, {"num_distractors": (1, 3)}),
    "dropped": Script("pick", _dropped),
    "misplaced": Script("place", _misplaced, {"num_bases": (2, 2)}),
    "missed": Script("throw", _missed),
    "toppled": Script("pick", _toppled),
    "out of workspace": Script("pick", _out),
    "swept": Script("pick", _swept),
    "collision": Script("pick", _collision),
    "undone": Script("simple_manipulation", _undone, start=_solve),
    "unsolvable": Script("touch", _unsolvable),
    "not approached": Script("pick", _not_approached),
    "idle": Script("pick", _idle),
}
"""Kinds, and what leads to them."""
