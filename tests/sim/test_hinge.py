"""Bodies on hinges in simulation: a scale that tilts and comes back, a pendulum."""

import json
from dataclasses import replace
from math import radians, sin

import pytest
import torch

from clevrskills.core.geometry import rotation_angle, rotation_matrix
from clevrskills.envs.scene_sampling import draw_scene
from clevrskills.sim.body import Body, Hinge
from clevrskills.tasks import task
from tests.support.envs import base, bench, body, go_to, make_env, put, stay
from tests.support.worlds import CUBE

BEAM, PLATES, BLOCKS = 1, (2, 3), (4, 5)
STOP_RAD = radians(15.0)


def slot(k):
    return torch.tensor([k])


@pytest.fixture(scope="module")
def shared():
    """Two equal blocks beside the scale."""
    made = make_env("balance", task_args={"num_objects": 2})
    yield made
    made.close()


@pytest.fixture
def env(shared):
    shared.reset(seed=0)
    return shared


def tilt_rad(env):
    """Of the beam; positive: plate 1, at +y, is up."""
    return float(rotation_matrix(base(env).world.orientation(slot(BEAM)))[0, 2, 1].asin())


def load(env, block, plate):
    world = base(env).world
    x, y, _ = world.position(slot(plate))[0].tolist()
    put(env, block, x, y, float(world.top(slot(plate))))


def swing(env, steps=45):
    stay(env, steps)
    return tilt_rad(env)


def test_at_rest_and_level_at_the_start(env):
    before = base(env).world.body_pose.clone()
    assert abs(swing(env, 20)) < radians(0.05)
    assert torch.allclose(base(env).world.body_pose, before, atol=1e-4)
    assert all(bool(base(env).world.is_static(slot(k))) for k in (BEAM, *PLATES))


@pytest.mark.parametrize(("plate", "sign"), [(2, 1.0), (3, -1.0)])
def test_it_tilts_to_the_heavy_side_up_to_its_stop(env, plate, sign):
    load(env, BLOCKS[0], plate)
    assert swing(env) * sign == pytest.approx(STOP_RAD, abs=radians(0.3))
    assert bool(base(env).world.is_static(slot(BEAM)))


def test_plates_go_up_and_down_and_stay_level(env):
    world = base(env).world
    before = world.body_pose.clone()
    load(env, BLOCKS[0], 2)
    swing(env)
    lever_m = 0.18
    for plate, sign in ((2, -1.0), (3, 1.0)):
        moved = world.body_pose[0, plate] - before[0, plate]
        assert float(moved[2]) == pytest.approx(sign * lever_m * sin(STOP_RAD), abs=1e-3)
        assert float(rotation_angle(world.orientation(slot(plate)), before[:, plate, 3:])) < 1e-3
    assert torch.allclose(world.body_pose[0, BEAM, :3], before[0, BEAM, :3], atol=1e-3)


def test_it_comes_back_with_equal_loads_wherever_they_lie_on_the_plates(env):
    load(env, BLOCKS[0], 2)
    assert swing(env) > radians(14)
    world = base(env).world
    x, y, _ = world.position(slot(3))[0].tolist()
    put(env, BLOCKS[1], x + 0.02, y - 0.02, float(world.top(slot(3))))
    assert abs(swing(env)) < radians(0.5)
    assert bool(world.is_static(slot(BLOCKS[1])))


def test_it_comes_back_when_the_load_is_taken_off(env):
    load(env, BLOCKS[0], 3)
    assert swing(env) < -radians(14)
    put(env, BLOCKS[0], -0.3, 0.0)
    assert abs(swing(env)) < radians(0.5)


def test_objects_beside_the_plates_do_not_count(env):
    put(env, BLOCKS[0], *base(env).world.position(slot(2))[0, :2].tolist())  # below it
    assert abs(swing(env)) < radians(0.5)


def test_the_gripper_does_not_take_it(env):
    world = base(env).world
    assert not world.solids.movable[0, [0, BEAM, *PLATES]].any()
    assert world.solids.movable[0, list(BLOCKS)].all()
    x, y, _ = world.position(slot(3))[0].tolist()
    top = float(world.top(slot(3)))
    go_to(env, (x, y, top + 0.1))
    go_to(env, (x, y, top - 0.002), on=True, speed_m=0.005)
    stay(env, 5, on=True)
    assert float(world.gripper_distance(slot(3))) < 2e-3
    assert int(world.held[0]) == -1


def test_a_state_in_mid_swing_is_restored_and_continues_bit_for_bit(env):
    load(env, BLOCKS[0], 2)
    stay(env, 2)
    assert 0.02 < tilt_rad(env) < 0.25
    saved = base(env).get_state()
    runs = []
    for _ in range(2):
        base(env).set_state(saved)
        assert torch.allclose(base(env).get_state(), saved, atol=1e-6)
        stay(env, 15)
        runs.append(base(env).get_state())
    assert torch.equal(*runs)
    env.reset(seed=0)
    assert abs(tilt_rad(env)) < radians(0.05)


def test_an_episode_is_repeated_bit_for_bit(env):
    runs = []
    for _ in range(2):
        env.reset(seed=3)
        load(env, BLOCKS[0], 2)
        stay(env, 30)
        runs.append(base(env).get_state())
    assert torch.equal(*runs)


@pytest.mark.slow
@pytest.mark.parametrize("block", BLOCKS)
def test_the_scale_withstands_falling_objects(env, block):
    world = base(env).world
    pose = world.pose(slot(block)).clone()
    pose[0, :3] = world.position(slot(2))[0] + torch.tensor([0.03, 0.03, 0.3])
    world.set_body_pose(slot(block), pose)
    for _ in range(60):
        stay(env, 1)
        assert abs(tilt_rad(env)) < STOP_RAD + radians(1)
        for plate, y in zip(PLATES, (-0.18, 0.18), strict=True):
            off = world.position(slot(plate))[0] - world.position(slot(BEAM))[0]
            assert abs(float(off[0])) < 5e-3 and abs(float(off[1]) - y) < 0.02


def test_a_pendulum_swings_about_its_axis_within_its_limits():
    """A rod held at its end by the world, let go at 45 degrees; a stop keeps another at 35."""
    turn = (0.9238795, 0.3826834, 0.0, 0.0)
    hinge = Hinge(None, (0.0, 0.0, 0.1))
    rod = Body("rod", "cube", "red", (-0.1, 0.2, 0.3, *turn), (0.02, 0.02, 0.2), hinge=hinge)
    stopped = replace(
        rod,
        key="stopped",
        pose=(-0.2, 0.2, 0.3, *turn),
        hinge=replace(hinge, limits_rad=(-radians(10), radians(10))),
    )
    env = bench(body(CUBE, -0.3, -0.1), rod, stopped)
    world = base(env).world
    anchor = torch.tensor([[0.0, 0.0, 0.1]])

    def at():
        pose = world.pose(slot(1))
        return (rotation_matrix(pose[:, 3:]) @ anchor[..., None])[0, :, 0] + pose[0, :3]

    start, seen = at(), []
    for _ in range(60):
        stay(env, 1)
        assert torch.allclose(at(), start, atol=2e-3)
        seen.append(float(world.position(slot(1))[0, 1] - start[1]))
    assert min(seen) < -0.01 and max(seen) > 0.01
    upright = torch.tensor([[1.0, 0.0, 0.0, 0.0]])
    assert float(rotation_angle(upright, world.orientation(slot(1)))) < radians(5)
    assert float(rotation_angle(upright, world.orientation(slot(2)))) == pytest.approx(
        radians(35), abs=radians(0.5)
    )
    assert torch.allclose(world.body_pose[0, 1, :1], torch.tensor([-0.1]), atol=2e-3)
    env.close()


def test_json():
    layout = draw_scene(task("balance"), 0, "train").layout
    for spec in filter(None, layout.bodies):
        data = json.loads(json.dumps(spec.to_json()))
        assert Body.from_json(data) == spec
