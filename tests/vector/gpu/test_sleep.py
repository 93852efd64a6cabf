"""Which bodies are at rest where nothing falls asleep."""

import torch

from clevrskills.vector.gpu.world import REST_STEPS, Sleep

LIMIT_M = 1e-3


def watch(way_m, turn_rad=lambda step: 0.0, steps=REST_STEPS + 1) -> list[bool]:
    """Whether a body that goes a way is at rest after each step."""
    rest, found = Sleep(torch.full((1, 1), LIMIT_M), torch.full((1, 1), 0.02)), []
    for step in range(steps):
        half = torch.tensor(turn_rad(step) / 2)
        pose = torch.tensor([1.0 + way_m(step), 0, 0, half.cos(), 0, 0, half.sin()])
        rest.note(pose[None, None])
        found.append(bool(rest.still[0, 0]))
    return found


def test_what_does_not_move_rests_after_a_while():
    assert watch(lambda step: 0.0) == [False] * REST_STEPS + [True]


def test_what_trembles_rests_and_what_creeps_does_not():
    assert watch(lambda step: 0.9 * LIMIT_M * (step % 2))[-1]
    assert not any(watch(lambda step: 0.3 * LIMIT_M * step, steps=30))


def test_turning_counts_as_a_way_of_the_body():
    assert watch(lambda step: 0.0, lambda step: 0.04 * (step % 2))[-1]
    assert not any(watch(lambda step: 0.0, lambda step: 0.06 * (step % 2), 30))


def test_a_push_wakes_and_a_restored_body_rests_at_once():
    rest = Sleep(torch.full((2, 1), LIMIT_M), torch.full((2, 1), 0.02))
    here = torch.tensor([0.0, 0, 0, 1, 0, 0, 0]).expand(2, 1, 7)
    rest.restore(torch.tensor([True, False]), here)
    assert rest.still[:, 0].tolist() == [True, False]
    there = here + torch.tensor([0.01, 0, 0, 0, 0, 0, 0])
    rest.note(there)
    assert not rest.still.any()
