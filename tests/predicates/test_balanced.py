"""Balanced: all objects on the plates, equal masses on both, the beam level, all let go."""

from dataclasses import fields
from math import radians

import pytest
import torch

from clevrskills.core.geometry import quaternion_multiply
from clevrskills.predicates import CRITERIA, Balanced
from clevrskills.sim.body_geometry import Solids
from clevrskills.sim.tensor_world import TensorWorld
from clevrskills.sim.world import STATIC_SPIN_RAD_PER_S
from tests.support.worlds import BodySpec, make_world, move_gripper, pose

FOOT = BodySpec("foot", "scale foot", static=True)
BEAM = BodySpec("beam", "scale beam", static=True)
PLATES = [BodySpec(f"plate_{k}", "scale plate", static=True) for k in (0, 1)]
HEIGHTS_M = (0.06, 0.02, 0.04, 0.03)
BLOCKS = [BodySpec(f"block_{k}", "cube", (0.1, 0.1, h)) for k, h in enumerate(HEIGHTS_M)]
"""The first is as heavy as the next two together; the last is not needed."""
BODIES = [FOOT, BEAM, *PLATES, *BLOCKS]
BEAM_SLOT, PLATE_SLOTS, BLOCK_SLOTS, LAST = 1, (2, 3), (4, 5, 6), 7
PLATE_Y, PLATE_TOP = (-0.18, 0.18), 0.115
EQUAL = ((4,), (5, 6))


def slot(k, world=None):
    return torch.full((world.num_envs if world else 1,), k)


def scale(batch=1):
    """A level scale with the blocks beside it."""
    poses = [pose(FOOT, 0, 0), pose(BEAM, 0, 0, bottom_z=0.061)]
    poses += [pose(p, 0, y, bottom_z=0.079) for p, y in zip(PLATES, PLATE_Y, strict=True)]
    poses += [pose(b, -0.3, 0.15 * k - 0.2) for k, b in enumerate(BLOCKS)]
    one = make_world(BODIES, poses)
    solids = Solids(
        **{
            f.name: getattr(one.solids, f.name).expand(
                batch, *getattr(one.solids, f.name).shape[1:]
            )
            for f in fields(one.solids)
        }
    )
    world = TensorWorld(one.keys, solids, one.body_pose.expand(batch, -1, -1))
    move_gripper(world, (-0.1, 0.0, 0.5))
    return world


def goal_for(world, slots=(*BLOCK_SLOTS, -1)):
    row = torch.tensor([slots])
    return Balanced(
        slot(BEAM_SLOT, world),
        torch.tensor([PLATE_SLOTS]).expand(world.num_envs, 2),
        row.expand(world.num_envs, len(slots)),
        world.body_pose[:, [BEAM_SLOT, *PLATE_SLOTS]].clone(),
    )


def pile(world, stacks):
    """Stack blocks on the plates, or, on a third place, beside them."""
    for stack, y, bottom in zip(stacks, (*PLATE_Y, 0.0), (PLATE_TOP, PLATE_TOP, 0.2), strict=False):
        for k in stack:
            block = BODIES[k]
            at = pose(block, 0.0, y, bottom_z=bottom)
            world.set_body_pose(slot(k, world), at.expand(world.num_envs, 7))
            bottom += block.size[2]


def tilt(world, angle_rad):
    half = torch.tensor(angle_rad / 2)
    turn = torch.stack((half.cos(), half.sin(), half * 0, half * 0))
    at = world.pose(slot(BEAM_SLOT, world)).clone()
    at[:, 3:] = quaternion_multiply(turn, at[:, 3:])
    world.set_body_pose(slot(BEAM_SLOT, world), at)


def look(world, criteria="paper", slots=(*BLOCK_SLOTS, -1), goal=None):
    outcome = (goal or goal_for(world, slots)).with_criteria(CRITERIA[criteria]).evaluate(world, {})
    assert torch.equal(outcome.holds, outcome.progress == 1.0)
    return outcome


@pytest.mark.parametrize("batch", [1, 9])
@pytest.mark.parametrize("criteria", CRITERIA)
@pytest.mark.parametrize("stacks", [EQUAL, EQUAL[::-1], ((4,), (6, 5))])
def test_equal_stacks_balance_on_either_side_in_any_order(stacks, criteria, batch):
    world = scale(batch)
    pile(world, stacks)
    outcome = look(world, criteria)
    assert outcome.holds.all() and (outcome.reward == 18.0).all()


@pytest.mark.parametrize("criteria", CRITERIA)
@pytest.mark.parametrize(
    "stacks",
    [
        ((), ()),
        ((4,), ()),
        ((4,), (5,)),  # one is missing
        ((4,), (6,)),
        ((4, 5), (6,)),
        ((5,), (4, 6)),
        ((4, 5, 6), ()),
        ((), (6, 5, 4)),
        ((), (), (4, 5, 6)),  # in the air
    ],
)
def test_anything_else_does_not(stacks, criteria):
    world = scale()
    pile(world, stacks)
    assert not look(world, criteria).holds


def test_environments_are_evaluated_separately():
    world = scale(40)
    ways = [EQUAL, ((4, 5), (6,)), ((4,), (5,)), ((6, 5), (4,))]
    single = []
    for way in ways:
        one = scale()
        pile(one, way)
        single.append(one)
    which = torch.arange(40) % len(ways)
    world._body_pose[:] = torch.cat([one.body_pose for one in single])[which]
    world.invalidate()
    outcome = look(world, goal=goal_for(scale(40)))
    expected = torch.stack([look(one).reward[0] for one in single])
    assert outcome.holds.tolist() == [bool(k in (0, 3)) for k in which.tolist()]
    assert torch.allclose(outcome.reward, expected[which])


def test_all_four_count_where_there_are_four():
    """The last one is a third of the whole: it cannot be balanced at all."""
    world = scale()
    pile(world, EQUAL)
    assert not look(world, slots=(*BLOCK_SLOTS, LAST)).holds
    with pytest.raises(ValueError, match="two of equal mass"):
        goal_for(world, (*BLOCK_SLOTS, LAST)).realize(world)


def test_a_mass_that_differs_by_more_than_a_thousandth_is_not_equal():
    for factor, holds in ((1.0015, True), (1.003, False)):
        world = scale()
        pile(world, EQUAL)
        mass = world.solids.mass.clone()
        mass[:, 4] *= factor
        values = {f.name: getattr(world.solids, f.name) for f in fields(world.solids)}
        world.solids = Solids(**values | {"mass": mass})
        assert bool(look(world).holds) == holds


@pytest.mark.parametrize("criteria", CRITERIA)
@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize(("off_rad", "holds"), [(-1e-3, True), (1e-3, False)])
def test_the_beam_must_be_level(off_rad, holds, sign, criteria):
    """The released code minds only the stops."""
    world = scale()
    goal = goal_for(world)
    pile(world, EQUAL)
    limit = CRITERIA[criteria].tilt_rad
    assert limit == pytest.approx(radians({"paper": 2.0, "released": 14.0}[criteria]))
    tilt(world, sign * (limit + off_rad))
    assert bool(look(world, criteria, goal=goal).holds) == holds


@pytest.mark.parametrize("body", [BEAM_SLOT, *PLATE_SLOTS, *BLOCK_SLOTS])
def test_everything_must_be_at_rest(body):
    world = scale()
    pile(world, EQUAL)
    velocity = torch.zeros(1, 6)
    velocity[0, 3] = 1.02 * STATIC_SPIN_RAD_PER_S
    world.set_body_velocity(slot(body), velocity)
    outcome = look(world)
    assert not outcome.holds and float(outcome.progress) == pytest.approx(0.99)
    world.set_body_velocity(slot(body), 0.96 * velocity)
    assert look(world).holds


@pytest.mark.parametrize("criteria", CRITERIA)
@pytest.mark.parametrize("body", BLOCK_SLOTS)
def test_none_may_be_held(body, criteria):
    world = scale()
    pile(world, EQUAL)
    world.hold(slot(body), world.pose(slot(body)))
    assert not look(world, criteria).holds


def test_the_cups_must_have_left_them_in_the_paper_only():
    world = scale()
    pile(world, EQUAL)
    for gap_m, paper in ((0.0018, False), (0.0022, True)):
        move_gripper(world, (0.0, PLATE_Y[0], PLATE_TOP + HEIGHTS_M[0] + gap_m))
        assert bool(look(world).holds) == paper
        assert look(world, "released").holds


@pytest.mark.parametrize("criteria", CRITERIA)
def test_carried_by_the_table_as_well_it_does_not_count(criteria):
    """A plate that went down to the table."""
    world = scale()
    goal = goal_for(world)
    pile(world, EQUAL)
    at = world.pose(slot(5)).clone()
    plate = world.pose(slot(3)).clone()
    plate[0, 2] -= PLATE_TOP - 0.0015
    world.set_body_pose(slot(3), plate)
    at[0, 2] = 0.0015 + HEIGHTS_M[1] / 2
    world.set_body_pose(slot(5), at)
    at[0, 2] += HEIGHTS_M[1] / 2 + HEIGHTS_M[2] / 2
    world.set_body_pose(slot(6), at)
    assert not look(world, criteria, goal=goal).holds


def test_a_block_across_both_plates_is_on_neither():
    """A plank that is as long as the scale."""
    plank = BodySpec("plank", "cube", (0.08, 0.44, 0.03))
    specs = [FOOT, BEAM, *PLATES, plank, BLOCKS[1], BLOCKS[1]]
    start = scale()
    poses = [*start.body_pose[0, :4], pose(plank, 0, 0, bottom_z=PLATE_TOP)]
    poses += [pose(BLOCKS[1], 0, y, bottom_z=PLATE_TOP + 0.03) for y in PLATE_Y]
    world = make_world(specs, poses)
    move_gripper(world, (-0.1, 0.0, 0.5))
    loads = goal_for(world).loads(world)
    assert loads.on[0, 0].all()
    assert bool(loads.wrong[0, 0]) and not look(world).holds


def test_reward_is_6_for_each_object_where_it_may_stay_less_6_for_each_that_must_go():
    def lying(stacks):
        world = scale()
        pile(world, stacks)
        move_gripper(world, (-0.1, 0.0, 3.0))
        return float(look(world).reward)

    assert 0.0 <= lying(((), ())) < 3.0
    assert 6.0 <= lying(((4,), ())) < 9.0
    assert 6.0 <= lying(((), (5,))) < 9.0
    assert 12.0 <= lying(((4,), (5,))) < 15.0
    assert 12.0 <= lying(((), (5, 6))) < 15.0
    assert 0.0 <= lying(((4, 5), ())) < 3.0
    assert lying(EQUAL) == 18.0


def test_the_reward_rises_on_the_way():
    """Towards an object, with it to a plate, to the next one, to the other plate."""
    world = scale()
    seen = []

    def see(position=None):
        if position is not None:
            move_gripper(world, position)
        seen.append(float(look(world).reward))

    x, y, z = world.position(slot(4))[0].tolist()
    see((x + 0.2, y, z + 0.3))
    see((x, y, z + 0.3))
    see((x, y, z + 0.03))
    for at in (
        (x, y, z + 0.2),
        (-0.1, PLATE_Y[0], 0.25),
        (0.0, PLATE_Y[0], 0.25),
        (0, -0.18, 0.15),
    ):
        world.hold(slot(4), torch.tensor([[*at, 1.0, 0.0, 0.0, 0.0]]))
        see((at[0], at[1], at[2] + 0.03))
    pile(world, ((4,), ()))
    see()
    assert seen == sorted(seen) and len(set(seen)) == len(seen)
    assert seen[2] <= 3.0 < seen[3] and seen[-2] <= 6.0 < seen[-1]


def test_where_an_object_may_go():
    world = scale()
    goal = goal_for(world)
    assert goal.loads(world).open[0, :3].all()  # either side will do for the first
    pile(world, ((4,), ()))
    assert goal.loads(world).open[0, :3].tolist() == [[True, False], [False, True], [False, True]]
    pile(world, ((4, 5), (6,)))
    loads = goal.loads(world)
    assert loads.wrong[0].tolist() == [False, True, False, False]
    assert int(loads.correct) == 2
    assert loads.open[0, 1].tolist() == [False, True]


def test_realized_from_a_tilted_scale_with_wrong_loads_it_holds():
    world = scale(3)
    goal = goal_for(world)
    pile(world, ((5, 4), (6,)))
    tilt(world, 0.2)
    goal.realize(world, torch.tensor([True, True, False]))
    assert look(world, goal=goal).holds.tolist() == [True, True, False]


def test_description_names_the_objects():
    goal = goal_for(scale())
    assert (
        goal.describe(scale())
        == "Balance the scale with {obj:block_0}, {obj:block_1} and {obj:block_2}"
    )
