"""Tight success of LoHoRavens' planner without images (`blind_words`) on frozen episodes.

    python benchmarks/field_blind.py --episodes 50
    python benchmarks/field_blind.py stack_by_color --split train

A perfect executor carries out its moves without an arm, so a failure is always the planner's.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Annotated, Any

import torch
import tyro
from common import print_table

from clevrskills.core.suite import load_suite
from clevrskills.envs.scene_sampling import DrawnScene, scene_of
from clevrskills.sim.tensor_world import TensorWorld
from clevrskills.suites.lohoravens.captions import CaptionState
from clevrskills.suites.lohoravens.interfaces.words import PICK_PLACE_TEXT, ground
from clevrskills.suites.lohoravens.measures import ABSENT, TIGHT
from clevrskills.suites.lohoravens.palette import COLORS_OF_SPLIT
from clevrskills.suites.lohoravens.prompts.blind import script
from clevrskills.suites.lohoravens.solver.rehearsal import carry_out
from clevrskills.tasks.base import task


@torch.inference_mode()
def succeeds_tightly(scene: DrawnScene, sentence: str, split: str) -> bool:
    """Return whether the planner solves an episode by the measure ``success_tight``."""
    world = TensorWorld.snapshot(scene.start)
    env: Any = SimpleNamespace(world=world, layouts=[scene.layout])
    env.memory = CaptionState(env)
    state = scene.goal.initial_state(world)
    steps = script(sentence, COLORS_OF_SPLIT[split])
    instruction = next(steps, "")
    for _ in range(int(scene.layout.roles["n_min"]) + TIGHT):
        request = ground(instruction, env)
        if not instruction or request.code in ABSENT:
            return False
        if request.move is not None:
            carry_out(world, request.move)
        outcome = scene.goal.evaluate(world, state)
        if bool(outcome.holds[0]):
            return True
        state = outcome.state
        try:
            instruction = steps.send(request.move is not None)
        except StopIteration:
            return False
    return False


def main(
    tasks: Annotated[tuple[str, ...], tyro.conf.Positional] = (),
    split: str = "test",
    episodes: int = 100,
) -> None:
    """Print a row for each task.

    Args:
        tasks: Keys of tasks; default: all with actions in words.
        split: Split of the episodes.
        episodes: Frozen episodes per task.
    """
    suite, rows = load_suite("lohoravens"), list[list[object]]()
    for key, info in suite.tasks.items():
        if PICK_PLACE_TEXT.name not in info.interfaces or key not in (tasks or suite.tasks):
            continue
        found = []
        frozen: Any = suite.frozen(key, split)
        for episode in frozen[:episodes]:
            scene = scene_of(task(key), episode.layout, episode.robot)
            found.append(succeeds_tightly(scene, episode.prompt.plain(), split))
        rows.append([key, info.level, f"{sum(found)} of {len(found)}"])
    print_table("Without looking", ["task", "level", "tight success"], rows)


if __name__ == "__main__":
    tyro.cli(main)
