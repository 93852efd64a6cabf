"""Plans around boxes, with and without something in hand; all in the frame of the robot's base."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sapien import Pose

from clevrskills.sim.robots.description import ROBOTS, robot
from clevrskills.solvers.grasps import down
from clevrskills.solvers.motion import OBSTACLE_MARGIN_M
from clevrskills.solvers.planner import JOINT_SPEED_RAD_PER_S, MotionPlanner
from clevrskills.solvers.requirements import PLANNERS, planner_obstacle

LEFT, RIGHT = Pose([0.36, 0.18, 0.08], down(0.0)), Pose([0.36, -0.18, 0.08], down(0.0))
LOW_WALL = {"wall": (np.array([0.5, 0.03, 0.24]), np.array([0.45, 0, 0.12, 1, 0, 0, 0.0]))}
HELD = (np.array([0.06, 0.06, 0.12]), np.array([0.0, 0.0, 0.065]))
STEP_RAD = 1.2 * JOINT_SPEED_RAD_PER_S / 20
"""Most that a joint turns in a control step, a little more as paths are cut into whole steps."""


def box_at(x, y, z, *size):
    return np.array(size, dtype=float), np.array([x, y, z, 1, 0, 0, 0.0])


CASES = [*(("mplib", name) for name in ROBOTS), ("fcl", "xarm6"), ("fcl", "panda")]


@pytest.fixture(scope="module", params=CASES, ids="-".join)
def of_backend(request):
    backend, robot_name = request.param
    if obstacle := planner_obstacle(backend):
        pytest.skip(obstacle)
    return MotionPlanner(robot_name, backend)


@pytest.fixture
def planner(of_backend):
    of_backend.set_scene({}, None)
    return of_backend


def generator():
    return np.random.default_rng(0)


def neutral(planner):
    return np.array(robot(planner._description.name).neutral_qpos)


def ends(planner):
    start = planner.solve(LEFT, neutral(planner), generator())
    assert start is not None
    goal = planner.solve(RIGHT, start, generator())
    assert goal is not None
    return start, goal


def dense(path):
    """The path with steps of at most 0.01 rad."""
    rows = [path[:1]]
    for a, b in zip(path, path[1:], strict=False):
        count = max(1, int(np.abs(b - a).max() / 0.01))
        rows.append(a + (b - a) * np.linspace(0, 1, count + 1)[1:, None])
    return np.concatenate(rows)


def held_points(planner, qpos, held):
    """Points all over the box in hand, (N, 3)."""
    size, center = held
    ticks = [np.linspace(-s / 2, s / 2, 5) for s in size]
    local = np.stack(np.meshgrid(*ticks), -1).reshape(-1, 3) + center
    matrix = planner.kinematics.forward(qpos).to_transformation_matrix()
    return local @ matrix[:3, :3].T + matrix[:3, 3]


def inside(points, box, margin=0.0):
    size, pose = box
    return bool((np.abs(points - pose[:3]) < size / 2 - margin).all(-1).any())


def test_solving_reaches_the_pose(planner):
    qpos = planner.solve(LEFT, neutral(planner), generator())
    reached = planner.kinematics.forward(qpos)
    assert np.allclose(reached.p, LEFT.p, atol=1e-3)
    assert abs(float(np.dot(reached.q, LEFT.q))) > 0.9999
    assert not planner.collides(qpos)


@pytest.mark.parametrize(
    "pose",
    [
        Pose([1.5, 0.0, 0.2], down(0.0)),  # too far
        Pose([0.4, 0.0, -0.2], down(0.0)),  # below the table
        Pose([0.0, 0.0, 0.02], down(0.0)),  # in the base
    ],
)
def test_unreachable_poses_have_no_solution(planner, pose):
    assert planner.solve(pose, neutral(planner), generator()) is None


def test_a_pose_in_an_obstacle_has_no_solution(planner):
    assert planner.solve(LEFT, neutral(planner), generator()) is not None
    planner.set_scene({"block": box_at(0.36, 0.18, 0.06, 0.1, 0.1, 0.12)}, None)
    assert planner.solve(LEFT, neutral(planner), generator()) is None


def test_a_pose_with_the_held_object_in_the_table_has_no_solution(planner):
    planner.set_scene({}, HELD)
    assert planner.solve(LEFT, neutral(planner), generator()) is None
    higher = Pose([0.36, 0.18, 0.16], down(0.0))
    assert planner.solve(higher, neutral(planner), generator()) is not None


def test_a_free_path_is_a_straight_line_in_joint_space(planner):
    start, goal = ends(planner)
    path = planner.path(start, goal, generator())
    assert np.allclose(path[0], start, atol=1e-6) and np.allclose(path[-1], goal, atol=1e-6)
    share = (path - start) @ (goal - start) / np.dot(goal - start, goal - start)
    off = np.abs(path - (start + share[:, None] * (goal - start))).max()
    assert off < 0.02
    assert (np.diff(share) >= -1e-3).all()
    steps = np.abs(np.diff(path, axis=0)).max()
    assert steps <= STEP_RAD


def test_where_it_is_already_there_is_nothing_to_do(planner):
    start, _ = ends(planner)
    assert len(planner.path(start, start + 1e-5, generator())) == 2


def test_a_blocked_line_goes_around(planner):
    start, goal = ends(planner)
    straight = dense(planner.path(start, goal, generator()))
    planner.set_scene(LOW_WALL, None)
    assert any(planner.collides(qpos) for qpos in straight)
    path = planner.path(start, goal, generator())
    assert path is not None
    assert np.allclose(path[0], start, atol=1e-6) and np.allclose(path[-1], goal, atol=1e-6)
    for qpos in dense(path):
        assert not planner.collides(qpos)
        tip = planner.kinematics.forward(qpos).p
        assert not inside(tip[None], LOW_WALL["wall"])
    assert np.abs(np.diff(path, axis=0)).max() <= STEP_RAD


def test_a_held_object_avoids_obstacles(planner):
    """The wall is low enough for the empty hand at this height, but not for what it carries."""
    high = [Pose([0.36, y, 0.26], down(0.0)) for y in (0.18, -0.18)]
    wall = {"wall": (np.array([0.5, 0.03, 0.2]), np.array([0.45, 0, 0.1, 1, 0, 0, 0.0]))}
    planner.set_scene(wall, None)
    start = planner.solve(high[0], neutral(planner), generator())
    goal = planner.solve(high[1], start, generator())
    empty = dense(planner.path(start, goal, generator()))
    assert any(inside(held_points(planner, qpos, HELD), wall["wall"]) for qpos in empty)
    planner.set_scene(wall, HELD)
    path = planner.path(start, goal, generator())
    assert path is not None
    for qpos in dense(path):
        assert not planner.collides(qpos)
        assert not inside(held_points(planner, qpos, HELD), wall["wall"], margin=1e-3)


def test_the_hand_is_forgotten_when_it_is_empty_again(planner):
    start, _ = ends(planner)
    planner.set_scene({}, HELD)
    assert planner.collides(start)  # what is held is in the table
    planner.set_scene({}, None)
    assert not planner.collides(start)


def test_obstacles_are_forgotten_when_the_scene_changes(planner):
    start, _ = ends(planner)
    block = box_at(0.36, 0.18, 0.06, 0.1, 0.1, 0.12)
    for boxes, blocked in (({"a": block}, True), ({}, False), ({"b": block}, True)):
        planner.set_scene(boxes, None)
        assert planner.collides(start) == blocked


def tall_scene():
    """A wall too high to go over: the arm must draw back."""
    return {"wall": box_at(0.62, 0.0, 0.6, 0.4, 0.02, 1.2)}


def far_ends(planner):
    # the wrist of the UR5e stands beside the plane of its arm: further from the wall
    aside_m = 0.25 if planner._description.name == "ur5e" else 0.2
    out = [Pose([0.52, y, 0.15], down(0.0)) for y in (aside_m, -aside_m)]
    planner.set_scene(tall_scene(), None)
    start = planner.solve(out[0], neutral(planner), generator())
    assert start is not None
    goal = planner.solve(out[1], start, generator())
    assert goal is not None
    return start, goal


@pytest.mark.parametrize(
    "seed", [0, 7, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (10, 15))]
)
def test_a_wall_that_is_too_high_is_gone_around(planner, seed):
    """Also between its corners, as it is driven; planned with the margin that skills keep."""
    start, goal = far_ends(planner)
    size, pose = tall_scene()["wall"]
    planner.set_scene({"wall": (size + 2 * OBSTACLE_MARGIN_M, pose)}, None)
    path = planner.path(start, goal, np.random.default_rng(seed))
    assert path is not None
    planner.set_scene(tall_scene(), None)
    assert not any(planner.collides(qpos) for qpos in dense(path))


@pytest.mark.slow
def test_the_same_seed_gives_the_same_plan(planner):
    start, goal = far_ends(planner)
    plans = [planner.path(start, goal, np.random.default_rng(5)) for _ in range(2)]
    assert np.array_equal(plans[0], plans[1])
    planner.path(goal, start, np.random.default_rng(8))  # plans in between change nothing
    again = planner.path(start, goal, np.random.default_rng(5))
    assert np.array_equal(plans[0], again)
    solved = [planner.solve(LEFT, neutral(planner), np.random.default_rng(1)) for _ in range(2)]
    assert np.array_equal(*solved)


@pytest.mark.slow
@pytest.mark.parametrize("backend", PLANNERS)
def test_another_process_gives_the_same_plan(backend):
    """Its random numbers are seeded there as here, whatever was planned before."""
    if obstacle := planner_obstacle(backend):
        pytest.skip(obstacle)
    root = Path(__file__).parents[2]
    code = (
        "from tests.solvers.test_planner import *;"
        f"p = MotionPlanner('xarm6', {backend!r});"
        "path = p.path(*far_ends(p), np.random.default_rng(5));"
        "print(path.tobytes().hex())"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=root,
        env=os.environ | {"PYTHONPATH": os.pathsep.join((str(root), *sys.path))},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    planner = MotionPlanner("xarm6", backend)
    path = planner.path(*far_ends(planner), np.random.default_rng(5))  # type: ignore[call-arg]
    assert run.stdout.split()[-1] == path.tobytes().hex()


@pytest.mark.skipif(
    any(planner_obstacle(backend) for backend in PLANNERS), reason="needs both backends"
)
@pytest.mark.parametrize("name", ROBOTS)
def test_backends_find_the_same_collisions(name):
    """Random configurations among boxes, with and without something in the gripper."""
    drawn, found = generator(), set()
    boxes = {f"box {k}": box_at(*drawn.uniform((0.2, -0.4, 0), 0.5), 0.1, 0.08, 0.2) for k in "ab"}
    boxes["turned"] = (np.full(3, 0.2), np.array([0.3, 0.3, 0.3, 0.8, 0.36, 0.48, 0.0]))
    one, other = (MotionPlanner(name, backend) for backend in PLANNERS)
    for held in (None, HELD):
        for each in (one, other):
            each.set_scene(boxes, held)
        for qpos in drawn.uniform(one.lower, one.upper, (150, len(one.lower))):
            known = [each._backend.touched(qpos) & {"table", *boxes} for each in (one, other)]
            assert known[0] == known[1]
            assert one.collides(qpos) == other.collides(qpos) == other._backend.blocked(qpos[None])
            found |= known[0] | {one.collides(qpos)}
    assert found >= {True, False, "table", *boxes}


def test_objects_beside_the_base_are_no_obstacles(planner):
    planner.set_scene({"area": box_at(0.1, 0.1, 0.005, 0.2, 0.2, 0.02)}, None)
    assert planner.solve(LEFT, neutral(planner), generator()) is not None
    planner.set_scene({"pillar": box_at(*LEFT.p, 0.1, 0.1, 0.1)}, None)
    assert planner.solve(LEFT, neutral(planner), generator()) is None
