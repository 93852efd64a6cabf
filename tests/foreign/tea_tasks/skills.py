"""Skills of the tasks about tea."""

from clevrskills.predicates import Predicate
from clevrskills.solvers.motion import Actions, Arm
from clevrskills.solvers.skills import solves
from clevrskills.solvers.skills.place import solve_on_top
from tea_tasks.predicates.served import Served


@solves(Served)
def serve(arm: Arm, goal: Predicate) -> Actions:
    """Put it there."""
    yield from solve_on_top(arm, goal)
