"""A small deterministic suite with the interface of the real one: a point visits two targets.

An episode's index decides where the targets are. Its goal is an order of two leaves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from clevrskills.core.env import Episode, RecordableEnv
from clevrskills.core.env_config import EnvConfig
from clevrskills.core.episode import FrozenHeader, episode_name
from clevrskills.core.report import Cell, Item, Number, Protocol
from clevrskills.core.suite import IMAGES_ONLY, Preset, Suite, TaskInfo
from clevrskills.predicates import Leaf, Order, Outcome
from clevrskills.sim.prompt import Prompt
from clevrskills.sim.robots.delta_action import DELTA

CAMERAS = ("base_camera", "hand_camera", "render_camera")
LEVELS = {"reach": "L0", "visit": "L1", "follow_order": "L1"}
FROZEN = 8
MAX_STEPS = 40
SIZE_PX = 16


class Reached(Leaf):
    """A leaf; what it says is put together by the environment."""

    max_reward = 1.0

    def evaluate(self, world, state):
        raise NotImplementedError

    def describe(self, world, env=0):
        return ""

    def realize(self, world, where=None):
        raise NotImplementedError


Reached.name = "reached"  # set here, so that it is not registered


def outcome(holds: bool, state: dict | None = None, children: tuple = ()) -> Outcome:
    values = torch.tensor([float(holds)])
    return Outcome(torch.tensor([holds]), values, values, state or {}, children)


@dataclass(frozen=True)
class FakeEpisode(Episode):
    task: str
    split: str
    index: int
    seed: int
    robot: str = "xarm6"
    task_args: Mapping[str, Any] = field(default_factory=dict)

    @property
    def content_hash(self) -> str:
        return f"hash of {self.task} {self.split} {self.seed}"

    @property
    def prompt(self) -> Prompt:  # type: ignore[override]
        return Prompt("Go there", ())

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


class FakeFrozen(list):
    header = FrozenHeader("", "", "xarm6", FROZEN, MAX_STEPS, ())
    content_hash = ""


class FakeEnv(RecordableEnv):
    """Steps like a batched environment of batch size one."""

    def __init__(self, config: EnvConfig, broken: Sequence[str] = ()) -> None:
        self.config, self._broken = config, broken
        self.task = SimpleNamespace(key=config.task, level=LEVELS[config.task], max_steps=MAX_STEPS)
        self.goal = Order((Reached(), Reached()))
        self.images = 0
        self.limit = MAX_STEPS

    @property
    def prompt(self) -> Prompt:
        return self.episode.prompt

    @property
    def elapsed_steps(self) -> torch.Tensor:
        return torch.tensor([self.steps])

    def get_state(self) -> np.ndarray:
        return np.array([*self.point, self.reached])

    def reset(self, *, options: dict[str, Any]) -> tuple[None, dict]:
        self.episode = options["episode"]
        of = self.episode
        if episode_name(of.task, of.split, of.index) in self._broken:
            raise RuntimeError("device lost")
        key = sum(map(ord, self.episode.task + self.episode.split))
        self.rng = np.random.default_rng((self.episode.seed, key))
        self.point = np.zeros(2)
        self.targets = self.rng.uniform(-1, 1, (2, 2))
        self.reached, self.steps, self.noise = 0, 0, 0.0
        self._look()
        return None, {}

    def step(self, action: np.ndarray) -> tuple:
        self.steps += 1
        self.noise = float(self.rng.normal())
        self.point = np.clip(self.point + 0.1 * np.asarray(action, float)[:2], -1, 1)
        if self.reached < 2 and np.abs(self.point - self.targets[self.reached]).max() < 0.06:
            self.reached += 1
        self._look()
        success = np.array([self.reached == 2])
        return None, None, success, np.array([False]), {}

    def _look(self) -> None:
        leaves = tuple(outcome(self.reached > k) for k in range(2))
        holds, stage = torch.tensor([self.reached == 2]), torch.tensor([self.reached])
        reward = torch.tensor([self.reached + 0.1 * self.noise], dtype=torch.float64)
        self.outcome = Outcome(holds, reward, stage / 2, {"stage": stage}, leaves)

    def capture(self) -> dict[str, np.ndarray]:
        assert self.config.cameras
        self.images += 1
        size = self.config.size_px or SIZE_PX
        shade = int(100 * (self.point[0] + 1))
        return {n: np.full((size, size, 3), shade, np.uint8) for n in self.config.cameras}

    def proprioception(self) -> dict[str, np.ndarray]:
        target = self.targets[min(self.reached, 1)]
        return {
            "qpos": np.array([*self.point, 0.0], np.float32),
            "offset": (target - self.point).astype(np.float32),
            "noise": np.array([self.noise], np.float32),
        }

    action_spec = DELTA.spec
    nodes = state_layout = ()
    textures: Mapping[str, str] = {}

    def goal_status(self) -> tuple[np.ndarray, np.ndarray]:
        return self.outcome.holds.numpy(), self.outcome.reward.numpy()

    def object_poses(self) -> np.ndarray:
        return np.zeros((0, 7), np.float32)

    def scene_description(self) -> dict[str, Any]:
        return {"bodies": []}


class FakeFilm:
    def open(self, scene: Mapping[str, Any]) -> None:
        assert scene == {"bodies": []}

    def render(self, qpos: np.ndarray, poses: np.ndarray, textures: Mapping[str, str]) -> dict:
        color = np.full((SIZE_PX, SIZE_PX, 3), int(100 * (qpos[0] + 1)), np.uint8)
        return {"base_camera": SimpleNamespace(color=color)}


@dataclass(frozen=True)
class FakeSuite(Suite):
    """Suite of the above; environments break down at the start of the episodes in ``broken``."""

    name = "fake"
    title = "Fake"

    broken: tuple[str, ...] = ()
    version: str = "1"

    @property
    def tasks(self) -> Mapping[str, TaskInfo]:
        return {
            key: TaskInfo(
                level,
                "Visit places",
                splits={"train": FROZEN, "test": FROZEN},
                interfaces={DELTA.name: DELTA},
                limit=f"{MAX_STEPS} control steps",
                robots=("xarm6", "panda"),
                cameras=CAMERAS,
                views=dict.fromkeys(CAMERAS, "image"),
                tags=(IMAGES_ONLY,) if key == "follow_order" else (),
                details={"max_steps": MAX_STEPS, "predicates": ["reached"]},
            )
            for key, level in LEVELS.items()
        }

    def criteria(self) -> Sequence[str]:
        return ("paper", "released")

    def frozen(self, task: str, split: str) -> FakeFrozen:
        found = FakeFrozen(FakeEpisode(task, split, k, 100 + k) for k in range(FROZEN))
        found.content_hash = f"{task} {split} {self.version}"
        return found

    def draw(
        self,
        task: str,
        split: str,
        seed: int,
        index: int = 0,
        robot: str = "xarm6",
        task_args: Mapping[str, Any] | None = None,
        wording: int | None = 0,
    ) -> FakeEpisode:
        return FakeEpisode(task, split, index, seed, robot or "xarm6", task_args or {})

    def read_episode(self, data: Mapping[str, Any]) -> FakeEpisode:
        return FakeEpisode(**data)

    def oracle(self, env: Any, interface: Any = None) -> Any:
        raise NotImplementedError

    def make(self, config: EnvConfig) -> FakeEnv:
        return FakeEnv(config, self.broken)

    def presets(self) -> Mapping[str, Preset]:
        return {"default": Preset("twenty episodes", {"episodes": 20})}

    def trajectory_renderer(self, config: EnvConfig) -> FakeFilm:
        return FakeFilm()


PROTOCOL = Protocol(
    (
        Cell("test", "test", 4, tasks=("reach", "visit"), step_s=0.9),
        Cell("released", "test", 4, {"criteria": "released"}, ("reach", "visit")),
    ),
    (
        Number("L0", ("L0",)),
        Number("L1 zero-shot", ("L1",), trained_on=("none", "L0")),
        Number("L1 trained", ("L1",), trained_on=("all",)),
    ),
    ("L0", "all"),
    quick_split="train",
)


class ProtocolSuite(FakeSuite):
    """Suite with a protocol of two rows."""

    def report(self) -> Sequence[Item]:
        return (PROTOCOL,)


class PooledSuite(FakeSuite):
    """Suite whose headline is of all episodes."""

    def report(self) -> Sequence[Item]:
        return (replace(PROTOCOL, pool="episodes", numbers=(Number("solved"),)),)
