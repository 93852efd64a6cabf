"""Run-ups and flights: where released objects land, and the commands of the arm."""

import numpy as np
import pytest
from sapien import Pose

from clevrskills.core.geometry import rotation_vector_np
from clevrskills.sim.robots.controller import kinematics
from clevrskills.sim.robots.delta_action import ROTATION_RAD, TRANSLATION_M
from clevrskills.sim.robots.description import ROBOTS
from clevrskills.solvers.ballistics import Swing, Thrower, fall_time_s, tilted_ahead

AIM = np.array([0.1, 0.85, 0.03])
START = Pose([0.25, 0.35, 0.40], [0.0, 1.0, 0.0, 0.0])


@pytest.mark.parametrize("upward", [-0.5, 0.0, 0.6])
def test_fall_time_is_that_of_the_simulation(upward):
    height = fallen = 0.4
    speed, steps = upward, 0
    while fallen > 0.0:
        speed -= 9.81 * 0.01
        fallen += speed * 0.01
        steps += 1
    assert (steps - 1) * 0.01 < fall_time_s(height, upward) <= steps * 0.01


def test_a_fall_from_below_takes_no_time():
    assert fall_time_s(-0.1, 0.3) == 0.0


def test_a_swing_starts_and_ends_at_rest():
    swing = Swing(np.array([0.6, 0.8, 0.2]), speed_up=4, even=3)
    poses = [START, *swing.poses(START)]
    ways = np.linalg.norm(np.diff([pose.p for pose in poses], axis=0), axis=1)
    full = np.linalg.norm(swing.velocity) * 0.05
    assert ways[0] < 0.2 * full and ways[-1] < 0.4 * full
    assert np.allclose(ways[swing.speed_up : swing.steps + 1], full)
    assert np.allclose(poses[swing.steps].p - START.p, swing.velocity * swing.run_s)


def test_tilted_ahead_points_ahead():
    ahead = np.array([0.6, 0.8])
    turned = Pose(q=tilted_ahead(START.q, ahead, 0.3)).to_transformation_matrix()[:3, 2]
    assert turned[:2] @ ahead == pytest.approx(np.sin(0.3), abs=1e-6)
    assert turned[2] == pytest.approx(-np.cos(0.3), abs=1e-6)


@pytest.mark.parametrize("robot_name", ROBOTS)
def test_a_run_up_is_one_that_the_arm_can_do_and_comes_down_at_the_aim(robot_name):
    thrower = Thrower.of(robot_name, Pose([0, 0, 0.03]), 0.2)
    qpos = kinematics(robot_name).reach(START)
    found = [(s, thrower.run_up(START, qpos, AIM, s)) for s in thrower.swings(START, AIM)]
    found = [(swing, run_up) for swing, run_up in found if run_up]
    assert found
    for swing, run_up in found:
        assert len(run_up.poses) == swing.steps
        path, before = [qpos], START
        for pose in (*run_up.poses, *run_up.brake):
            change = before.inv() * pose
            assert np.abs(change.p).max() <= TRANSLATION_M
            assert np.linalg.norm(rotation_vector_np(change.q)) <= ROTATION_RAD
            path.append(kinematics(robot_name).inverse(pose, path[-1]))
            before = pose
        speeds = np.abs(np.diff(path, axis=0)) / 0.05
        assert (speeds <= thrower.joint_speeds + 1e-6).all()
        origin, velocity = thrower._let_go(np.array(path[: swing.steps + 1]))
        flight = velocity[:2] * fall_time_s(origin[2] - AIM[2], velocity[2])
        assert np.linalg.norm(origin[:2] + flight - AIM[:2]) < 2e-3
        assert np.linalg.norm(flight) > 0.15


def test_targets_too_far_have_no_run_up():
    thrower = Thrower.of("xarm6", Pose([0, 0, 0.03]), 0.2)
    qpos = kinematics("xarm6").reach(START)
    far = np.array([0.3, 2.5, 0.03])
    assert not any(thrower.run_up(START, qpos, far, s) for s in thrower.swings(START, far))
