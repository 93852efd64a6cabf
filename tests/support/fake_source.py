"""A small deterministic environment and oracle with the interface of the real ones.

A point moves in the plane to one target after the other. Seeds can be made to fail, crash or kill
their process.
"""

from __future__ import annotations

import os
import resource
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from clevrskills.core.env import Episode, Prompt, RecordableEnv
from clevrskills.core.env_config import EnvConfig
from clevrskills.core.goal.predicate import Outcome
from clevrskills.core.interface import Interface
from clevrskills.core.policy import GaveUp
from clevrskills.core.suite import Suite, TaskInfo
from clevrskills.errors import UnknownNameError
from clevrskills.sim.cameras import Camera, CameraImage, to_buffer
from clevrskills.sim.robots.delta_action import DELTA

LEVELS = {"reach": "L0", "visit": "L1", "tour": "L2"}
NAMES = ("red dot", "blue dot")
SIZE = 64
CAMERAS = ("base_camera", "hand_camera")
TASKS = {
    key: TaskInfo(
        level,
        "Visit places",
        splits={"train": 8, "test": 8},
        interfaces={DELTA.name: DELTA},
        limit="60 control steps",
        robots=("xarm6", "panda"),
        cameras=CAMERAS,
        views=dict.fromkeys(CAMERAS, "image"),
        details={"max_steps": 60, "predicates": ["sequence", "reached"]},
    )
    for key, level in LEVELS.items()
}


@dataclass(frozen=True)
class Box:
    """Triangles of a cube of 0.1 m; to import trimesh would take a second of every worker."""

    @property
    def vertices(self) -> np.ndarray:
        return np.stack(np.meshgrid(*[(-0.05, 0.05)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)

    @property
    def faces(self) -> np.ndarray:
        digits = "130 410 032 240 173 514 571 372 642 276 654 756"
        return np.array([[int(corner) for corner in face] for face in digits.split()])


@dataclass(frozen=True)
class FakeStart(Episode):
    task: str
    split: str
    seed: int
    index: int = 0
    robot: str = "xarm6"
    task_args: Mapping[str, Any] = field(default_factory=dict)

    @property
    def content_hash(self) -> str:
        return f"{self.task} {self.split} {self.seed}"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


class FakePrompt(Prompt):
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


class FakeEnv(RecordableEnv):
    """Steps like a batched environment of batch size one."""

    action_spec = DELTA.spec
    state_layout = [
        {"name": "point", "start": 0, "stop": 2},
        {"name": "targets", "start": 2, "stop": 6},
        {"name": "noise", "start": 6, "stop": 7},
    ]
    prompt = FakePrompt()
    goal = SimpleNamespace(to_json=lambda: {"predicate": "sequence", "children": []})
    nodes = [
        {
            "path": path,
            "predicate": path.rpartition(".")[2],
            "depth": depth,
            "leaf": leaf,
            "text": text,
        }
        for path, depth, leaf, text in (
            ("sequence", 0, None, "Reach {obj:target_0}, then Reach {obj:target_1}"),
            ("sequence/0.reached", 1, 0, "Reach {obj:target_0}"),
            ("sequence/1.reached", 1, 1, "Reach {obj:target_1}"),
        )
    ]

    def __init__(self, config: EnvConfig) -> None:
        self.config, self.robot_name = config, config.robot
        self.task = SimpleNamespace(key=config.task, level=LEVELS[config.task], max_steps=60)
        self.closed = False

    @property
    def limit(self) -> int:
        return self.task.max_steps

    def reset(self, *, options: dict[str, Any]) -> tuple[None, dict]:
        self.seed = seed = options["episode"].seed
        key = sum(map(ord, self.config.task + self.config.split))
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
        return None, None, np.array([self.reached == 2]), np.array([False]), {}

    @property
    def outcome(self) -> Outcome:  # type: ignore[override]
        reward = torch.tensor([float(self.reached)])
        return Outcome(reward == 2, reward, reward / 2, {})

    def get_state(self) -> np.ndarray:
        values = np.concatenate([self.point, self.targets.ravel(), [self.noise]])
        return values.astype(np.float32)[None]

    def proprioception(self) -> Mapping[str, np.ndarray]:
        return {
            "qpos": np.append(self.point, 0.0).astype(np.float32),
            "qvel": np.array([0.5, -0.5, 0.0], np.float32),
            "ee_pose": np.array([*self.point, 0, 1, 0, 0, 0], np.float32),
            "ee_velocity": np.zeros(6, np.float32),
            "vacuum_on": np.array(self.reached > 0),
            "holding": np.array(self.reached > 1),
        }

    def object_poses(self) -> np.ndarray:
        return np.array([[*target, 0, 1, 0, 0, 0] for target in self.targets], np.float32)

    @property
    def textures(self) -> dict[str, str]:
        return {"target_0": "gold"} if self.reached else {}

    def goal_status(self) -> tuple[np.ndarray, np.ndarray]:
        holds = np.array([self.reached == 2, self.reached > 0, self.reached > 1])
        return holds, np.array([self.reached, *holds[1:]], np.float32)

    def scene_description(self) -> dict[str, Any]:
        targets = [
            {
                "key": f"target_{i}",
                "name": name,
                "shape": "dot",
                "texture": name.split()[0],
                "static": True,
                "pose": [*map(float, target), 0, 1, 0, 0, 0],
            }
            for i, (name, target) in enumerate(zip(NAMES, self.targets, strict=True))
        ]
        return {"bodies": targets, "robot": self.config.robot}

    def close(self) -> None:
        self.closed = True


class FakeOracle:
    """Goes straight to the targets, unless its seed is to fail."""

    def __init__(self, env: FakeEnv, trouble: Mapping[int, str], delay_s: float) -> None:
        self.env, self.trouble, self.delay_s = env, trouble, delay_s

    def reset(self) -> None:
        self.calls = 0
        self.failed: list[tuple[int, int]] = []

    def act(self) -> np.ndarray:
        self.calls += 1
        time.sleep(self.delay_s)
        if self.calls == 4:
            self._trouble()
        self.subgoal = self.env.reached
        target = self.env.targets[self.subgoal]
        self.subtask = f"Reach {{obj:target_{self.subgoal}}}"
        self.predicate, self.skill, self.attempt = "reached", "move", 0
        offset = target - self.env.point
        self.action_class = "move"
        self.step = "Move along x" if abs(offset[0]) > 0.05 else "Move along y"
        action = np.zeros(7, np.float32)
        action[:2] = np.clip(offset / 0.1, -1, 1)
        return action

    def _trouble(self) -> None:
        kind, _, marker = self.trouble.get(self.env.seed, "").partition(" once ")
        if marker:
            try:
                os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return
        if kind == "fail":
            raise GaveUp("cannot reach it")
        if kind == "crash":
            raise ValueError("a bug\nin the oracle")
        if kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if kind == "exit":
            os._exit(3)
        if kind == "full":
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        if kind == "hang":
            time.sleep(3600)
        if kind == "interrupt":
            raise KeyboardInterrupt


class FakeFilm:
    """Image of the plane from above: a white point, red and blue targets, gold if repainted.

    The point, 0.28 m wide, is what counts as the robot and hides the targets.
    """

    renderer = "a fake"

    def __init__(self, config: EnvConfig) -> None:
        size = config.size_px or SIZE
        place = {"eye_m": [0.0, 0.0, 2.0], "target_m": [0.0, 0.0, 0.0]}
        self.cameras = {
            name: Camera(name, size, size, 2 * np.arctan(0.5), place) for name in config.cameras
        }
        self.shifts = {name: CAMERAS.index(name) for name in config.cameras}

    def open(self, scene: Mapping[str, Any]) -> list[Any]:
        self.keys = [body["key"] for body in scene["bodies"]]
        return [Box() for _ in self.keys]

    def draw(self, qpos: np.ndarray, body_poses: np.ndarray, textures: Mapping[str, str]) -> None:
        self._moment = qpos, body_poses, textures

    def views(self) -> dict[str, CameraImage]:
        return {
            name: self._view(camera, self.shifts[name], *self._moment)
            for name, camera in self.cameras.items()
        }

    def _view(
        self,
        camera: Camera,
        shift: int,
        qpos: np.ndarray,
        poses: np.ndarray,
        textures: Mapping[str, str],
    ) -> CameraImage:
        size = camera.width
        y, x = np.mgrid[0:size, 0:size]
        color = np.stack([x * 3, y * 3, np.full_like(x, 60 * shift)], -1).astype(np.uint8)
        depth = np.full((size, size), 2.0)
        segmentation = np.full((size, size), 254, np.uint8)
        for k, pose in enumerate(poses):
            paint = (
                (230, 190, 30) if self.keys[k] in textures else ((200, 30, 30), (30, 30, 200))[k]
            )
            part = self._square(pose, 0.05, 1.95, size)
            color[part], depth[part], segmentation[part] = paint, 1.95, 1 + k
        part = self._square(qpos, 0.14, 1.8, size)
        color[part], depth[part], segmentation[part] = 255, 1.8, 255
        extrinsic = np.array([[1.0, 0, 0, 0], [0, -1.0, 0, 0], [0, 0, -1.0, 2.0]])
        return CameraImage(
            color, segmentation, np.arange(256, dtype=np.uint8), to_buffer(depth), extrinsic
        )

    def _square(
        self, place: np.ndarray, half_m: float, away_m: float, size: int
    ) -> tuple[slice, slice]:
        middle = np.array([place[0], -place[1]]) / away_m * size + size / 2
        low = np.ceil(middle - half_m / away_m * size - 0.5).clip(0, size).astype(int)
        high = (np.floor(middle + half_m / away_m * size - 0.5) + 1).clip(0, size).astype(int)
        return slice(low[1], high[1]), slice(low[0], high[0])

    def prompt_images(self, prompt: Mapping[str, Any]) -> dict[str, np.ndarray]:
        return FakePrompt().images()


@dataclass(frozen=True)
class FakeSource(Suite):
    """Suite of the above.

    ``trouble`` maps seeds to fail, crash, kill, exit, full (no file may grow beyond 1 kB), hang or
    interrupt, or to one of these followed by " once " and the path of a file that then tells that
    it happened.
    """

    name = "fake"
    title = "Fake"

    trouble: Mapping[int, str]
    delay_s: float = 0.0
    broken: bool = False

    @property
    def tasks(self) -> Mapping[str, TaskInfo]:
        return TASKS

    def criteria(self) -> Sequence[str]:
        return ("paper", "released")

    def check(self, config: EnvConfig) -> None:
        for name in config.task_args:
            if name != "targets":
                raise UnknownNameError(f"argument of {config.task}", name, ("targets",))

    def read_episode(self, data: Mapping[str, Any]) -> Any:
        raise NotImplementedError

    def frozen(self, task: str, split: str) -> Any:
        return SimpleNamespace(header=SimpleNamespace(benchmark=0))

    def make(self, config: EnvConfig) -> FakeEnv:
        if self.broken:
            raise RuntimeError("no renderer")
        return FakeEnv(config)

    def oracle(self, env: FakeEnv, interface: Interface | None = None) -> FakeOracle:
        return FakeOracle(env, self.trouble, self.delay_s)

    def draw(
        self,
        task: str,
        split: str,
        seed: int,
        index: int = 0,
        robot: str = "xarm6",
        task_args: Mapping[str, Any] | None = None,
        wording: int | None = 0,
    ) -> FakeStart:
        return FakeStart(task, split, seed, index, robot, task_args or {})

    def trajectory_renderer(self, config: EnvConfig) -> FakeFilm | None:
        return FakeFilm(config) if config.cameras else None
