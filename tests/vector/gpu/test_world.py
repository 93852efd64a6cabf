"""The world of scenes that are simulated together, beside the world of one."""

import pytest
import torch

from clevrskills.core import geometry
from clevrskills.sim.robots.description import robot
from clevrskills.vector.gpu.world import ResetState
from tests.support.envs import act, base, bench, body, random_actions
from tests.support.worlds import AREA, CUBE, SLAB
from tests.vector.gpu.scenes import bench_world, replay

BODIES = (body(CUBE, -0.2, 0.0), body(SLAB, -0.1, 0.2), body(AREA, -0.2, -0.25))
MOVED = (body(CUBE, -0.25, 0.1), *BODIES[1:])


@pytest.fixture(scope="module")
def env():
    made = bench(*BODIES)
    yield made
    made.close()


@pytest.fixture
def world():
    return bench_world([BODIES, MOVED])


def test_it_moves_and_tells_as_the_world_of_one(env, world):
    env.reset(seed=0)
    theirs = base(env).world
    for action in random_actions(25, seed=1):
        replay(world, env, [action])
        for ours, one, limit in (
            (world.end_effector_pose, theirs.end_effector_pose, 5e-4),
            (world.qpos, theirs.qpos, 2e-3),
            (world.qvel, theirs.qvel, 0.05),
            (world.end_effector_velocity, theirs.end_effector_velocity, 0.05),
            (world.body_pose, theirs.body_pose, 2e-3),
        ):
            torch.testing.assert_close(ours[:1], one, atol=limit, rtol=0)
        assert world.vacuum_on[0] == theirs.vacuum_on[0] == bool(action[6] > 0)
        for slot in range(3):
            ours, one = torch.tensor([slot, slot]), torch.tensor([slot])
            for ask in ("on_table", "is_static", "gripper_touches", "robot_touches"):
                assert getattr(world, ask)(ours)[0] == getattr(theirs, ask)(one)[0], ask
    assert not torch.equal(world.body_pose[0], world.body_pose[1])


def test_it_takes_and_lets_go_as_the_world_of_one(env, world):
    env.reset(seed=0)
    world.begin(world.body_pose, torch.tensor([-1, -1]))
    # straight down onto the cube of the first row; in the second there is nothing
    start = base(env).world.end_effector_pose[0]
    goal = torch.tensor([-0.2, 0.0, 0.05 + float(world.cup_tips[0, 2])])
    way = geometry.rotate(geometry.quaternion_conjugate(start[3:]), goal - start[:3])
    steps = [act(*(way / 12 / 0.1).tolist(), on=True)] * 12
    replay(world, env, [*steps, act(on=True), act(on=True)])
    assert base(env).world.held.tolist() == [0] and world.held.tolist() == [0, -1]
    assert world._vacuum.cups[0] == base(env).vacuum._cups
    replay(world, env, [act(0, 0, -0.2, on=True)] * 5)
    assert world.bottom(torch.tensor([0, 0]))[0] > 0.08
    replay(world, env, [act()] * 12)
    assert world.held.tolist() == [-1, -1] and world.on_table(torch.tensor([0, 0])).all()


def test_bodies_are_put_where_asked_alone(world):
    before = world.body_pose.clone()
    pose = torch.tensor([-0.1, 0.0, 0.2, 1.0, 0, 0, 0]).expand(2, 7)
    world.set_body_pose(torch.tensor([0, 1]), pose, torch.tensor([False, True]))
    torch.testing.assert_close(world.body_pose[1, 1], pose[1])
    assert not world.body_velocity[1, 1].any()
    same = torch.ones(2, 3, dtype=torch.bool)
    same[1, 1] = False
    torch.testing.assert_close(world.body_pose[same], before[same])
    world.set_body_pose(torch.tensor([0, 0]), pose)
    torch.testing.assert_close(world.body_pose[:, 0], pose)


def do(world, action):
    world.step(torch.from_numpy(action).expand(2, 7))


def hold(world, where=None):
    pose = world.end_effector_pose.clone()
    pose[:, 2] -= 0.025 + float(world.cup_tips[0, 2])
    pose[:, 3:] = torch.tensor([1.0, 0.0, 0.0, 0.0])
    world.hold(torch.tensor([0, 0]), pose, where)


def test_hold_and_put_away_by_environment(world):
    hold(world, torch.tensor([True, False]))
    assert world.held.tolist() == [0, -1]
    do(world, act(on=True))
    assert world.held.tolist() == [0, -1]
    assert world.select(torch.tensor([1, 0, 0])).held.tolist() == [-1, 0, 0]
    world.set_body_pose(torch.tensor([0, 0]), world.body_pose[:, 1] + torch.eye(7)[2] * 0.2)
    assert world.held.tolist() == [-1, -1]


def test_restored_is_what_was_and_the_others_go_on(world):
    hold(world)
    start = world.begin(world.body_pose, torch.tensor([0, -1]))
    assert start.held.tolist() == [0, -1]
    other = world.begin(world.body_pose + torch.eye(7)[1] * 0.02, torch.tensor([-1, -1]))
    both = ResetState.stack([start, other])
    chosen = both.choose(torch.tensor([1, 0]))
    torch.testing.assert_close(chosen.bodies[0], other.bodies[0])
    torch.testing.assert_close(chosen.bodies[1], start.bodies[1])
    world.restore(start, torch.tensor([True, True]))
    told = [world.body_pose.clone(), world.qpos.clone(), world.held.clone()]
    neutral = torch.tensor(robot("xarm6").neutral_qpos)
    torch.testing.assert_close(told[1], neutral.expand(2, 6), atol=2e-3, rtol=0)
    assert (
        world.is_static(torch.tensor([1, 1])).all() and world.on_table(torch.tensor([1, 1])).all()
    )
    for _ in range(4):
        do(world, act(0.2, 0.1, on=True))
    moved = world.qpos.clone()
    world.restore(start, torch.tensor([True, False]))
    for ours, was in zip((world.body_pose, world.qpos, world.held), told, strict=True):
        torch.testing.assert_close(ours[0], was[0])
    torch.testing.assert_close(world.qpos[1], moved[1])
    assert not world.gripper_touches(torch.tensor([0, 0]))[0]
    do(world, act(on=True))
    assert world.held.tolist() == [0, -1]
    torch.testing.assert_close(world.body_pose[0, 0], told[0][0, 0], atol=1e-3, rtol=0)
