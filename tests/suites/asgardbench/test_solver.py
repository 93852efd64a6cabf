"""Solver of the household: its plans reach the goal in all readings."""

from collections import defaultdict
from dataclasses import replace
from zlib import crc32

import numpy as np
import pytest

from clevrskills.suites.asgardbench.env import house_of
from clevrskills.suites.asgardbench.predicates import HouseWorld, met_now
from clevrskills.suites.asgardbench.rules.verbs import apply
from clevrskills.suites.asgardbench.rules.world import GONE, Household
from clevrskills.suites.asgardbench.tasks.goals import READINGS, goal_of, locations
from clevrskills.suites.asgardbench.tasks.instances import TABLE, draw_variant
from clevrskills.suites.asgardbench.tasks.rooms import room
from clevrskills.suites.asgardbench.tasks.search import shortest
from clevrskills.suites.asgardbench.tasks.setup import set_up
from clevrskills.suites.asgardbench.tasks.solver import reaches, shorten, solve, solved


def test_the_table_has_the_published_instances():
    variants = [variant for table in TABLE.values() for variant in table]
    assert (len(TABLE), len(variants)) == (12, 108)
    assert sum(variant.published_n for variant in variants) == 3579
    assert sum(bool(variant.dirty) for variant in variants) == 54


@pytest.mark.parametrize("task", sorted(TABLE))
@pytest.mark.parametrize("which", [0, -1])
def test_plans_reach_the_goal_in_all_readings(task, which):
    variant = TABLE[task][which]
    items = set_up(task, variant, np.random.default_rng((0, which % 99, crc32(task.encode()))))
    dirty = ("Mirror_1",) if task == "clean_mirror" else ()
    start = Household(room(variant.label), items, dirty)
    start.locations = locations(task, variant)
    plan = solve(task, variant, start)
    for reading in READINGS:
        house = start.copy()
        seen = HouseWorld(house)
        goal = goal_of(task, variant, reading, start)
        outcome = goal.evaluate(seen, goal.initial_state(seen))
        assert not outcome.holds[0]
        for command in plan:
            assert apply(house, *command.split()).ok
            seen.invalidate()
            outcome = goal.evaluate(seen, outcome.state)
        assert outcome.holds[0], (reading, plan)


def test_shortened_plans_reach_the_goal_and_need_all_their_commands():
    variant = TABLE["put_away_food"][1]
    items = set_up("put_away_food", variant, np.random.default_rng(3))
    start = Household(room(variant.label), items)
    goal = goal_of("put_away_food", variant, "paper", start)
    plan = solve("put_away_food", variant, start)
    short = shorten(plan, start, goal)
    assert reaches(short, start, goal) == len(short) <= len(plan)
    for place in range(len(short)):
        assert not reaches(short[:place] + short[place + 1 :], start, goal)
    assert 0 < shortest(short, start, goal) <= len(short)
    assert shortest(short, start, goal, budget=20) == 0  # given up


@pytest.mark.parametrize(("task", "number"), [("put_away_dishes", 390), ("cook_potato", 829)])
def test_full_counters_and_several_open_cabinets(task, number):
    rng = np.random.default_rng((number, 26))
    variant = draw_variant(task, rng)
    items = set_up(task, variant, rng)
    for reading in READINGS:
        house = house_of(task, variant, items, reading)
        plan = solve(task, variant, house)
        assert reaches(plan, house, goal_of(task, variant, reading, house))


def _after(task, variant, **states):
    """The start of an instance's household, and its end with some states of objects set."""
    items = set_up(task, variant, np.random.default_rng(5))
    start = house_of(task, variant, items)
    end = solved(task, variant, start)[1]
    for name, values in states.items():
        for entity in [e for e in end.entities.values() if e.type == name and e.parent != GONE]:
            for key, value in values.items():
                setattr(entity, key, value)
    return start, end


TRICKS = [
    ("set_table", {}, {"BreadSliced": {"cooked": False}}),
    ("set_table", {}, {"Mug": {"filled": "water"}}),
    ("put_away_silverware", {"objects": ("Ladle", "Fork")}, {"Ladle": {"parent": "Cabinet_1"}}),
]
"""States that AsgardBench's code accepts, but the instruction does not ask for."""


@pytest.mark.parametrize(("task", "changes", "states"), TRICKS)
def test_readings_differ_from_the_released_scoring(task, changes, states):
    variant = replace(TABLE[task][0], **changes)
    for tricked in (states, {}):
        start, end = _after(task, variant, **tricked)
        found = {r: met_now(goal_of(task, variant, r, start), end) for r in READINGS}
        honest = not tricked
        assert found == {"paper": honest, "released": True, "strict": honest}


def test_a_raw_slice_does_not_replace_a_cooked_one():
    variant = TABLE["cook_potato_slice"][0]
    start, end = _after("cook_potato_slice", variant)
    served, other = (
        next(e for e in end.of_type("PotatoSliced") if (end.parent_type(e) == "Plate") is there)
        for there in (True, False)
    )
    served.cooked, other.cooked = False, True
    found = [met_now(goal_of("cook_potato_slice", variant, r, start), end) for r in READINGS]
    assert found == [False, True, False]


def test_all_dishes_that_are_put_away_are_clean():
    variant = TABLE["put_away_dishes"][0]
    start, end = _after("put_away_dishes", variant, Cup={"dirty": True})
    found = [met_now(goal_of("put_away_dishes", variant, r, start), end) for r in READINGS]
    assert found == [False, True, False]


@pytest.mark.parametrize("task", ["distribute", "put_away_dishes"])
def test_the_instruction_does_not_reveal_dirty_objects(task):
    rng = np.random.default_rng(0)
    dirty = defaultdict(set)
    for _ in range(600):
        variant = draw_variant(task, rng)
        dirty[variant.objects].add(variant.dirty)
    for objects, found in dirty.items():
        assert found == {(), *((kind,) for kind in objects)}
