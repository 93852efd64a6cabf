"""Planner without observations: it has a script for each sentence, and mostly fails."""

import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from clevrskills.core.suite import load_suite
from clevrskills.suites.lohoravens.interfaces.grammar import parse
from clevrskills.suites.lohoravens.palette import COLORS_OF_SPLIT
from clevrskills.suites.lohoravens.prompts.blind import script
from clevrskills.suites.lohoravens.tasks import tasks
from clevrskills.tasks.base import task
from tests.suites.lohoravens.scenes import draw

IN_WORDS = tuple(k for k, t in tasks().items() if t.family not in ("steps", "shape"))
MULTI_STEP = tuple(k for k in IN_WORDS if tasks()[k].level != "primitive")
COLORS = COLORS_OF_SPLIT["test"]
BENCHMARKS = Path(__file__).parents[4] / "benchmarks"


@pytest.mark.parametrize("key", IN_WORDS)
def test_every_wording_has_a_script_of_instructions(key: str) -> None:
    for wording in task(key).wordings(draw(key, 0, "test").layout):
        said = next(script(wording.text, COLORS), "")
        assert said and parse(said) is not None, wording.text


def test_steps_are_not_played_in_words() -> None:
    suite = load_suite("lohoravens")
    for key, of in tasks().items():
        assert ("pick_place_text" in suite.tasks[key].interfaces) == (of.family != "steps")


@pytest.fixture(scope="module")
def succeeds_tightly() -> Any:
    """The function of the benchmark."""
    sys.path.append(str(BENCHMARKS))
    try:
        return runpy.run_path(str(BENCHMARKS / "field_blind.py"))["succeeds_tightly"]
    finally:
        sys.path.remove(str(BENCHMARKS))


@pytest.mark.slow
@pytest.mark.parametrize("split", ["train", "test"])
@pytest.mark.parametrize("key", MULTI_STEP)
def test_few_episodes_are_solved_without_looking(
    key: str, split: str, succeeds_tightly: Any
) -> None:
    scenes = (draw(key, seed, split) for seed in range(100))
    asked = ((scene, task(key).wordings(scene.layout)[0].text) for scene in scenes)
    assert sum(succeeds_tightly(scene, text, split) for scene, text in asked) <= 15
