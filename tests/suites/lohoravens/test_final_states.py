"""Final states close to success: a table of ways to spoil a solved scene."""

from collections.abc import Callable

import pytest
import torch

from clevrskills.predicates import OnTop, Set
from clevrskills.sim.tensor_world import TensorWorld
from clevrskills.suites.lohoravens.predicates.constraints import Constraint, Untouched
from clevrskills.suites.lohoravens.predicates.tower import Tower
from clevrskills.suites.lohoravens.solver.rehearsal import carry_out
from clevrskills.suites.lohoravens.tasks import tasks
from tests.suites.lohoravens.scenes import KEYS, Solved, blocks, look, put, solved

OWN = tuple(k for k in KEYS if tasks()[k].family != "shape" and "hidden" not in k)


def short(of: Solved) -> TensorWorld:
    """All moves but the last."""
    world = TensorWorld.snapshot(of.scene.start)
    for placed in of.plan[:-1]:
        carry_out(world, placed.move)
    return world


def only_last(of: Solved) -> TensorWorld:
    """The last block where it goes, and no other; of a single move nothing."""
    world = TensorWorld.snapshot(of.scene.start)
    if len(of.plan) > 1:
        x, y, z = of.end.position(of.last)[0].tolist()
        put(world, int(of.last), x, y, z)
    return world


def held(of: Solved) -> TensorWorld:
    """The last block is where it should be, in the gripper."""
    world = of.world()
    world.hold(of.last, world.pose(of.last))
    return world


def touched(of: Solved) -> TensorWorld:
    """The gripper is still at the last block."""
    world = of.world()
    pose = world.end_effector_pose.clone()
    pose[:, :3] = world.position(of.last)
    pose[:, 2] = world.top(of.last) + 0.001
    world.set_end_effector_pose(pose)
    return world


def moving(of: Solved) -> TensorWorld:
    """The last block is not yet at rest."""
    world = of.world()
    world._body_velocity[0, int(of.last), 0] = 0.3
    world.invalidate()
    return world


def taken_away(of: Solved) -> TensorWorld:
    """The last block lies far away."""
    world = of.world()
    put(world, int(of.last), -0.6, 0.9, 0.03)
    return world


def elsewhere(of: Solved) -> TensorWorld:
    """All blocks as they should be to each other, a quarter of the field further."""
    world = of.world()
    for slot in blocks(world):
        x, y, z = world.body_pose[0, slot, :3].tolist()
        put(world, slot, x + 0.35, y + 0.9, z)
    return world


def heap(of: Solved) -> TensorWorld:
    """All blocks in one place, floating into each other."""
    world = of.world()
    for slot in blocks(world):
        put(world, slot, -0.6, 0.9, float(world.body_pose[0, slot, 2]))
    return world


WAYS = (short, only_last, held, touched, moving, taken_away, elsewhere, heap)


@pytest.mark.parametrize("key", OWN)
def test_a_spoiled_scene_is_no_success(key: str) -> None:
    of = solved(key)
    assert look(of.scene, of.world()) == (True, 1.0)
    pairs_move_together = {OnTop} & {*tasks()[key].predicates} or _anywhere(of)
    for way in WAYS:
        holds, share = look(of.scene, way(of))
        if way in (elsewhere, heap) and pairs_move_together:
            continue  # where a pair stands does not matter
        assert not holds and share < 1.0, way.__name__


def _anywhere(of: Solved) -> bool:
    return any(isinstance(x, Tower) and int(x.base[0]) < 0 for x in of.scene.goal.leaves())


def one_more(of: Solved, others: list[int]) -> TensorWorld:
    """Another block goes where the last one was put: on top of it, or beside it."""
    world = of.world()
    x, y, _ = world.position(of.last)[0].tolist()
    put(world, others[0], x, y, float(world.top(of.last)[0]) + 0.5)
    return world


def all_moved(of: Solved, others: list[int]) -> TensorWorld:
    """All other blocks too."""
    world = of.world()
    x, y, _ = world.position(of.last)[0].tolist()
    for k, slot in enumerate(others):
        put(world, slot, x, y, 0.6 + 0.1 * k)
    return world


def pushed(of: Solved, others: list[int]) -> TensorWorld:
    """Another block is out of its place by more than may be."""
    world = of.world()
    x, y, z = world.body_pose[0, others[0], :3].tolist()
    put(world, others[0], x + 0.025, y, z)
    return world


KEPT = tuple(k for k in OWN if any(issubclass(p, Constraint) for p in tasks()[k].predicates))


@pytest.mark.parametrize("key", KEPT)
def test_other_blocks_that_were_moved_too_are_no_success(key: str) -> None:
    ways: tuple[Callable[[Solved, list[int]], TensorWorld], ...] = (one_more, all_moved)
    if Untouched in tasks()[key].predicates:
        ways = (pushed,)
    of, others = next(
        (of, others)
        for of in (solved(key, seed) for seed in range(40))
        if (others := strangers(of))
    )
    for way in ways:
        assert not look(of.scene, way(of, others))[0], way.__name__


def strangers(of: Solved) -> list[int]:
    """Blocks that must stay out of where the last one was put, or where they are."""
    kept, found = of.scene.goal.kept, set[int]()
    for leaf in kept.leaves():
        bodies = of.scene.layout.bodies
        alike = bodies[int(of.last)].color
        was = leaf.initial_state(of.scene.start).get("was", torch.zeros_like(leaf.objects).bool())
        found |= {
            slot
            for slot in leaf.objects[~was].tolist()
            if slot >= 0 and not (isinstance(kept, Set) and bodies[slot].color == alike)
        }
    return sorted(found - {placed.slot for placed in of.plan[-1:]})


TOWERS = tuple(k for k in OWN if Tower in tasks()[k].predicates)


def bare(of: Solved) -> Tower:
    """The tower that was built last."""
    leaves = [x for x in of.scene.goal.leaves() if isinstance(x, Tower)]
    return next(x for x in leaves if int(of.last) in x.objects[0].tolist())


def flat(of: Solved) -> TensorWorld:
    """The blocks of the tower side by side on the zone."""
    world, leaf = of.world(), bare(of)
    x, y, _ = world.position(leaf.base)[0].tolist()
    for k, slot in enumerate(s for s in leaf.objects[0].tolist() if s >= 0):
        side = float(world.solids.size[0, slot, 2])
        put(world, slot, x + 0.03 * (-1) ** k, y + 0.03 * (-1) ** (k // 2), 0.001 + side / 2)
    return world


def covered(of: Solved) -> TensorWorld:
    """Something is on top that does not belong to it, as far as there is another block."""
    world, leaf = of.world(), bare(of)
    used = {slot for x in of.scene.goal.leaves() for slot in x.objects[0].tolist()}
    others = [k for k in blocks(world) if k not in used]
    if not others:
        put(world, int(of.last), -0.6, 0.9, 0.03)
        return world
    x, y, _ = world.position(of.last)[0].tolist()
    side = float(world.solids.size[0, others[0], 2])
    put(world, others[0], x, y, float(world.top(of.last)[0]) + side / 2)
    assert int(leaf.chain(world).levels[0]) == int(leaf.count[0])
    return world


def floating(of: Solved) -> TensorWorld:
    """There is a gap below the highest block."""
    world = of.world()
    x, y, z = world.position(of.last)[0].tolist()
    put(world, int(of.last), x, y, z + 0.02)
    return world


def off_base(of: Solved) -> TensorWorld:
    """The tower stands with half of its foot beside the zone."""
    world, leaf = of.world(), bare(of)
    for slot in (s for s in leaf.chain(of.end).blocks[0].tolist() if s >= 0):
        x, y, z = of.end.body_pose[0, slot, :3].tolist()
        put(world, slot, x, y + 0.05, z)
    return world


def upside_down(of: Solved) -> TensorWorld:
    """The lowest and the highest block have changed places, if that matters; else it leans over."""
    world, leaf = of.world(), bare(of)
    built = [s for s in leaf.chain(of.end).blocks[0].tolist() if s >= 0]
    low, high = built[0], built[-1]
    if leaf.alike(0, low, high):
        return off_base(of)
    for slot, other in ((low, high), (high, low)):
        x, y, z = of.end.body_pose[0, other, :3].tolist()
        put(world, slot, x, y, z)
    return world


@pytest.mark.parametrize("key", TOWERS)
def test_heaps_that_resemble_a_tower_do_not_count(key: str) -> None:
    of = solved(key)
    for way in (flat, covered, floating, off_base, upside_down):
        holds, share = look(of.scene, way(of))
        assert not holds and share < 1.0, way.__name__
