"""Solver: the next pick and place towards a goal, by a function for each kind of leaf."""

from clevrskills.suites.lohoravens.solver.planner import UnsolvableError as UnsolvableError
from clevrskills.suites.lohoravens.solver.ways import clearing_moves as clearing_moves
from clevrskills.suites.lohoravens.solver.ways import moves as moves
from clevrskills.suites.lohoravens.solver.ways import next_move as next_move
