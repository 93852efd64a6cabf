"""The vacuum gripper: where it takes hold, what it carries, how it lets go."""

import numpy as np
import pytest
import torch
from sapien.physx import PhysxRigidDynamicComponent

from clevrskills.sim.robots.description import ROBOTS
from clevrskills.sim.robots.vacuum import FORCE_PER_CUP_N, SLIP_M
from clevrskills.sim.suction import CENTER_GAP_M
from clevrskills.sim.world import GRAVITY
from tests.support.envs import act, base, bench, body, go_to, put, stay
from tests.support.worlds import AREA, CUBE, SLAB, BodySpec, index

BALL = BodySpec("ball", "ball")
WALL = BodySpec("wall", "cube", (0.02, 0.30, 0.12), static=True)
CUBE_SLOT, SLAB_SLOT, AREA_SLOT = 0, 1, 2
CUBE_XY, SLAB_XY, AREA_XY = (-0.2, 0.0), (-0.15, 0.22), (-0.2, -0.25)
FREE_XY = (-0.02, 0.0)


@pytest.fixture(scope="module", params=ROBOTS)
def shared(request):
    made = bench(
        body(CUBE, *CUBE_XY), body(SLAB, *SLAB_XY), body(AREA, *AREA_XY), robot=request.param
    )
    yield made
    made.close()


@pytest.fixture
def env(shared):
    shared.reset(seed=0)
    return shared


def held(env):
    return int(base(env).world.held[0])


def hover(env, x, y, top_z, gap_m, on=False):
    """Bring the tips of the cups to a distance above a height."""
    tip_z = base(env).agent.description.cup_tip_z
    go_to(env, (x, y, top_z + 0.05), on=on)
    go_to(env, (x, y, top_z + gap_m + tip_z), on=on, speed_m=0.005)


def grip(env, slot=CUBE_SLOT):
    """Take the cube or the slab."""
    (x, y), top = (CUBE_XY, 0.05) if slot == CUBE_SLOT else (SLAB_XY, 0.03)
    hover(env, x, y, top, 0.0)
    stay(env, 2, on=True)
    assert held(env) == slot


def component(env, slot) -> PhysxRigidDynamicComponent:
    entity = base(env).world.simulations[0].bodies[slot]
    return entity.find_component_by_type(PhysxRigidDynamicComponent)


def height(env, slot):
    return float(base(env).world.bottom(torch.tensor([slot])))


# ---- taking hold ----


def test_it_grasps_a_touched_body(env):
    hover(env, *CUBE_XY, 0.05, 0.0)
    assert held(env) == -1
    env.step(act(on=True))
    assert held(env) == CUBE_SLOT
    go_to(env, (*CUBE_XY, 0.2), on=True)
    assert height(env, CUBE_SLOT) > 0.1


def test_hovering_above_takes_nothing(env):
    for gap in (0.005, CENTER_GAP_M + 1.5e-3):
        hover(env, *CUBE_XY, 0.05, gap, on=True)
        stay(env, 10, on=True)
        assert held(env) == -1, gap
    assert height(env, CUBE_SLOT) < 1e-3


def test_touching_without_vacuum_takes_nothing(env):
    hover(env, *CUBE_XY, 0.05, 0.0)
    stay(env, 5, on=False)
    assert held(env) == -1
    go_to(env, (*CUBE_XY, 0.2))
    assert height(env, CUBE_SLOT) < 1e-3


def test_a_cup_half_over_the_edge_takes_nothing(env):
    for x, y in ((0.025, 0.0), (0.0, 0.0285)):
        hover(env, CUBE_XY[0] + x, CUBE_XY[1] + y, 0.05, 0.0)
        stay(env, 5, on=True)
        assert held(env) == -1, (x, y)
        go_to(env, (*CUBE_XY, 0.2))
        env.reset(seed=0)


def test_beside_the_body_takes_nothing(env):
    hover(env, CUBE_XY[0] + 0.09, CUBE_XY[1], 0.03, 0.0, on=True)
    stay(env, 5, on=True)
    assert held(env) == -1


def test_furniture_and_the_table_are_not_taken(env):
    for (x, y), top in ((AREA_XY, 0.01), (FREE_XY, 0.0)):
        hover(env, x, y, top, 0.0, on=True)
        stay(env, 5, on=True)
        assert held(env) == -1
        before = base(env).world.end_effector_pose[0, 2].item()
        go_to(env, (x, y, 0.2), on=True)
        assert base(env).world.end_effector_pose[0, 2].item() > before + 0.1  # it does not stick


def test_pressing_on_the_edge_with_the_head_takes_nothing(env):
    """Whatever part of the gripper touches, only a sealed cup holds."""
    hover(env, CUBE_XY[0], CUBE_XY[1] + 0.06, 0.05, 0.0)
    go_to(env, (CUBE_XY[0], CUBE_XY[1] + 0.06, 0.03), on=True, speed_m=0.005)
    stay(env, 5, on=True)
    assert held(env) == -1


def test_cups_hold_in_proportion(env):
    grip(env, CUBE_SLOT)
    assert base(env).vacuum.state()[0, :2].tolist() == [CUBE_SLOT, 1]
    env.reset(seed=0)
    grip(env, SLAB_SLOT)
    assert base(env).vacuum.state()[0, :2].tolist() == [SLAB_SLOT, 5]


def test_with_full_hands_it_takes_nothing_else(env):
    grip(env)
    go_to(env, (*CUBE_XY, 0.2), on=True)
    go_to(env, (*SLAB_XY, 0.2), on=True)
    go_to(env, (*SLAB_XY, 0.081), on=True, speed_m=0.01)  # the cube stands on the slab
    stay(env, 5, on=True)
    assert held(env) == CUBE_SLOT
    go_to(env, (*SLAB_XY, 0.25), on=True)
    assert height(env, SLAB_SLOT) < 1e-3 and height(env, CUBE_SLOT) > 0.1


def test_a_toppled_letter_or_ball_needs_a_flat_spot():
    """On the flank of a ball the rim of a cup hangs in the air."""
    env = bench(body(CUBE, *CUBE_XY), body(BALL, 0.0, 0.1))
    half = BALL.geometry.half_extents
    hover(env, 0.0 + 0.75 * half[0], 0.1, 0.6 * 2 * half[2], 0.0, on=True)
    stay(env, 5, on=True)
    assert held(env) == -1
    env.close()


# ---- holding ----


def test_it_holds_while_moving_fast(env):
    grip(env)
    go_to(env, (*CUBE_XY, 0.25), on=True)
    body_pose = base(env).world.pose(index(base(env).world, CUBE_SLOT))
    offset = body_pose[0, :3] - base(env).world.end_effector_pose[0, :3]
    for move in ((0, 0.3, 0), (0, -0.3, 0), (0.3, 0, 0), (-0.3, 0, 0), (0.2, 0.2, -0.1)):
        for _ in range(4):
            env.step(act(*move, on=True))
        for _ in range(4):
            env.step(act(*(-np.array(move)), on=True))
        assert held(env) == CUBE_SLOT, move
    stay(env, 10, on=True)
    now = base(env).world.pose(index(base(env).world, CUBE_SLOT))[0, :3]
    now = now - base(env).world.end_effector_pose[0, :3]
    assert float((now - offset).norm()) < 2e-3


def test_it_holds_for_long_without_sagging(env):
    grip(env, SLAB_SLOT)
    go_to(env, (*SLAB_XY, 0.2), on=True)
    stay(env, 5, on=True)
    before = height(env, SLAB_SLOT)
    stay(env, 60, on=True)
    assert held(env) == SLAB_SLOT and abs(height(env, SLAB_SLOT) - before) < 1e-3


@pytest.mark.parametrize(("slot", "cups"), [(CUBE_SLOT, 1), (SLAB_SLOT, 5)])
@pytest.mark.parametrize(("share", "lifts"), [(0.6, True), (1.4, False)])
def test_weight_limit(env, slot, cups, share, lifts):
    """What weighs more than the sealed cups pull stays on the table."""
    component(env, slot).mass = share * cups * FORCE_PER_CUP_N / GRAVITY
    grip(env, slot)
    xy = CUBE_XY if slot == CUBE_SLOT else SLAB_XY
    go_to(env, (*xy, 0.15), on=True, speed_m=0.01)
    assert (held(env) == slot) == lifts
    assert (height(env, slot) > 0.05) == lifts


def test_an_obstacle_pulls_it_off():
    env = bench(body(CUBE, *CUBE_XY), body(WALL, -0.05, 0.0))
    hover(env, *CUBE_XY, 0.05, 0.0)
    stay(env, 2, on=True)
    assert held(env) == CUBE_SLOT
    # the gripper itself passes above the wall, the cube does not
    go_to(env, (*CUBE_XY, 0.14), on=True)
    go_to(env, (0.02, 0.0, 0.14), on=True, speed_m=0.015)
    assert (
        held(env) == -1
        or float(
            (base(env).world.position(torch.tensor([0]))[0, :2] - torch.tensor([0.02, 0.0])).norm()
        )
        < 2 * SLIP_M + 0.03
    )
    assert held(env) == -1
    env.close()


# ---- letting go ----


def test_it_lets_go_at_once(env):
    grip(env)
    go_to(env, (*CUBE_XY, 0.25), on=True)
    stay(env, 5, on=True)
    env.step(act())
    assert held(env) == -1
    fall = float(base(env).world.body_velocity[0, CUBE_SLOT, 2])
    assert fall == pytest.approx(-GRAVITY * 0.05, rel=0.1)
    stay(env, 20, on=False)
    assert height(env, CUBE_SLOT) < 1e-3


def test_a_released_body_keeps_its_velocity(env):
    grip(env)
    go_to(env, (*CUBE_XY, 0.25), on=True)
    for _ in range(5):
        env.step(act(y=-0.3, on=True))
    speed = base(env).world.body_velocity[0, CUBE_SLOT, :3].clone()
    assert float(speed[1]) > 0.05
    env.step(act(y=-0.3))
    after = base(env).world.body_velocity[0, CUBE_SLOT, :3]
    assert torch.allclose(after[:2], speed[:2], atol=0.03)
    assert float(after[2] - speed[2]) == pytest.approx(-GRAVITY * 0.05, abs=0.06)


def test_it_can_be_taken_again(env):
    grip(env)
    go_to(env, (*CUBE_XY, 0.1), on=True)
    stay(env, 3, on=True)  # at rest, so that it drops and is not thrown
    stay(env, 10, on=False)
    assert held(env) == -1
    grip(env)


# ---- state ----


def test_a_held_body_survives_saving_and_restoring(env):
    grip(env)
    go_to(env, (*CUBE_XY, 0.2), on=True)
    stay(env, 10)
    state = base(env).get_state()
    pose = base(env).world.pose(torch.tensor([CUBE_SLOT])).clone()
    stay(env, 15, on=False)
    assert held(env) == -1 and height(env, CUBE_SLOT) < 1e-3
    base(env).set_state(state)
    assert held(env) == CUBE_SLOT
    assert torch.allclose(base(env).world.pose(torch.tensor([CUBE_SLOT])), pose, atol=1e-5)
    stay(env, 20)
    assert held(env) == CUBE_SLOT
    assert torch.allclose(base(env).world.pose(torch.tensor([CUBE_SLOT])), pose, atol=1e-3)


def test_an_empty_hand_survives_saving_and_restoring(env):
    state = base(env).get_state()
    grip(env)
    base(env).set_state(state)
    assert held(env) == -1
    stay(env, 5, on=False)
    assert held(env) == -1 and height(env, CUBE_SLOT) < 1e-3


def test_a_new_episode_starts_with_an_empty_hand(env):
    grip(env)
    go_to(env, (*CUBE_XY, 0.2), on=True)
    env.reset(seed=1)
    assert held(env) == -1
    stay(env, 2)
    assert height(env, CUBE_SLOT) < 1e-3


def test_moving_a_held_body_by_hand_lets_go(env):
    grip(env)
    put(env, CUBE_SLOT, 0.0, -0.3)
    assert held(env) == -1
    stay(env, 3, on=False)
    assert height(env, CUBE_SLOT) < 1e-3
