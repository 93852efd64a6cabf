"""Scenes of all tasks, drawn once for all tests."""

from functools import cache

import pytest

from clevrskills.envs.scene_sampling import DrawnScene, draw_scene
from clevrskills.tasks import task, tasks

TASKS = tuple(tasks())
COVERING = tuple(
    dict.fromkeys({kind: key for key, cls in tasks().items() for kind in cls.predicates}.values())
)
"""Tasks whose goals have predicates of all types that any task has."""
SPARING = [key if key in COVERING else pytest.param(key, marks=pytest.mark.slow) for key in TASKS]
"""All tasks as parameters of a test, which is slow for those that :data:`COVERING` lacks."""
SPLITS = ("train", "test")
SEEDS = tuple(range(5))


@cache
def scene(key: str, split: str, seed: int) -> DrawnScene:
    return draw_scene(task(key), seed, split)


def scenes(key: str, split: str, count: int = len(SEEDS)) -> list[DrawnScene]:
    return [scene(key, split, seed) for seed in range(count)]
