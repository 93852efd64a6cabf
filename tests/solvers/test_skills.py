"""Skills: each achieves its kind of predicate, or gives up with a reason."""

from math import pi

import numpy as np
import pytest
import torch
from sapien import Pose
from sapien.physx import PhysxRigidDynamicComponent

from clevrskills.core.geometry import yaw_quaternion
from clevrskills.errors import ClevrSkillsError
from clevrskills.predicates import AtPose, AtPosition, Inside, Once, OnTop, Picked
from clevrskills.solvers.motion import Arm, SkillFailed, slerp, yaw_of
from clevrskills.solvers.skills import skill_for
from clevrskills.solvers.skills.pick import pick
from clevrskills.solvers.skills.place import UPRIGHT_RAD, tilt_rad
from clevrskills.tasks import stack_roles, task
from tests.support.envs import act, base, bench, body, go_to, put, stay
from tests.support.worlds import AREA, BRICK, CUBE, SLAB, BodySpec
from tests.tasks.scenes import TASKS, scene

CUBE_SLOT, SLAB_SLOT, AREA_SLOT, BRICK_SLOT = range(4)
LIMIT = 250
"""Control steps in which any skill must end."""


@pytest.fixture(scope="module")
def shared():
    made = bench(
        body(CUBE, -0.22, 0.05, 0.3),
        body(SLAB, -0.08, 0.22, 0.2),
        body(AREA, -0.2, -0.25),
        body(BRICK, -0.05, 0.0, 1.0),
    )
    yield made
    made.close()


@pytest.fixture
def env(shared):
    shared.reset(seed=0)
    return shared


def arm_of(env, seed=0):
    return Arm(base(env), np.random.default_rng(seed))


def slot(k):
    return torch.tensor([k])


def run(env, actions, limit=LIMIT):
    """Carry out actions; returns how many there were."""
    for count, action in enumerate(actions, start=1):
        assert count <= limit, "the skill does not end"
        assert action.shape == (7,) and action.dtype == np.float32
        assert np.abs(action).max() <= 1.0 + 1e-6 and np.isfinite(action).all()
        env.step(action)
    return count if "count" in locals() else 0


def solve(env, goal):
    run(env, skill_for(goal)(arm_of(env), goal))
    return bool(goal.evaluate(base(env).world, goal.initial_state(base(env).world)).holds)


GOALS = {
    "picked": lambda: Picked(slot(CUBE_SLOT)),
    "on top": lambda: OnTop(slot(CUBE_SLOT), slot(SLAB_SLOT)),
    "inside": lambda: Inside(slot(BRICK_SLOT), slot(AREA_SLOT)),
    "at a position": lambda: AtPosition(slot(SLAB_SLOT), torch.tensor([[-0.25, 0.22, 0.0]])),
    "at a pose": lambda: AtPose(
        slot(BRICK_SLOT),
        torch.tensor([[-0.2, 0.2, 0.0]]),
        yaw_quaternion(torch.tensor([1.0 + pi / 2])),
    ),
}


@pytest.mark.parametrize("name", GOALS)
def test_a_skill_achieves_its_goal(env, name):
    assert solve(env, GOALS[name]())


@pytest.mark.parametrize("name", ["on top", "inside", "at a position", "at a pose"])
def test_a_skill_starts_with_its_object_in_hand(env, name):
    goal = GOALS[name]()
    held = int(goal.top if isinstance(goal, OnTop) else goal.object)
    run(env, pick(arm_of(env), held))
    assert int(base(env).world.held[0]) == held
    assert solve(env, goal)


@pytest.mark.parametrize("name", ["picked", "on top"])
def test_a_skill_puts_down_another_held_object(env, name):
    run(env, pick(arm_of(env), BRICK_SLOT))
    assert int(base(env).world.held[0]) == BRICK_SLOT
    assert solve(env, GOALS[name]())
    stay(env, 5)
    world = base(env).world
    assert bool(world.on_table(slot(BRICK_SLOT)))
    assert float(world.clearance(slot(BRICK_SLOT))) > -2e-3


def test_on_top_again_when_it_is_there_already(env):
    """Nothing is picked up once more; the gripper only leaves it alone."""
    goal = GOALS["on top"]()
    goal.realize(base(env).world)
    stay(env, 20)
    before = base(env).world.pose(slot(CUBE_SLOT)).clone()
    assert solve(env, goal)
    assert torch.allclose(base(env).world.pose(slot(CUBE_SLOT)), before, atol=1e-3)


def test_picking_avoids_neighbors():
    """A tower close to the object is neither touched nor moved."""
    tower = BodySpec("tower", "cube", (0.05, 0.05, 0.18))
    env = bench(body(CUBE, -0.2, 0.0), body(tower, -0.2, 0.06))
    before = base(env).world.pose(slot(1)).clone()
    assert solve(env, Picked(slot(0)))
    assert torch.allclose(base(env).world.pose(slot(1)), before, atol=2e-3)
    env.close()


def test_a_carried_object_does_not_knock_over_obstacles():
    wall = BodySpec("wall", "cube", (0.02, 0.22, 0.14))
    env = bench(body(CUBE, -0.28, 0.0), body(wall, -0.17, 0.0), body(SLAB, -0.02, 0.0))
    before = base(env).world.pose(slot(1)).clone()
    assert solve(env, OnTop(slot(0), slot(2)))
    assert torch.allclose(base(env).world.pose(slot(1)), before, atol=2e-3)
    env.close()


def test_an_object_that_was_toppled_is_still_picked(env):
    """On its side: other faces are then on top."""
    world = base(env).world
    pose = world.pose(slot(BRICK_SLOT)).clone()
    pose[0, 2] = 0.02
    pose[0, 3:] = torch.tensor([0.70710678, 0.70710678, 0.0, 0.0])
    world.set_body_pose(slot(BRICK_SLOT), pose)
    stay(env, 10)
    assert solve(env, Picked(slot(BRICK_SLOT)))


# ---- what lies toppled ----

BELL = BodySpec("bell", "bell")
BASE = BodySpec("base", "cube", (0.09, 0.09, 0.03))
LYING = (0.6018, 0.0, 0.7986, 0.0)
"""A bell on its side: 106 degrees from upright."""


def lay(env, k, x, y, q):
    """Lay a body down at a place in an orientation (4,) and let it come to rest."""
    world = base(env).world
    pose = torch.tensor([[x, y, 0.1, *q]])
    world.set_body_pose(slot(k), pose)
    pose[0, 2] -= float(world.bottom(slot(k))) - 1e-3
    world.set_body_pose(slot(k), pose)
    stay(env, 40)
    assert tilt_rad(arm_of(env), k) > UPRIGHT_RAD


@pytest.mark.slow
@pytest.mark.parametrize("yaw_rad", [0.0, 2.0])
def test_a_toppled_bell_is_put_on_a_small_base(yaw_rad):
    """It cannot stay there as it lies, and the gripper would not get at it there upright."""
    env = bench(body(BELL, -0.15, 0.1), body(BASE, -0.1, -0.15))
    spin = Pose(q=yaw_quaternion(torch.tensor(yaw_rad)).numpy())
    lay(env, 0, -0.15, 0.1, (spin * Pose(q=LYING)).q)
    assert solve(env, OnTop(slot(0), slot(1)))
    env.close()


@pytest.mark.slow
def test_a_toppled_bell_in_hand_is_put_on_a_small_base():
    env = bench(body(BELL, -0.15, 0.1), body(BASE, -0.1, -0.15))
    lay(env, 0, -0.15, 0.1, LYING)
    run(env, pick(arm_of(env), 0))
    assert solve(env, OnTop(slot(0), slot(1)))
    env.close()


def test_an_object_on_its_edge_is_brought_to_a_pose(env):
    """A slab, of which the gripper only gets hold from the side."""
    lay(env, SLAB_SLOT, -0.15, 0.1, (0.70710678, 0.70710678, 0.0, 0.0))
    turn = yaw_quaternion(torch.tensor([0.5]))
    assert solve(env, AtPose(slot(SLAB_SLOT), torch.tensor([[-0.2, 0.22, 0.0]]), turn))


def test_an_object_leaning_on_another_one_is_freed():
    """Nothing reaches the leaning side of the tile this far out: what it leans on is put away."""
    tile = BodySpec("tile", "cube", (0.08, 0.08, 0.017))
    prop = BodySpec("prop", "cube", (0.14, 0.08, 0.04))
    env = bench(body(tile, 0.0, 0.2), body(prop, -0.005, 0.0), body(SLAB, -0.15, 0.15))
    lean = torch.tensor([[0.09, 0.0, 0.045, np.cos(0.3), 0.0, np.sin(0.3), 0.0]])
    base(env).world.set_body_pose(slot(0), lean)
    stay(env, 40)
    assert UPRIGHT_RAD < tilt_rad(arm_of(env), 0) < 1.4
    assert solve(env, OnTop(slot(0), slot(2)))
    env.close()


# ---- giving up ----


@pytest.mark.slow
def test_toppled_objects_out_of_reach_are_given_up():
    env = bench(body(BELL, -0.15, 0.1), body(BASE, -0.1, -0.15))
    lay(env, 0, 0.9, 0.0, LYING)
    goal = OnTop(slot(0), slot(1))
    assert "bell" in failure(env, skill_for(goal)(arm_of(env), goal))
    env.close()


@pytest.mark.slow
def test_a_toppled_object_without_any_place_is_given_up_after_some_turns():
    """A bell on a cup of a rod: neither upright nor lying can it stay there."""
    rod = BodySpec("rod", "cube", (0.01, 0.01, 0.08))
    env = bench(body(BELL, -0.15, 0.1), body(rod, -0.1, -0.15))
    lay(env, 0, -0.15, 0.1, LYING)
    goal = OnTop(slot(0), slot(1))
    assert "no place for bell" in failure(env, skill_for(goal)(arm_of(env), goal))
    env.close()


def failure(env, actions):
    with pytest.raises(SkillFailed) as error:
        run(env, actions)
    assert isinstance(error.value, ClevrSkillsError) and str(error.value).strip()
    return str(error.value)


def test_too_heavy_objects_are_given_up(env):
    entity = base(env).world.simulations[0].bodies[CUBE_SLOT]
    entity.find_component_by_type(PhysxRigidDynamicComponent).mass = 8.0
    reason = failure(env, pick(arm_of(env), CUBE_SLOT))
    assert reason == "cube could not be grasped in 4 attempts"


def test_covered_objects_are_given_up(env):
    put(env, CUBE_SLOT, -0.2, 0.1)
    put(env, SLAB_SLOT, -0.2, 0.1, bottom_z=0.05)
    stay(env, 10)
    assert "cube" in failure(env, pick(arm_of(env), CUBE_SLOT))


def test_a_place_out_of_reach_is_given_up(env):
    goal = AtPosition(slot(CUBE_SLOT), torch.tensor([[1.5, 0.0, 0.0]]))
    assert failure(env, skill_for(goal)(arm_of(env), goal)) == "no place for cube can be reached"


def test_an_object_out_of_reach_is_given_up(env):
    put(env, CUBE_SLOT, 0.9, 0.0)
    assert "cube" in failure(env, pick(arm_of(env), CUBE_SLOT))


def test_where_nothing_can_stand_is_given_up(env):
    """The slab reaches over the edge of the small brick."""
    goal = Inside(slot(SLAB_SLOT), slot(BRICK_SLOT))
    assert "slab" in failure(env, skill_for(goal)(arm_of(env), goal))


def test_an_object_on_the_target_is_put_aside(env):
    put(env, CUBE_SLOT, -0.05, 0.0, bottom_z=0.03)
    stay(env, 5)
    goal = OnTop(slot(SLAB_SLOT), slot(BRICK_SLOT))
    run(env, skill_for(goal)(arm_of(env), goal))
    assert goal.evaluate(base(env).world, {}).holds
    assert base(env).world.on_table(slot(CUBE_SLOT))


def test_a_goal_without_a_skill_is_given_up():
    class Unheard(Once):
        pass

    with pytest.raises(SkillFailed, match="no skill for once"):
        skill_for(Unheard(Picked(slot(0))))


@pytest.mark.parametrize("key", TASKS)
def test_every_leaf_of_every_task_has_a_skill(key):
    goal = task(key).goal(stack_roles([scene(key, "train", 0).layout]))
    for leaf in goal.leaves():
        assert callable(skill_for(leaf))


# ---- motions ----


def test_a_straight_motion_is_straight_and_ends_where_it_should(env):
    arm = arm_of(env)
    start = arm.pose
    target = type(start)(start.p + [0.05, 0.1, -0.08], start.q)
    line = (target.p - start.p) / np.linalg.norm(target.p - start.p)
    for action in arm.straight(target):
        env.step(action)
        offset = arm.pose.p - start.p
        assert np.linalg.norm(offset - (offset @ line) * line) < 1e-4
    assert np.linalg.norm(arm.pose.p - target.p) < 1e-4


def test_actions_are_clipped_to_one_step(env):
    arm = arm_of(env)
    far = type(arm.pose)(arm.pose.p + [0.5, -0.3, 0.1], arm.pose.q)
    action = arm.action(far)
    assert np.abs(action[:3]).max() == pytest.approx(1.0)
    assert action[6] == -1.0
    arm.vacuum = True
    assert arm.action()[6] == 1.0 and not arm.action()[:6].any()


def test_slerp():
    q = np.array([np.cos(0.4), 0.0, 0.0, np.sin(0.4)])
    half = slerp(np.array([1.0, 0, 0, 0]), q, 0.5)
    assert half == pytest.approx([np.cos(0.2), 0, 0, np.sin(0.2)], abs=1e-6)
    assert yaw_of(q) == pytest.approx(0.8)


def test_an_arm_that_takes_over_keeps_the_held_object(env):
    run(env, pick(arm_of(env), CUBE_SLOT))
    arm = arm_of(env)
    assert arm.vacuum and arm.held == CUBE_SLOT
    run(env, arm.wait(5))
    assert int(base(env).world.held[0]) == CUBE_SLOT
    env.step(act())
    assert not arm_of(env).vacuum


def test_moving_out_of_a_tight_spot_rises_first(env):
    """The arm starts with its cups on the object, where the planner sees a collision."""
    go_to(env, (-0.22, 0.05, 0.0505))
    arm = arm_of(env)
    target = type(arm.pose)([-0.1, -0.1, 0.15], arm.pose.q)
    before = base(env).world.position(slot(CUBE_SLOT)).clone()
    run(env, arm.move(target))
    assert np.linalg.norm(arm.pose.p - target.p) < 2e-3
    assert torch.allclose(base(env).world.position(slot(CUBE_SLOT)), before, atol=2e-3)
