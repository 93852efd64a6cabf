"""A structure was toppled: all on the table, by the robot, without taking it apart by hand."""

import pytest
import torch

from clevrskills.core.goal.context import broadcast_slots
from clevrskills.predicates import OnTop, Order, ToppledStructure
from clevrskills.sim.tensor_world import TensorWorld
from tests.support.worlds import CUBE, HEXAGON, SLAB, BodySpec, make_world, move_gripper, pose

KEYS = (SLAB, CUBE, HEXAGON)
BASE = (-0.2, 0.0)


def stack():
    """A hexagon on a cube on a slab, and a brick beside them."""
    heights = (0.0, 0.03, 0.08)
    poses = [pose(t, *BASE, bottom_z=z) for t, z in zip(KEYS, heights, strict=True)]
    brick = BodySpec("brick", "cube", (0.08, 0.04, 0.03))
    world = make_world([*KEYS, brick], [*poses, pose(brick, 0.0, 0.25)])
    move_gripper(world, (*BASE, 0.4))
    return world


def goal(*slots):
    return ToppledStructure(torch.tensor([slots or (0, 1, 2, -1)]))


def put(world, slot, x, y):
    world.set_body_pose(torch.tensor([slot]), pose(KEYS[slot], x, y)[None])


def topple(world):
    put(world, 1, -0.05, 0.0)
    put(world, 2, 0.02, 0.0)


def touch(world, slot=1):
    x, y, _ = world.position(torch.tensor([slot]))[0].tolist()
    move_gripper(world, (x, y, float(world.top(torch.tensor([slot])))))


def lift_off(world):
    move_gripper(world, (*BASE, 0.4))


def hold(world):
    world.hold(torch.tensor([2]), world.pose(torch.tensor([2])))


def episode(predicate, world, *events):
    outcome = predicate.evaluate(world, predicate.initial_state(world))
    rewards = [float(outcome.reward)]
    for event in events:
        event(world)
        outcome = predicate.evaluate(world, outcome.state)
        rewards.append(float(outcome.reward))
        assert bool(outcome.holds) == (float(outcome.progress) == 1.0)
        assert bool(outcome.holds) == (rewards[-1] == float(torch.as_tensor(predicate.max_reward)))
    return outcome, rewards


def test_toppled_by_the_gripper_it_holds():
    outcome, rewards = episode(goal(), stack(), touch, topple, lift_off)
    assert outcome.holds and rewards[-1] == 9.0
    assert rewards == sorted(rewards)


def test_fallen_by_itself_it_does_not_hold():
    assert not episode(goal(), stack(), topple)[0].holds
    outcome, _ = episode(goal(), stack(), lambda w: touch(w, 3), topple)  # something else touched
    assert not outcome.holds


def test_taken_apart_by_hand_it_does_not_hold():
    outcome, rewards = episode(goal(), stack(), touch, hold, topple, lift_off)
    assert not outcome.holds and rewards[-1] == 0.0


@pytest.mark.parametrize("left", [1, 2])
def test_one_that_is_still_up_is_enough_to_fail(left):
    def all_but_one(world):
        topple(world)
        x, y = BASE
        spec = KEYS[left]
        world.set_body_pose(torch.tensor([left]), pose(spec, x, y, bottom_z=0.03)[None])

    assert not episode(goal(), stack(), touch, all_but_one)[0].holds
    assert episode(goal(), stack(), touch, all_but_one, topple)[0].holds


LONG = BodySpec("long", "cube", (0.04, 0.24, 0.03))


def bridge(x=0.0, z=0.05, turn=(1.0, 0.0, 0.0, 0.0)):
    """Two cubes on the table, and a long body at a place and a height, stacked at first."""
    twin = BodySpec("twin", "cube", CUBE.size)
    specs = [CUBE, twin, LONG]
    heights = (0.0, 0.05, 0.1)
    world = make_world(
        specs, [pose(t, *BASE, bottom_z=h) for t, h in zip(specs, heights, strict=True)]
    )
    move_gripper(world, (*BASE, 0.4))

    def fall(world):
        world.set_body_pose(torch.tensor([0]), pose(CUBE, BASE[0], -0.08)[None])
        world.set_body_pose(torch.tensor([1]), pose(twin, BASE[0], 0.08)[None])
        laid = pose(LONG, BASE[0], x, bottom_z=z)
        laid[3:] = torch.tensor(turn)
        world.set_body_pose(torch.tensor([2]), laid[None])

    return world, fall


class Shared(TensorWorld):
    """A world in which several bodies carry one by equal shares."""

    @broadcast_slots
    def supports(self, lower, upper):
        slots = range(len(self.keys))
        each = torch.stack(
            [super(Shared, self).supports(torch.full_like(upper, k), upper) for k in slots], dim=-1
        )
        each = each.masked_fill(upper[:, None] == torch.arange(len(self.keys)), 0.0)
        mine = each.gather(1, lower[:, None])[:, 0]
        return mine / each.sum(-1).clamp(min=1.0)


def shared(world):
    return Shared(world.keys, world.solids, world.body_pose, world.end_effector_pose)


def test_one_that_lies_across_others_is_down():
    world, fall = bridge()
    outcome, _ = episode(goal(0, 1, 2), shared(world), touch, lift_off, fall)
    assert outcome.holds


def test_one_that_stands_on_one_other_is_not_down():
    """Whether it is the one that it stood on in the stack or not."""
    for x in (-0.08, 0.08):
        world, fall = bridge(x=x)

        def alone(world, fall=fall, x=x):
            fall(world)
            world.set_body_pose(torch.tensor([0 if x > 0 else 1]), pose(CUBE, 0.1, 0.3)[None])

        assert not episode(goal(0, 1, 2), shared(world), touch, lift_off, alone)[0].holds


def test_one_that_the_robot_props_up_is_not_down():
    world, fall = bridge()

    def propped(world):
        move_gripper(world, (*BASE, float(world.top(torch.tensor([2])))))

    outcome, _ = episode(goal(0, 1, 2), shared(world), touch, lift_off, fall, propped)
    assert not outcome.holds
    world, fall = bridge(z=0.12)  # in the air
    assert not episode(goal(0, 1, 2), shared(world), touch, lift_off, fall)[0].holds


def test_held_again_it_can_not_be_toppled_any_more():
    outcome, _ = episode(goal(), stack(), touch, hold, topple, lift_off)
    assert [bool(v) for v in goal().unsolvable(outcome.state).values()] == [True]
    outcome, _ = episode(goal(), stack(), touch)
    assert [bool(v) for v in goal().unsolvable(outcome.state).values()] == [False]


def test_all_must_be_at_rest():
    def roll(world):
        topple(world)
        world.set_body_velocity(torch.tensor([2]), torch.tensor([[0.0, 0.01, 0, 0, 0, 0]]))

    assert not episode(goal(), stack(), touch, roll)[0].holds


def test_missing_bodies_do_not_count():
    assert float(goal().max_reward) == 9.0 and float(goal(0, 1).max_reward) == 6.0
    assert goal(2, 1, -1).describe(stack()) == "Topple the stack of {obj:hexagon}, {obj:cube}"


def test_as_a_later_part_it_starts_when_its_turn_comes():
    """Holding a body before the stack is built does not count, holding it afterwards does."""
    stacked = OnTop(torch.tensor([2]), torch.tensor([1]))
    tree = Order((stacked, goal()))
    poses = stack().body_pose.clone()

    def begin():
        world = stack()
        put(world, 2, 0.0, 0.1)
        return world

    def restack(world):
        world.set_body_pose(torch.tensor([2]), poses[:, 2])

    outcome, _ = episode(tree, begin(), hold, restack, lift_off, touch, topple)
    assert outcome.holds
    outcome, _ = episode(tree, begin(), hold, restack, lift_off, touch, hold, topple, lift_off)
    assert not outcome.holds
    outcome, _ = episode(tree, begin(), touch, restack, lift_off, topple)  # touched too early
    assert not outcome.holds


def test_realized_the_bodies_lie_apart():
    world = stack()
    predicate = goal()
    state = predicate.initial_state(world)
    predicate.realize(world)
    assert predicate.evaluate(world, state).holds
    for slot in range(4):
        gaps = world.distance(world.world_points(torch.tensor([slot])))[0].amin(-1)
        gaps[slot] = 1.0
        assert float(gaps.min()) > 0.0
