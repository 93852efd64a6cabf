"""Task ``follow_order_restore``."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from clevrskills.predicates import AtPoseOnTop, Inside, Order, Predicate
from clevrskills.tasks.arguments import Count, count
from clevrskills.tasks.l1.follow_order import FollowOrder


@dataclass(kw_only=True, eq=False)
class FollowOrderRestore(FollowOrder):
    """Order of visits as in ``follow_order``, then the object is back at its initial pose (paper,
    appendix A.2, task 3).

    The pose must match within the tolerances of position and orientation; the released code only
    requires the area. Carrying an object without rotating it keeps its orientation, so symmetric
    objects are possible too. The initial pose is never a visit out of turn.
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
