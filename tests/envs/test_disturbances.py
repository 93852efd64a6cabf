"""Disturbances: what becomes of actions and bodies, step by step."""

from types import SimpleNamespace

import numpy as np

from clevrskills.envs.disturbances import DisturbanceInjector
from clevrskills.sim.conditions import Disturbance


class FakeBody:
    def __init__(self):
        self.linear_velocity, self.awake = np.zeros(3), False

    def wake_up(self):
        self.awake = True


def scene(held=-1):
    return SimpleNamespace(components=[FakeBody(), None], vacuum=SimpleNamespace(held=held))


def run(disturbances, steps=6, simulation=None, holding=False):
    """Executed actions in place of actions whose every motion is their number, vacuum on."""
    disturber = DisturbanceInjector(disturbances, simulation or scene())
    actions = [np.array([*[k / 10] * 6, 1.0]) for k in range(steps)]
    return [disturber(action, k, holding) for k, action in enumerate(actions)]


def moves(found):
    return [round(float(action[0]), 3) for action in found]


def test_nothing_changes_where_nothing_happens():
    assert moves(run([])) == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]


def test_a_lost_step_keeps_the_vacuum():
    found = run([Disturbance("drop", 2)])
    assert moves(found) == [0.0, 0.1, 0.0, 0.3, 0.4, 0.5] and found[2][6] == 1.0


def test_late_actions_come_later_for_a_while():
    """Actions before the delay begins are executed in time."""
    assert moves(run([Disturbance("delay", 2, steps=3, by=2)])) == [0.0, 0.1, 0.0, 0.0, 0.2, 0.5]


def test_movements_are_scaled_within_their_range():
    assert moves(run([Disturbance("scale", 0, steps=99, by=0.5)])) == [
        0,
        0.05,
        0.1,
        0.15,
        0.2,
        0.25,
    ]
    assert moves(run([Disturbance("scale", 4, steps=2, by=4.0)]))[4:] == [1.0, 1.0]


def test_a_hold_is_lost_once_from_its_step_on():
    found = run([Disturbance("loss", 2, steps=2)], holding=True)
    assert [action[6] for action in found] == [1, 1, -1, -1, 1, 1]
    assert all(action[6] == 1 for action in run([Disturbance("loss", 2, steps=2)]))


def test_a_push_moves_a_body_once_unless_it_is_held_or_furniture():
    push = Disturbance("nudge", 1, body=0, push_ms=(0.2, -0.1))
    free = scene()
    run([push], simulation=free)
    assert free.components[0].linear_velocity.tolist() == [0.2, -0.1, 0.0]
    assert free.components[0].awake
    held = scene(held=0)
    run([push], simulation=held)
    assert not held.components[0].linear_velocity.any()
    run([Disturbance("nudge", 1, body=1, push_ms=(0.2, 0.0))])
