"""Turning objects: in the direction asked for, from wherever they were left."""

from math import radians

import numpy as np
import pytest
import torch

from clevrskills.core.geometry import quaternion_multiply, yaw_quaternion
from clevrskills.solvers.oracle import Oracle
from clevrskills.solvers.skills import rotate
from tests.support.envs import act, base, make_env, stay


def start(angle_deg, direction, key="rotate", seed=0):
    args = {"angles_deg": angle_deg, "directions": direction, "num_distractors": 0}
    env = make_env(key, task_args=args)
    env.reset(seed=seed)
    return env


def turned_deg(env):
    return float(torch.rad2deg(base(env).goal_state["turned_rad"][0]))


def solve(env, until=lambda: False):
    """Run a new oracle until success or a condition; returns the turns in degrees, one a step."""
    oracle, turns = Oracle(base(env)), [turned_deg(env)]
    for _ in range(base(env).task.max_steps):
        info = env.step(oracle.act())[-1]
        turns.append(turned_deg(env))
        if info["success"] or until():
            break
    return turns


def turn_by_hand(env, angle_deg):
    """Turn the object in steps of at most 60 degrees."""
    world, body = base(env).world, base(env).goal.object
    steps = int(np.ceil(abs(angle_deg) / 60))
    for _ in range(steps):
        at = world.pose(body).clone()
        turn = yaw_quaternion(torch.tensor([radians(angle_deg / steps)]))
        at[:, 3:] = quaternion_multiply(turn, at[:, 3:])
        world.set_body_pose(body, at)
        stay(env, 2)


@pytest.mark.parametrize(("direction", "sign"), [("clockwise", -1), ("anti-clockwise", 1)])
def test_it_turns_in_the_direction_and_nowhere_else(direction, sign):
    env = start(150, direction)
    turns = sign * np.array(solve(env))
    assert base(env).outcome.holds and turns[-1] == pytest.approx(150.0, abs=5.0)
    assert turns.min() > -2.0 and np.diff(turns).min() > -2.0 and turns.max() < 155.0
    assert np.diff(turns).max() < np.degrees(0.1) + 2.0
    env.close()


def test_dropped_half_way_it_continues_from_there():
    env = start(120, "clockwise")
    turns = solve(env, until=lambda: turned_deg(env) < -60.0)
    assert not base(env).outcome.holds and int(base(env).world.held[0]) >= 0
    stay(env, 15, on=False)
    assert int(base(env).world.held[0]) == -1 and -100.0 < turned_deg(env) < -40.0
    turns = solve(env)
    assert base(env).outcome.holds and turns[-1] == pytest.approx(-120.0, abs=5.0)
    env.close()


def test_an_oracle_continues_with_the_object_in_hand():
    env = start(120, "anti-clockwise")
    solve(env, until=lambda: turned_deg(env) > 60.0)
    for _ in range(5):
        env.step(act(turn=(0.0, 0.0, 1.0), on=True))  # the gripper points down: clockwise
    assert 20.0 < turned_deg(env) < 50.0
    solve(env)
    assert base(env).outcome.holds
    env.close()


def test_a_grasp_has_a_yaw_where_no_step_of_the_turn_is_reachable(monkeypatch):
    env = start(120, "clockwise")
    arm, goal = Oracle(base(env))._arm, base(env).goal
    monkeypatch.setattr(rotate, "_way", lambda *_: iter(()))
    xy = goal.position[0, :2].double().numpy()
    assert np.isfinite(rotate._yaw_with_room_rad(arm, int(goal.object[0]), xy, -2.0))
    env.close()


@pytest.mark.slow
@pytest.mark.parametrize("robot_name", ["xarm6", "panda"])
def test_turned_the_wrong_way_it_is_turned_all_the_way_back(robot_name):
    """More than the wrist can do in one go."""
    args = {"angles_deg": 150, "directions": "clockwise", "num_distractors": 0}
    env = make_env("rotate", task_args=args, robot=robot_name)
    env.reset(seed=0)
    turn_by_hand(env, 240.0)
    assert turned_deg(env) == pytest.approx(240.0, abs=3.0)
    solve(env)
    assert base(env).outcome.holds and turned_deg(env) == pytest.approx(-150.0, abs=5.0)
    env.close()


def test_a_turned_object_does_not_touch_its_neighbors():
    env = make_env("rotate_symmetry", task_args={"num_objects": 4})
    for seed in (0, 1):
        env.reset(seed=seed)
        used = [k for k, body in enumerate(base(env).layouts[0].bodies) if body]
        others = [k for k in used if k not in base(env).layouts[0].roles["objects"]]
        before = base(env).world.body_pose[0, others].clone()
        oracle = Oracle(base(env))
        for _ in range(base(env).task.max_steps):
            if env.step(oracle.act())[-1]["success"]:
                break
        assert base(env).outcome.holds
        moved = base(env).world.body_pose[0, others] - before
        assert float(moved[:, :3].norm(dim=-1).max()) < 1e-3
    env.close()
