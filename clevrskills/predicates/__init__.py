"""Goals as trees of predicates; one file for each kind."""

from clevrskills.predicates.at_pose import AtPose
from clevrskills.predicates.at_position import AtPosition
from clevrskills.predicates.base import (
    GoalState,
    Outcome,
    PhysicalPredicate,
    Predicate,
    from_json,
    predicate_types,
)
from clevrskills.predicates.criteria import CRITERIA, Criteria, criteria
from clevrskills.predicates.inside import Inside
from clevrskills.predicates.logical import Once, Order, Sequence, Set
from clevrskills.predicates.on_top import OnTop
from clevrskills.predicates.picked import Picked

__all__ = [
    "CRITERIA",
    "AtPose",
    "AtPosition",
    "Criteria",
    "GoalState",
    "Inside",
    "OnTop",
    "Once",
    "Order",
    "Outcome",
    "PhysicalPredicate",
    "Picked",
    "Predicate",
    "Sequence",
    "Set",
    "criteria",
    "from_json",
    "predicate_types",
]
