"""Bring an object from area to area in a given order, then back to where it was."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from clevrskills.predicates import AtPoseOnTop, Inside, Order, Predicate
from clevrskills.tasks.arguments import Count, count
from clevrskills.tasks.l1.follow_order import FollowOrder


@dataclass(kw_only=True, eq=False)
class FollowOrderRestore(FollowOrder):
    """Order of visits as in ``follow_order``, then the object is back at its pose at the start
    (paper, appendix A.2, task 3).

    The same pose is asked for, within the tolerances for positions and for orientations, not just
    the same area as in the released code. Who carries an object without turning it keeps its
    orientation, so that this can be done even with objects that look alike from all sides. Before
    its turn the pose at the start is no visit, also of a strict task.
    """

    key = "follow_order_restore"
    sentence = "Bring the object to the areas in the order given and then restore"
    predicates = (Order, Inside, AtPoseOnTop)
    extra_slot = ""

    num_areas: Count = count(2, 2, most=4)
    num_visits: Count = count(1, 1, most=3)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        visits = self._visits(roles)
        assert visits.active is not None
        start, area = roles["start"], roles["route"][:, 0]
        restored = AtPoseOnTop(area * 0 + len(self.slots) - 1, start[:, :3], start[:, 3:], area)
        always = torch.ones_like(visits.active[:, :1])
        active = torch.cat((visits.active, always), dim=-1)
        return self._in_turn(roles, Order((*visits.children, restored), active))
