"""Touching, pushing and toppling in simulation: what counts and what does not."""

import re

import numpy as np
import pytest
import torch

from clevrskills.solvers.motion import SkillFailed
from clevrskills.solvers.oracle import Oracle
from clevrskills.tasks import task
from tests.support.envs import act, base, go_to, make_env, random_actions, stay

KEYS = ("touch", "touch_push", "touch_topple", "push", "swap_push", "stack_topple")
BODY = torch.tensor([0])
ONE = {"task_args": {"num_objects": 1}}


@pytest.fixture(scope="module")
def envs():
    made = {}

    def get(key, **kwargs):
        if key not in made:
            made[key] = make_env(key, **kwargs)
        return made[key]

    yield get
    for env in made.values():
        env.close()


def at(env):
    """Where the first body is: x, y, and the height of its top."""
    x, y, _ = base(env).world.position(BODY)[0].tolist()
    return x, y, float(base(env).world.top(BODY))


def tip(env):
    return base(env).agent.description.cup_tip_z


def succeeded(env):
    return bool(base(env).outcome.holds[0])


def lower(env, gap_m, on=False):
    """Bring the cups to some height above the first body, slowly at the end."""
    x, y, top = at(env)
    go_to(env, (x, y, top + 0.05), on=on)
    go_to(env, (x, y, top + 0.01), on=on)
    go_to(env, (x, y, top + tip(env) + gap_m), on=on, speed_m=0.002)


def lift(env, on=False):
    x, y, z = base(env).world.end_effector_pose[0, :3].tolist()
    go_to(env, (x, y, z + 0.1), on=on)


def carry(env, x_m):
    """Take the first body, carry it, put it down and leave it."""
    lower(env, -0.001, on=True)
    stay(env, 3, on=True)
    assert int(base(env).world.held[0]) == 0
    x, y, z = base(env).world.end_effector_pose[0, :3].tolist()
    for place in ((x, y, z + 0.05), (x + x_m, y, z + 0.05), (x + x_m, y, z + 0.002)):
        go_to(env, place, on=True)
    stay(env, 5, on=False)
    lift(env)
    stay(env, 20)


def shove(env, distance_m, height_m=0.012, direction=1.0):
    """Push the first body along x from behind, then rise."""
    x, y, top = at(env)
    behind = x - direction * (0.05 + 0.046 + 0.03)
    z = max(height_m, tip(env))
    go_to(env, (behind, y, top + 0.08))
    go_to(env, (behind, y, z))
    start = float(base(env).world.position(BODY)[0, 0])
    for k in range(1, 60):
        go_to(env, (behind + direction * 0.005 * k, y, z), steps=1, speed_m=0.005)
        if abs(float(base(env).world.position(BODY)[0, 0]) - start) > distance_m:
            break
    lift(env)
    stay(env, 20)


def test_a_gentle_touch_succeeds_and_hovering_does_not(envs):
    env = envs("touch", **ONE)
    env.reset(seed=1)
    lower(env, 0.005)
    stay(env, 5)
    assert not succeeded(env)
    lower(env, -0.001)
    lift(env)
    assert succeeded(env)


def test_touching_with_the_vacuum_on_is_grasping(envs):
    env = envs("touch", **ONE)
    env.reset(seed=1)
    lower(env, -0.001, on=True)
    stay(env, 3, on=True)
    stay(env, 3, on=False)
    lift(env)
    stay(env, 10)
    assert not succeeded(env) and float(base(env).outcome.reward) == 0.0
    lower(env, -0.001)
    lift(env)
    assert not succeeded(env)


@pytest.mark.parametrize(("distance_m", "gentle"), [(0.01, True), (0.04, False)])
def test_a_touch_moves_it_by_less_than_3_cm(envs, distance_m, gentle):
    env = envs("touch", **ONE)
    env.reset(seed=1)
    shove(env, distance_m)
    assert succeeded(env) == gentle


@pytest.mark.parametrize(("distance_m", "far"), [(0.08, False), (0.11, True)])
def test_a_push_of_10_cm_succeeds(envs, distance_m, far):
    env = envs("touch_push", **ONE)
    env.reset(seed=1)
    shove(env, distance_m)
    assert succeeded(env) == far


@pytest.mark.parametrize("key", ["touch_push", "push"])
def test_carrying_is_no_push(envs, key):
    env = envs(key, **(ONE if key == "touch_push" else {}))
    env.reset(seed=1)
    start = base(env).world.position(BODY)[0].clone()
    carry(env, 0.15 if start[0] < -0.15 else -0.15)
    assert float((base(env).world.position(BODY)[0] - start).norm()) > 0.10
    assert not succeeded(env) and float(base(env).outcome.reward) == 0.0


def test_toppled_and_set_upright_again_it_does_not_succeed(envs):
    env = envs("touch_topple", **ONE)
    env.reset(seed=1)
    upright = base(env).world.pose(BODY).clone()
    shove(env, 0.06, height_m=0.17)
    stay(env, 40)
    assert succeeded(env)
    base(env).world.set_body_pose(BODY, upright)
    stay(env, 10)
    assert not succeeded(env)


def test_toppled_without_the_robot_it_must_still_be_touched(envs):
    env = envs("touch_topple", **ONE)
    env.reset(seed=1)
    pose = base(env).world.pose(BODY).clone()
    pose[0, 2] = 0.03
    pose[0, 3:] = torch.tensor([0.5**0.5, 0.0, 0.5**0.5, 0.0])
    base(env).world.set_body_pose(BODY, pose)
    stay(env, 60)
    assert not succeeded(env)
    lower(env, -0.001)
    lift(env)
    stay(env, 20)
    assert succeeded(env)


def oracle_episode(env):
    """Run the oracle to the end; the progress after each step and the reason of a failure."""
    oracle, progress = Oracle(base(env)), []
    try:
        for _ in range(base(env).task.max_steps):
            progress.append(float(env.step(oracle.act())[-1]["progress"]))
            if progress[-1] == 1.0:
                return progress, ""
    except SkillFailed as failure:
        return progress, str(failure)
    return progress, "step limit"


@pytest.mark.parametrize("split", ["train", "test"])
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.slow
def test_the_oracle_succeeds(key, split):
    env = make_env(key, split=split)
    for seed in range(3):
        env.reset(seed=seed)
        _, reason = oracle_episode(env)
        assert not reason, (seed, reason)
    env.close()


@pytest.mark.parametrize("key", KEYS[:5])
@pytest.mark.slow
def test_the_oracle_takes_over_after_anything_gentle(key):
    """After random actions that do not grasp."""
    env = make_env(key)
    for seed in range(3):
        env.reset(seed=seed)
        for action in random_actions(20, seed):
            action[6] = -1.0
            env.step(action)
        _, reason = oracle_episode(env)
        assert not reason, (seed, reason)
    env.close()


def test_prompts():
    for key, words in (("touch", "Touch"), ("touch_push", "Touch and push")):
        env = make_env(key, prompt_index=0, task_args={"num_objects": 2})
        env.reset(seed=0)
        assert base(env).prompt.text == words + " {obj:object_0} and {obj:object_1}."
        env.close()
    layout = make_layout("stack_topple")
    for text in task("stack_topple").prompts(layout):
        assert re.search(r"\b(topple|toppled|toppling|topples|fall|falls|knock|tip)\b", text)


def make_layout(key):
    env = make_env(key)
    env.reset(seed=0)
    layout = base(env).layouts[0]
    env.close()
    return layout


def test_objects_of_a_push_keep_their_distance():
    """Whichever of them is pushed towards which, there is room to come 30 percent nearer."""
    env = make_env("push")
    for seed in range(10):
        env.reset(seed=seed)
        bodies = [b for b in base(env).layouts[0].bodies if b]
        places = np.array([b.pose[:2] for b in bodies])
        radii = np.array([max(b.geometry.half_extents[:2]) for b in bodies])
        for i in range(len(bodies)):
            for k in range(i):
                away = np.linalg.norm(places[i] - places[k])
                assert 0.65 * away > radii[i] + radii[k]
    env.close()


def test_zero_actions_leave_the_latches_alone(envs):
    env = envs("touch", **ONE)
    env.reset(seed=0)
    for _ in range(5):
        env.step(act())
    assert not any(bool(v.any()) for k, v in base(env).goal_state.items() if "start" not in k)
