"""Two objects in each other's place, however they got there."""

import pytest
import torch

from clevrskills.predicates import AtPosition, AtPositionPushed, Swapped, from_json, predicate_types
from clevrskills.sim.tensor_world import TensorWorld
from tests.support.worlds import BRICK, CUBE, index, make_world, pose

FIRST, SECOND = (-0.30, -0.15, 0.0), (-0.10, 0.10, 0.0)
BUFFER = (-0.30, 0.15, 0.0)
CUBE_SLOT, BRICK_SLOT = 0, 1


def start():
    return make_world((CUBE, BRICK), (pose(CUBE, *FIRST[:2]), pose(BRICK, *SECOND[:2], 0.7)))


def swap(world, kind=AtPosition):
    """The cube is the first, the brick the second."""
    cube, brick = index(world, CUBE_SLOT), index(world, BRICK_SLOT)
    places = [torch.tensor([p]).expand(world.num_envs, 3) for p in (BUFFER, FIRST, SECOND)]
    bodies = (cube, brick, cube)
    return Swapped(tuple(kind(b, p) for b, p in zip(bodies, places, strict=True)))


def put(world, slot, place, bottom_z=0.0):
    spec = (CUBE, BRICK)[slot]
    world.set_body_pose(index(world, slot), pose(spec, place[0], place[1], 0.7, bottom_z)[None])


def lift(world, slot, place):
    """Hold a body 10 cm above a place."""
    world.hold(index(world, slot), pose((CUBE, BRICK)[slot], place[0], place[1], 0.0, 0.1)[None])


def look(world, kind=AtPosition):
    goal = swap(world, kind)
    outcome = goal.evaluate(world, goal.initial_state(world))
    leaf = goal.next_leaf(outcome)
    following = None if leaf is None else [leaf is child for child in goal.children].index(True)
    return outcome, following


def at(cube, brick):
    world = start()
    put(world, CUBE_SLOT, cube)
    put(world, BRICK_SLOT, brick)
    return world


ELSEWHERE = (-0.05, -0.25, 0.0)


@pytest.mark.parametrize(
    ("cube", "brick", "following"),
    [
        (FIRST, SECOND, 0),  # each in the other's way
        (BUFFER, SECOND, 1),
        (ELSEWHERE, SECOND, 1),  # not in the buffer, but out of the way
        (BUFFER, FIRST, 2),
        (ELSEWHERE, FIRST, 2),
        (FIRST, BUFFER, 2),  # the second stands apart, so that the first can go at once
        (SECOND, BUFFER, 1),
        (BUFFER, ELSEWHERE, 1),
        (SECOND, FIRST, None),
    ],
)
def test_the_next_child_follows_from_the_world(cube, brick, following):
    outcome, found = look(at(cube, brick))
    assert found == following
    assert bool(outcome.holds) == (following is None)


@pytest.mark.parametrize(("cube", "brick"), [(SECOND, SECOND), (FIRST, FIRST), (SECOND, BUFFER)])
def test_one_of_them_at_its_place_is_not_enough(cube, brick):
    outcome, _ = look(at(cube, brick))
    assert not outcome.holds and float(outcome.progress) < 1.0 and float(outcome.reward) < 18.0


@pytest.mark.parametrize(("aside_m", "holds"), [(0.0498, True), (0.0502, False)])
@pytest.mark.parametrize("slot", [CUBE_SLOT, BRICK_SLOT])
def test_distance_boundary(slot, aside_m, holds):
    world = at(SECOND, FIRST)
    place = (SECOND, FIRST)[slot]
    put(world, slot, (place[0] + aside_m, place[1]))
    assert bool(look(world)[0].holds) == holds


def test_a_held_object_is_not_in_place():
    world = at(SECOND, FIRST)
    world.hold(index(world, CUBE_SLOT), world.pose(index(world, CUBE_SLOT)))
    outcome, following = look(world)
    assert not outcome.holds and following == 2 and float(outcome.reward) < 18.0


def test_a_held_first_body_is_placed_where_possible():
    world = start()
    lift(world, CUBE_SLOT, (-0.2, 0.0))
    assert look(world)[1] == 0  # the brick stands where it should go
    put(world, BRICK_SLOT, ELSEWHERE)
    assert look(world)[1] == 2


def test_the_buffer_is_no_trap():
    """Where the first lies in the buffer and yet in the way, the second comes next all the same."""
    world = start()
    near = tuple(a + b for a, b in zip(FIRST, (0.0, 0.06, 0.0), strict=True))
    goal = swap(world)
    close = Swapped((AtPosition(index(world, CUBE_SLOT), torch.tensor([near])), *goal.children[1:]))
    put(world, CUBE_SLOT, near)
    outcome = close.evaluate(world, close.initial_state(world))
    assert close.next_leaf(outcome) is close.children[1]


def test_reward_and_progress_rise_along_the_way():
    world = start()
    seen = [look(world)[0]]
    for slot, place in ((CUBE_SLOT, BUFFER), (BRICK_SLOT, FIRST), (CUBE_SLOT, SECOND)):
        lift(world, slot, world.position(index(world, slot))[0].tolist())
        seen.append(look(world)[0])
        lift(world, slot, place)
        seen.append(look(world)[0])
        put(world, slot, place)
        seen.append(look(world)[0])
    for values in ([float(o.reward) for o in seen], [float(o.progress) for o in seen]):
        assert values == sorted(values) and len(set(values)) == len(values)
    assert [bool(o.holds) for o in seen] == [False] * 9 + [True]
    assert float(seen[-1].reward) == 18.0


def test_realizing_the_parts_in_turn_swaps():
    world = start()
    goal = swap(world)
    state, held = goal.initial_state(world), []
    for step in goal.steps():
        step.realize(world)
        outcome = goal.evaluate(world, state)
        held.append(bool(outcome.holds))
    assert held == [False, False, True]


def test_objects_that_are_pushed_swap_as_well():
    world = start()
    goal = swap(world, AtPositionPushed)
    state = goal.initial_state(world)
    outcome = goal.evaluate(world, state)
    assert goal.next_leaf(outcome) is goal.children[0]
    for following in (1, 2, None):
        list(goal.steps())[(following or 3) - 1].realize(world)
        outcome = goal.evaluate(world, outcome.state)
        leaf = goal.next_leaf(outcome)
        assert leaf is (None if following is None else goal.children[following])
    assert outcome.holds


def test_holding_an_object_makes_swapping_by_pushing_unsolvable():
    """Then only what lies in its place counts."""
    world = start()
    goal = swap(world, AtPositionPushed)
    before = goal.evaluate(world, goal.initial_state(world))
    assert not before.state["1/spoiled"] and float(before.progress) > 0.0
    for body, parts in ((goal.children[0].object, (0, 2)), (goal.children[1].object, (1,))):
        state = {**before.state, **{f"{k}/spoiled": torch.tensor([True]) for k in parts}}
        assert [bool(v) for v in goal.unsolvable(state).values()] == [True]
        world = start()
        list(goal.steps())[0].realize(world)  # the first one is aside: there is room
        outcome = goal.evaluate(world, state)
        assert float(outcome.progress) == float(outcome.reward) == 0.0, int(body)
    world = start()
    for step in list(goal.steps())[:2]:
        step.realize(world)
    outcome = goal.evaluate(world, {**before.state, "2/spoiled": torch.tensor([True])})
    assert float(outcome.progress) == pytest.approx(1 / 3)


def test_three_parts_are_needed():
    world = start()
    parts = swap(world).children
    with pytest.raises(ValueError, match="three children"):
        Swapped(parts[:2])
    with pytest.raises(ValueError, match="all of them active"):
        Swapped(parts, torch.ones(1, 3, dtype=torch.bool))


def test_each_environment_goes_its_own_way():
    """Environment k starts at another point of the way."""
    worlds = [at(FIRST, SECOND), at(BUFFER, SECOND), at(BUFFER, FIRST), at(SECOND, FIRST)]
    solids = type(worlds[0].solids).stack([w.solids for w in worlds])
    world = TensorWorld(worlds[0].keys, solids, torch.cat([w.body_pose for w in worlds]))
    goal = from_json(swap(world).to_json(), predicate_types())
    outcome = goal.evaluate(world, goal.initial_state(world))
    leaves = [goal.next_leaf(outcome, env) for env in range(4)]
    assert leaves == [*goal.children, None]
