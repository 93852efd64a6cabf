"""Task ``trace``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations

import numpy as np
from torch import Tensor

from clevrskills.assets import shape
from clevrskills.predicates import Order, Outcome, Predicate, Strict, Traced
from clevrskills.sim.body import Body
from clevrskills.sim.cameras import FixedCamera
from clevrskills.tasks.arguments import Count, count, switch
from clevrskills.tasks.base import Task
from clevrskills.tasks.end_effector import (
    GOAL_M,
    STARTS_M,
    TRIES,
    corners_around,
    distractor,
    goals,
)
from clevrskills.tasks.layout import EpisodeRng, Layout, LayoutError

SPHERE, DIAMETER_M = "sphere", 0.1
"""Shape and size of a goal; its radius is the tolerance."""
WAY_M = 0.85
"""Least length of the path from the start through all goals in any order. Uniform random actions
solve 1 in 600 episodes with two goals, without this bound 1 in 85; 1 in 3000 with more goals."""
SPACE_OF_TWO_M = ((-0.35, -0.4, 0.1), (0.1, 0.45, 0.4))
"""Corners of the space of two goals, as wide as the image, as their path must be long enough."""
NEXT, LATER, VISITED = "green", "red", "yellow"
RESERVED_M, LOW_M = 0.09, 0.25
"""Radius of the table area kept free below low goals, and their greatest height."""


@dataclass(kw_only=True, eq=False)
class Trace(Task):
    """The end effector has been at all goals in order (paper, appendix A.1, task 12).

    Goals are visible but not tangible: the next one is green, later ones red, visited ones yellow.
    Passing through a goal before its turn has no effect, unless the task is strict.
    """

    key = "trace"
    level = "L0"
    sentence = "Trace the sequence of goals by moving to the next green goal"
    predicates = (Order, Traced)
    slots = ("goal_0", "goal_1", "goal_2", "goal_3", "goal_4", "object_0")
    parts = ("goals",)
    composition = ("combinations",)
    count_argument, extra_slot = "num_goals", "goal_5"
    max_steps = 140

    num_goals: Count = count(2, 5, most=6)  # goals
    strict: bool = switch()  # whether reaching a goal before its turn makes the task unsolvable

    def layout(self, rng: EpisodeRng) -> Layout:
        number = rng.number(self.num_goals)
        places = _places(rng, number)[rng.assign(number)]
        table = rng.table()
        for x, y, z in places:
            if z < LOW_M:
                table.reserve(x, y, RESERVED_M)
        bodies: list[Body | None] = [None] * len(self.slots)
        for k, place in enumerate(places.tolist()):
            pose, size = (*place, 1.0, 0.0, 0.0, 0.0), (DIAMETER_M,) * 3
            look = LATER if k else NEXT
            bodies[k] = Body(self.slots[k], SPHERE, look, pose, size, static=True, ghost=True)
        bodies[-1] = distractor(rng, self.slots[-1], table)
        slots = np.arange(len(self.slots) - 1)
        return Layout(tuple(bodies), {"goals": slots, "active": slots < number})

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        active, slots = roles["active"], roles["goals"]
        goals = tuple(Traced(slot) for slot in slots.unbind(1))
        order = Order(goals, active)
        return Strict(order, goals, slots * active) if self.strict else order

    def textures(self, layout: Layout, outcome: Outcome, env: int = 0) -> Mapping[str, str]:
        order = outcome.children[0] if self.strict else outcome
        stage = int(order.state["stage"][env])
        goals = [self.slots[slot] for slot in layout.roles["goals"].tolist()]
        visited = dict.fromkeys(goals[:stage], VISITED)
        return visited | (dict.fromkeys(goals[stage : stage + 1], NEXT) if stage else {})


def _places(rng: EpisodeRng, number: int) -> np.ndarray:
    """Sample positions (number, 3) of goals in view, none behind another, with a long path."""
    ball, camera = corners_around(shape(SPHERE, (DIAMETER_M,) * 3)), rng.setting.main_camera
    space = SPACE_OF_TWO_M if number == 2 else GOAL_M

    def propose(found: Sequence[np.ndarray]) -> np.ndarray | None:
        place = rng.places.uniform(*space)
        if not camera.sees(place + ball):
            return None
        return None if any(_hides(camera, place, other) for other in found) else place

    for _ in range(TRIES):
        places = np.stack(goals(number, propose))
        if _shortest_way_m(places) >= WAY_M:
            return places
    raise LayoutError("the goals are too close together")


def _shortest_way_m(places: np.ndarray) -> float:
    """Return the length of the shortest path from a start through all places (n, 3)."""
    ways = places[_orders(len(places))]  # (n!, n, 3)
    to_first = np.linalg.norm(ways[:, :1] - _STARTS, axis=-1).min(axis=1)
    return float((to_first + np.linalg.norm(np.diff(ways, axis=1), axis=-1).sum(axis=1)).min())


_STARTS = np.array(STARTS_M)


@cache
def _orders(count: int) -> np.ndarray:
    """Return all permutations of n indices, (n!, n)."""
    return np.array(list(permutations(range(count))))


def _hides(camera: FixedCamera, one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether one goal hides the center of another from a camera."""
    rays = [place - np.array(camera.eye_m) for place in (one, other)]
    lengths = [float(np.linalg.norm(ray)) for ray in rays]
    cosine = rays[0] @ rays[1] / np.prod(lengths)
    return bool(cosine > np.sqrt(max(0.0, 1.0 - (DIAMETER_M / 2 / min(lengths)) ** 2)))
