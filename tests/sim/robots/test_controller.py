"""What an action does to the arm: frames, scales, tracking; blocked and unreachable motions."""

import json

import numpy as np
import pytest
import torch
from sapien import Pose
from scipy.spatial.transform import Rotation

from clevrskills.sim.robots.controller import LEASH_M, LEASH_RAD, kinematics, rotation_vector_pose
from clevrskills.sim.robots.delta_action import ACTION_SPEC, ROTATION_RAD, TRANSLATION_M
from clevrskills.sim.robots.description import ROBOTS, robot
from clevrskills.tasks.base import Task
from tests.support.envs import act, base, make_env, stay

TILTED = ((0.6, 0.0, 0.0), (0.0, -0.5, 0.0), (0.3, 0.4, -0.6))
"""Rotations, in units of the action, that turn the end effector's frame away from the world's."""


@pytest.fixture(scope="module", params=ROBOTS)
def env(request):
    with pytest.MonkeyPatch.context() as patch:  # an arm's control does not depend on the tasks
        patch.setattr(Task, "robots", tuple(ROBOTS))
        made = make_env("pick", robot=request.param)
        yield made
        made.close()


@pytest.fixture
def arm(env):
    env.reset(seed=0)
    return base(env).agent.controller


def matrix(pose: Pose) -> np.ndarray:
    return pose.to_transformation_matrix()


def measured(env) -> Pose:
    values = base(env).world.end_effector_pose[0].double().numpy()
    return Pose(values[:3], values[3:])


def distance(a: Pose, b: Pose) -> float:
    return float(np.linalg.norm(a.p - b.p))


def angle(a: Pose, b: Pose) -> float:
    return float(np.linalg.norm(Rotation.from_matrix(matrix(a.inv() * b)[:3, :3]).as_rotvec()))


def turned(env, turn):
    """Turn the gripper by a few steps."""
    for _ in range(4):
        env.step(act(turn=turn))
    stay(env, 4)


# ---- what the numbers mean ----


def test_at_rest_the_frame_is_the_worlds_upside_down(arm):
    assert np.allclose(matrix(arm.target_pose)[:3, :3], np.diag([1.0, -1.0, -1.0]), atol=1e-3)


@pytest.mark.parametrize("turn", [(0.0, 0.0, 0.0), *TILTED])
@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("amount", [0.3, -0.2])
def test_translation_is_along_the_axes_of_the_end_effector(env, arm, turn, axis, amount):
    turned(env, turn)
    before = arm.target_pose
    direction = matrix(before)[:3, axis]
    move = np.zeros(3)
    move[axis] = amount
    env.step(act(*move))
    assert np.allclose(arm.target_pose.p - before.p, TRANSLATION_M * amount * direction, atol=1e-6)
    assert angle(before, arm.target_pose) < 1e-6
    start = before.p
    stay(env, 6)
    assert np.allclose(measured(env).p - start, TRANSLATION_M * amount * direction, atol=2.5e-3)


def test_plus_x_is_away_from_the_robot_plus_y_to_its_right_plus_z_down(env, arm):
    for move, expected in (
        ((1, 0, 0), (1, 0, 0)),
        ((0, 1, 0), (0, -1, 0)),
        ((0, 0, 1), (0, 0, -1)),
    ):
        before = arm.target_pose.p
        env.step(act(*(0.2 * np.array(move))))
        assert np.allclose(arm.target_pose.p - before, 0.02 * np.array(expected), atol=1e-4)


@pytest.mark.parametrize("start", [(0.0, 0.0, 0.0), (0.3, 0.4, -0.6)])
@pytest.mark.parametrize("turn", [(0.5, 0, 0), (0, -0.7, 0), (0, 0, 1.0), (0.3, -0.4, 0.5)])
def test_rotation_vector_is_in_the_frame_of_the_end_effector(env, arm, start, turn):
    turned(env, start)
    before = arm.target_pose
    env.step(act(turn=turn))
    expected = (
        matrix(before)[:3, :3] @ Rotation.from_rotvec(ROTATION_RAD * np.array(turn)).as_matrix()
    )
    assert np.allclose(matrix(arm.target_pose)[:3, :3], expected, atol=1e-6)
    assert distance(before, arm.target_pose) < 1e-6
    stay(env, 6)
    assert angle(measured(env), arm.target_pose) < 0.01


def test_a_turn_about_z_is_clockwise_seen_from_above(env, arm):
    env.step(act(turn=(0, 0, 1.0)))
    x_axis = matrix(arm.target_pose)[:3, 0]
    assert np.arctan2(x_axis[1], x_axis[0]) == pytest.approx(-ROTATION_RAD, abs=1e-4)


def test_both_at_once_are_in_the_frame_before_the_step(env, arm):
    before = arm.target_pose
    env.step(act(0.2, -0.1, 0.1, turn=(0.0, 0.0, 1.0)))
    step = before.inv() * arm.target_pose
    assert np.allclose(step.p, [0.02, -0.01, 0.01], atol=1e-6)


@pytest.mark.parametrize("turn", [(1, 1, 1), (1, -1, 0), (0.9, 0.0, -0.9)])
def test_the_norm_of_the_rotation_is_clipped(env, arm, turn):
    before = arm.target_pose
    env.step(act(turn=turn))
    assert angle(before, arm.target_pose) == pytest.approx(ROTATION_RAD, abs=1e-5)
    axis = Rotation.from_matrix(matrix(before.inv() * arm.target_pose)[:3, :3]).as_rotvec()
    assert np.allclose(
        axis / np.linalg.norm(axis), np.array(turn) / np.linalg.norm(turn), atol=1e-3
    )


def test_components_of_the_translation_are_clipped_one_by_one(env, arm):
    before = arm.target_pose
    arm.set_action(torch.tensor([[-3.0, 0.5, -1.0, 0, 0, 0, 0]]))
    step = before.inv() * arm.target_pose
    assert np.allclose(step.p, [-0.1, 0.05, -0.1], atol=1e-6)


@pytest.mark.parametrize(("value", "on"), [(1.0, True), (0.01, True), (0.0, False), (-1.0, False)])
def test_the_seventh_number_switches_the_vacuum(env, arm, value, on):
    action = act()
    action[6] = value
    env.step(action)
    assert arm.vacuum_on == on


def test_actions_match_their_spec():
    spec = json.loads(json.dumps(ACTION_SPEC))
    parts = {part["name"]: part for part in spec["parts"]}
    assert spec["shape"] == [7] and (spec["low"], spec["high"]) == (-1.0, 1.0)
    assert parts["translation"]["scale"] == TRANSLATION_M == 0.1
    assert parts["rotation"]["scale"] == ROTATION_RAD == 0.1
    stops = [(part["start"], part["stop"]) for part in spec["parts"]]
    assert stops == [(0, 3), (3, 6), (6, 7)]
    assert f"{LEASH_M} m" in spec["reference"] and f"{LEASH_RAD} rad" in spec["reference"]


# ---- how well it is done ----


def run_at(env, arm, direction, steps=8):
    """Errors of position while moving at 0.6 m/s, one for each step, then while stopping."""
    speed = 0.6 / 20 / TRANSLATION_M * np.array(direction)
    if direction[2] > 0:  # from higher up, so that there is room
        for _ in range(5):
            env.step(act(z=-0.3))
        stay(env, 5)
    errors = []
    for move in [speed] * steps + [np.zeros(3)] * 4:
        env.step(act(*move))
        errors.append(distance(measured(env), arm.target_pose))
    return errors[:steps], errors[steps:]


@pytest.mark.parametrize("direction", [(0, 1, 0), (0, -1, 0), (0, 0, -1)])
def test_tracking_at_60_cm_per_s(env, arm, direction):
    """Within 2 mm once it is under way, that is from the third step on."""
    moving, _ = run_at(env, arm, direction)
    assert max(moving[2:]) < 2e-3, np.round(1e3 * np.array(moving), 1)


@pytest.mark.parametrize("direction", [(0, 1, 0), (0, 0, -1), (-0.6, 0.0, 0.8)])
def test_starting_and_stopping_at_60_cm_per_s(env, arm, direction):
    """A jump of the speed costs at most 8 mm, and the arm comes to rest without swinging."""
    moving, stopping = run_at(env, arm, direction)
    assert max(moving + stopping) < 8e-3, np.round(1e3 * np.array(moving + stopping), 1)
    assert max(stopping[3:]) < 1.5e-3, np.round(1e3 * np.array(stopping), 1)


def test_the_speed_is_even_while_moving_at_60_cm_per_s(env, arm):
    """A released body flies on at the commanded speed, not at that of the end of a step."""
    for _ in range(3):
        env.step(act(y=0.3))
    for _ in range(4):
        env.step(act(y=0.3))
        velocity = base(env).proprioception()["ee_velocity"][:3]
        assert np.linalg.norm(velocity) == pytest.approx(0.6, rel=0.2)


def test_standing_still_does_not_drift(env, arm):
    before = arm.target_pose
    stay(env, 40)
    assert distance(before, arm.target_pose) < 1e-9
    assert distance(measured(env), before) < 1e-3


def test_there_and_back(env, arm):
    before = arm.target_pose
    moves = np.random.default_rng(0).uniform(-0.3, 0.3, (10, 3))
    for move in (*moves, *-moves):
        env.step(act(*move))
    stay(env, 4)
    assert distance(arm.target_pose, before) < 1e-4
    assert distance(measured(env), before) < 1e-3


def test_a_blocked_arm_does_not_wind_up(env, arm):
    for _ in range(20):
        env.step(act(z=0.4))
    pressed = measured(env)
    assert pressed.p[2] < 0.02  # on the table, or on the object that is there
    assert distance(arm.target_pose, pressed) < LEASH_M + TRANSLATION_M * 0.4 + 5e-3
    for _ in range(3):
        env.step(act(z=-0.4))
    assert measured(env).p[2] > pressed.p[2] + 0.02


def test_the_command_stays_near_the_arm_while_it_is_blocked(env, arm):
    for _ in range(20):
        before, here = arm.target_pose, measured(env)
        env.step(act(x=0.1, z=0.3, turn=(0.5, 0, 0)))
        if distance(before, arm.target_pose) > 0:  # else it cannot be reached
            assert distance(arm.target_pose, here) < LEASH_M + np.hypot(0.01, 0.03) + 1e-6
            assert angle(arm.target_pose, here) < LEASH_RAD + 0.05 + 1e-6


def test_unreachable_poses_do_not_change_the_command(env, arm):
    for _ in range(40):
        before, qpos = arm.target_pose, arm.target_qpos.copy()
        env.step(act(x=-0.3, z=-0.6))
        if distance(before, arm.target_pose) < 1e-9:
            break
    else:
        pytest.fail("the arm never reached its limit")
    assert np.array_equal(arm.target_qpos, qpos)
    for _ in range(5):
        env.step(act(x=-0.3, z=-0.6, on=True))
        assert np.array_equal(arm.target_qpos, qpos)
        assert arm.vacuum_on  # the gripper obeys all the same
    env.step(act(z=0.3))
    assert distance(before, arm.target_pose) > 0.02  # and the way back is open


def test_unreachable_poses_do_not_change_a_command_ahead_of_the_arm(env, arm):
    """The commanded joint angles are what the joints are driven to; planning starts from them."""
    for _ in range(40):
        before = arm.target_pose
        env.step(act(x=-0.3, z=-0.6))
        if distance(before, arm.target_pose) < 1e-9:
            break
    state = arm.get_state()
    outward = (arm.target_pose * Pose([-0.1, 0.0, -0.2])).p - arm.target_pose.p
    state["target_pose"] = state["target_pose"] + torch.as_tensor([*outward, 0, 0, 0, 0])
    arm.set_state(state)
    pose, qpos = arm.target_pose, arm.target_qpos.copy()
    arm.set_action(torch.as_tensor(act(x=-0.3, z=-0.6))[None])
    assert distance(arm.target_pose, pose) < 1e-9
    assert np.array_equal(arm.target_qpos, qpos)


def test_commands_respect_the_joint_limits(env, arm):
    limits = kinematics(base(env).robot_name)
    generator = np.random.default_rng(1)
    push = generator.uniform(-1, 1, 7)
    for step in range(120):
        if step % 15 == 0:
            push = generator.uniform(-1, 1, 7)
        env.step(push.astype(np.float32))
        assert limits.within_limits(arm.target_qpos)
        assert np.isfinite(arm.target_qpos).all()


def test_the_state_of_the_controller_can_be_restored(env, arm):
    env.step(act(0.2, 0.1, 0.0, (0.1, 0.2, 0.3), on=True))
    state = {key: value.clone() for key, value in arm.get_state().items()}
    pose, qpos = arm.target_pose, arm.target_qpos.copy()
    for _ in range(3):
        env.step(act(-0.2, 0.2, -0.2))
    arm.set_state(state)
    assert distance(arm.target_pose, pose) < 1e-6 and arm.vacuum_on
    assert np.array_equal(arm.target_qpos, qpos)


def test_an_episode_starts_with_the_arm_at_home_and_the_vacuum_off(env, arm):
    for _ in range(5):
        env.step(act(0.3, 0.3, -0.3, on=True))
    env.reset(seed=1)
    neutral = robot(base(env).robot_name).neutral_qpos
    assert np.allclose(arm.target_qpos, neutral, atol=1e-3) or np.allclose(
        base(env).agent.controller.target_qpos, neutral, atol=1e-3
    )
    assert not base(env).agent.controller.vacuum_on


# ---- kinematics ----


@pytest.mark.parametrize("name", ROBOTS)
def test_inverse_kinematics_undo_the_forward_ones(name):
    solver = kinematics(name)
    generator = np.random.default_rng(0)
    neutral = np.array(robot(name).neutral_qpos)
    solved = 0
    for _ in range(30):
        qpos = neutral + generator.uniform(-0.4, 0.4, len(neutral))
        pose = solver.forward(qpos)
        found = solver.inverse(pose, neutral)
        if found is not None:
            again = solver.forward(found)
            assert distance(again, pose) < 1e-3 and angle(again, pose) < 1e-2
            solved += 1
    assert solved >= 28
    assert solver.inverse(Pose([3.0, 0, 0]), neutral) is None
    assert solver.within_limits(neutral) and not solver.within_limits(neutral + 100)


def test_a_rotation_vector_of_nothing_turns_nothing():
    pose = rotation_vector_pose(np.array([0.1, 0.2, 0.3]), np.zeros(3))
    assert np.allclose(pose.p, [0.1, 0.2, 0.3]) and np.allclose(pose.q, [1, 0, 0, 0])


def test_the_kinematics_agree_with_the_simulation(env, arm):
    for _ in range(4):
        env.step(act(0.1, 0.2, 0.1, (0.2, -0.3, 0.4)))
        stay(env, 4)
        qpos = base(env).agent.robot.get_qpos()[0].double().numpy()
        root = base(env).agent.robot._objs[0].pose
        computed = root * kinematics(base(env).robot_name).forward(qpos)
        assert distance(computed, measured(env)) < 1e-4
        assert angle(computed, measured(env)) < 1e-3
