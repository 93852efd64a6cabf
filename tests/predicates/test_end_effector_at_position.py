"""The tool center point at a position: the tolerance, the reward, any orientation."""

import pytest
import torch

from clevrskills.predicates import CRITERIA, EndEffectorAtPosition
from clevrskills.sim.tensor_world import TensorWorld
from tests.support.worlds import move_gripper, tabletop

AIM = torch.tensor([-0.2, 0.1, 0.25])
ASIDE = torch.tensor([0.48, -0.64, 0.6])  # a unit vector


def goal(batch=1):
    return EndEffectorAtPosition(AIM.expand(batch, 3))


def look(world):
    return goal(world.num_envs).evaluate(world, {})


@pytest.mark.parametrize("batch", [1, 1000])
@pytest.mark.parametrize(("error_m", "there"), [(0.0, True), (0.049, True), (0.051, False)])
def test_it_holds_up_to_the_tolerance(batch, error_m, there):
    world = tabletop(batch)
    move_gripper(world, AIM + error_m * ASIDE)
    assert look(world).holds.tolist() == [there] * batch


@pytest.mark.parametrize("criteria", CRITERIA)
def test_both_tables_ask_for_the_same(criteria):
    assert CRITERIA[criteria].end_effector_m == 0.05


def test_height_counts():
    world = tabletop()
    move_gripper(world, AIM + torch.tensor([0.0, 0.0, 0.06]))
    assert not look(world).holds.any()


def test_the_reward_is_the_published_one():
    world = tabletop()
    for distance in (0.06, 0.3, 1.5):
        move_gripper(world, AIM + distance * ASIDE)
        assert float(look(world).reward) == pytest.approx(2.0 - distance, abs=1e-5)
    move_gripper(world, AIM + 0.01 * ASIDE)
    assert float(look(world).reward) == 2.0
    move_gripper(world, AIM + 5.0 * ASIDE)
    assert float(look(world).reward) == 0.0 and 0.0 < float(look(world).progress) < 0.05


def test_nearer_is_better():
    world = tabletop()
    progress = []
    for distance in (0.5, 0.3, 0.1, 0.06, 0.0):
        move_gripper(world, AIM + distance * ASIDE)
        progress.append(float(look(world).progress))
    assert progress == sorted(progress) and len(set(progress)) == len(progress)
    assert progress[-1] == 1.0


def test_any_orientation_will_do():
    world = tabletop()
    turns = torch.nn.functional.normalize(
        torch.randn(20, 4, generator=torch.Generator().manual_seed(0)), dim=-1
    )
    for turn in turns:
        world.set_end_effector_pose(torch.cat((AIM, turn))[None])
        assert look(world).holds.all()


def test_realizing_it_keeps_the_orientation():
    world = tabletop()
    before = world.end_effector_pose[:, 3:].clone()
    goal().realize(world)
    assert torch.equal(world.end_effector_pose[:, 3:], before)
    assert torch.equal(world.end_effector_pose[0, :3], AIM)


def test_out_of_reach_it_cannot_be_realized():
    made = tabletop()
    world = TensorWorld(made.keys, made.solids, made.body_pose, reaches=lambda pose: False)
    with pytest.raises(ValueError, match="does not reach"):
        goal().realize(world)


def test_description_has_the_position():
    assert goal().describe(tabletop()) == "Move the end effector to (-0.20, 0.10, 0.25)"
