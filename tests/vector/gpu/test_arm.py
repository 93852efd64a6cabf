"""Kinematics and control of many arms, beside those of one."""

import numpy as np
import pytest
import torch
from sapien import Pose

from clevrskills.core import geometry
from clevrskills.sim.robots.controller import (
    LEASH_M,
    LEASH_RAD,
    EndEffectorDeltaController,
    kinematics,
    rotation_vector_pose,
)
from clevrskills.sim.robots.description import ROBOTS, robot
from clevrskills.vector.gpu.arm import Arm, DeltaController
from tests.support.envs import base, bench, body
from tests.support.worlds import CUBE

EVERYWHERE = torch.ones(1, dtype=torch.bool)


def some_qpos(robot_name: str, count: int, spread_rad: float = 0.4) -> np.ndarray:
    neutral = np.array(robot(robot_name).neutral_qpos)
    noise = np.random.default_rng(0).normal(size=(count, len(neutral)))
    return neutral + spread_rad * noise


def seven(pose: Pose) -> torch.Tensor:
    return torch.tensor([*pose.p, *pose.q], dtype=torch.float32)


def single(qpos: np.ndarray) -> torch.Tensor:
    return torch.as_tensor(qpos, dtype=torch.float32)


@pytest.mark.parametrize("name", ROBOTS)
def test_forward_is_that_of_the_model(name):
    qpos = some_qpos(name, 50)
    ends, _ = Arm(name).forward(single(qpos))
    for angles, end in zip(qpos, ends, strict=True):
        expected = kinematics(name).forward(angles).to_transformation_matrix()
        np.testing.assert_allclose(end.numpy(), expected, atol=2e-6)


@pytest.mark.parametrize("name", ROBOTS)
def test_jacobian_tells_how_the_tool_moves(name):
    arm, step = Arm(name), 1e-3
    qpos = single(some_qpos(name, 4))
    end, jacobian = arm.forward(qpos)
    for joint in range(qpos.shape[1]):
        moved, _ = arm.forward(qpos + step * torch.eye(qpos.shape[1])[joint])
        turn = (moved[:, :3, :3] @ end[:, :3, :3].mT - torch.eye(3)) / step
        expected = torch.stack((turn[:, 2, 1], turn[:, 0, 2], turn[:, 1, 0]), dim=-1)
        way = (moved[:, :3, 3] - end[:, :3, 3]) / step
        torch.testing.assert_close(jacobian[:, :3, joint], way, atol=3e-3, rtol=0)
        torch.testing.assert_close(jacobian[:, 3:, joint], expected, atol=3e-3, rtol=0)


@pytest.mark.parametrize("name", ROBOTS)
def test_inverse_finds_what_the_model_finds(name):
    rng, near, poses, expected = np.random.default_rng(1), some_qpos(name, 100, 0.2), [], []
    for qpos in near:
        way = rotation_vector_pose(rng.uniform(-0.06, 0.06, 3), rng.uniform(-0.06, 0.06, 3))
        poses.append(kinematics(name).forward(qpos) * way)
        found = kinematics(name).inverse(poses[-1], qpos)
        expected.append(found is not None and kinematics(name).within_limits(found))
    arm, wanted = Arm(name), torch.stack([seven(pose) for pose in poses])
    qpos, found = arm.inverse(wanted, single(near))
    assert found.tolist() == expected and sum(expected) > 90
    end = arm.forward(qpos)[0][found]
    assert (end[:, :3, 3] - wanted[found, :3]).norm(dim=-1).max() < 1e-5
    turn = geometry.rotation_matrix(wanted[found, 3:])
    torch.testing.assert_close(end[:, :3, :3], turn, atol=1e-4, rtol=0)


def test_inverse_refuses_what_is_out_of_reach_and_beyond_the_limits():
    arm, model = Arm("xarm6"), kinematics("xarm6")
    near = some_qpos("xarm6", 1, 0.0)[0]
    near[2] = model.upper[2] - 0.05
    beyond = near + 0.1 * np.eye(6)[2]
    far = Pose([2.0, 0.0, 0.3], model.forward(near).q)
    poses = [model.forward(near), far, model.forward(beyond)]
    assert model.inverse(poses[2], near) is not None
    _, found = arm.inverse(torch.stack([seven(pose) for pose in poses]), single(near).expand(3, 6))
    assert found.tolist() == [True, False, False]


@pytest.fixture(scope="module", params=ROBOTS)
def env(request):
    made = bench(body(CUBE, -0.2, 0.0), robot_name=request.param)
    yield made
    made.close()


def beside(controller: EndEffectorDeltaController) -> DeltaController:
    """The controller for many that begins where the one for one is."""
    description = robot(controller.config.robot_name)
    where = torch.tensor([*description.base_position, 1.0, 0.0, 0.0, 0.0])
    ours = DeltaController(Arm(description.name), where, 1, controller.sim_steps, 20)
    ours.reset(EVERYWHERE, *measured(controller), torch.tensor([False]))
    return ours


def measured(controller: EndEffectorDeltaController) -> tuple[torch.Tensor, torch.Tensor]:
    return single(controller.qpos)[None], seven(controller._tcp.entity_pose)[None]


def test_many_are_controlled_as_one_is(env):
    env.reset(seed=0)
    controller = base(env).agent.controller
    ours, apart_m, turned_rad = beside(controller), [], []
    joints = [joint._objs[0] for joint in controller.joints]
    rng = np.random.default_rng(3)
    for step in range(40):
        action = rng.uniform(-1.3, 1.3, 7).astype(np.float32) * (0.3 + 0.7 * (step % 7 == 0))
        ours.set_action(torch.from_numpy(action)[None], *measured(controller))
        env.step(action)
        for _ in range(5):
            angles, _ = ours.next_drive()
        theirs = single(np.array([joint.get_drive_target()[0] for joint in joints]))[None]
        tools = ours._arm.forward(torch.cat((angles, theirs)))[0][:, :3, 3]
        apart_m += [
            float((tools[0] - tools[1]).norm()),
            float(np.linalg.norm(ours.target_pose[0, :3].numpy() - controller._target.p)),
        ]
        turned_rad.append(float((angles - theirs).abs().max()))
        assert bool(ours.vacuum_on[0]) == controller.vacuum_on
    assert max(apart_m) < 2e-4  # the one for one leaves up to a tenth of a millimetre
    assert max(turned_rad) < (1e-3 if len(joints) == 6 else 0.02)  # seven joints may choose
    assert np.linalg.norm(controller._target.p) > 0.1


def test_after_the_step_the_joints_stand_still():
    arm = Arm("xarm6")
    ours = DeltaController(arm, torch.tensor([0.0, 0, 0, 1, 0, 0, 0]), 1, 5, 20)
    qpos = single(some_qpos("xarm6", 1, 0.0))
    tcp = seven(kinematics("xarm6").forward(qpos[0].double().numpy()))[None]
    ours.reset(EVERYWHERE, qpos, tcp, torch.tensor([True]))
    ours.set_action(torch.tensor([[0.5, 0, 0, 0, 0, 0, 1.0]]), qpos, tcp)
    ways = [ours.next_drive() for _ in range(6)]
    assert all(bool(speed.any()) for _, speed in ways[:5])
    torch.testing.assert_close(ways[5][0], ours.target_qpos)
    assert not ways[5][1].any()
    torch.testing.assert_close(ours.target_pose[0, :3] - tcp[0, :3], torch.tensor([0.05, 0, 0]))


def test_leash_holds_what_ran_ahead_and_that_alone():
    arm = Arm("xarm6")
    qpos = single(some_qpos("xarm6", 1, 0.0)).expand(2, 6)
    tcp = seven(kinematics("xarm6").forward(qpos[0].double().numpy())).expand(2, 7)
    where = torch.ones(2, dtype=torch.bool)
    ours = DeltaController(arm, torch.tensor([0.0, 0, 0, 1, 0, 0, 0]), 2, 5, 20)
    ours.reset(where, qpos, tcp, ~where)
    behind = tcp.clone()
    behind[1, 2] -= 0.2
    ours.set_action(torch.zeros(2, 7), qpos, behind)
    torch.testing.assert_close(ours.target_pose[0], tcp[0])
    left = (ours.target_pose[1, :3] - behind[1, :3]).norm()
    assert float(left) == pytest.approx(LEASH_M, abs=1e-4)
    turned = behind.clone()
    turned[:, 3:] = geometry.quaternion_multiply(
        geometry.yaw_quaternion(torch.tensor([0.5, 0.5])), tcp[:, 3:]
    )
    ours.reset(where, qpos, tcp, ~where)
    ours.set_action(torch.zeros(2, 7), qpos, turned)
    angle = geometry.rotation_angle(ours.target_pose[0, 3:], turned[0, 3:])
    assert float(angle) == pytest.approx(LEASH_RAD, abs=1e-3)


def test_reset_of_one_leaves_the_other():
    arm = Arm("xarm6")
    ours = DeltaController(arm, torch.tensor([0.0, 0, 0, 1, 0, 0, 0]), 2, 5, 20)
    qpos = single(some_qpos("xarm6", 2, 0.1))
    tcp = torch.stack([seven(kinematics("xarm6").forward(q.double().numpy())) for q in qpos])
    ours.reset(torch.tensor([True, True]), qpos, tcp, torch.tensor([False, False]))
    ours.reset(torch.tensor([True, False]), qpos.flip(0), tcp.flip(0), torch.tensor([True, True]))
    torch.testing.assert_close(ours.target_qpos, qpos[1].expand(2, 6))
    assert ours.vacuum_on.tolist() == [True, False]
