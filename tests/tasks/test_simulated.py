"""Every task in simulation: at rest at the start, open if nothing is done, solved if realized."""

import pytest
import torch

from clevrskills.tasks import task
from tests.support.envs import base, make_env, positions, stay
from tests.tasks.scenes import SPARING, TASKS


@pytest.fixture(scope="module", params=SPARING)
def env(request):
    made = make_env(request.param)
    yield made
    made.close()


def present(env):
    return [k for k, body in enumerate(base(env).layouts[0].bodies) if body]


def realize(env):
    """Realize the parts of the goal in turn, with time to come to rest; returns the last info."""
    info = {}
    for step in base(env).goal.steps():
        step.realize(base(env).world)
        info = stay(env, 25)
    return info


@pytest.mark.parametrize(("seed", "vacuum"), [(0, 1.0), (1, 0.0)])
def test_the_start(env, seed, vacuum):
    """That of the drawn scene; nothing overlaps or moves, and doing nothing never succeeds, nor
    does turning the vacuum on or off.
    """
    _, info = env.reset(seed=seed)
    layout, start, held = base(env).layouts[0], base(env).scenes[0].start, base(env).world.held
    before, slots = positions(env), present(env)
    off = (before - start.body_pose[0, :, :3]).norm(dim=-1)
    for slot in slots:
        assert float(off[slot]) < (4e-3 if slot == layout.in_gripper else 1e-3), slot
    assert torch.equal(held, start.held) and int(held[0]) == layout.in_gripper
    away = base(env).world.end_effector_pose - start.end_effector_pose
    assert float(away[0, :3].norm()) < 2e-3

    info = stay(env, 1)
    contacts = base(env).world.contacts()
    assert contacts or not base(env).world.solids.movable.any()
    assert all(separation_m > -1e-3 for _, _, separation_m in contacts), contacts

    for step in range(25):
        assert not info["success"] and info["progress"] < 1.0
        info = stay(env, 1)
        if step == 20:
            moved = (positions(env) - before).norm(dim=-1)
            for slot in slots:
                assert float(moved[slot]) < (1e-3 if slot == layout.in_gripper else 2e-4), slot
            assert int(base(env).world.held[0]) == layout.in_gripper
    for _ in range(10):
        _, _, terminated, _, info = env.step([0.0] * 6 + [vacuum])
        assert not terminated and not info["success"] and info["progress"] < 1.0


def test_realized_it_succeeds_until_something_is_moved_away_or_all_is_brought_back(env):
    """Goals that remember, as an order does, hold on."""
    env.reset(seed=0)
    start = {k: base(env).start.body_pose[:, k].clone() for k in present(env)}
    before = positions(env)
    info = realize(env)
    assert info["success"] and info["progress"] == 1.0
    assert float(base(env).outcome.reward) == float(base(env).goal.max_reward)
    if base(env).goal_state:
        return
    moved = (positions(env) - before).norm(dim=-1) > 0.02
    assert moved.any()
    for slot in moved.nonzero()[:, 0].tolist():
        body = torch.tensor([slot])
        home = base(env).world.pose(body).clone()
        held = bool(base(env).world.is_held(body))
        away = home.clone()
        away[:, 2] += 0.4
        base(env).world.set_body_pose(body, away)
        assert not stay(env, 1)["success"], slot
        if held:
            base(env).world.hold(body, home)
        else:
            base(env).world.set_body_pose(body, home)
        assert any(stay(env, 1)["success"] for _ in range(60)), slot
    for slot, pose in start.items():
        if not base(env).layouts[0].bodies[slot].static:
            base(env).world.set_body_pose(torch.tensor([slot]), pose)
    info = stay(env, 5, on=False)
    assert not info["success"] and info["progress"] < 1.0


@pytest.mark.slow
def test_doing_nothing_never_succeeds_over_whole_episodes(env):
    for seed in range(30):
        env.reset(seed=seed)
        truncated = False
        while not truncated:
            _, _, terminated, truncated, info = env.step([0.0] * 7)
            assert not terminated and not info["success"], seed


@pytest.mark.slow
@pytest.mark.parametrize("split", ["train", "test"])
def test_many_seeds_are_at_rest_and_can_be_realized(split, request):
    for key in TASKS:
        env = make_env(key, split=split)
        for seed in range(30):
            env.reset(seed=seed)
            before = positions(env)
            held = base(env).layouts[0].in_gripper
            stay(env, 20)
            moved = (positions(env) - before).norm(dim=-1)
            for slot in present(env):
                assert float(moved[slot]) < (1e-3 if slot == held else 2e-4), (key, seed, slot)
            assert realize(env)["success"], (key, seed)
        env.close()
    assert task(TASKS[0]).max_steps > 20
