"""Removal of bodies that lie on an object."""

import torch

from clevrskills.solvers.motion import Actions, Arm
from clevrskills.solvers.skills.pick import pick
from clevrskills.solvers.skills.put_down import put_aside, rest

LYING = 0.1
"""Supported share of its weight from which a body counts as lying on another one."""


def uncover(arm: Arm, body: int) -> Actions:
    """Put aside all bodies on a body, the highest first."""
    while (upper := _lying_on(arm, body)) is not None:
        yield from uncover(arm, upper)
        yield from set_aside(arm, upper)


def set_aside(arm: Arm, body: int) -> Actions:
    """Put a body on a free place of the table."""
    if arm.held != body:
        yield from pick(arm, body)
    yield from put_aside(arm)
    yield from rest(arm, body)


def _lying_on(arm: Arm, body: int) -> int | None:
    """Return a movable body that lies on another one, if any."""
    lower = torch.tensor([body])
    for slot in range(len(arm.world.keys)):
        if slot in (body, arm.held) or not bool(arm.world.solids.movable[0, slot]):
            continue
        if float(arm.world.supports(lower, torch.tensor([slot]))[0]) > LYING:
            return slot
    return None
