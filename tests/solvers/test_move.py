"""Moving the end effector: it gets there from anywhere around obstacles, or says why not."""

import numpy as np
import pytest
import torch
from sapien import Pose

from clevrskills.predicates import Avoiding, EndEffectorAtPose, EndEffectorAtPosition, Traced
from clevrskills.sim.body import Body
from clevrskills.sim.robots.gripper import GripperDimensions
from clevrskills.solvers.motion import Arm, SkillFailed
from clevrskills.solvers.skills import skill_for
from tests.support.envs import base, bench, body, go_to, random_actions, stay
from tests.support.worlds import CUBE

GHOST_SLOT, POST_SLOTS = 1, (2, 3)
PLACE = (-0.15, 0.22, 0.2)
LIMIT = 150
"""Control steps in which any motion must end."""
POSTS = ((-0.12, 0.10, 0.3), (-0.12, 0.11, 0.16))
GHOST = Body("ghost", "sphere", "red", (*PLACE, 1.0, 0, 0, 0), (0.1,) * 3, static=True, ghost=True)


def post(number):
    return Body(
        f"post_{number}",
        "cube",
        "blue",
        (*POSTS[number], 1.0, 0.0, 0.0, 0.0),
        (0.06, 0.06, 0.12),
        static=True,
    )


@pytest.fixture(scope="module")
def shared():
    made = bench(body(CUBE, 0.0, -0.2), GHOST, post(0), post(1))
    yield made
    made.close()


@pytest.fixture
def env(shared):
    shared.reset(seed=0)
    return shared


def position(place=PLACE):
    return EndEffectorAtPosition(torch.tensor([place], dtype=torch.float32))


def pose(place=PLACE, tilt_rad=2.4):
    half = tilt_rad / 2
    turn = torch.tensor([[np.cos(half), np.sin(half), 0.0, 0.0]], dtype=torch.float32)
    return EndEffectorAtPose(torch.tensor([place], dtype=torch.float32), turn)


GOALS = {"position": position(), "pose": pose(), "traced": Traced(torch.tensor([GHOST_SLOT]))}


def achieve(env, goal):
    """Run the skill to its end; returns whether the goal holds and whether a post was touched."""
    watched = Avoiding(goal, torch.tensor([POST_SLOTS]))
    state = watched.initial_state(base(env).world)
    arm = Arm(base(env), np.random.default_rng(0))
    for count, action in enumerate(skill_for(goal)(arm, goal), start=1):
        assert count <= LIMIT and np.abs(action).max() <= 1.0 + 1e-6
        assert arm.step_label
        env.step(action)
        state = watched.evaluate(base(env).world, state).state
    holds = bool(goal.evaluate(base(env).world, {}).holds[0])
    return holds, bool(state["touched"][0])


@pytest.mark.parametrize("name", GOALS)
def test_it_gets_there_and_touches_nothing(env, name):
    assert achieve(env, GOALS[name]) == (True, False)
    stay(env, 5)
    assert GOALS[name].evaluate(base(env).world, {}).holds.all()


@pytest.mark.parametrize("name", GOALS)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_it_gets_there_from_anywhere(env, name, seed):
    for action in random_actions(25, seed):
        env.step(action)
    assert achieve(env, GOALS[name])[0]


def test_there_already_it_stays(env):
    goal = position()
    goal.realize(base(env).world)
    before = base(env).world.end_effector_pose.clone()
    assert achieve(env, goal) == (True, False)
    assert float((base(env).world.end_effector_pose - before).abs().max()) < 2e-3


def test_a_position_is_reached_turned_as_now(env):
    before = base(env).world.end_effector_pose[:, 3:].clone()
    achieve(env, position())
    after = base(env).world.end_effector_pose[:, 3:]
    assert float((before * after).sum().abs()) > 0.999


def test_where_that_is_impossible_it_points_down(env):
    """As far as the arm can reach, it can't point sideways any more."""
    far = (0.1, 0.0, 0.08)
    pose((-0.15, -0.2, 0.25), 1.5 * np.pi).realize(base(env).world)
    stay(env, 2)
    assert achieve(env, position(far)) == (True, False)


@pytest.mark.parametrize("gap_m", [0.001, 0.004])
def test_beside_an_obstacle_it_first_steps_aside(env, gap_m):
    """Nearer to it than plans go."""
    x, y, z = POSTS[0]
    beside = y - 0.03 - GripperDimensions.head_size_m[1] / 2 - gap_m
    position((x, beside, z)).realize(base(env).world)
    assert achieve(env, GOALS["pose"]) == (True, False)


def test_stuck_in_an_obstacle_it_gives_up_with_a_reason(env):
    """It is in the foot of the arm, which can't step aside."""
    base(env).world.simulations[0].bodies[POST_SLOTS[0]].set_pose(Pose([-0.562, 0.0, 0.1]))
    base(env).world.invalidate()
    with pytest.raises(SkillFailed, match="stuck"):
        achieve(env, GOALS["pose"])


def test_a_held_object_is_carried_along(env):
    go_to(env, (0.0, -0.2, 0.052))
    stay(env, 8, on=True)
    assert base(env).world.held.tolist() == [0]
    assert achieve(env, position()) == (True, False)
    assert base(env).world.held.tolist() == [0]


@pytest.mark.parametrize("goal", [position((0.6, 0.0, 0.3)), pose((0.6, 0.0, 0.3))])
def test_out_of_reach_it_gives_up_with_a_reason(env, goal):
    with pytest.raises(SkillFailed, match=r"no way to reach \[0.6"):
        achieve(env, goal)


def test_inside_an_obstacle_it_gives_up_with_a_reason(env):
    with pytest.raises(SkillFailed, match="no way to reach"):
        achieve(env, position(POSTS[0]))
