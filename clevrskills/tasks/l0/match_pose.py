"""Task ``match_pose``."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from clevrskills.predicates import EndEffectorAtPose, Order, Predicate
from clevrskills.tasks.arguments import Count, count
from clevrskills.tasks.base import Task
from clevrskills.tasks.end_effector import distractor, goal_poses
from clevrskills.tasks.layout import EpisodeRng, Layout

MOST = 4


@dataclass(kw_only=True, eq=False)
class MatchPose(Task):
    """The end effector has been at the poses of images, in order (paper, appendix A.1, task 1)."""

    key = "match_pose"
    level = "L0"
    sentence = "Match the pose of the end effector"
    predicates = (Order, EndEffectorAtPose)
    slots = ("object_0",)
    composition = ("combinations",)
    count_argument = "num_goals"
    max_steps = 200
    shows_robot = True

    num_goals: Count = count(1, 1, most=MOST)  # poses

    def layout(self, rng: EpisodeRng) -> Layout:
        number = rng.number(self.num_goals)
        poses = np.zeros((MOST, 7))
        poses[:, 3] = 1.0
        poses[:number] = np.stack(goal_poses(rng, number))[rng.assign(number)]
        roles = {"goal": poses, "active": np.arange(MOST) < number}
        return Layout((distractor(rng, self.slots[0]),), roles)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        poses = roles["goal"].unbind(1)
        return Order(tuple(EndEffectorAtPose(p[:, :3], p[:, 3:]) for p in poses), roles["active"])
