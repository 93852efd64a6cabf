"""Solving without an arm."""

from clevrskills.core.goal.predicate import GoalState, Predicate
from clevrskills.sim.tensor_world import TensorWorld
from clevrskills.suites.lohoravens.solver.rehearsal import rehearse


def solve(goal: Predicate, world: TensorWorld, state: GoalState, limit: int) -> tuple[int, bool]:
    """Picks and places until the goal holds, and whether it does then."""
    plan = rehearse(goal, world, state, limit)
    return (limit, False) if plan is None else (len(plan), True)
