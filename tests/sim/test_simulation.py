"""World of a simulation: contacts, weights, poses, and moving bodies."""

import numpy as np
import pytest
import torch
from sapien.physx import PhysxRigidDynamicComponent

from clevrskills.envs.environment import ClevrSkillsEnv
from clevrskills.errors import ClevrSkillsError
from clevrskills.sim.simulation import PARKED, Simulation
from clevrskills.sim.tensor_world import TensorWorld
from clevrskills.sim.world import GRAVITY
from tests.support.envs import act, base, bench, body, go_to, make_env, put, random_actions, stay
from tests.support.worlds import BRICK, CUBE, index

BASE, OBJECT = 0, 3
"""Slots of the task: a base and an object."""


@pytest.fixture(scope="module")
def env():
    made = make_env("simple_manipulation")
    yield made
    made.close()


@pytest.fixture(scope="module")
def seed(env):
    """Of an episode with one base and one object."""
    return next(s for s in range(200) if present(env, s) == [BASE, OBJECT])


@pytest.fixture
def world(env, seed):
    env.reset(seed=seed)
    return base(env).world


def present(env, seed):
    env.reset(seed=seed)
    return [k for k, body in enumerate(base(env).layouts[0].bodies) if body]


def slot(world, k):
    return index(world, k)


def entity(world, k):
    return world.simulations[0].bodies[k]


def test_poses_are_those_of_the_bodies(world):
    for k in (BASE, OBJECT):
        pose = entity(world, k).pose
        assert np.array_equal(world.body_pose[0, k].numpy(), np.concatenate((pose.p, pose.q)))
    empty = [k for k in range(len(world.keys)) if k not in (BASE, OBJECT)]
    assert empty and np.allclose(world.body_pose[0, empty].numpy(), PARKED)


def test_readings_are_kept_until_refreshed(env, world):
    before = world.body_pose
    assert world.body_pose is before
    put(env, OBJECT, 0.0, 0.3, 0.2)
    assert world.body_pose is not before
    high = float(world.bottom(slot(world, OBJECT)))
    stay(env, 2)
    assert float(world.bottom(slot(world, OBJECT))) < high - 0.01


def test_velocities_in_free_fall(env, world):
    put(env, OBJECT, 0.0, 0.3, 0.4)
    stay(env, 2)
    falling = component(entity(world, OBJECT))
    speeds = np.concatenate((falling.linear_velocity, falling.angular_velocity))
    assert np.array_equal(world.body_velocity[0, OBJECT].numpy(), speeds)
    fall = float(world.body_velocity[0, OBJECT, 2])
    assert fall == pytest.approx(-GRAVITY * 0.1, rel=0.05)
    assert not world.is_static(slot(world, OBJECT)) and world.is_static(slot(world, BASE))


def test_the_table_carries_bodies_on_it(env, world):
    put(env, OBJECT, 0.0, 0.3)
    stay(env, 20)
    one, lower = slot(world, OBJECT), slot(world, BASE)
    assert world.on_table(one) and world.on_table(lower)
    assert float(world.supports(lower, one)) == 0.0
    table = torch.tensor([len(world.keys)])
    lift = world._lift(one, table)[0] / (GRAVITY * world.simulations[0].timestep_s)
    assert lift == pytest.approx(float(world.solids.mass[0, OBJECT]), rel=0.05)


def test_masses_are_those_of_the_simulation(world):
    for k in (BASE, OBJECT):
        component = entity(world, k).find_component_by_type(PhysxRigidDynamicComponent)
        assert component.mass == pytest.approx(float(world.solids.mass[0, k]), rel=0.02)
        center = component.cmass_local_pose.p
        assert np.allclose(center, world.solids.center[0, k].numpy(), atol=1e-3)


def on_base(env, world):
    """Realize the goal: the object stands on the base."""
    base(env).goal.realize(world)
    stay(env, 20)


def test_the_lower_body_carries_the_upper_one(env, world):
    on_base(env, world)
    one, lower = slot(world, OBJECT), slot(world, BASE)
    assert float(world.supports(lower, one)) == pytest.approx(1.0, abs=0.1)
    assert float(world.supports(one, lower)) == pytest.approx(
        -float(world.solids.mass[0, OBJECT] / world.solids.mass[0, BASE]), abs=0.1
    )
    assert not world.on_table(one) and world.on_table(lower)


def test_support_is_gone_as_soon_as_it_is_lifted(env, world):
    on_base(env, world)
    pose = world.pose(slot(world, OBJECT)).clone()
    pose[:, 2] += 0.05
    world.set_body_pose(slot(world, OBJECT), pose)
    stay(env, 1)
    assert float(world.supports(slot(world, BASE), slot(world, OBJECT))) == 0.0
    nothing = torch.tensor([-1])
    assert float(world.supports(nothing, slot(world, OBJECT))) == 0.0
    assert float(world.supports(slot(world, BASE), nothing)) == 0.0
    assert not world.on_table(nothing)


def test_agreement_with_a_world_of_tensors(env, world):
    """What tests and images without a simulator see is what the simulation sees."""
    for place in ("table", "base"):
        if place == "base":
            on_base(env, world)
        else:
            stay(env, 5)
        copy = TensorWorld.snapshot(world)
        one, lower = slot(world, OBJECT), slot(world, BASE)
        assert bool(copy.on_table(one)) == bool(world.on_table(one))
        assert bool(copy.supports(lower, one) > 0.5) == bool(world.supports(lower, one) > 0.5)
        for question in ("top", "bottom", "clearance", "gripper_distance"):
            assert torch.equal(getattr(copy, question)(one), getattr(world, question)(one))


def test_contacts_name_the_bodies(env, world):
    on_base(env, world)
    pairs = {frozenset(pair[:2]) for pair in world.contacts()}
    keys = world.keys
    assert frozenset((keys[OBJECT], keys[BASE])) in pairs
    assert frozenset((keys[BASE], "table")) in pairs
    assert frozenset((keys[OBJECT], "table")) not in pairs
    assert all(abs(gap) < 0.01 for *_, gap in world.contacts())


def test_setting_a_pose_stops_the_body(env, world):
    put(env, OBJECT, 0.0, 0.3, 0.5)
    stay(env, 3)
    pose = world.pose(slot(world, OBJECT)).clone()
    world.set_body_pose(slot(world, OBJECT), pose)
    assert (world.body_velocity[0, OBJECT] == 0).all()
    assert torch.allclose(world.pose(slot(world, OBJECT)), pose, atol=1e-6)


def test_setting_a_pose_only_where_asked(env, world):
    pose = world.pose(slot(world, OBJECT)).clone()
    high = pose.clone()
    high[:, 2] += 0.3
    world.set_body_pose(slot(world, OBJECT), high, torch.tensor([False]))
    world.hold(slot(world, OBJECT), high, torch.tensor([False]))
    assert torch.equal(world.pose(slot(world, OBJECT)), pose) and int(world.held[0]) == -1


def test_furniture_and_empty_slots_cannot_be_moved():
    env = make_env("sort")
    env.reset(seed=0)
    world, bodies = base(env).world, base(env).layouts[0].bodies
    assert bodies[0].static
    for k in (0, bodies.index(None)):
        with pytest.raises(ValueError, match=f"{world.keys[k]} cannot be moved"):
            world.set_body_pose(slot(world, k), torch.tensor([[0, 0, 0.3, 1, 0, 0, 0.0]]))
    env.close()


def test_holding_and_taking_away(env, world):
    from clevrskills.sim.suction import pose_in_gripper

    one = slot(world, OBJECT)
    world.hold(one, pose_in_gripper(world, one))
    assert int(world.held[0]) == OBJECT and world.is_held(one)
    env.step(act(on=True))
    assert int(world.held[0]) == OBJECT
    put(env, OBJECT, 0.0, 0.3)
    assert int(world.held[0]) == -1
    stay(env, 5, on=False)
    assert world.on_table(one)


def test_the_end_effector_is_that_of_the_robot(env, world):
    """At rest the cups point down and the tool center point is where the controller wants it."""
    pose = world.end_effector_pose[0].numpy()
    target = base(env).agent.controller.target_pose
    assert np.allclose(pose[:3], target.p, atol=2e-3)
    down = base(env).agent.tcp._objs[0].entity.pose.to_transformation_matrix()[:3, 2]
    assert down == pytest.approx([0.0, 0.0, -1.0], abs=1e-2)


# ---- what touched during a control step ----


def test_contacts_are_reported_and_end(env, world):
    one, lower = slot(world, OBJECT), slot(world, BASE)
    assert not world.touches(one, lower)
    x, y = world.position(lower)[0, :2].tolist()
    put(env, OBJECT, x, y, float(world.top(lower)[0]))
    stay(env, 10, on=False)
    assert world.touches(one, lower) and world.touches(lower, one)
    put(env, OBJECT, 0.0, 0.3, 0.2)
    stay(env, 1, on=False)
    assert not world.touches(one, lower)


def test_a_brief_touch_counts_until_the_next_control_step(env, world):
    """What touched in one of the physics steps only, and is apart again at the end."""
    one, lower = slot(world, OBJECT), slot(world, BASE)
    assert not world.touches(one, lower)
    x, y = world.position(lower)[0, :2].tolist()
    put(env, OBJECT, x, y, float(world.top(lower)[0]) + 0.002)
    entity(world, OBJECT).find_component_by_type(PhysxRigidDynamicComponent).linear_velocity = [
        0.0,
        0.0,
        -0.6,
    ]
    touched = []
    for _ in range(3):
        stay(env, 1, on=False)
        touched.append(bool(world.touches(one, lower)))
    assert touched[0]


def test_the_gripper_touches_a_pressed_body():
    env = bench(body(CUBE, -0.1, 0.2), body(BRICK, -0.3, 0.0))
    world = base(env).world
    cube, brick = index(world, 0), index(world, 1)
    go_to(env, [-0.1, 0.2, float(world.top(cube)[0]) + 0.05])
    assert not world.gripper_touches(cube) and not world.robot_touches(cube)
    go_to(env, [-0.1, 0.2, float(world.top(cube)[0]) - 0.004], speed_m=0.01)
    assert world.gripper_touches(cube) and world.robot_touches(cube)
    assert not world.gripper_touches(brick)


def test_the_arm_touches_but_is_not_the_gripper(env, world):
    body = slot(world, OBJECT)
    elbow = next(
        link for link in base(env).agent.robot._objs[0].links if link.name.endswith("link3")
    )
    low, high = elbow.entity.pose.p, base(env).agent.tcp._objs[0].entity.pose.p
    x, y, z = (0.5 * np.asarray(low) + 0.5 * np.asarray(high)).tolist()
    touched = False
    for height in np.arange(z + 0.35, z, -0.02):  # let it fall on the arm
        put(env, OBJECT, x - 0.1, y, float(height))
        stay(env, 4, on=False)
        touched = touched or bool(world.robot_touches(body) & ~world.gripper_touches(body))
    assert touched


# ---- putting the arm ----


def test_the_arm_is_placed_with_the_held_body(env, world):
    body = slot(world, OBJECT)
    tcp = world.end_effector_pose.clone()
    held_at = world.pose(body).clone()
    held_at[:, :2] = tcp[:, :2]
    held_at[:, 2] = tcp[:, 2] - (world.top(body) - held_at[:, 2]) - float(world.cup_tips[0, 2])
    world.hold(body, held_at)
    target = torch.tensor([[-0.15, 0.2, 0.3, 0.0, 1.0, 0.0, 0.0]])
    before = world.position(body).clone()
    world.set_end_effector_pose(target)
    assert torch.allclose(world.end_effector_pose[:, :3], target[:, :3], atol=1e-4)
    moved = world.position(body) - before
    assert torch.allclose(moved, target[:, :3] - tcp[:, :3], atol=2e-3)
    stay(env, 10, on=True)
    assert world.is_held(body)
    assert torch.allclose(world.end_effector_pose[:, :3], target[:, :3], atol=3e-3)


def test_a_pose_out_of_reach_raises(world):
    with pytest.raises(ValueError, match="does not reach"):
        world.set_end_effector_pose(torch.tensor([[2.0, 0.0, 0.3, 0.0, 1.0, 0.0, 0.0]]))
    world.set_end_effector_pose(
        torch.tensor([[2.0, 0.0, 0.3, 0.0, 1.0, 0.0, 0.0]]), torch.tensor([False])
    )


class Faulty:
    """A physics system that loses a body in some of its steps."""

    def __init__(self, physics, body, steps):
        self._physics, self._body, self._steps, self.done = physics, body, steps, 0

    def __getattr__(self, name):
        return getattr(self._physics, name)

    def step(self):
        self._physics.step()
        if self.done in self._steps:
            component(self._body).linear_velocity = np.full(3, np.nan)
            self._physics.step()
        self.done += 1


def component(body):
    return body.find_component_by_type(PhysxRigidDynamicComponent)


def test_a_step_in_which_a_body_is_lost_is_made_again(env, world, monkeypatch):
    simulation, action = world.simulations[0], np.array([0.3, -0.2, 0.5, 0, 0, 0.4, -1.0])
    put(env, OBJECT, -0.1, 0.2, bottom_z=0.1)  # falls
    env.step(action)
    state = base(env).get_state()
    env.step(action)
    expected = base(env).get_state()
    base(env).set_state(state)
    faulty = Faulty(simulation._physics, entity(world, OBJECT), {2})
    monkeypatch.setattr(simulation, "_physics", faulty)
    env.step(action)
    assert faulty.done == 2 * simulation.controller.sim_steps
    assert torch.allclose(base(env).get_state(), expected, atol=1e-5)


def test_physics_that_break_down_again_raise(env, seed, monkeypatch):
    env.reset(seed=seed)
    simulation = base(env).world.simulations[0]
    faulty = Faulty(simulation._physics, simulation.bodies[OBJECT], range(1000))
    with monkeypatch.context() as patch:
        patch.setattr(simulation, "_physics", faulty)
        with pytest.raises(ClevrSkillsError, match="the physics diverged"):
            env.step(np.zeros(7))
    env.reset(seed=seed)  # and the next episode is as ever
    env.step(np.zeros(7))
    assert torch.isfinite(base(env).get_state()).all()


@pytest.mark.parametrize(("x", "y"), [(3.0, 0.5), (-4.0, 0.0), (0.0, 6.0), (0.5, -6.0)])
def test_bodies_that_leave_the_table_come_to_rest(env, world, x, y):
    put(env, OBJECT, x, y, 0.3)
    stay(env, 40)
    at = world.pose(slot(world, OBJECT))[0]
    assert 0.0 < float(at[2]) < 0.1
    assert bool(world.is_static(slot(world, OBJECT)))


def test_settled_bodies_rest_in_further_physics_steps(env, seed):
    env.reset(seed=seed)
    simulation, scene, arm = base(env).simulation, base(env).scene, base(env).agent.robot._objs[0]
    found = []
    for steps in (0, 20):
        if not steps:
            simulation.settle()
        for _ in range(steps):
            scene.px.step()
        simulation.forget_step()
        lifts = {
            pair: [c.points[0].impulse.tolist() for c in of]
            for pair, of in simulation.contacts().items()
        }
        found.append((scene.px.pack(), arm.qpos.tobytes(), arm.qvel.tobytes(), lifts))
    assert found[0] == found[1]


@pytest.mark.parametrize("robot", ["xarm6", "panda"])
def test_episodes_are_the_same_as_with_an_arm_that_settles_awake(robot, monkeypatch):
    env = ClevrSkillsEnv("sort", robot_name=robot, obs_mode="state")
    settle, found = Simulation.settle, []
    for awake in (False, True):
        if awake:
            monkeypatch.setattr(Simulation, "settle", lambda self, apart: settle(self))
        for seed in range(4):
            env.reset(seed=seed)
            found.append(env.get_state())
            actions = 3.0 * random_actions(40, seed)
            actions[:4, 2] = -0.9  # down to the bodies
            for action in actions:
                env.step(action)
                found.append(env.get_state())
    half = len(found) // 2
    assert all(map(torch.equal, found[:half], found[half:]))
    env.close()


@pytest.mark.parametrize(("apart", "offset_rad"), [(True, 0.0), (False, 0.0), (True, 0.01)])
def test_an_arm_that_stays_in_place_falls_asleep_at_once(env, seed, monkeypatch, apart, offset_rad):
    env.reset(seed=seed)
    arm = base(env).agent.robot._objs[0]
    arm.qpos = arm.qpos + offset_rad
    monkeypatch.setattr("clevrskills.sim.simulation.SETTLE_STEPS", 1)
    base(env).simulation.settle(apart)
    assert arm.links[0].sleeping == (apart and not offset_rad)
