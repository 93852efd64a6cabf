"""State observations: every entry tells what its name says."""

import numpy as np
import pytest
import torch

from clevrskills.core import geometry
from clevrskills.envs.state_observation import flat, layout, observe
from clevrskills.sim import suction
from tests.support.envs import act, base, make_env, random_actions, stay

BODY = {
    "present": slice(0, 1),
    "held": slice(1, 2),
    "position": slice(2, 5),
    "offset": slice(5, 8),
    "spot": slice(8, 11),
    "rotation": slice(11, 17),
    "velocity": slice(17, 23),
    "size": slice(23, 26),
}


@pytest.fixture(scope="module")
def envs():
    made = {}

    def get(key):
        if key not in made:
            made[key] = make_env(key, "state_dict")
        return made[key]

    yield get
    for env in made.values():
        env.close()


def entries(env) -> dict[str, np.ndarray]:
    simulation = base(env)
    return {k: v[0].numpy() for k, v in simulation.observer(simulation.outcome).items()}


@pytest.mark.parametrize("key", ["balance", "follow_order", "move_without_hitting", "sort"])
def test_size_does_not_depend_on_the_episode(envs, key):
    env, found = envs(key), []
    for seed in range(3):
        env.reset(seed=seed)
        found.append(layout(base(env).observer(base(env).outcome)))
        assert np.isfinite(observe(base(env))).all()
    assert found[0] == found[1] == found[2]
    assert found[0][-1]["stop"] == len(observe(base(env)))


def test_layout_has_the_position_of_entries(envs):
    env = envs("sort")
    env.reset(seed=1)
    row, given = observe(base(env)), base(env).observer(base(env).outcome)
    for entry in layout(given):
        values = given[entry["name"]][0].numpy()
        np.testing.assert_array_equal(row[entry["start"] : entry["stop"]], values)
    np.testing.assert_array_equal(flat(given)[0].numpy(), row)


def test_bodies(envs):
    env = envs("pick")
    env.reset(seed=2)
    env.step(act(x=0.2, turn=(0.3, 0.1, 0.2)))
    world, given = base(env).world, entries(env)
    for k, key in enumerate(world.keys):
        body = given[f"bodies/{key}"]
        if base(env).layouts[0].bodies[k] is None:
            assert not body.any()
            continue
        pose = world.body_pose[0, k]
        np.testing.assert_allclose(body[BODY["position"]], pose[:3].numpy())
        there = geometry.to_world(
            world.end_effector_pose, torch.as_tensor(body[BODY["offset"]])[None, None]
        )
        np.testing.assert_allclose(there[0, 0].numpy(), pose[:3].numpy(), atol=1e-5)
        spot = geometry.to_world(
            world.end_effector_pose, torch.as_tensor(body[BODY["spot"]])[None, None]
        )
        seals = suction.sealable_spot(world, torch.tensor([k]))  # on a grid of its own
        assert float((spot[0, 0] - seals[0]).norm()) < 0.02
        matrix = geometry.rotation_matrix(pose[3:]).numpy()
        columns = body[BODY["rotation"]].reshape(2, 3)
        np.testing.assert_allclose(columns, matrix[:, :2].T, atol=1e-6)
        np.testing.assert_allclose(body[BODY["velocity"]], world.body_velocity[0, k].numpy())
        points = world.solids.points[0, k]
        np.testing.assert_allclose(
            body[BODY["size"]], (points.amax(0) - points.amin(0)).numpy(), atol=1e-6
        )
        assert body[BODY["present"]] == 1 and body[BODY["held"]] == 0


def test_held_object_and_next_leaf(envs):
    env = envs("place")
    env.reset(seed=0)  # the episode starts with the object in the gripper
    world, given = base(env).world, entries(env)
    key = world.keys[int(world.held[0])]
    assert given[f"bodies/{key}"][BODY["held"]] == 1 and given["robot/holding"] == 1
    assert given["robot/vacuum_on"] == 1
    leaf = next(base(env).goal.leaves())
    for name in ("top", "bottom"):
        named = world.keys[int(getattr(leaf, name)[0])]
        np.testing.assert_array_equal(given[f"next/{name}"], given[f"bodies/{named}"])
    assert given["next/leaf"].tolist() == [1.0]


def test_the_next_leaf_moves_on_and_vanishes_with_success(envs):
    env = envs("trace")
    env.reset(seed=3)
    simulation = base(env)
    used = int(simulation.goal.active[0].sum())
    seen = []
    for leaf in list(simulation.goal.steps()):
        given = entries(env)
        seen.append(int(given["next/leaf"].argmax()))
        slot = simulation.world.keys[int(leaf.object[0])]
        np.testing.assert_array_equal(given["next/object"], given[f"bodies/{slot}"])
        away = given["next/object"][BODY["offset"]]
        tip = simulation.world.end_effector_pose[:, :3]
        there = simulation.world.position(leaf.object)
        assert np.linalg.norm(away) == pytest.approx(float((there - tip).norm()), abs=1e-5)
        leaf.realize(simulation.world)
        simulation.advance_goal()
    assert seen == list(range(used))
    given = entries(env)
    assert not any(values.any() for name, values in given.items() if name.startswith("next/"))


def test_where_the_end_effector_is_to_be(envs):
    """The observation has the remaining path: following it ends at the goal."""
    env = envs("match_pose")
    env.reset(seed=4)
    simulation, given = base(env), entries(env)
    leaf = list(simulation.goal.leaves())[int(given["next/leaf"].argmax())]
    pose = simulation.world.end_effector_pose
    offset, turn = (
        torch.as_tensor(given["next/position"][:3]),
        torch.as_tensor(given["next/orientation"]),
    )
    angle = turn.norm()
    step = torch.cat(((angle / 2).cos()[None], (angle / 2).sin() * turn / angle))
    reached = geometry.compose(pose, torch.cat((offset, step))[None])
    np.testing.assert_allclose(reached[0, :3].numpy(), leaf.position[0].numpy(), atol=1e-5)
    assert float(geometry.rotation_angle(reached[0, 3:], leaf.orientation[0])) < 1e-3
    np.testing.assert_allclose(
        given["next/position"][3:], (leaf.position - pose[:, :3])[0].numpy(), atol=1e-6
    )


def test_entries_that_the_next_leaf_does_not_have_are_zero(envs):
    """Its goal has leaves that want a body on another, then one that wants it back in its place."""
    env = envs("follow_order_restore")
    env.reset(seed=3)
    simulation, given = base(env), entries(env)
    assert given["next/bottom"].any()
    assert not given["next/position"].any() and not given["next/orientation"].any()
    *visits, back = simulation.goal.steps()
    for step in visits:
        step.realize(simulation.world)
        stay(env, 25)
    away = simulation.world.pose(back.object).clone()
    away[:, 2] += 0.2
    simulation.world.set_body_pose(back.object, away)
    simulation.advance_goal()
    assert entries(env)["next/position"].any()


def test_goal_entries_are_those_of_the_outcome(envs):
    env = envs("sort")
    env.reset(seed=5)
    for action in random_actions(3):
        env.step(action)
    simulation, given = base(env), entries(env)
    for k, part in enumerate(simulation.outcome.children):
        used = bool(simulation.goal.active[0, k])
        assert given["goal/progress"][k] == (float(part.progress[0]) if used else 0.0)
        assert given["goal/holds"][k] == (float(part.holds[0]) if used else 0.0)


@pytest.mark.render
def test_images_with_state():
    env = make_env("pick", "depth+state", render_backend="cpu")
    observation, _ = env.reset(seed=0)
    np.testing.assert_array_equal(observation["state"], observe(base(env)))
    env.close()
