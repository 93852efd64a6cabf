"""Solver: the next pick and place towards a goal, from any state of the world.

A kind of leaf has a way, a function that says the next move; :data:`~.ways.WAYS` lists them.
"""

from clevrskills.suites.lohoravens.solver.planner import UnsolvableError as UnsolvableError
from clevrskills.suites.lohoravens.solver.ways import clearing_moves as clearing_moves
from clevrskills.suites.lohoravens.solver.ways import moves as moves
from clevrskills.suites.lohoravens.solver.ways import next_move as next_move
