"""Tasks of LoHoRavens: fair starts, sentences, and a symbolic solver of all."""

import numpy as np
import pytest
import torch

from clevrskills.predicates import from_json, predicate_types
from clevrskills.sim.tensor_world import TensorWorld
from clevrskills.suites.lohoravens import CATALOG
from clevrskills.suites.lohoravens.move import Move
from clevrskills.suites.lohoravens.palette import COLORS_OF_SPLIT, look_apart
from clevrskills.suites.lohoravens.scene import INNER
from clevrskills.suites.lohoravens.solver.rehearsal import carry_out
from clevrskills.suites.lohoravens.tasks import tasks
from clevrskills.suites.lohoravens.tasks.base import RavensTask
from clevrskills.tasks.bank_files import read_banks
from clevrskills.tasks.base import stack_roles, task
from clevrskills.tasks.base import tasks as tabletop_tasks
from tests.suites.lohoravens.scenes import KEYS, SPLITS, blocks, draw, look, put, solve, solved


def start_is_fair(key: str, seed: int, split: str = "") -> None:
    least, most = tasks()[key].moves
    of = solved(key, seed, split)
    assert look(of.scene, of.scene.start) == (False, 0.0)
    assert least <= len(of.plan) <= most
    assert len(of.plan) == int(of.scene.layout.roles["n_min"])
    assert all(placed.in_reach for placed in of.plan)
    assert look(of.scene, of.world()) == (True, 1.0)


@pytest.mark.parametrize("key", KEYS)
def test_nothing_is_met_at_the_start_and_the_solver_needs_n_min_moves(key: str) -> None:
    start_is_fair(key, 0)


@pytest.mark.slow
@pytest.mark.parametrize("key", KEYS)
def test_a_hundred_instances_are_solved_in_n_min_moves(key: str) -> None:
    for seed in range(100):
        start_is_fair(key, seed, SPLITS[seed % 3])
    solved.cache_clear()


@pytest.mark.parametrize("key", CATALOG)
def test_rules_of_a_row_are_attributes_of_the_class_of_its_goal(key: str) -> None:
    known = {
        name for cls in tasks()[key].__mro__[1:] for name in vars(cls).get("__annotations__", {})
    }
    assert CATALOG[key].keys() - {"kind", "key", "level", "sentence"} <= known


def disturb(world: TensorWorld, rng: np.random.Generator) -> None:
    """Put three blocks elsewhere: on another one, into a zone or bowl, or to a place of the field,
    whatever is there.
    """
    for slot in rng.choice(blocks(world), min(3, len(blocks(world))), replace=False).tolist():
        others = [k for k in world.solids.present[0].nonzero()[:, 0].tolist() if k != slot]
        x, y = (rng.uniform(*bounds) for bounds in (INNER.x_m, INNER.y_m))
        if rng.integers(2):
            x, y, _ = world.body_pose[0, int(rng.choice(others)), :3].tolist()
        here = world.body_pose[0, slot, :2].tolist()
        carry_out(world, Move((*here, 0.0), (x, y, 0.0)))


RELATIVE = ("pick_place_color", "pick_place_size", "pick_place_area", "pick_place_side")
"""What others than the picked block do cannot be undone."""


def solved_from_anywhere(key: str, seed: int) -> bool:
    scene = draw(key, seed)
    world = TensorWorld.snapshot(scene.start)
    disturb(world, np.random.default_rng(seed))
    return solve(scene, world) is not None


MOVED = tuple(k for k in KEYS if k not in RELATIVE and tasks()[k].family != "shape")


@pytest.mark.parametrize("key", MOVED)
def test_a_disturbed_scene_is_solved_too(key: str) -> None:
    assert solved_from_anywhere(key, 3)


@pytest.mark.slow
@pytest.mark.parametrize("key", MOVED)
def test_forty_disturbed_scenes_are_solved(key: str) -> None:
    assert sum(solved_from_anywhere(key, seed) for seed in range(40)) >= 39


def test_the_solver_clears_obstacles() -> None:
    """A block that is covered."""
    of = solved("stack_by_color", 3)
    world = TensorWorld.snapshot(of.scene.start)
    other, first = (int(of.scene.layout.roles[name][0]) for name in ("others", "objects"))
    x, y, _ = world.body_pose[0, first, :3].tolist()
    put(world, other, x, y, 0.06)
    plan = solve(of.scene, world)
    assert plan is not None and len(plan) == len(of.plan) + 1


def test_listed_steps_are_solved_in_order() -> None:
    for key in (k for k in KEYS if tasks()[k].family == "steps"):
        of = solved(key)
        followed = task(key).followed(stack_roles([of.scene.layout]))
        assert followed is not None
        for plan, in_turn in ((of.plan, True), (of.plan[::-1], False)):
            world = TensorWorld.snapshot(of.scene.start)
            state = followed.initial_state(world)
            for placed in plan:
                carry_out(world, placed.move)
                outcome = followed.evaluate(world, state)
                state = outcome.state
            assert bool(outcome.holds[0]) == in_turn, key


TOGETHER = ("bowls_matching", "most_even_to_zone", "move_area_by_size", "stack_same_color")
"""A task of each kind of leaf."""


def alike_together(key: str) -> None:
    one, other = (draw(key, seed) for seed in (0, 1))
    goal = task(key).goal(stack_roles([one.layout, other.layout]))
    world = _batch(one.start, other.start)
    found = goal.evaluate(world, goal.initial_state(world))
    apart = [s.goal.evaluate(s.start, s.goal.initial_state(s.start)) for s in (one, other)]
    for name in ("holds", "reward", "progress"):
        each = torch.cat([getattr(outcome, name) for outcome in apart]).float()
        assert torch.allclose(getattr(found, name).float(), each, atol=1e-5), (key, name)


@pytest.mark.parametrize("key", TOGETHER)
def test_goals_of_several_episodes_are_batched(key: str) -> None:
    alike_together(key)


@pytest.mark.slow
@pytest.mark.parametrize("key", KEYS)
def test_goals_of_all_tasks_are_batched(key: str) -> None:
    alike_together(key)


def _batch(*worlds: TensorWorld) -> TensorWorld:
    """Several worlds as one."""
    solids = type(worlds[0].solids).stack([world.solids for world in worlds])
    poses, hands = (
        torch.cat([getattr(world, name) for world in worlds])
        for name in ("body_pose", "end_effector_pose")
    )
    return TensorWorld(worlds[0].keys, solids, poses, hands, worlds[0].cup_tips)


@pytest.mark.parametrize("key", KEYS)
def test_wordings(key: str) -> None:
    made = task(key)
    wordings = made.wordings(solved(key).scene.layout)
    count = made.count_wordings()
    assert count["seen"] >= 20 and count["held_out"] >= 10
    assert len({wording.text for wording in wordings}) == sum(count.values())
    assert not any(c in wording.text for wording in wordings for c in "{}_")


@pytest.mark.parametrize("key", KEYS)
def test_goals_go_to_json_and_back(key: str) -> None:
    data = solved(key).scene.goal.to_json()
    assert from_json(data, predicate_types()).to_json() == data


def test_colors_of_an_episode_are_distinct_and_of_the_split() -> None:
    for split in COLORS_OF_SPLIT:
        bodies = [body for body in draw("bowls_matching", 0, split).layout.bodies if body]
        colors = {body.color for body in bodies}
        assert colors <= set(COLORS_OF_SPLIT[split])
        assert all(look_apart(a, b) for a in colors for b in colors if a != b)


def test_banks_are_those_of_tasks() -> None:
    assert {*read_banks(RavensTask.bank_folder)} <= {*KEYS}


def test_other_suites_do_not_have_the_tasks() -> None:
    assert not set(KEYS) & set(tabletop_tasks())
