"""Pushing, touching and toppling: paths around obstacles, and skills that end."""

import numpy as np
import pytest
import torch

from clevrskills.predicates import AtPositionPushed, Touched, TouchedToppled
from clevrskills.solvers.motion import Arm, SkillFailed
from clevrskills.solvers.skills import skill_for
from clevrskills.solvers.skills.approach import approaches, from_line, outer_radius, place_of
from clevrskills.solvers.skills.push import _first_leg
from tests.support.envs import base, bench, body
from tests.support.worlds import CUBE, SLAB, BodySpec

TOWER = BodySpec("tower", "cube", (0.05, 0.05, 0.20))
START = (-0.25, -0.15)


@pytest.fixture
def make():
    made = []

    def get(*bodies):
        made.append(bench(*bodies))
        return made[-1], Arm(base(made[-1]), np.random.default_rng(0))

    yield get
    for env in made:
        env.close()


def run(env, arm, goal, limit=300):
    """Run a skill to its end; the last outcome."""
    state = goal.initial_state(base(env).world)
    outcome = goal.evaluate(base(env).world, state)
    actions = skill_for(goal)(arm, goal)
    for _, action in zip(range(limit), actions, strict=False):
        env.step(action)
        outcome = goal.evaluate(base(env).world, outcome.state)
    assert next(actions, None) is None, "the skill does not end"
    return outcome


def slot(k):
    return torch.tensor([k])


def test_distances_from_a_line():
    points = np.array([[0.5, 0.3], [-0.4, 0.3], [2.0, 0.0]])
    away = from_line(points, np.array([0.0, 0.0]), np.array([1.0, 0.0]))
    assert away == pytest.approx([0.3, 0.5, 1.0])
    assert from_line(points, np.zeros(2), np.zeros(2))[2] == pytest.approx(2.0)


def test_free_ways_are_straight_and_others_lead_around(make):
    target = np.array([[-0.25, 0.2]])
    _, arm = make(body(CUBE, *START))
    assert _first_leg(arm, 0, target, []) == pytest.approx(target[0])
    _, arm = make(body(CUBE, *START), body(SLAB, -0.25, 0.02))
    around = _first_leg(arm, 0, target, [])
    assert np.linalg.norm(around - target[0]) > 0.05
    gap = from_line(np.array([[-0.25, 0.02]]), np.array(START), around)
    assert float(gap[0]) > outer_radius(arm, 0) + outer_radius(arm, 1)


def test_a_banned_direction_is_not_taken(make):
    target = np.array([[-0.25, 0.2]])
    _, arm = make(body(CUBE, *START))
    other = _first_leg(arm, 0, target, [np.array([0.0, 1.0])])
    way = (other - START) / np.linalg.norm(other - START)
    assert way[1] < 0.99


def test_there_is_no_way_out_of_the_arena(make):
    _, arm = make(body(CUBE, *START))
    assert _first_leg(arm, 0, np.array([[1.5, 0.0]]), []) is None


@pytest.mark.parametrize("angle", [0.0, 1.0, 2.5, 4.0])
def test_approaches_stand_behind_and_face_the_push(make, angle):
    _, arm = make(body(CUBE, *START))
    direction = np.array([np.cos(angle), np.sin(angle)])
    poses = approaches(arm, 0, direction, 0.01)
    assert len(poses) == 8
    for pose in poses:
        behind = (place_of(arm, 0) - pose.p[:2]) @ direction
        assert 0.05 < behind < 0.15
        axes = pose.to_transformation_matrix()[:2, :2]
        assert np.abs(direction @ axes).max() == pytest.approx(1.0, abs=1e-6)


def test_pushed_around_a_body_to_a_place(make):
    env, arm = make(body(CUBE, *START), body(SLAB, -0.25, 0.02))
    slab = base(env).world.body_pose[0, 1, :2].clone()
    target = torch.tensor([[-0.25, 0.2, 0.025]])
    assert run(env, arm, AtPositionPushed(slot(0), target)).holds
    assert float((base(env).world.body_pose[0, 1, :2] - slab).norm()) < 0.02


def test_objects_out_of_reach_fail_with_a_reason(make):
    env, arm = make(body(CUBE, *START))
    goal = AtPositionPushed(slot(0), torch.tensor([[1.5, 0.0, 0.025]]))
    with pytest.raises(SkillFailed, match="cube cannot be pushed"):
        run(env, arm, goal)


def test_a_touch_moves_nothing(make):
    env, arm = make(body(SLAB, -0.2, 0.1))
    before = base(env).world.body_pose[0, 0].clone()
    assert run(env, arm, Touched(slot(0))).holds
    assert float((base(env).world.body_pose[0, 0] - before).abs().max()) < 2e-3


def test_a_tower_falls_where_nothing_stands(make):
    env, arm = make(body(TOWER, -0.2, 0.0), body(CUBE, -0.02, 0.0))
    cube = base(env).world.body_pose[0, 1].clone()
    assert run(env, arm, TouchedToppled(slot(0))).holds
    assert float((base(env).world.body_pose[0, 1] - cube).abs().max()) < 1e-3
