"""Goals as trees of predicates, one file per predicate type."""

import importlib
from collections.abc import Mapping
from functools import cache

from clevrskills import additions
from clevrskills.core.goal.logical import Keeping, Once, Order, Sequence, Set, Strict
from clevrskills.core.goal.predicate import (
    PREDICATES,
    GoalState,
    Leaf,
    Outcome,
    Predicate,
    from_json,
)
from clevrskills.core.registry import load_modules, modules_in
from clevrskills.predicates.at_pose import AtPose
from clevrskills.predicates.at_pose_on_top import AtPoseOnTop
from clevrskills.predicates.at_position import AtPosition
from clevrskills.predicates.at_position_pushed import AtPositionPushed
from clevrskills.predicates.avoiding import Avoiding
from clevrskills.predicates.balanced import Balanced
from clevrskills.predicates.criteria import CRITERIA, Criteria, criteria
from clevrskills.predicates.end_effector_at_pose import EndEffectorAtPose
from clevrskills.predicates.end_effector_at_position import EndEffectorAtPosition
from clevrskills.predicates.hit import Hit
from clevrskills.predicates.hit_toppled import HitToppled
from clevrskills.predicates.inside import Inside
from clevrskills.predicates.inside_after import InsideAfter
from clevrskills.predicates.on_top import OnTop
from clevrskills.predicates.physical import PhysicalPredicate
from clevrskills.predicates.picked import Picked
from clevrskills.predicates.pushed_towards import PushedTowards
from clevrskills.predicates.rotated import Rotated
from clevrskills.predicates.same_stack import SameStack
from clevrskills.predicates.set_down import SetDown
from clevrskills.predicates.swapped import Swapped
from clevrskills.predicates.toppled_structure import ToppledStructure
from clevrskills.predicates.touched import Touched
from clevrskills.predicates.touched_pushed import TouchedPushed
from clevrskills.predicates.touched_toppled import TouchedToppled
from clevrskills.predicates.traced import Traced

__all__ = [
    "AtPose",
    "AtPoseOnTop",
    "AtPosition",
    "AtPositionPushed",
    "Avoiding",
    "Balanced",
    "EndEffectorAtPose",
    "EndEffectorAtPosition",
    "GoalState",
    "Hit",
    "HitToppled",
    "Inside",
    "InsideAfter",
    "Keeping",
    "OnTop",
    "Once",
    "Order",
    "Outcome",
    "PhysicalPredicate",
    "Picked",
    "Predicate",
    "PushedTowards",
    "Rotated",
    "SameStack",
    "Sequence",
    "Set",
    "SetDown",
    "Swapped",
    "ToppledStructure",
    "Touched",
    "TouchedPushed",
    "TouchedToppled",
    "Traced",
]


def predicate_types() -> Mapping[str, type[Predicate]]:
    """Return the predicate types of this package, other distributions and imported suites by name.

    Raises:
        ClevrSkillsError: A module of another distribution cannot be imported, or a name is taken.
    """
    _import_all()
    return PREDICATES


@cache
def _import_all() -> None:
    for module in modules_in(importlib.import_module(__name__)):
        importlib.import_module(module)
    for entry in additions("predicates"):
        load_modules(entry)
