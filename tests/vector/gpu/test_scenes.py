"""Scenes for the batch are what the environment builds; what they begin with shares its bodies."""

import numpy as np
import pytest
import sapien
import torch
from sapien.physx import PhysxCpuSystem, PhysxDriveComponent

from clevrskills.envs.scene_sampling import draw_scene
from clevrskills.errors import ClevrSkillsError
from clevrskills.predicates.criteria import PAPER
from clevrskills.tasks import task
from clevrskills.vector.gpu import reset_states
from clevrskills.vector.gpu.reset_states import ResetScenes, draw_same
from clevrskills.vector.gpu.scenes import SceneBuilder
from tests.support.envs import base, make_env
from tests.vector.gpu.scenes import CpuPhysics

SEEDS = (5, 6, 7)


def draw(key: str, seeds=SEEDS):
    return draw_same(task(key), seeds, "train", "xarm6", PAPER)


@pytest.fixture(scope="module")
def built():
    """The scene of an episode with furniture, hinges and empty slots, built for the batch."""
    return CpuPhysics.build([draw("balance", [3])[0].layout])


@pytest.fixture(scope="module")
def env():
    made = make_env("balance")
    made.reset(seed=3)
    yield made
    made.close()


def test_bodies_are_those_of_the_environment(built, env):
    theirs = CpuPhysics.of(base(env))
    torch.testing.assert_close(built.inertia.mass, theirs.inertia.mass)
    torch.testing.assert_close(built.inertia.moments, theirs.inertia.moments)
    torch.testing.assert_close(built._still[..., :3], theirs._still[..., :3], atol=2e-3, rtol=0)
    assert built.scenes[0].dynamic == theirs.scenes[0].dynamic
    for one, other in zip(built.scenes[0].bodies, theirs.scenes[0].bodies, strict=True):
        assert (one is None) == (other is None)
        if one is None:
            continue
        assert len(one.collision_shapes) == len(other.collision_shapes)
        for shape, same in zip(one.collision_shapes, other.collision_shapes, strict=True):
            assert shape.contact_offset == pytest.approx(same.contact_offset)
            assert shape.physical_material.static_friction == 1.0
            assert same.physical_material.static_friction == 1.0
    joints = zip(
        built.scenes[0].robot.active_joints, theirs.scenes[0].robot.active_joints, strict=True
    )
    for joint, same in joints:
        for name in ("stiffness", "damping", "force_limit", "friction"):
            assert getattr(joint, name) == getattr(same, name)
    assert all(link.disable_gravity for link in built.scenes[0].robot.links)


def test_pairs_are_all_that_may_touch_once(built, env):
    found = sorted(map(tuple, built.pairs.tolist()))
    assert found == sorted(map(tuple, CpuPhysics.of(base(env)).pairs.tolist()))
    bodies, moves = built.scenes[0].bodies, built.scenes[0].dynamic
    table = len(bodies)
    there = [k for k, body in enumerate(bodies) if body and body.collision_shapes]
    for one in there:
        assert found.count((0, one, table)) == moves[one]
        assert found.count((0, one, table + 1)) == 1 and found.count((0, one, table + 2)) == 7
        for two in there:
            expected = one < two and (moves[one] or moves[two])
            assert found.count((0, one, two)) == expected
    assert len({frozenset(map(id, pair)) for pair in built._pairs}) == len(found)


def test_rest_is_a_millimetre_and_less_on_a_hinge(built):
    bodies = draw("balance", [3])[0].layout.bodies
    hinged = [bool(body and body.hinge) for body in bodies]
    assert any(hinged)
    for body, on_hinge, rest in zip(bodies, hinged, built.rest_m[0].tolist(), strict=True):
        if body and not body.static:
            assert rest == pytest.approx(1e-4 if on_hinge else 1e-3)
    assert all(
        b.sleep_threshold == 0
        for b, m in zip(built.scenes[0].bodies, built.scenes[0].dynamic, strict=True)
        if m
    )


def test_what_hangs_in_the_world_hangs_in_its_place():
    """On a GPU all scenes share one space, in which the world's own anchors are told."""

    class System(PhysxCpuSystem):
        def set_scene_offset(self, scene, offset_m):
            self.offset_m = offset_m

    layout, offset_m = draw("balance", [3])[0].layout, np.array([5.0, 10.0, 0.0])
    anchors = []
    for offset in (np.zeros(3), offset_m):
        system = System()
        scene = SceneBuilder("xarm6").build(system, layout, offset)
        parts = [part for body in scene.bodies if body for part in body.entity.components]
        drives = [part for part in parts if isinstance(part, PhysxDriveComponent)]
        anchors.append([(part.parent is None, part.pose_in_parent.p) for part in drives])
    assert system.offset_m == offset_m.tolist()
    moved = [after - before for (_, before), (_, after) in zip(*anchors, strict=True)]
    for (in_world, _), way in zip(anchors[0], moved, strict=True):
        np.testing.assert_allclose(way, offset_m if in_world else 0.0, atol=1e-5)
    assert {in_world for in_world, _ in anchors[0]} == {True, False}
    assert sapien.Pose(offset_m).p.tolist() == offset_m.tolist()


def test_the_first_is_the_episode_of_its_seed():
    scene = draw("place")[0]
    assert scene.layout == draw_scene(task("place"), SEEDS[0], "train").layout


@pytest.mark.parametrize("key", ["place", "sort", "trace", "rotate"])
def test_the_others_have_its_bodies_elsewhere(key):
    first, *others = draw(key)
    for other in others:
        for one, two in zip(first.layout.bodies, other.layout.bodies, strict=True):
            assert (one is None) == (two is None)
            assert one is None or (one.shape, one.size, one.texture) == (
                two.shape,
                two.size,
                two.texture,
            )
        assert not torch.equal(first.start.body_pose, other.start.body_pose)
        assert not bool(
            other.goal.evaluate(other.start, other.goal.initial_state(other.start)).holds
        )


def test_roles_differ_where_they_can():
    roles = [scene.layout.roles for scene in draw("rotate", range(8))]
    assert any(
        not np.array_equal(values, roles[0][name])
        for other in roles
        for name, values in other.items()
    )


def test_no_fair_scene_is_told(monkeypatch):
    monkeypatch.setattr(reset_states, "is_fair", lambda *_: False)
    monkeypatch.setattr(reset_states, "ATTEMPTS", 2)
    with pytest.raises(ClevrSkillsError, match="pick, seed 5: no fair scene in 2 draws"):
        draw("pick")


def test_sets_are_shared_out_in_turn():
    sets = [draw("place", [1, 2]), draw("place", [3, 4])]
    shared = ResetScenes.of(sets, 5, "cpu")
    assert [layout is sets[k % 2][0].layout for k, layout in enumerate(shared.layouts)] == [
        True
    ] * 5
    assert shared.pose.shape == (5, 2, 6, 7) and shared.held.shape == (5, 2)
    for env in range(5):
        for k in range(2):
            scene = sets[env % 2][k]
            torch.testing.assert_close(shared.pose[env, k], scene.start.body_pose[0])
            assert int(shared.roles["top"][env, k]) == int(scene.layout.roles["top"])
        mass = sets[env % 2][0].solids.mass[0]
        torch.testing.assert_close(shared.solids.mass[env], mass)
