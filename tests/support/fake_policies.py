"""Policies for the fake suite; actions depend on observations and the seed."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from clevrskills.core.episode import episode_name
from clevrskills.core.policy import ConnectionLost, ObservationOptions, PromptInput
from clevrskills.sim.robots.delta_action import ACTION_SPEC

SEES = ObservationOptions(cameras=())


def towards(observation: Mapping[str, Any], generator: np.random.Generator) -> np.ndarray:
    """Moves towards the target, with an error from its proprioception: fails in some episodes."""
    state = observation["proprioception"]
    action = np.zeros(7, np.float32)
    action[:2] = np.clip(state["offset"] / 0.1, -0.6, 0.6) + 0.3 * generator.normal(size=2)
    action[:2] += 0.05 * state["noise"]
    return np.clip(action, -1, 1)


class Wanderer:
    """One object for each episode."""

    observation = SEES
    action_spec = ACTION_SPEC

    def __init__(self, chunk: int = 1, trouble: str = "", at: str = "") -> None:
        self.chunk, self.trouble, self.at = chunk, trouble, at

    def reset(self, prompt: PromptInput) -> None:
        self.generator = np.random.default_rng(prompt.seed)
        self.calls = 0

    def act(self, observation: Mapping[str, Any]) -> np.ndarray:
        self.calls += 1
        action = towards(observation, self.generator)
        return action if self.chunk == 1 else np.stack([action] * self.chunk)


class Wide(Wanderer):
    """Out of range in one entry of each second action, by so much."""

    def __init__(self, beyond: float = 1.03) -> None:
        super().__init__()
        self.beyond = beyond

    def act(self, observation: Mapping[str, Any]) -> np.ndarray:
        action = super().act(observation)
        action[6] = -self.beyond if self.calls % 2 else 1.0
        return action


class Reciter:
    """Gives actions that it was given."""

    observation = SEES

    def __init__(self, actions: list[list[float]]) -> None:
        self.actions = actions

    def reset(self, prompt: PromptInput) -> None:
        self.left = iter(self.actions)

    def act(self, observation: Mapping[str, Any]) -> np.ndarray:
        return np.array(next(self.left))


class Learned(Wanderer):
    """Says what it has learned from."""

    track = "standard-100"
    trained_tasks = ("reach", "visit")


class Troubled(Wanderer):
    """Gets into trouble in one episode (``task_split_index``), or in all.

    Args:
        trouble: What happens there; after ``once <path>`` only if that file is not there yet.
        at: The episode; empty: all.
        after: Calls before it happens.
    """

    privileged = True

    def __init__(self, trouble: str = "", at: str = "", after: int = 2) -> None:
        super().__init__(1, trouble, at)
        self.after = after

    def reset(self, prompt: PromptInput, *, env: Any, episode: Any) -> None:
        super().reset(prompt)
        self.episode = episode_name(episode.task, episode.split, episode.index)

    def act(self, observation: Mapping[str, Any]) -> Any:
        action = super().act(observation)
        if self.calls == self.after + 1 and self.at in ("", self.episode):
            kind, _, marker = self.trouble.partition(" once ")
            if marker:
                try:
                    os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
                except FileExistsError:
                    return action
            return trouble(kind, action)
        return action


def trouble(kind: str, action: np.ndarray) -> Any:
    if kind == "raise":
        raise ValueError("a bug\nin the policy")
    if kind == "deep":
        json.loads("{")
    if kind == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "exit":
        raise SystemExit(3)
    if kind == "hard exit":
        os._exit(3)
    if kind == "late":  # as the timer does
        os.kill(os.getpid(), signal.SIGALRM)
    if kind == "stuck":  # no signal reaches it
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
        time.sleep(3600)
    if kind == "lost":
        raise ConnectionLost("the connection broke")
    if kind == "give up":
        from clevrskills.core.policy import GaveUp

        raise GaveUp("too far")
    return {
        "size": np.zeros(6),
        "chunk": np.zeros((2, 3, 7)),
        "empty": np.zeros((0, 7)),
        "nan": np.full(7, np.nan),
        "large": action + 2.0,
        "words": "left",
        "odd": Odd(),
    }[kind]


class Odd:
    """No action at all."""

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise RuntimeError("no array")


class Stuck(Troubled):
    """With a watchdog that does not wait for minutes."""

    def __init__(self, trouble: str, at: str) -> None:
        super().__init__(trouble, at)
        from clevrskills.evaluation import worker

        worker.STUCK_S = 1.0


class Crowd:
    """One object for all episodes; ``size`` and ``calls`` tell how it was asked."""

    concurrency = "batched"
    observation = SEES

    def __init__(self, trouble: str = "", at_seed: int = -1) -> None:
        self.trouble, self.at_seed = trouble, at_seed
        self.generators: dict[int, np.random.Generator] = {}
        self.seeds: dict[int, int] = {}

    def reset(self, prompts: Mapping[int, PromptInput]) -> None:
        for slot, prompt in prompts.items():
            self.generators[slot] = np.random.default_rng(prompt.seed)
            self.seeds[slot] = prompt.seed

    def act(self, observations: Mapping[int, Mapping[str, Any]]) -> dict[int, np.ndarray]:
        actions = {s: towards(o, self.generators[s]) for s, o in observations.items()}
        for slot, observation in observations.items():
            if self.seeds[slot] == self.at_seed and observation["step"] == 2:
                if self.trouble == "missing":
                    del actions[slot]
                else:
                    actions[slot] = trouble(self.trouble, actions[slot])
        return actions


class AngryCrowd(Crowd):
    """Breaks down in the third step of every episode."""

    def act(self, observations: Mapping[int, Mapping[str, Any]]) -> dict[int, np.ndarray]:
        if any(observation["step"] == 2 for observation in observations.values()):
            trouble("raise", np.zeros(7))
        return super().act(observations)


class Fickle(Wanderer):
    """Acts otherwise once a file is there, which it leaves behind at its first episode."""

    def __init__(self, marker: str) -> None:
        super().__init__()
        self.still, self.marker = os.path.exists(marker), marker

    def reset(self, prompt: PromptInput) -> None:
        super().reset(prompt)
        os.close(os.open(self.marker, os.O_CREAT))

    def act(self, observation: Mapping[str, Any]) -> np.ndarray:
        return super().act(observation) * (not self.still)


class Unlucky(Wanderer):
    """Gets into trouble at its third call, at each or until a file is there."""

    def __init__(self, trouble: str, marker: str = "") -> None:
        super().__init__(1, trouble)
        self.marker = marker

    def act(self, observation: Mapping[str, Any]) -> np.ndarray:
        action = super().act(observation)
        if self.calls == 3 and not (self.marker and os.path.exists(self.marker)):
            if self.marker:
                os.close(os.open(self.marker, os.O_CREAT))
            return trouble(self.trouble, action)
        return action


class Peeker(Wanderer):
    """Searches the calling frames for the environment, and goes straight to its target."""

    def act(self, observation: Mapping[str, Any]) -> np.ndarray:
        action, frame = np.zeros(7, np.float32), sys._getframe()
        while (frame := frame.f_back) is not None:
            live = getattr(frame.f_locals.get("self"), "_live", {})
            for _, rollout in live.values():
                env = rollout.env
                offset = env.targets[min(env.reached, 1)] - env.point
                action[:2] = np.clip(offset / 0.1, -1, 1)
        return action


class Groper:
    """For the real environments: goes down and about, led by what it feels and sees."""

    def __init__(self, cameras: tuple[str, ...] = (), size_px: int | None = None) -> None:
        self.observation = {"cameras": tuple(cameras), "size_px": size_px}

    def reset(self, prompt: PromptInput) -> None:
        self.generator = np.random.default_rng(prompt.seed)
        if self.observation["cameras"]:
            assert all(image.shape == (256, 256, 3) for image in prompt.images.values())
        assert bool(prompt.images) == bool(self.observation["cameras"] and "{" in prompt.text)

    def act(self, observation: Mapping[str, Any]) -> np.ndarray:
        state, images = observation["proprioception"], observation["images"]
        assert set(images) == set(self.observation["cameras"])
        action = self.generator.uniform(-0.3, 0.3, 7)
        action[2] = np.clip(state["ee_pose"][2], 0.0, 0.3)
        action[:2] -= 0.5 * np.clip(state["ee_velocity"][:2], -0.2, 0.2)
        for image in images.values():
            assert image.shape == (self.observation["size_px"] or 256,) * 2 + (3,)
            action[3] += image.mean() / 1000
        action[6] = 1.0
        return action


class Listener:
    """Wants words; does nothing."""

    observation = ObservationOptions(cameras=(), prompt="language")

    def reset(self, prompt: PromptInput) -> None:
        assert "{" not in prompt.text and not prompt.images

    def act(self, observation: Mapping[str, Any]) -> np.ndarray:
        assert "{" not in observation["prompt"]
        return np.zeros((100, 7))


class Onlooker(Wanderer):
    """Observes the last three images."""

    observation = ObservationOptions(cameras=("hand_camera",), history=3, size_px=8)

    def act(self, observation: Mapping[str, Any]) -> np.ndarray:
        images = observation["images"]["hand_camera"]
        assert images.shape == (3, 8, 8, 3)
        state = {name: values[-1] for name, values in observation["proprioception"].items()}
        action = towards({"proprioception": state}, self.generator)
        action[2] = images.mean() / 255
        return np.stack([action] * self.chunk)


def make_wanderer(**arguments: Any) -> Wanderer:
    return Wanderer(**arguments)


class Dumb:
    """No policy."""

    def act(self, observation: Mapping[str, Any]) -> None: ...


class WrongFrame(Wanderer):
    action_spec = {**ACTION_SPEC, "frame": "robot base"}


INSTANCE = Wanderer()
