"""A small deterministic environment and oracle with the interface of the real ones.

A point moves in the plane to one target after the other. Seeds can be told to fail, crash or kill
their process.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from clevrskills.dataset_tools.sources import Setup
from clevrskills.errors import ClevrSkillsError

LEVELS = {"reach": "L0", "visit": "L1", "tour": "L2"}
NAMES = ("red dot", "blue dot")
SIZE = 64


class FakePrompt:
    text = "Move to {obj:target_0}, then to <b>{obj:target_1}</b>."

    def plain(self, text: str | None = None) -> str:
        text = self.text if text is None else text
        for key, name in (("target_0", "the red dot"), ("target_1", "the blue dot")):
            text = text.replace(f"{{obj:{key}}}", name)
        return text

    def images(self) -> dict[str, np.ndarray]:
        return {
            "{obj:target_0}": np.full((32, 32, 3), (200, 30, 30), np.uint8),
            "{obj:target_1}": np.full((32, 32, 3), (30, 30, 200), np.uint8),
        }

    def to_json(self) -> dict[str, Any]:
        return {"text": self.text}


class FakeEnv:
    """Steps like a batched environment of batch size one."""

    action_spec = {"shape": [7], "low": -1.0, "high": 1.0}
    state_layout = [
        {"name": "point", "start": 0, "stop": 2},
        {"name": "targets", "start": 2, "stop": 6},
        {"name": "noise", "start": 6, "stop": 7},
    ]
    prompt = FakePrompt()
    goal = SimpleNamespace(to_json=lambda: {"predicate": "sequence", "children": []})

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.task = SimpleNamespace(key=setup.task, level=LEVELS[setup.task], max_steps=60)
        self.closed = False

    def reset(self, *, seed: int) -> tuple[None, dict]:
        self.seed = seed
        key = sum(map(ord, self.setup.task + self.setup.split))
        self.rng = np.random.default_rng((seed, key))
        self.point = np.zeros(2, np.float32)
        self.targets = self.rng.uniform(-1, 1, (2, 2)).astype(np.float32)
        self.reached = 0
        self.noise = 0.0
        return None, {}

    def step(self, action: np.ndarray) -> tuple:
        action = np.asarray(action, np.float32)
        self.noise = float(self.rng.normal())
        self.point = np.clip(self.point + 0.1 * action[:2], -1, 1).astype(np.float32)
        if self.reached < 2 and np.abs(self.point - self.targets[self.reached]).max() < 0.06:
            self.reached += 1
        success = self.reached == 2
        info = {
            "success": np.array([success]),
            "progress": np.array([self.reached / 2]),
        }
        reward = np.array([float(self.reached)])
        return None, reward, np.array([success]), np.array([False]), info

    def get_state(self) -> np.ndarray:
        values = np.concatenate([self.point, self.targets.ravel(), [self.noise]])
        return values.astype(np.float32)[None]

    def proprioception(self) -> Mapping[str, np.ndarray]:
        return {
            "qpos": np.append(self.point, 0.0).astype(np.float32),
            "ee_pose": np.array([*self.point, 0, 1, 0, 0, 0], np.float32),
            "vacuum_on": np.array(self.reached > 0),
        }

    def capture(self) -> dict[str, np.ndarray]:
        return {name: self.picture(shift) for shift, name in enumerate(self.setup.cameras)}

    def picture(self, shift: int) -> np.ndarray:
        y, x = np.mgrid[0:SIZE, 0:SIZE]
        image = np.stack([x * 3, y * 3, np.full_like(x, 60 * shift)], -1).astype(np.uint8)
        px, py = ((self.point + 1) / 2 * (SIZE - 9)).astype(int)
        image[py : py + 8, px : px + 8] = 255
        return image

    def scene_description(self) -> dict[str, Any]:
        targets = [
            {"key": f"target_{i}", "name": name, "pose": [*map(float, target), 0, 1, 0, 0, 0]}
            for i, (name, target) in enumerate(zip(NAMES, self.targets, strict=True))
        ]
        return {"bodies": targets, "robot": self.setup.robot}

    def close(self) -> None:
        self.closed = True


class FakeOracle:
    """Goes straight to the targets, unless its seed is told otherwise."""

    def __init__(self, env: FakeEnv, trouble: Mapping[int, str], delay_s: float) -> None:
        self.env, self.trouble, self.delay_s = env, trouble, delay_s

    def reset(self) -> None:
        self.calls = 0

    def act(self) -> np.ndarray:
        self.calls += 1
        time.sleep(self.delay_s)
        if self.calls == 4:
            self._trouble()
        self.subgoal = self.env.reached
        target = self.env.targets[self.subgoal]
        self.subtask = f"Reach {{obj:target_{self.subgoal}}}"
        offset = target - self.env.point
        self.step = "Move along x" if abs(offset[0]) > 0.05 else "Move along y"
        action = np.zeros(7, np.float32)
        action[:2] = np.clip(offset / 0.1, -1, 1)
        return action

    def _trouble(self) -> None:
        kind = self.trouble.get(self.env.seed, "")
        if kind == "fail":
            raise ClevrSkillsError("cannot reach it")
        if kind == "crash":
            raise ValueError("a bug\nin the oracle")
        if kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if kind == "interrupt":
            raise KeyboardInterrupt


@dataclass(frozen=True)
class FakeSource:
    """Source of the above; ``trouble`` maps seeds to fail, crash, kill or interrupt."""

    trouble: Mapping[int, str]
    delay_s: float = 0.0
    broken: bool = False

    def levels(self) -> Mapping[str, str]:
        return LEVELS

    def robots(self) -> Sequence[str]:
        return ("xarm6", "panda")

    def criteria(self) -> Sequence[str]:
        return ("paper", "released")

    def make(self, setup: Setup) -> tuple[FakeEnv, FakeOracle]:
        if self.broken:
            raise RuntimeError("no renderer")
        env = FakeEnv(setup)
        return env, FakeOracle(env, self.trouble, self.delay_s)
