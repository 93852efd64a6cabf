"""Screening without a simulator: verdicts on seeds, of which some end badly."""

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from clevrskills.body import Body
from clevrskills.episode import EpisodeSpec
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.freezing import FIRST_SEED
from clevrskills.evaluation.screening import Candidate, Verdict
from clevrskills.prompt import Prompt
from clevrskills.tasks import Layout


def spec_of(task: str, split: str, seed: int, robot: str = "xarm6") -> EpisodeSpec:
    """A cube somewhere."""
    x, y = np.random.default_rng(seed).uniform(-0.3, 0.3, 2).tolist()
    bodies = (Body("object_0", "cube", "red", (x, y, 0.02, 1.0, 0.0, 0.0, 0.0)),)
    layout = Layout((*bodies, None), {"object": np.array(0), "angle_rad": np.array(0.1)})
    return EpisodeSpec(
        task, split, 0, seed, layout, Prompt("Pick up {obj:object_0}", bodies), robot
    )


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

    def __call__(self, candidate: Candidate) -> Verdict:
        number = candidate.seed - FIRST_SEED
        if number == self.stops_at:
            raise ClevrSkillsError("no planner")
        if number == self.exits_at:
            os._exit(3)
        if number == self.kills_at:
            os.kill(os.getpid(), signal.SIGKILL)
        if number % self.rejects == 0:
            return Verdict(candidate.seed, f"oracle: {number}")
        spec = spec_of(candidate.task, candidate.split, candidate.seed, candidate.robot)
        return Verdict(candidate.seed, "", 10 + number, spec.to_json())


@dataclass(frozen=True)
class Make:
    """Builds it in a worker."""

    screener: FakeScreener = FakeScreener()

    def __call__(self) -> Callable[[Candidate], Verdict]:
        return self.screener
