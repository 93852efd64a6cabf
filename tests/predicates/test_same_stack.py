"""SameStack: one tower on the table, one object on the next."""

import pytest
import torch

from clevrskills.predicates import SameStack
from tests.support.worlds import (
    CUBE,
    BodySpec,
    index,
    make_world,
    move_gripper,
    pose,
    row_of,
    row_of_world,
)

WIDE = BodySpec("wide", "cube", (0.12, 0.12, 0.03))
HEIGHT_M = 0.05
BODIES = [WIDE, *[BodySpec(f"cube_{k}", "cube", CUBE.size) for k in range(4)]]
OBJECTS = [0, 1, 2, 3]
FLOOR = {0: (0, 0, 0), 1: (0.2, 0, 0), 2: (0.2, 0.2, 0), 3: (0, 0.2, 0), 4: (-0.2, 0.2, 0)}


def world_with(**at):
    """Bodies at (x, y, height of their lower side); the others side by side on the table."""
    places = FLOOR | {int(k[1:]): v for k, v in at.items()}
    poses = [pose(t, x, y, 0.0, z) for t, (x, y, z) in zip(BODIES, places.values(), strict=True)]
    return make_world(BODIES, poses)


def look(world, objects=OBJECTS):
    return SameStack(torch.tensor([objects])).evaluate(world, {})


TOWER = {"b1": (0, 0, 0.03), "b2": (0, 0, 0.08), "b3": (0, 0, 0.13)}


def test_a_tower_in_any_order():
    assert look(world_with(**TOWER)).holds
    assert look(world_with(b1=(0, 0, 0.13), b2=(0, 0, 0.03), b3=(0, 0, 0.08))).holds
    outcome = look(world_with(**TOWER))
    assert float(outcome.reward) == 18.0 and float(outcome.progress) == 1.0


def test_an_object_on_top_that_is_not_meant_does_no_harm():
    assert look(world_with(**TOWER, b4=(0, 0, 0.18))).holds


def test_a_missing_object():
    assert not look(world_with(b1=(0, 0, 0.03), b2=(0, 0, 0.08))).holds
    assert look(world_with(b1=(0, 0, 0.03), b2=(0, 0, 0.08)), [0, 1, 2, -1]).holds


def test_two_beside_each_other_on_a_third_are_no_tower():
    """As many pairs on top of each other as in a tower, which the released code accepts."""
    beside = {"b1": (-0.03, 0, 0.03), "b2": (0.03, 0, 0.03)}
    assert not look(world_with(**beside), [0, 1, 2, -1]).holds
    assert not look(world_with(**beside, b3=(-0.03, 0, 0.08))).holds


def test_a_bridge_is_no_tower():
    """One object on two others."""
    world = world_with(b1=(-0.03, 0, 0), b2=(0.03, 0, 0), b0=(0, 0, 0.05))
    assert not look(world, [0, 1, 2, -1]).holds


def test_two_towers_are_not_one():
    assert not look(world_with(b1=(0, 0, 0.03), b3=(0.2, 0.2, 0.05))).holds


def test_a_stranger_in_between():
    world = world_with(b1=(0, 0, 0.03), b4=(0, 0, 0.08), b2=(0, 0, 0.13))
    assert not look(world, [0, 1, 2, -1]).holds
    assert look(world, [0, 1, 4, 2]).holds


def test_a_stranger_below():
    """Else towers of two textures could be one."""
    world = world_with(b4=(0, 0.2, 0), b3=(0, 0.2, 0.05), b2=(0, 0.2, 0.1))
    assert not look(world, [2, 3, -1, -1]).holds
    assert look(world, [4, 3, 2, -1]).holds


def test_leaning_on_the_table_beside_it():
    world = world_with(b1=(0, 0, 0.03), b2=(0.09, 0, 0))
    assert not look(world, [0, 1, 2, -1]).holds


def test_held_above_moving_or_touched():
    world = world_with(**TOWER)
    top = index(world, 3)
    world.set_body_velocity(top, torch.tensor([[0.004, 0, 0, 0, 0, 0]]))
    assert not look(world).holds
    world.set_body_velocity(top, torch.zeros(1, 6))
    move_gripper(world, (0.0, 0.0, 0.1805))
    assert not look(world).holds
    move_gripper(world, (-0.2, 0.0, 0.4))
    assert look(world).holds
    world.hold(top, world.pose(top))
    outcome = look(world)
    assert not outcome.holds and float(outcome.reward) < 18.0
    above = pose(CUBE, 0.0, 0.0, 0.0, 0.14)[None]
    world.set_body_pose(top, above)
    assert not look(world).holds


def test_reward_rises_with_the_tower_and_is_full_only_for_all_of_it():
    parts = list(TOWER.items())
    rewards = [float(look(world_with(**dict(parts[:k]))).reward) for k in range(4)]
    assert rewards == sorted(rewards) and rewards[3] == 18.0
    assert all(6.0 * k <= reward < 6.0 * (k + 1) for k, reward in enumerate(rewards[:3]))
    unrest = world_with(**TOWER)
    unrest.set_body_velocity(index(unrest, 1), torch.full((1, 6), 0.1))
    assert float(look(unrest).reward) < 18.0 and float(look(unrest).progress) < 1.0


def test_carrying_the_next_one_to_the_top_is_rewarded():
    rewards = []
    for x, z in ((0.3, 0.0), (0.3, 0.2), (0.1, 0.2), (0.0, 0.2), (0.0, 0.14)):
        world = world_with(b1=(0, 0, 0.03), b2=(0, 0, 0.08))
        body = index(world, 3)
        world.hold(body, pose(CUBE, x, 0.0, 0.0, z)[None])
        rewards.append(float(look(world).reward))
    assert rewards == sorted(rewards) and 14.0 < rewards[0] < rewards[-1] < 18.0


@pytest.mark.parametrize("count", [2, 3, 4])
def test_groups_of_different_sizes_at_once(count):
    """Environments with fewer objects do not feel the others' empty places."""
    world = world_with(**TOWER)
    many = type(world)(
        world.keys,
        type(world.solids).stack([world.solids] * 3),
        world.body_pose.expand(3, -1, -1),
    )
    objects = torch.tensor([[0, 1, -1, -1], [0, 1, 2, -1], [0, 1, 2, 3]])
    goal = SameStack(objects)
    together = goal.evaluate(many, {})
    assert together.holds.tolist() == [True, True, True]
    assert torch.equal(together.reward, torch.tensor([6.0, 12.0, 18.0]))
    env = count - 2
    alone = row_of(goal, env).evaluate(row_of_world(many, env), {})
    assert float(alone.reward) == float(together.reward[env])
