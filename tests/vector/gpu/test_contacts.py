"""Who touches whom, from impulses between pairs, beside what a simulation on the CPU tells."""

import pytest
import torch

from clevrskills.sim.simulation import CONTACT_IMPULSE_NS
from clevrskills.sim.world import GRAVITY
from clevrskills.vector.gpu.contacts import NEVER, Contacts
from tests.support.envs import act, base, bench, body, go_to, put, stay
from tests.support.worlds import AREA, BRICK, CUBE, SLAB
from tests.vector.gpu.scenes import CpuPhysics

SLAB_SLOT, CUBE_SLOT, AREA_SLOT, BRICK_SLOT = 0, 1, 2, 3
TABLE, GRIPPER, ARM = 4, 5, 6


@pytest.fixture(scope="module")
def recorded():
    """An environment, and contacts noted from the impulses of each of its physics steps."""
    env = bench(
        *(body(SLAB, -0.2, 0.0), body(CUBE, -0.2, 0.0, bottom_z=0.03)),
        *(body(AREA, -0.2, -0.25), body(BRICK, -0.1, 0.25)),
    )
    physics = CpuPhysics.of(base(env))
    contacts = Contacts(physics.pairs, 1, 4)
    simulation = base(env).simulation
    simulation.touches_matter = True
    forget, note = simulation.forget_step, simulation._note_touches

    def begin():
        forget()
        contacts.begin()

    def both(before):
        note(before)
        contacts.note(physics.impulses())

    simulation.forget_step, simulation._note_touches = begin, both
    yield env, contacts, physics
    env.close()


def compare(recorded) -> list[tuple[int, int]]:
    """That both say the same of all pairs; returns those that touch."""
    env, contacts, physics = recorded
    contacts.weigh(physics.impulses())
    world, touching = base(env).world, []
    weights = world.solids.mass[0] * GRAVITY * 0.01
    for one in range(4):
        body = torch.tensor([one])
        table = bool(contacts.lift[0, one, TABLE] > CONTACT_IMPULSE_NS)
        assert table == bool(world.on_table(body))
        for two in range(4):
            other = torch.tensor([two])
            share = float(contacts.lift[0, one, two] / weights[one])
            assert share == pytest.approx(float(world.supports(other, body)), abs=1e-4)
            before = contacts.touched_before(torch.tensor([0]), body, other)
            if one != two:
                assert bool(before) == bool(world.touches_before(body, other)), (one, two)
        for other in range(7):
            touches = bool(contacts.first[0, one, other] < NEVER)
            assert touches == ((one, other) in base(env).simulation.touched), (one, other)
            if touches:
                touching.append((one, other))
    return touching


def test_lying_pushed_lifted_and_dropped(recorded):
    env = recorded[0]
    stay(env, 2)
    assert compare(recorded) == [(0, 1), (0, TABLE), (1, 0), (3, TABLE)]
    go_to(env, (-0.2, 0.0, 0.081), on=True, speed_m=0.02)
    stay(env, 2, on=True)
    assert (CUBE_SLOT, GRIPPER) in compare(recorded)
    go_to(env, (-0.2, 0.0, 0.25), on=True)
    assert (SLAB_SLOT, CUBE_SLOT) not in compare(recorded)
    go_to(env, (-0.2, -0.25, 0.2), on=True)
    env.step(act(on=False))
    touching = []
    for _ in range(6):
        env.step(act(on=False))
        touching.append((CUBE_SLOT, AREA_SLOT) in compare(recorded))
    assert not touching[0] and touching[-1]


def test_toppled_onto_each_other(recorded):
    env = recorded[0]
    put(env, BRICK_SLOT, -0.2, 0.0, bottom_z=0.15)
    for _ in range(8):
        env.step(act())
        found = compare(recorded)
    assert (BRICK_SLOT, SLAB_SLOT) in found


def test_order_of_touches():
    pairs = torch.tensor([[0, 0, 1], [0, 0, 2], [1, 0, 1], [1, 0, 2]])
    contacts = Contacts(pairs, 2, 2)
    rows, one, two = torch.tensor([0, 1]), torch.tensor([0, 0]), torch.tensor([1, 1])
    touch = torch.tensor([0.0, 0.0, 1e-3])
    none = torch.zeros(3)
    contacts.begin()
    assert not contacts.touched_before(rows, one, two).any()
    contacts.note(torch.stack((touch, none, none, touch)))  # 0: the other body; 1: the table
    assert contacts.touched_before(rows, one, two).tolist() == [False, True]
    contacts.note(torch.stack((none, touch, touch, none)))
    assert contacts.touched_before(rows, one, two).tolist() == [False, True]
    assert contacts.first[:, 0, 1].tolist() == [1, 2] and contacts.first[:, 1, 0].tolist() == [1, 2]
    contacts.begin()
    contacts.note(torch.stack((touch, touch, none, none)))  # at once is not before
    assert contacts.touched_before(rows, one, two).tolist() == [False, False]


def test_threshold_and_direction():
    pairs = torch.tensor([[0, 0, 1]])
    contacts = Contacts(pairs, 1, 2)
    contacts.begin()
    contacts.note(torch.tensor([[0.0, 0.0, 0.99 * CONTACT_IMPULSE_NS]]))
    assert (contacts.first == NEVER).all()
    contacts.note(torch.tensor([[0.0, -1.01 * CONTACT_IMPULSE_NS, 0.0]]))
    assert contacts.first[0, 0, 1] == 2
    contacts.weigh(torch.tensor([[0.1, 0.0, -0.5]]))
    assert contacts.lift[0, :, :2].tolist() == [[0.0, -0.5], [0.5, 0.0]]


def test_the_gripper_is_several_links():
    pairs = torch.tensor([[0, 0, 2], [0, 0, 2], [0, 0, 3]])
    contacts = Contacts(pairs, 1, 1)
    contacts.begin()
    contacts.note(torch.tensor([[0.0, 0, 0], [1e-3, 0, 0], [0, 0, 0]]))
    assert contacts.first[0, 0].tolist() == [NEVER, NEVER, 1, NEVER]


def test_restored_environments_forget_and_the_others_do_not():
    pairs = torch.tensor([[0, 0, 1], [1, 0, 1]])
    contacts = Contacts(pairs, 2, 1)
    contacts.begin()
    impulses = torch.tensor([[0.0, 0, 0.3], [0.0, 0, 0.3]])
    contacts.note(impulses)
    contacts.weigh(impulses)
    contacts.restore(torch.tensor([1]), torch.tensor([[[0.0, 0.7]]]))
    assert contacts.lift[:, 0, 1].tolist() == pytest.approx([0.3, 0.7])
    assert contacts.first[:, 0, 1].tolist() == [1, NEVER]
