"""Sentences and goals agree: each names the same objects."""

import re
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from clevrskills.predicates import Keeping
from clevrskills.sim.body import Body
from clevrskills.suites.lohoravens.predicates.put_in import InArea
from clevrskills.suites.lohoravens.predicates.tower import TowerInArea
from clevrskills.tasks.base import task
from tests.suites.lohoravens.scenes import SPLITS, draw

CATEGORIES: Mapping[str, Sequence[str]] = {
    "cool": ("blue", "green", "cyan", "purple", "gray", "indigo", "violet"),
    "warm": ("red", "yellow", "orange", "brown", "pink", "gold"),
    "primary": ("red", "yellow", "blue"),
    "secondary": ("orange", "green", "purple"),
}
MIDDLE_M = (-0.13, 0.0)
BESIDE = {
    "left of the": (1, -1),
    "right of the": (1, 1),
    "nearer the robot than the": (0, -1),
    "farther from the robot than the": (0, 1),
}
"""Axis and direction of what lies on a side of a block."""
SELECTIONS = (
    *("stack_by_color", "stack_by_color_and_size", "stack_by_color_in_size_order"),
    *("stack_by_area_and_size", "stack_by_area_in_size_order"),
    *("stack_by_side", "stack_by_side_and_size"),
    *("move_area", "move_area_by_color", "move_area_by_size", "move_area_by_color_and_size"),
)
AREA = r"(top|bottom) (left|right)"
MARGIN_M = 0.02
"""Minimum distance of other blocks from the named region."""


def inside_m(body: Body, area: str) -> float:
    """How far the middle of a body is inside a quarter of the field."""
    row, column = area.split()
    x, y = np.subtract(body.pose[:2], MIDDLE_M)
    return min(-x if row == "top" else x, -y if column == "left" else y)


def fits(sentence: str, body: Body, bodies: Sequence[Body]) -> bool:
    """Whether a block is one of those that a sentence names; each of the others clearly is not."""
    assert body.size is not None
    named = [
        c for name, of in CATEGORIES.items() if re.search(rf"\b{name}\b", sentence) for c in of
    ]
    if named and body.color not in named:
        return False
    size = re.search(r"\b(smaller|bigger) (?!ones|block\b)|^(smaller|bigger)", sentence)
    if size and (body.size[0] > 0.05) != ("bigger" in size.group()):
        return False
    if area := re.search(AREA, sentence):
        away = inside_m(body, area.group())
        assert abs(away) >= MARGIN_M
        return away > 0
    for words, (axis, sign) in BESIDE.items():
        if found := re.search(rf"{words} (\w+) block", sentence):
            mark = next(b for b in bodies if b.movable and b.color == found.group(1))
            away = sign * (body.pose[axis] - mark.pose[axis])
            assert body is mark or away >= 0.05 or away <= -MARGIN_M
            return away > 0
    return True


def _target(sentence: str, roles: Mapping[str, np.ndarray]) -> str:
    """The area that the goal of a move has, which the sentence has to name too."""
    x, y = (roles["low"] + roles["high"]) / 2 - MIDDLE_M
    area = f"{'top' if x < 0 else 'bottom'} {'left' if y < 0 else 'right'}"
    assert area in sentence
    return area


@pytest.mark.parametrize("key", SELECTIONS)
def test_the_blocks_that_a_sentence_names_are_those_of_the_goal(key: str) -> None:
    for seed, split in enumerate(SPLITS):
        scene = draw(key, seed, split)
        bodies = [body for body in scene.layout.bodies if body]
        goal = scene.goal
        assert isinstance(goal, Keeping)
        asked = {int(k) for k in scene.layout.roles["objects"] if k >= 0}
        for wording in task(key).wordings(scene.layout):
            text = wording.text[:1].lower() + wording.text[1:]
            if key.startswith("move"):  # what is named first lies in the first of two areas
                text = text.replace(_target(wording.text.lower(), scene.layout.roles), "")
            named = {
                k
                for k, b in enumerate(scene.layout.bodies)
                if b and b.movable and fits(text, b, bodies)
            }
            assert named == asked, wording.text


def test_goals_name_areas_as_sentences_do() -> None:
    for key, kind in (("move_area", InArea), ("stack_all_in_area", TowerInArea)):
        scene = draw(key, 2)
        leaf = next(leaf for leaf in scene.goal.leaves() if isinstance(leaf, kind))
        given = leaf.describe(scene.start)
        assert re.search(rf"in the {AREA} area$", given), given


def test_no_scene_is_in_two_splits() -> None:
    for key in ("stack_all_on_zone", "bowls_matching", "pick_place_color"):
        for seed in range(3):
            bodies = [draw(key, seed, split).layout.bodies for split in SPLITS]
            poses = [{body.pose for body in of if body} for of in bodies]
            assert not poses[0] & poses[1] and not poses[0] & poses[2] and not poses[1] & poses[2]
