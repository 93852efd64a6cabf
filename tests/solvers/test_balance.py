"""The skill that balances a scale, from states that others left."""

import pytest
import torch

from clevrskills.solvers.oracle import Oracle
from tests.support.envs import base, make_env, put, stay

BLOCKS, PLATES = (4, 5, 6), (2, 3)

pytest.importorskip("fcl")


@pytest.fixture(scope="module")
def env():
    made = make_env("balance", task_args={"num_objects": 3})
    yield made
    made.close()


def load(env, block, plate):
    world = base(env).world
    x, y, _ = world.position(torch.tensor([plate]))[0].tolist()
    loads = base(env).goal.loads(world)
    top = base(env).goal.highest(world, loads, plate - 2)[1]
    put(env, block, x, y, float(top))
    stay(env, 45)


def solve(env):
    """Steps until the goal holds."""
    oracle = Oracle(base(env))
    for step in range(base(env).task.max_steps):
        if env.step(oracle.act())[2]:
            return step
    raise AssertionError("not solved")


@pytest.mark.slow
@pytest.mark.parametrize("plate", PLATES)
def test_all_on_one_plate(env, plate):
    env.reset(seed=0)
    for block in BLOCKS:
        load(env, block, plate)
    assert float(base(env).outcome.reward) < 18.0
    assert solve(env) < 500


@pytest.mark.slow
def test_two_on_the_wrong_sides(env):
    """The heavy one and a light one together, the other light one alone."""
    env.reset(seed=0)
    mass = base(env).world.solids.mass[0, list(BLOCKS)]
    order = [BLOCKS[k] for k in mass.argsort().tolist()]
    load(env, order[2], 2)
    load(env, order[0], 2)
    load(env, order[1], 3)
    assert base(env).goal.loads(base(env).world).wrong.any()
    assert solve(env) < 300


@pytest.mark.slow
def test_a_block_that_lies_on_its_side(env):
    env.reset(seed=0)
    world = base(env).world
    body = torch.tensor([BLOCKS[0]])
    pose = world.pose(body).clone()
    pose[0, 2:] = torch.tensor([0.051, 0.7071068, 0.7071068, 0.0, 0.0])
    world.set_body_pose(body, pose)
    stay(env, 30)
    assert solve(env) < 600


@pytest.mark.slow
def test_already_balanced_but_swinging(env):
    env.reset(seed=0)
    base(env).goal.realize(base(env).world)
    held = torch.tensor([BLOCKS[0]])
    home = base(env).world.pose(held).clone()
    base(env).world.set_body_pose(held, home + torch.tensor([[0, 0, 0.3, 0, 0, 0, 0]]))
    stay(env, 2)
    base(env).world.set_body_pose(held, home)
    assert solve(env) < 100
