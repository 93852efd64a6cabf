"""Holding by forces, beside holding by a drive."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from clevrskills.core import geometry
from clevrskills.sim.robots.vacuum import FORCE_PER_CUP_N, SLIP_M, SLIP_RAD, TORQUE_PER_CUP_NM
from clevrskills.sim.world import GRAVITY, World
from clevrskills.vector.gpu.vacuum import Inertia, Vacuum, joint_torques, way
from tests.support.envs import act, base, bench, body
from tests.support.worlds import CUBE
from tests.vector.gpu.scenes import bench_world, replay

STEP_S = 0.01
ZERO = torch.zeros(1, dtype=torch.long)
NONE = torch.tensor([0.0, 0, 0, 1, 0, 0, 0])
MOVES = [act(*move, on=True) for move in ((0.15, 0, -0.1), (-0.1, 0.15, -0.1), (0, -0.15, 0.1))] + [
    act(0, 0, -0.1, turn=(0, 0, 1), on=True)
]


def cube(mass_kg: float):
    made = body(CUBE, -0.2, 0.0)
    return replace(made, density=made.geometry.density * mass_kg / made.geometry.mass_kg)


def lift(world: World, above_m: float = 0.0) -> None:
    """Let the gripper hold the cube under its cups, or farther away."""
    pose = world.end_effector_pose.clone()
    pose[:, 2] -= 0.025 + float(world.cup_tips[0, 2]) + above_m
    pose[:, 3:] = torch.tensor([1.0, 0.0, 0.0, 0.0])
    world.hold(torch.zeros(world.num_envs, dtype=torch.long), pose)


def grips(world: World) -> torch.Tensor:
    """Pose of the cube in the frame of the gripper, (B, 7)."""
    return geometry.compose(geometry.invert(world.end_effector_pose), world.body_pose[:, 0])


@pytest.mark.parametrize(("mass_kg", "apart_mm"), [(0.05, 2.5), (0.3, 2.5), (0.6, 4.0)])
def test_it_holds_as_the_drive_does(mass_kg, apart_mm):
    env, world = bench(cube(mass_kg)), bench_world([(cube(mass_kg),)])
    theirs = base(env).world
    lift(theirs)
    lift(world)
    most = turned = 0.0
    for action in [move for move in MOVES for _ in range(5)]:
        replay(world, env, [action])
        off = way(grips(world), grips(theirs))[0]
        most, turned = max(most, float(off[:3].norm())), max(turned, float(off[3:].norm()))
    assert theirs.held.tolist() == world.held.tolist() == [0]
    assert 1e3 * most < apart_mm and np.rad2deg(turned) < 1.0
    replay(world, env, [act(on=True)] * 8)
    off = way(grips(world), grips(theirs))[0]
    assert float(off[:3].norm()) < 3e-4 and float(off[3:].norm()) < 5e-3
    # the arm gives way as much
    lower = (world.end_effector_pose - theirs.end_effector_pose)[0, :3]
    assert float(lower.norm()) < 3e-4
    env.close()


@pytest.mark.parametrize(("share", "held"), [(0.9, 0), (1.1, -1)])
def test_it_drops_what_the_drive_drops(share, held):
    mass_kg = share * FORCE_PER_CUP_N / GRAVITY  # one cup seals on so small a top
    env, world = bench(cube(mass_kg)), bench_world([(cube(mass_kg),), (cube(0.1),)])
    for one in (base(env).world, world):
        lift(one)
    assert base(env).vacuum._cups == 1 and world._vacuum.cups.tolist() == [1, 1]
    replay(world, env, [act(on=True)] * 30)
    assert base(env).world.held.tolist() == [held]
    assert world.held.tolist() == [held, 0]  # each environment by itself
    env.close()


def test_what_is_let_go_keeps_its_speed():
    env, world = bench(cube(0.1)), bench_world([(cube(0.1),)])
    theirs = base(env).world
    lift(theirs)
    lift(world)
    replay(world, env, [act(0.1, 0.35, on=True)] * 4)
    speed = world.body_velocity[0, 0, :2].clone()
    assert float(speed.norm()) > 0.5
    torch.testing.assert_close(speed, theirs.body_velocity[0, 0, :2], atol=0.03, rtol=0)
    replay(world, env, [act(0.1, 0.35, -0.3, on=False)])
    assert world.held.tolist() == [-1]
    torch.testing.assert_close(world.body_velocity[0, 0, :2], speed, atol=0.02, rtol=0)
    assert float(world.body_velocity[0, 0, 2]) == pytest.approx(-GRAVITY * 0.05, rel=0.2)
    env.close()


@pytest.mark.parametrize(
    ("moved_m", "turned_rad", "held"),
    [
        (0.9 * SLIP_M, 0.0, 0),
        (1.1 * SLIP_M, 0.0, -1),
        (0, 0.9 * SLIP_RAD, 0),
        (0, 1.1 * SLIP_RAD, -1),
    ],
)
def test_it_lets_go_of_what_slipped(moved_m, turned_rad, held):
    vacuum = Vacuum(ZERO.clone(), ZERO + 1, NONE[None])
    pose = NONE.clone()
    pose[1], pose[3], pose[4] = moved_m, np.cos(turned_rad / 2), np.sin(turned_rad / 2)
    vacuum.release_slipped(NONE[None], pose[None])
    assert vacuum.held.tolist() == [held]


def pull(offset_m=(0.0, 0.0, 0.0), held=0, cups=1, mass=0.5) -> torch.Tensor:
    """What acts on a resting body that is off its place, (6,)."""
    vacuum = Vacuum(torch.tensor([held]), torch.tensor([cups]), NONE[None])
    state = torch.cat((NONE, torch.zeros(6)))[None].clone()
    state[0, :3] = torch.tensor(offset_m)
    inertia = Inertia(torch.tensor([mass]), torch.full((1, 3), 1e-4), NONE[None])
    return vacuum.pull(NONE[None], torch.zeros(1, 6), state, inertia, STEP_S)[0]


def test_pull_goes_back_and_carries_the_weight():
    assert not pull((0.01, 0, 0), held=-1).any()
    for axis in range(3):
        force = pull(tuple(0.005 * np.eye(3)[axis]))
        assert force[axis] < 0 and not force[3:].any()
    sag_m = 0.5 * GRAVITY / 2e4
    torch.testing.assert_close(
        pull((0, 0, -sag_m))[2], torch.tensor(0.5 * GRAVITY), rtol=1e-4, atol=0
    )


@pytest.mark.parametrize("cups", [1, 3])
def test_pull_is_limited_along_each_axis(cups):
    force = pull((0.1, -0.1, 0.0), cups=cups, mass=50.0)
    assert force[:2].tolist() == pytest.approx([-FORCE_PER_CUP_N * cups, FORCE_PER_CUP_N * cups])
    vacuum = Vacuum(ZERO, ZERO + cups, NONE[None])
    turned = torch.cat((torch.tensor([0.0, 0, 0, np.cos(0.5), 0, 0, np.sin(0.5)]), torch.zeros(6)))
    inertia = Inertia(torch.ones(1), torch.full((1, 3), 10.0), NONE[None])
    found = vacuum.pull(NONE[None], torch.zeros(1, 6), turned[None].float(), inertia, STEP_S)[0]
    assert float(found[5]) == pytest.approx(-TORQUE_PER_CUP_NM * cups)


def test_a_light_body_is_brought_to_its_place_and_stays_there():
    """The spring is far too stiff for so light a body, had it the force of the start of a step."""
    mass, off, speed = 0.01, 5e-3, 0.0
    for _ in range(50):
        vacuum = Vacuum(ZERO, ZERO + 5, NONE[None])
        state = torch.tensor([[off, 0, 0, 1, 0, 0, 0, speed, 0, 0, 0, 0, 0]])
        inertia = Inertia(torch.tensor([mass]), torch.full((1, 3), 1e-6), NONE[None])
        force = float(vacuum.pull(NONE[None], torch.zeros(1, 6), state, inertia, STEP_S)[0, 0])
        speed += force / mass * STEP_S
        off += speed * STEP_S
        assert abs(off) <= 5e-3
    assert abs(off) < 1e-6


def test_joints_hold_against_the_pull():
    """A force at an arm's length about a joint's axis."""
    jacobian = torch.zeros(1, 6, 2)
    jacobian[0, :, 0] = torch.tensor([0.0, 0.5, 0.0, 0.0, 0.0, 1.0])  # about z, half a metre away
    jacobian[0, 2, 1] = 1.0  # slides along z
    up = torch.tensor([[0.0, 2.0, 3.0, 0.0, 0.0, 0.0]])
    found = joint_torques(up, torch.tensor([[0.1, 0.0, 0.0]]), jacobian)[0]
    assert found.tolist() == pytest.approx([-2.0 * 0.6, -3.0])
