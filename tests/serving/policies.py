"""Policies for the tests; servers run in a thread, so that tests can read their inputs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from fake_policies import Wanderer

from clevrskills.core.policy import GaveUp, Observation, ObservationOptions, PromptInput
from clevrskills.sim.robots.delta_action import ACTION_SPEC

HERE = __name__


class Recorder:
    """Remembers all that it is shown; answers with three actions that tell the step."""

    action_spec = ACTION_SPEC
    made: ClassVar[list[Recorder]] = []

    def __init__(self, height: int = 3) -> None:
        self.height = height
        self.prompts: list[PromptInput] = []
        self.observations: list[Observation] = []
        self.made.append(self)

    def reset(self, prompt: PromptInput) -> None:
        self.prompts.append(prompt)

    def act(self, observation: Observation) -> np.ndarray:
        self.observations.append(observation)
        return actions(observation["step"], self.height)


class Asking(Recorder):
    """Says what it wants to be shown."""

    observation = ObservationOptions(("base_camera", "hand_camera"), size_px=32, history=2)


class Choosy(Recorder):
    """Wants what it is given by name."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        options["cameras"] = tuple(options["cameras"])
        self.observation = ObservationOptions(**options)


def actions(step: int, height: int = 3) -> np.ndarray:
    """Different for each step."""
    return np.linspace(-1, 1, height * 7, dtype=np.float32).reshape(height, 7) / (step + 1)


class One:
    """Answers with one action, on all that it knows of the episode."""

    def reset(self, prompt: PromptInput) -> None:
        self.seed = prompt.seed

    def act(self, observation: Observation) -> np.ndarray:
        generator = np.random.default_rng((self.seed, observation["step"]))
        return generator.uniform(-1, 1, 7).astype(np.float32)


class Together:
    """Acts for several; ``sizes`` says for how many at once."""

    concurrency = "batched"
    made: ClassVar[list[Together]] = []

    def __init__(self) -> None:
        self.seeds: dict[int, int] = {}
        self.sizes: list[int] = []
        self.made.append(self)

    def reset(self, prompts: Mapping[int, PromptInput]) -> None:
        self.seeds |= {slot: prompt.seed for slot, prompt in prompts.items()}

    def act(self, observations: Mapping[int, Observation]) -> Mapping[int, np.ndarray]:
        self.sizes.append(len(observations))
        seeds = {slot: self.seeds[slot] for slot in observations}
        return {slot: np.full(7, seed / 100, np.float32) for slot, seed in seeds.items()}


class Forgetful(Together):
    """Has nothing for anybody."""

    def act(self, observations: Mapping[int, Observation]) -> Mapping[int, np.ndarray]:
        return {}


class Faulty:
    """Breaks down at step 1 in the way that is asked for; before, it answers."""

    def __init__(self, fault: str) -> None:
        self.fault = fault

    def reset(self, prompt: PromptInput) -> None:
        if self.fault == "reset":
            raise RuntimeError("no weights")

    def act(self, observation: Observation) -> Any:
        if observation["step"] == 0:
            return np.zeros(7)
        match self.fault:
            case "raises":
                raise ValueError("shapes\ndo not fit")
            case "ends":
                return next(iter(()))
            case "gives up":
                raise GaveUp("out of reach")
            case "nan":
                return np.array([0, 0, 0, np.nan, 0, 0, 0])
            case "wide":
                return np.full(7, 1.5)
            case fault:
                return {"size": np.zeros(8), "none": None, "empty": np.zeros((0, 7))}[fault]


class OtherActions(One):
    """Does not act as the environments do."""

    action_spec: ClassVar[dict[str, Any]] = {**ACTION_SPEC, "rate_hz": 10}


class Privileged(One):
    privileged = True


class Stumbling(Wanderer):
    """Stumbles in the third step of its fourth episode over what lies there."""

    over: ClassVar[list[Callable[[], object]]] = []
    go_on = threading.Event()
    episodes = 0

    def reset(self, prompt: PromptInput) -> None:
        super().reset(prompt)
        self.episodes += 1

    def act(self, observation: Mapping[str, Any]) -> np.ndarray:
        action = super().act(observation)
        if self.episodes == 4 and self.calls == 3 and self.over:
            self.over.pop()()
        return action
