"""Task ``stack_topple``."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from clevrskills.predicates import OnTop, Order, Predicate, ToppledStructure
from clevrskills.predicates import Sequence as InSequence
from clevrskills.tasks.l1.stack import Stack


@dataclass(kw_only=True, eq=False)
class StackTopple(Stack):
    """The objects are stacked in the given order, then the stack is toppled: all lie on the table
    or across others, and none was held again (paper, appendix A.3, task 3).
    """

    key = "stack_topple"
    level = "L2"
    sentence = "Stack the objects in the order given, then topple the stack"
    predicates = (Order, InSequence, OnTop, ToppledStructure)
    max_steps = 700

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        objects = torch.where(roles["active"], roles["named"], -1)
        return Order((super().goal(roles), ToppledStructure(objects)))
