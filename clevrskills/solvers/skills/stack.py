"""Stacking of objects in any order."""

import torch

from clevrskills.predicates import OnTop, SameStack
from clevrskills.predicates.same_stack import Towers
from clevrskills.solvers.motion import Actions, Arm, SkillFailed
from clevrskills.solvers.skills import solves
from clevrskills.solvers.skills.place import solve_on_top
from clevrskills.solvers.skills.put_down import RETREAT_M, rest
from clevrskills.solvers.skills.uncover import set_aside, uncover

MOVES_PER_OBJECT = 3
FOOT_REACH_M = 0.42
"""Distance from the robot at which a high tower is easy to reach."""


@solves(SameStack)
def solve_same_stack(arm: Arm, goal: SameStack) -> Actions:
    """Put one object after the other on the highest tower, and obstacles aside."""
    slots = [slot for slot in goal.objects[0].tolist() if slot >= 0]
    for _ in range(MOVES_PER_OBJECT * len(slots)):
        towers = goal.towers(arm.world)
        foot = _foot(arm, slots, towers)
        if foot is None:
            body = arm.held if arm.held in slots else slots[0]
            yield from uncover(arm, body)
            yield from set_aside(arm, body)
            continue
        left = [s for k, s in enumerate(slots) if not towers.members[0, foot, k]]
        if not left:
            yield from arm.rise(RETREAT_M)
            for slot in slots:
                yield from rest(arm, slot)
            return
        top = slots[int(towers.top[0, foot])]
        upper = arm.held if arm.held in left else min(left, key=lambda s: _away_m(arm, s))
        for lower in (upper, top):
            yield from uncover(arm, lower)
        yield from solve_on_top(arm, OnTop(torch.tensor([upper]), torch.tensor([top])))
    raise SkillFailed(f"no stack after {MOVES_PER_OBJECT * len(slots)} moves")


def _foot(arm: Arm, slots: list[int], towers: Towers) -> int | None:
    """Return the base of the highest tower, preferably one easy to reach."""
    heights = towers.height[0].tolist()
    if not max(heights):
        return None
    base = torch.as_tensor(arm.base.p[:2])

    def off_m(k: int) -> float:
        away = (arm.world.body_pose[0, slots[k], :2] - base).norm()
        return abs(float(away) - FOOT_REACH_M)

    return min((k for k, height in enumerate(heights) if height == max(heights)), key=off_m)


def _away_m(arm: Arm, body: int) -> float:
    return float((arm.world.body_pose[0, body, :3] - arm.world.end_effector_pose[0, :3]).norm())
