"""Distribution of objects over the two plates of a scale."""

from collections.abc import Iterator

import numpy as np
import torch
from sapien import Pose

from clevrskills.predicates import Balanced, OnTop
from clevrskills.predicates.balanced import Loads
from clevrskills.solvers.motion import Actions, Arm, SkillFailed, until
from clevrskills.solvers.skills import solves
from clevrskills.solvers.skills.pick import pick
from clevrskills.solvers.skills.place import UPRIGHT_RAD, places_on, solve_on_top
from clevrskills.solvers.skills.put_down import REST_STEPS, place, put_aside

MOVES_PER_OBJECT = 3
SWING_STEPS = 120
"""Maximum number of control steps for the scale to settle."""


@solves(Balanced)
def solve_balanced(arm: Arm, goal: Balanced) -> Actions:
    """Remove misplaced objects, put each object on a plate, and wait for the scale to settle."""
    for _ in range(MOVES_PER_OBJECT * goal.objects.shape[1]):
        loads = goal.loads(arm.world)
        wrong = loads.wrong[0].nonzero()[:, 0].tolist()
        left = (loads.used & ~loads.on.any(-1))[0].nonzero()[:, 0].tolist()
        if wrong:
            plate = int(loads.on[0, wrong[0]].int().argmax())
            body = int(goal.highest(arm.world, loads, plate)[0][0])
            yield from pick(arm, body)
            yield from put_aside(arm)
            yield from _settle(arm, goal)
        elif left:
            slots = goal.objects[0].tolist()
            tip = arm.world.end_effector_pose[0, :3]
            away = [(arm.world.body_pose[0, slots[k], :3] - tip).norm() for k in left]
            k = next((k for k in left if slots[k] == arm.held), left[int(np.argmin(away))])
            yield from _load(arm, goal, loads, k)
        else:
            yield from _settle(arm, goal, SWING_STEPS)
            return
    raise SkillFailed("the scale could not be loaded")


def _load(arm: Arm, goal: Balanced, loads: Loads, k: int) -> Actions:
    """Put an object on the nearest plate that is allowed for it."""
    body = int(goal.objects[0, k])
    position = arm.world.body_pose[0, body, :2]
    sides = loads.open[0, k].nonzero()[:, 0].tolist()
    plates = goal.plates[0].tolist()
    side = min(
        sides, key=lambda p: float((arm.world.body_pose[0, plates[p], :2] - position).norm())
    )
    up = arm.body_pose(body).to_transformation_matrix()[2, 2]
    if up < np.cos(UPRIGHT_RAD):
        lower = goal.highest(arm.world, loads, side)[0]
        yield from solve_on_top(arm, OnTop(torch.tensor([body]), lower))
        return
    if arm.held != body:
        yield from pick(arm, body)
    yield from _settle(arm, goal)
    yield from place(arm, _places(arm, goal, body, side))
    # a falling plate carries little of the weight
    yield from until(lambda: bool(goal.loads(arm.world).on[0, k, side]), arm.wait(REST_STEPS))


def _places(arm: Arm, goal: Balanced, body: int, side: int) -> Iterator[Pose]:
    lower = goal.highest(arm.world, goal.loads(arm.world), side)[0]
    yield from places_on(arm, OnTop(torch.tensor([body]), lower), body, int(lower[0]))


def _settle(arm: Arm, goal: Balanced, steps: int = REST_STEPS) -> Actions:
    """Wait until the plates stand still."""
    arm.set_label("wait", "Wait for the scale")
    yield from until(lambda: bool(arm.world.is_static(goal.plates).all()), arm.wait(steps))
