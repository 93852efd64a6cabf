"""Placing of an object into an area after others."""

from clevrskills.predicates import Inside, InsideAfter
from clevrskills.solvers.motion import Actions, Arm
from clevrskills.solvers.skills import solves
from clevrskills.solvers.skills.place import solve_on_top
from clevrskills.solvers.skills.uncover import set_aside


@solves(InsideAfter)
def solve_inside_after(arm: Arm, goal: InsideAfter) -> Actions:
    """Put the object into the area; remove it first if it came too early."""
    inside = Inside(goal.top, goal.bottom, criteria=goal.criteria)
    if bool(inside.evaluate(arm.world, {}).holds[0]):
        yield from set_aside(arm, int(goal.top[0]))
    yield from solve_on_top(arm, inside)
