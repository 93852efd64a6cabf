"""Planner that reads and never looks: it has a script for each sentence, and mostly fails."""

from types import SimpleNamespace

import pytest
import torch

from clevrskills.core.suite import load_suite
from clevrskills.sim.tensor_world import TensorWorld
from clevrskills.suites.lohoravens.captions import Memory
from clevrskills.suites.lohoravens.interfaces.grammar import parse
from clevrskills.suites.lohoravens.interfaces.words import ground
from clevrskills.suites.lohoravens.measures import ABSENT, TIGHT
from clevrskills.suites.lohoravens.palette import COLORS_OF_SPLIT
from clevrskills.suites.lohoravens.prompts.blind import script
from clevrskills.suites.lohoravens.solver.rehearsal import carry_out
from clevrskills.suites.lohoravens.tasks import tasks
from clevrskills.tasks.base import task
from tests.suites.lohoravens.scenes import draw

IN_WORDS = tuple(k for k, t in tasks().items() if t.family not in ("steps", "shape"))
MULTI_STEP = tuple(k for k in IN_WORDS if tasks()[k].level != "primitive")
COLORS = COLORS_OF_SPLIT["test"]


@pytest.mark.parametrize("key", IN_WORDS)
def test_every_wording_has_a_script_of_instructions(key: str) -> None:
    for wording in task(key).wordings(draw(key, 0, "test").layout):
        said = next(script(wording.text, COLORS), "")
        assert said and parse(said) is not None, wording.text


def test_steps_are_not_played_in_words() -> None:
    suite = load_suite("lohoravens")
    for key, of in tasks().items():
        assert ("pick_place_text" in suite.tasks[key].interfaces) == (of.family != "steps")


@torch.inference_mode()
def succeeds_tightly(key: str, seed: int, split: str) -> bool:
    """Whether the script solves an episode, its moves carried out without an arm, by the rule of
    the measure ``success_tight``.
    """
    scene = draw(key, seed, split)
    world = TensorWorld.snapshot(scene.start)
    env = SimpleNamespace(world=world, layouts=[scene.layout])
    env.memory = Memory(env)
    state = scene.goal.initial_state(world)
    steps = script(task(key).wordings(scene.layout)[0].text, COLORS_OF_SPLIT[split])
    said = next(steps, "")
    for _ in range(int(scene.layout.roles["n_min"]) + TIGHT):
        request = ground(said, env)
        if not said or request.code in ABSENT:
            return False
        if request.move is not None:
            carry_out(world, request.move)
        outcome = scene.goal.evaluate(world, state)
        if bool(outcome.holds[0]):
            return True
        state = outcome.state
        try:
            said = steps.send(request.move is not None)
        except StopIteration:
            return False
    return False


@pytest.mark.slow
@pytest.mark.parametrize("split", ["train", "test"])
@pytest.mark.parametrize("key", MULTI_STEP)
def test_few_episodes_are_solved_without_looking(key: str, split: str) -> None:
    assert sum(succeeds_tightly(key, seed, split) for seed in range(100)) <= 15
