"""Scenes of the tasks, their solutions by the solver, and outcomes of the goal."""

from dataclasses import dataclass
from functools import cache

import torch

from clevrskills.core.goal.tree import leaves_met
from clevrskills.envs.scene_sampling import DrawnScene, draw_scene
from clevrskills.sim.tensor_world import TensorWorld
from clevrskills.suites.lohoravens.solver.rehearsal import MoveOutcome, rehearse
from clevrskills.suites.lohoravens.tasks import tasks
from clevrskills.tasks.base import task

KEYS = tuple(tasks())
SPLITS = ("train", "test", "val")
MOST_TURNS = 60


@dataclass(frozen=True)
class Solved:
    """A scene and the moves that solve it.

    Attributes:
        scene: The scene.
        plan: The moves.
        end: The world after them.
    """

    scene: DrawnScene
    plan: tuple[MoveOutcome, ...]
    end: TensorWorld

    def world(self) -> TensorWorld:
        """A copy of the solved world."""
        return TensorWorld.snapshot(self.end)

    @property
    def last(self) -> torch.Tensor:
        """Slot of the block moved last, (1,)."""
        return torch.tensor([self.plan[-1].slot])


def draw(key: str, seed: int, split: str = "train") -> DrawnScene:
    return draw_scene(task(key), seed, split, "ur5e", prompt_index=0)


def solve(
    scene: DrawnScene, world: TensorWorld, limit: int = MOST_TURNS
) -> list[MoveOutcome] | None:
    """What the solver does in a world of a scene, as an episode that began as drawn goes on."""
    return rehearse(scene.goal, world, scene.goal.initial_state(scene.start), limit)


@cache
def solved(key: str, seed: int = 0, split: str = "") -> Solved:
    """A solved scene; of the splits each task has another one."""
    scene = draw(key, seed, split or SPLITS[KEYS.index(key) % len(SPLITS)])
    world = TensorWorld.snapshot(scene.start)
    plan = solve(scene, world)
    assert plan is not None
    return Solved(scene, tuple(plan), world)


def look(scene: DrawnScene, world: TensorWorld) -> tuple[bool, float]:
    """Whether the goal holds, and the share of it that is met."""
    with torch.inference_mode():
        outcome = scene.goal.evaluate(world, scene.goal.initial_state(scene.start))
    met, of = leaves_met(scene.goal, outcome)
    return bool(outcome.holds[0]), met / of


def put(world: TensorWorld, slot: int, x: float, y: float, z: float) -> None:
    """Put a body somewhere, its turn kept."""
    body = torch.tensor([slot])
    pose = world.pose(body).clone()
    pose[:, :3] = torch.tensor([[x, y, z]])
    world.set_body_pose(body, pose)


def blocks(world: TensorWorld) -> list[int]:
    """Slots of what can be moved."""
    return world.solids.movable[0].nonzero()[:, 0].tolist()
