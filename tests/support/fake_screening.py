"""Screening without a simulator: results on seeds, of which some end badly. What workers import is
light.
"""

import os
import random
import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from clevrskills.core.episode import FROZEN
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.freeze.candidates import Candidate, ScreeningResult

LIMITS = {"pick": 80, "sort": 600}
"""Step limits of tasks."""


def data_of(task: str, split: str, seed: int, robot: str = "xarm6") -> dict[str, Any]:
    """A cube somewhere, as the JSON data of an episode."""
    generator = random.Random(seed)
    x, y = generator.uniform(-0.3, 0.3), generator.uniform(-0.3, 0.3)
    body = {
        **{"key": "object_0", "name": "red cube", "shape": "cube", "texture": "red"},
        **{"size": None, "static": False, "qualifier": "", "ghost": False, "density": None},
        **{"hinge": None, "pose": [x, y, 0.02, 1.0, 0.0, 0.0, 0.0]},
    }
    return {
        **{"task": task, "split": split, "index": 0, "seed": seed, "robot": robot},
        "task_args": {},
        "layout": {
            "bodies": [body, None],
            "roles": {
                "object": {"dtype": "int64", "shape": [], "values": [0]},
                "angle_rad": {"dtype": "float64", "shape": [1, 2], "values": [0.1, x]},
            },
            **{"in_gripper": -1, "examples": [], "picture_radius_m": None, "words": []},
        },
        "prompt": {"text": "Pick up {obj:object_0}", "others": [], "keysteps": []},
    }


@dataclass(frozen=True)
class FakeScreener:
    """Numbers count from the first seed.

    Attributes:
        rejects: Every so many seeds one is rejected.
        stops_at: Seed at which it makes no sense to go on.
        exits_at: Seed of which workers die.
        kills_at: Seed at which workers are killed.
    """

    rejects: int = 3
    stops_at: int = -1
    exits_at: int = -1
    kills_at: int = -1

    def __call__(self, candidate: Candidate) -> ScreeningResult:
        number = candidate.seed - FROZEN.start
        if number == self.stops_at:
            raise ClevrSkillsError("no planner")
        if number == self.exits_at:
            os._exit(3)
        if number == self.kills_at:
            os.kill(os.getpid(), signal.SIGKILL)
        if number % self.rejects == 0:
            return ScreeningResult(candidate.seed, f"oracle: {number}")
        data = data_of(candidate.task, candidate.split, candidate.seed, candidate.robot)
        return ScreeningResult(candidate.seed, "", 10 + number, data, LIMITS[candidate.task])


@dataclass(frozen=True)
class Make:
    """Builds it in a worker."""

    screener: FakeScreener = FakeScreener()

    def __call__(self) -> Callable[[Candidate], ScreeningResult]:
        return self.screener
