"""Members of every predicate: truth, progress, sentence, realization, JSON form."""

import dataclasses
import json
import re

import pytest
import torch

from clevrskills.errors import UnknownNameError
from clevrskills.predicates import (
    CRITERIA,
    Once,
    Order,
    Outcome,
    Set,
    Strict,
    from_json,
    predicate_types,
)
from clevrskills.predicates.physical import PhysicalPredicate
from clevrskills.sim.tensor_world import TensorWorld
from tests.predicates.examples import EXAMPLES, achieve
from tests.support.worlds import row_of, row_of_state, row_of_world, tabletop

TYPES = predicate_types()
KINDS = sorted(kind for kind, cls in TYPES.items() if ".suites." not in cls.__module__)
"""Those of other suites have tests of their own."""
MANY = 100
BATCHES = (1, MANY, pytest.param(1000, marks=pytest.mark.slow))


@pytest.fixture(scope="module")
def achieved():
    """(kind, batch) -> goal, world in which it was realized, and the outcome; made once."""
    made = {}

    def get(kind, batch):
        if (kind, batch) not in made:
            world = tabletop(batch)
            goal = EXAMPLES[kind](world)
            made[kind, batch] = goal, world, achieve(goal, world)
        return made[kind, batch]

    return get


def same(a: Outcome, b: Outcome, exactly: bool = True) -> bool:
    """Whether two outcomes are equal, parts and state included."""
    tolerance = 0.0 if exactly else 1e-5
    pairs = [(a.holds, b.holds), (a.reward, b.reward), (a.progress, b.progress)]
    assert a.state.keys() == b.state.keys() and len(a.children) == len(b.children)
    pairs += [(a.state[key], b.state[key]) for key in a.state]
    equal = all(
        torch.allclose(x.float(), y.float(), atol=tolerance, rtol=tolerance) for x, y in pairs
    )
    parts = zip(a.children, b.children, strict=True)
    return equal and all(same(x, y, exactly) for x, y in parts)


def row_of_outcome(outcome: Outcome, env: int) -> Outcome:
    row = slice(env, env + 1)
    return Outcome(
        outcome.holds[row],
        outcome.reward[row],
        outcome.progress[row],
        row_of_state(outcome.state, env),
        tuple(row_of_outcome(part, env) for part in outcome.children),
    )


def disturbed(world: TensorWorld, seed: int) -> TensorWorld:
    """A copy in which some bodies of each environment were moved, pushed or let go."""
    copy = TensorWorld.snapshot(world)
    generator = torch.Generator().manual_seed(seed)
    batch, bodies = world.body_pose.shape[:2]
    chosen = torch.rand(batch, bodies, 1, generator=generator) < 0.4
    size = 10 ** (torch.rand(batch, bodies, 1, generator=generator) * 4 - 4.5)  # 0.03 mm to 30 cm
    shift = (torch.rand(batch, bodies, 3, generator=generator) - 0.5) * size
    copy._body_pose[..., :3] += shift * chosen
    copy._end_effector_pose[:, :3] += (shift * chosen)[:, 0]
    speed = torch.rand(batch, bodies, 6, generator=generator) * 0.01
    fast = torch.rand(batch, bodies, 1, generator=generator) < 0.2
    copy._body_velocity[:] = torch.where(fast, speed, 0.0)
    copy._held[torch.rand(batch, generator=generator) < 0.2] = -1
    copy.invalidate()
    return copy


def test_every_kind_has_an_example():
    assert set(EXAMPLES) == set(KINDS), "add an example to tests/predicates/examples.py"
    for kind, make in EXAMPLES.items():
        assert make(tabletop()).name == kind


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("kind", KINDS)
def test_at_the_start_it_does_not_hold(kind, batch):
    world = tabletop(batch)
    goal = EXAMPLES[kind](world)
    outcome = goal.evaluate(world, goal.initial_state(world))
    assert outcome.holds.shape == outcome.reward.shape == outcome.progress.shape == (batch,)
    assert outcome.holds.dtype == torch.bool
    assert not outcome.holds.any()
    assert (outcome.progress < 1).all() and (outcome.progress >= 0).all()
    assert (outcome.reward < torch.as_tensor(goal.max_reward)).all() and (outcome.reward >= 0).all()


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("kind", KINDS)
def test_realized_it_holds_and_rewards_fully(kind, batch, achieved):
    goal, _, outcome = achieved(kind, batch)
    assert outcome.holds.all()
    assert (outcome.progress == 1.0).all()
    assert (outcome.reward == torch.as_tensor(goal.max_reward)).all()
    assert all(goal.next_leaf(outcome, env) is None for env in {0, batch - 1})


@pytest.mark.parametrize("kind", KINDS)
def test_progress_is_1_exactly_where_it_holds(kind, achieved):
    goal, world, _ = achieved(kind, MANY)
    seen = set()
    for seed in range(4):
        other = disturbed(world, seed)
        outcome = goal.evaluate(other, goal.initial_state(tabletop(MANY)))
        assert torch.equal(outcome.progress == 1.0, outcome.holds)
        assert ((outcome.progress >= 0) & (outcome.progress <= 1)).all()
        most = torch.as_tensor(goal.max_reward).expand(MANY)
        assert (outcome.reward[outcome.holds] == most[outcome.holds]).all()
        assert ((outcome.reward >= 0) & (outcome.reward <= most)).all()
        seen |= set(outcome.holds.tolist())
    assert False in seen
    assert True in seen or isinstance(goal, Order | Strict)  # an order starts at its first part


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("kind", KINDS)
def test_looking_twice_gives_the_same_answer(kind, batch, achieved):
    goal, world, _ = achieved(kind, batch)
    for place in (tabletop(batch), world, disturbed(world, 5)):
        state = goal.initial_state(place)
        before = {key: value.clone() for key, value in state.items()}
        first = goal.evaluate(place, state)
        assert all(torch.equal(state[key], before[key]) for key in before)  # nothing is changed
        assert same(first, goal.evaluate(place, state))
        again = goal.evaluate(place, first.state)
        assert same(first, again)


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_equals_single_environments(kind, achieved):
    goal, world, outcome = achieved(kind, MANY)
    for place, state in (
        (world, outcome.state),
        (disturbed(world, 6), goal.initial_state(world)),
        (disturbed(world, 7), outcome.state),
    ):
        together = goal.evaluate(place, state)
        for env in (0, 1, 23, 50, MANY - 1):
            alone = row_of(goal, env).evaluate(row_of_world(place, env), row_of_state(state, env))
            assert same(alone, row_of_outcome(together, env), exactly=False), env


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_realized_only_where_asked(kind):
    world = tabletop(6)
    goal = EXAMPLES[kind](world)
    where = torch.tensor([True, False, False, True, True, False])
    before, tip = world.body_pose.clone(), world.end_effector_pose.clone()
    for step in goal.steps():
        step.realize(world, where)
    assert torch.equal(world.body_pose[~where], before[~where])
    assert torch.equal(world.end_effector_pose[~where], tip[~where])
    assert (world.held[~where] == -1).all()
    changed = (world.body_pose[where] != before[where]).flatten(1).any(-1)
    changed |= (world.end_effector_pose[where] != tip[where]).any(-1)
    assert (changed | (world.held[where] >= 0)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_the_last_part_is_realized_by_the_whole(kind):
    """Realizing a tree realizes its parts in order, so at least the last of them holds then."""
    world = tabletop(3)
    goal = EXAMPLES[kind](world)
    last = list(goal.steps())[-1]
    state = last.initial_state(world)
    goal.realize(world)
    assert last.evaluate(world, state).holds.all()


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("kind", KINDS)
def test_json_round_trip(kind, batch, achieved):
    goal, world, outcome = achieved(kind, batch)
    data = goal.to_json()
    text = json.dumps(data)
    copy = from_json(json.loads(text), TYPES)
    assert type(copy) is type(goal) and json.dumps(copy.to_json()) == text
    for place in (tabletop(batch), world, disturbed(world, 8)):
        state = goal.initial_state(place)
        assert same(goal.evaluate(place, state), copy.evaluate(place, state))
        assert same(goal.evaluate(place, outcome.state), copy.evaluate(place, outcome.state))
    assert copy.describe(world, batch - 1) == goal.describe(world, batch - 1)


@pytest.mark.parametrize("criteria", CRITERIA)
@pytest.mark.parametrize("kind", KINDS)
def test_the_table_of_tolerances_reaches_every_leaf(kind, criteria):
    world = tabletop()
    goal = EXAMPLES[kind](world).with_criteria(CRITERIA[criteria])
    assert all(leaf.criteria is CRITERIA[criteria] for leaf in goal.leaves())
    copy = from_json(json.loads(json.dumps(goal.to_json())), TYPES)
    assert all(leaf.criteria is CRITERIA[criteria] for leaf in copy.leaves())
    assert achieve(goal, world).holds.all()


@pytest.mark.parametrize("kind", KINDS)
def test_it_names_its_bodies(kind):
    world = tabletop(40)
    goal = EXAMPLES[kind](world)
    sentences = set()
    for env in range(40):
        sentence = goal.describe(world, env)
        named = set(re.findall(r"\{obj:(\w+)\}", sentence))
        bodies = set()
        for leaf in (goal, *goal.leaves()):
            for field in ("object", "target", "top", "bottom", "towards", "objects", "before"):
                if hasattr(leaf, field):
                    slots = getattr(leaf, field)[env].reshape(-1)
                    bodies |= {world.keys[k] for k in slots.tolist() if k >= 0}
        assert named == bodies
        sentences.add(sentence)
    assert len(sentences) > 1


@pytest.mark.parametrize("kind", KINDS)
def test_the_next_leaf_is_one_that_does_not_hold(kind):
    world = tabletop(2)
    goal = EXAMPLES[kind](world)
    leaves = list(goal.leaves())
    outcome = goal.evaluate(world, goal.initial_state(world))
    met = 0
    while (leaf := goal.next_leaf(outcome)) is not None:
        assert any(leaf is other for other in leaves)
        assert not leaf.evaluate(world, leaf.initial_state(world)).holds[0]
        leaf.realize(world)
        outcome = goal.evaluate(world, outcome.state)
        met += 1
        assert met <= len(leaves)
    assert met == len(leaves) and outcome.holds.all()


def test_goal_state_survives_a_break():
    """What has held once or in turn stays so; a statement that remembers nothing is about the world
    as it is now.
    """
    for kind in KINDS:
        world = tabletop(2)
        start = TensorWorld.snapshot(world)
        goal = EXAMPLES[kind](world)
        outcome = achieve(goal, world)
        back = goal.evaluate(start, outcome.state)
        remembers = bool(goal.initial_state(start))
        assert bool(outcome.state) == remembers
        if isinstance(goal, Once | Order | Strict) or not remembers:
            assert back.holds.tolist() == [remembers] * 2, kind


# ---- reading trees from JSON ----


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"predicate": "near", "object": [0]}, "unknown predicate 'near'.*on_top"),
        ({"object": [0]}, "unknown predicate None"),
        ({"predicate": "picked", "subject": [0]}, "unknown field of picked 'subject'.*object"),
        ({"predicate": "set", "children": [{"predicate": "under"}]}, "'under'"),
        (
            {"predicate": "picked", "object": [0], "criteria": "lenient"},
            "unknown criteria 'lenient'; allowed: paper, released",
        ),
    ],
)
def test_unknown_names_raise(data, said):
    with pytest.raises(UnknownNameError, match=said):
        from_json(data, TYPES)


@pytest.mark.parametrize("kind", ["picked", "on_top", "at_position"])
def test_a_body_that_is_not_there_raises(kind):
    world = tabletop()
    data = EXAMPLES[kind](world).to_json()
    key = next(key for key in ("object", "top") if key in data)
    goal = from_json(data | {key: [17]}, TYPES)
    with pytest.raises(IndexError):
        goal.evaluate(world, goal.initial_state(world))


PHYSICAL = [kind for kind in KINDS if issubclass(TYPES[kind], PhysicalPredicate)]


@pytest.mark.parametrize("kind", PHYSICAL)
def test_batched_children_equal_separate_ones(kind):
    world = tabletop(8)
    one = EXAMPLES[kind](world)
    rolled = {
        field.name: getattr(one, field.name).roll(3, 0)
        for field in dataclasses.fields(one)
        if isinstance(getattr(one, field.name), torch.Tensor)
    }
    parts = (one, dataclasses.replace(one, **rolled), one)
    both = Set(parts)
    assert len(both._batches._groups) == 1
    states = [part.initial_state(world) for part in parts]
    state = both.initial_state(world)
    done = TensorWorld.snapshot(world)
    one.realize(done)
    worlds = [disturbed(world, seed) for seed in range(3)]
    for seen in (*worlds, done, TensorWorld.snapshot(done), disturbed(done, 3)):
        look = both.evaluate(seen, state)
        for i, part in enumerate(parts):
            alone = part.evaluate(seen, states[i])
            assert same(look.children[i], alone, exactly=False)
            states[i] = alone.state
        state = look.state
